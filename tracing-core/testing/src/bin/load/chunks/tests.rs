use super::*;

#[test]
fn lengths_can_be_patched() {
    assert_eq!(length(0), [0x80, 0x80, 0x80, 0]);
    assert_eq!(length(300), [0xac, 0x82, 0x80, 0]);
    let mut random = Random::new(3);
    for id in 0..50 {
        let chunk = chunk(&mut random, id, true, 4000);
        let last = last_packet(&chunk);
        assert_eq!(chunk[last..last + 4], length(0));
        assert!((1..=3).contains(&writer(&chunk)));
    }
}

#[test]
fn pages_have_chunks_of_all_layouts() {
    let size = PageSize::DEFAULT;
    let mut random = Random::new(5);
    let pages: Vec<_> = (0..100).map(|id| page(&mut random, size, id)).collect();
    for page in &pages {
        let word = PageWord(u32::from_le_bytes(page.bytes[..4].try_into().unwrap()));
        assert!(word.layout().is_some());
        for &index in &page.complete {
            assert_eq!(word.state(index as usize), ChunkState::Complete);
        }
    }
    assert!(pages.iter().any(|page| page.complete.is_empty()));
    assert!(pages.iter().any(|page| page.complete.len() > 7));
}

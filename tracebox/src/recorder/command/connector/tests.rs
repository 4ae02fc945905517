use super::*;

fn datagram(kind: u32, words: &[u32]) -> Vec<u8> {
    let mut bytes = vec![0; EVENT_OFF];
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&3_u32.to_ne_bytes());
    bytes.extend_from_slice(&77_u64.to_ne_bytes());
    for word in words {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes
}

#[test]
fn events() {
    let kind = |kind, words: &[u32]| parse(&datagram(kind, words)).map(|event| event.kind);
    assert_eq!(kind(0, &[0]), Some(Kind::Subscribed(0)));
    assert_eq!(kind(1, &[5, 4, 9, 9]), Some(Kind::Forked { parent: 4, child: 9 }));
    assert_eq!(kind(1, &[5, 4, 9, 8]), None, "a thread");
    assert_eq!(kind(2, &[9, 9]), Some(Kind::Executed { pid: 9 }));
    let status = ExitStatus::from_raw(7 << 8);
    assert_eq!(kind(0x8000_0000, &[9, 9, 7 << 8, 17]), Some(Kind::Ended { pid: 9, status }));
    assert_eq!(kind(0x8000_0000, &[9, 8, 0, 0]), None, "a thread");
    assert_eq!(kind(0x200, &[9, 9, 0, 0]), None);
    assert_eq!(parse(&datagram(2, &[9, 9])).unwrap().mono_ns, 77);
    let whole = datagram(0x8000_0000, &[9, 9, 7 << 8]);
    for len in 0..whole.len() {
        assert_eq!(parse(&whole[..len]), None, "{len}");
    }
}

use super::*;

#[test]
fn finds_what_was_noted_last_and_nothing_else() {
    let mut recent = Recent::default();
    for key in 0..10_000u64 {
        recent.note(key, key as u32, 10_000);
        assert_eq!(recent.find(key), Some(key as u32));
    }
    for key in 0..20_000 {
        assert!(recent.find(key).is_none_or(|slot| u64::from(slot) == key && key < 10_000));
    }
    assert!(recent.memory_bytes() <= 64 << 10);
    recent.clear();
    assert!((0..20_000).all(|key| recent.find(key).is_none()));
}

#[test]
fn writers_in_turn_are_mostly_found() {
    let key = |i: u64| (i / 10 + 1) << 48 | (i % 10 + 1) << 32 | 0xffff_ffff;
    let mut recent = Recent::default();
    for i in 0..1000 {
        recent.note(key(i), i as u32, 1000);
    }
    let found = (0..1000).filter(|i| recent.find(key(*i)) == Some(*i as u32)).count();
    assert!(found > 700, "{found} of 1000");
}

use super::*;

#[test]
fn finds_the_newest_key_and_nothing_else() {
    let mut cache = SlotCache::default();
    for key in 0..10_000u64 {
        cache.insert(key, key as u32, 10_000);
        assert_eq!(cache.find(key), Some(key as u32));
    }
    for key in 0..20_000 {
        assert!(cache.find(key).is_none_or(|slot| u64::from(slot) == key && key < 10_000));
    }
    assert!(cache.memory_bytes() <= 64 << 10);
    cache.clear();
    assert!((0..20_000).all(|key| cache.find(key).is_none()));
}

#[test]
fn most_of_many_writers_are_found() {
    let key = |i: u64| (i / 10 + 1) << 48 | (i % 10 + 1) << 32 | 0xffff_ffff;
    let mut cache = SlotCache::default();
    for i in 0..1000 {
        cache.insert(key(i), i as u32, 1000);
    }
    let found = (0..1000).filter(|i| cache.find(key(*i)) == Some(*i as u32)).count();
    assert!(found > 700, "{found} of 1000");
}

use super::*;

#[test]
fn memory_that_no_mapping_shows_is_not_kept() {
    let held = |rss_kb, charged| Held {
        resources: Resources { rss_kb, descriptors: 1, threads: 1 },
        charged,
    };
    let check = |before: &Held, after: &Held| check_memory(before, after, None);
    let before = held(1000, Some(1 << 20));
    assert_eq!(check(&before, &held(1000 + SLACK_KB, Some(17 << 20))), Ok(()));
    assert!(check(&before, &held(1001 + SLACK_KB, Some(0))).is_err());
    assert!(check(&before, &held(1000, Some(18 << 20))).is_err());
    assert_eq!(check(&held(1000, None), &held(1000, None)), Ok(()));
}

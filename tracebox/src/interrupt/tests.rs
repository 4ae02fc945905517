use super::*;

#[test]
fn a_signal_that_comes_twice_counts_once() {
    let start = Instant::now();
    let mut counter = SignalCounter::default();
    let counts: Vec<_> = [0, 1, 999, 1000, 1001, 5000]
        .map(|ms| counter.count(start + Duration::from_millis(ms)))
        .into();
    assert_eq!(counts, [Some(1), None, None, Some(2), None, Some(3)]);
    counter.restart();
    let counts = [5500, 6000].map(|ms| counter.count(start + Duration::from_millis(ms)));
    assert_eq!(counts, [None, Some(1)]);
}

use super::*;

#[test]
fn a_signal_that_comes_twice_counts_once() {
    let start = Instant::now();
    let mut counter = SignalCounter::default();
    let counts: Vec<_> = [0, 1, 999, 1000, 1001, 5000]
        .map(|ms| counter.count(Signal::INT, start + Duration::from_millis(ms)))
        .into();
    assert_eq!(counts, [Some(1), None, None, Some(2), None, Some(3)]);
    counter.restart();
    let counts =
        [5500, 6000].map(|ms| counter.count(Signal::INT, start + Duration::from_millis(ms)));
    assert_eq!(counts, [None, Some(1)]);
}

/// A command tells signals apart. Who stops one may send SIGTERM soon after SIGINT, and each of them twice.
#[test]
fn other_signals_soon_after_one_count_for_a_command() {
    let start = Instant::now();
    let signals = [
        (Signal::INT, 0),
        (Signal::TERM, 500),
        (Signal::INT, 501),
        (Signal::TERM, 502),
        (Signal::INT, 1000),
    ];
    let counts = |count: fn(&mut SignalCounter, Signal, Instant) -> Option<u32>| {
        let mut counter = SignalCounter::default();
        signals.map(|(signal, ms)| count(&mut counter, signal, start + Duration::from_millis(ms)))
    };
    assert_eq!(counts(SignalCounter::count_each), [Some(1), Some(2), None, None, Some(3)]);
    assert_eq!(counts(SignalCounter::count), [Some(1), None, None, None, Some(2)]);
}

use super::{next_pass_ns, period_ms};

/// Upstream: one session with the period 0 put the periods of all others out of use.
#[test]
fn periods() {
    let period = |wishes: &[Option<u32>], all_polled| period_ms(wishes.iter().copied(), all_polled);
    assert_eq!(period(&[], false), 100);
    assert_eq!(period(&[None], true), 1000);
    assert_eq!(period(&[Some(50), None, Some(70)], true), 50);
    // What is out of range does not change the period of others.
    assert_eq!(period(&[Some(0), Some(500), Some(60_001)], false), 500);
    assert_eq!(period(&[Some(0), Some(60_001)], false), 100);
    assert_eq!((period(&[Some(1)], false), period(&[Some(60_000)], false)), (1, 60_000));
}

#[test]
fn passes_are_due_at_multiples() {
    assert_eq!(next_pass_ns(0, 100), 100_000_000);
    assert_eq!(next_pass_ns(100_000_000, 100), 200_000_000);
    assert_eq!(next_pass_ns(199_999_999, 100), 200_000_000);
    assert_eq!(next_pass_ns(u64::MAX, 1), u64::MAX);
}

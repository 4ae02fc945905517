//! To `jiff` and back.

use super::*;

#[test]
fn times_and_spans_go_around() {
    for (seconds, nanos) in [(0, 0), (-1, 999_999_999), (-2, 5), (1_700_000_000, 5)] {
        let time = Timestamp::of(seconds, nanos);
        let theirs = Instant::try_from(time).unwrap();
        let total = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        assert_eq!((theirs.as_nanosecond(), Timestamp::from(theirs)), (total, time));
    }
    assert_eq!(Timestamp::from(Instant::try_from(Timestamp::min()).unwrap()), Timestamp::min());
    for (seconds, nanos) in [(0, 0), (0, -1), (-5, -999_999_999), (315_576_000_000, 1)] {
        let span = Duration::of(seconds, nanos);
        let theirs = SignedDuration::from(span);
        assert_eq!((theirs.as_secs(), Duration::try_from(theirs)), (seconds, Ok(span)));
    }
    assert!(Instant::try_from(Timestamp::of(i64::MAX, 0)).is_err());
    assert!(Duration::try_from(SignedDuration::MAX).is_err());
    assert_eq!(SignedDuration::from(Duration::of(i64::MIN, i32::MIN)), SignedDuration::MIN);
}

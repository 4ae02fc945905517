//! To `chrono` and back.

use super::*;

#[test]
fn times_and_spans_go_around() {
    for (seconds, nanos) in [(0, 0), (-1, 999_999_999), (1_700_000_000, 5)] {
        let time = Timestamp::of(seconds, nanos);
        let theirs = DateTime::<Utc>::try_from(time).unwrap();
        assert_eq!((theirs.timestamp(), Timestamp::from(theirs)), (seconds, time));
    }
    for time in [Timestamp::min(), Timestamp::max()] {
        assert_eq!(Timestamp::from(DateTime::<Utc>::try_from(time).unwrap()), time);
    }
    for (seconds, nanos) in [(0, 0), (0, -1), (-5, -999_999_999), (315_576_000_000, 1)] {
        let span = Duration::of(seconds, nanos);
        let theirs = TimeDelta::try_from(span).unwrap();
        assert_eq!((theirs.num_seconds(), Duration::try_from(theirs)), (seconds, Ok(span)));
    }
    assert!(DateTime::<Utc>::try_from(Timestamp::of(i64::MAX, 0)).is_err());
    // Their times reach further, and JSON does not have them.
    let early = Timestamp::from(DateTime::<Utc>::MIN_UTC);
    assert!(!early.is_valid());
    assert!(protozero::json::to_string(&early).is_err());
    assert!(TimeDelta::try_from(Duration::of(i64::MIN, 0)).is_err());
    assert!(Duration::try_from(TimeDelta::MAX).is_err());
}

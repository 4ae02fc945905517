//! The range, and conversions.

use std::time::{Duration as Span, SystemTime, UNIX_EPOCH};

use proptest::prelude::*;

use super::*;

#[test]
fn the_range_is_that_of_protobuf() {
    assert!(Timestamp::min().is_valid() && Timestamp::max().is_valid());
    assert!(Timestamp::new(SECONDS_MIN - 1, 0).is_err());
    assert!(Timestamp::new(SECONDS_MAX + 1, 0).is_err());
    assert!(Timestamp::new(0, -1).is_err());
    let error = Timestamp::new(0, 1_000_000_000).unwrap_err();
    let text = "0 s and 1000000000 ns do not fit a google.protobuf.Timestamp";
    assert_eq!(error.to_string(), text);
}

#[test]
fn nanoseconds_count_forward() {
    let before = UNIX_EPOCH - Span::from_millis(1_250);
    assert_eq!(Timestamp::from(before), Timestamp::of(-2, 750_000_000));
    assert_eq!(Timestamp::from(UNIX_EPOCH - Span::from_secs(1)), Timestamp::of(-1, 0));
    assert_eq!(Timestamp::of(-1, -250_000_000).normalized(), Timestamp::of(-2, 750_000_000));
    assert_eq!(Timestamp::of(1, 2_000_000_001).normalized(), Timestamp::of(3, 1));
    assert_eq!(SystemTime::try_from(Timestamp::of(-1, -250_000_000)), Ok(before));
}

#[test]
fn times_and_spans_have_an_order() {
    let times = [(-2, 5), (-1, 0), (-1, 999_999_999), (0, 0), (0, 1)];
    assert!(times.map(|(seconds, nanos)| Timestamp::of(seconds, nanos)).is_sorted());
    let spans = [(-1, -5), (-1, 0), (0, -5), (0, 0), (0, 1), (1, 0)];
    assert!(spans.map(|(seconds, nanos)| crate::Duration::of(seconds, nanos)).is_sorted());
}

#[test]
fn no_value_overflows() {
    assert_eq!(Timestamp::of(i64::MIN, -1).normalized(), Timestamp::of(i64::MIN, 0));
    let last = Timestamp::of(i64::MAX, i32::MAX).normalized();
    assert_eq!(last, Timestamp::of(i64::MAX, 999_999_999));
    let _ = SystemTime::try_from(Timestamp::of(i64::MIN, i32::MIN));
    let _ = SystemTime::try_from(Timestamp::of(i64::MAX, i32::MAX));
}

proptest! {
    #[test]
    fn system_time_goes_around(seconds in -200_000_000_000i64..300_000_000_000, nanos in 0i32..1_000_000_000) {
        let time = Timestamp::of(seconds, nanos);
        prop_assert_eq!(Timestamp::from(SystemTime::try_from(time).unwrap()), time);
    }
}

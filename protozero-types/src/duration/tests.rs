//! The range, the signs, and conversions.

use proptest::prelude::*;

use super::*;

#[test]
fn the_range_is_that_of_protobuf() {
    assert!(Duration::new(SECONDS_MAX, 999_999_999).is_ok());
    assert!(Duration::new(-SECONDS_MAX, -999_999_999).is_ok());
    for (seconds, nanos) in [
        (SECONDS_MAX + 1, 0),
        (-SECONDS_MAX - 1, 0),
        (0, 1_000_000_000),
        (0, -1_000_000_000),
        (1, -1),
        (-1, 1),
    ] {
        assert!(Duration::new(seconds, nanos).is_err(), "{seconds} {nanos}");
    }
    assert!(Duration::try_from(Span::MAX).is_err());
}

#[test]
fn the_signs_become_equal() {
    assert_eq!(Duration::of(1, -1).normalized(), Duration::of(0, 999_999_999));
    assert_eq!(Duration::of(-1, 1).normalized(), Duration::of(0, -999_999_999));
    assert_eq!(Duration::of(2, -1_000_000_001).normalized(), Duration::of(0, 999_999_999));
    assert_eq!(Duration::of(i64::MIN, i32::MIN).normalized(), Duration::of(i64::MIN, -999_999_999));
    assert_eq!(Duration::of(i64::MAX, i32::MAX).normalized(), Duration::of(i64::MAX, 999_999_999));
}

#[test]
fn a_negative_span_is_refused() {
    let error = Span::try_from(Duration::of(0, -1)).unwrap_err();
    assert_eq!(error.to_string(), "0 s and -1 ns do not fit a std::time::Duration");
    assert!(Span::try_from(Duration::of(-1, 0)).is_err());
    assert_eq!(Span::try_from(Duration::of(1, -1)), Ok(Span::new(0, 999_999_999)));
}

proptest! {
    #[test]
    fn spans_go_around(seconds in 0u64..=315_576_000_000, nanos in 0u32..1_000_000_000) {
        let span = Span::new(seconds, nanos);
        prop_assert_eq!(Span::try_from(Duration::try_from(span).unwrap()), Ok(span));
    }

    #[test]
    fn a_normal_span_is_the_same_span(seconds: i32, nanos: i32) {
        let span = Duration::of(seconds.into(), nanos);
        let total = |span: &Duration| i128::from(span.seconds) * 1_000_000_000 + i128::from(span.nanos);
        let normal = span.normalized();
        prop_assert_eq!(total(&normal), total(&span));
        prop_assert!(normal.is_valid());
    }
}

//! Texts, which are those of JSON.

use std::collections::HashSet;

use proptest::prelude::*;
use protozero::json;

use super::*;

#[test]
fn times_and_spans_are_printed_and_parsed() {
    for (text, seconds, nanos) in [
        ("1970-01-01T00:00:00Z", 0, 0),
        ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
        ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999),
        ("2024-02-29T23:59:59.500Z", 1_709_251_199, 500_000_000),
    ] {
        assert_eq!(Timestamp { seconds, nanos }.to_string(), text);
        assert_eq!(text.parse(), Ok(Timestamp { seconds, nanos }));
    }
    assert_eq!("1970-01-01T02:00:00+02:00".parse(), Ok(Timestamp { seconds: 0, nanos: 0 }));
    for (text, seconds, nanos) in [
        ("0s", 0, 0),
        ("-0.500s", 0, -500_000_000),
        ("1.000000001s", 1, 1),
        ("-315576000000s", -315_576_000_000, 0),
    ] {
        assert_eq!(Duration { seconds, nanos }.to_string(), text);
        assert_eq!(text.parse(), Ok(Duration { seconds, nanos }));
    }
    assert_eq!("1.5s".parse(), Ok(Duration { seconds: 1, nanos: 500_000_000 }));
}

#[test]
fn what_has_no_text_is_still_printed() {
    assert_eq!(Timestamp { seconds: 1, nanos: -1 }.to_string(), "1 s and -1 ns since 1970");
    assert_eq!(Duration { seconds: 1, nanos: -1 }.to_string(), "1 s and -1 ns");
    for text in ["", "1970-01-01", "1970-01-01T00:00:00", "10000-01-01T00:00:00Z", "1 s", "now"] {
        let error = text.parse::<Timestamp>().unwrap_err();
        let expected = "expected a time such as 2026-01-31T23:59:59.5Z, in the range of protobuf";
        assert_eq!(error.to_string(), expected);
    }
    for text in ["", "1", "s", "1.s", "1e3s", "315576000001s"] {
        let error = text.parse::<Duration>().unwrap_err();
        let expected = "expected a duration such as 1.5s, in the range of protobuf";
        assert_eq!(error.to_string(), expected);
    }
}

/// As the types of prost are: a time is copied, and is a key.
#[test]
fn well_known_types_are_keys() {
    fn is_key<T: Eq + std::hash::Hash>() {}
    let time = Timestamp { seconds: 1, nanos: 2 };
    let Timestamp { seconds, nanos } = time;
    assert_eq!((time, Timestamp { seconds, nanos }), (time, time));
    assert!(HashSet::from([time]).contains(&time));
    is_key::<Duration>();
    is_key::<crate::Any>();
    is_key::<crate::Empty>();
    is_key::<crate::FieldMask>();
    is_key::<crate::StringValue>();
    is_key::<crate::BytesValue>();
    let kind = crate::value::Kind::BoolValue(true);
    assert_eq!(crate::Value::from(true).kind, Some(kind));
}

proptest! {
    #[test]
    fn a_text_is_that_of_json(seconds in -62_135_596_800i64..=253_402_300_799, nanos in 0i32..1_000_000_000) {
        let time = Timestamp { seconds, nanos };
        prop_assert_eq!(format!("\"{time}\""), json::to_string(&time).unwrap());
        prop_assert_eq!(time.to_string().parse(), Ok(time));
        let span = Duration { seconds, nanos: if seconds < 0 { -nanos } else { nanos } };
        prop_assert_eq!(format!("\"{span}\""), json::to_string(&span).unwrap());
        prop_assert_eq!(span.to_string().parse(), Ok(span));
    }
}

//! Packing and unpacking.

use alloc::string::ToString as _;
use alloc::vec;

use protozero::{DecodeErrorKind, DecodeOptions};

use super::*;
use crate::google::protobuf::{Field, Type};
use crate::{Duration, Timestamp};

#[test]
fn only_the_type_that_was_packed_comes_out() {
    let time = Timestamp::new(5, 6).unwrap();
    let any = Any::pack(&time).unwrap();
    assert_eq!(any.type_url, "type.googleapis.com/google.protobuf.Timestamp");
    assert_eq!(any.full_name(), Some("google.protobuf.Timestamp"));
    assert!(any.is::<Timestamp>() && !any.is::<Duration>());
    assert_eq!(any.unpack(), Ok(time));
    let error = any.unpack::<Duration>().unwrap_err().to_string();
    let text = "expected a google.protobuf.Duration, found \
                \"type.googleapis.com/google.protobuf.Timestamp\"";
    assert_eq!(error, text);
}

#[test]
fn any_host_and_no_name() {
    let any = |url: &str| Any { type_url: url.into(), ..Any::default() };
    assert!(any("example.com/of/types/google.protobuf.Timestamp").is::<Timestamp>());
    for url in ["", "google.protobuf.Timestamp", "host/", "host/google.protobuf.Timestamp2"] {
        assert!(!any(url).is::<Timestamp>(), "{url}");
    }
}

#[test]
fn malformed_bytes_are_an_error() {
    let mut any = Any::pack(&Timestamp::default()).unwrap();
    any.value = vec![8];
    assert!(matches!(any.unpack::<Timestamp>(), Err(UnpackError::Decode(_))));
}

/// Four thousand empty messages, two bytes each.
fn large() -> Any {
    let message = Type { fields: vec![Field::default(); 1 << 12], ..Type::default() };
    Any::pack(&message).unwrap()
}

#[test]
fn limits_hold_for_what_is_packed() {
    let any = large();
    let within = |limits: DecodeOptions| match any.unpack_with::<Type>(&limits) {
        Ok(message) => Ok(message.fields.len()),
        Err(UnpackError::Decode(error)) => Err(error.kind),
        Err(other) => panic!("{other}"),
    };
    let limits = DecodeOptions::new();
    let enough = size_of::<Field>() << 12;
    assert_eq!(within(limits.memory_max(enough - 1)), Err(DecodeErrorKind::TooMuchMemory));
    assert_eq!(within(limits.memory_max(enough)), Ok(1 << 12));
    assert_eq!(within(limits.depth_max(0)), Err(DecodeErrorKind::TooDeep));
    assert_eq!(within(limits), Ok(1 << 12));
}

#[cfg(feature = "reflect")]
#[test]
fn limits_hold_for_what_is_unpacked_as_a_dynamic_message() {
    let registry = protozero::Registry::new();
    registry.add::<Type>().unwrap();
    let any = large();
    let within = |limits: DecodeOptions| match any.unpack_dynamic_with(&registry, &limits) {
        Ok(message) => Ok(message == any.unpack_dynamic(&registry).unwrap()),
        Err(UnpackError::Decode(error)) => Err(error.kind),
        Err(other) => panic!("{other}"),
    };
    let limits = DecodeOptions::new();
    assert_eq!(within(limits.memory_max(1 << 12)), Err(DecodeErrorKind::TooLarge));
    assert_eq!(within(limits.depth_max(0)), Err(DecodeErrorKind::TooDeep));
    assert_eq!(within(limits), Ok(true));
}

#[cfg(feature = "reflect")]
#[test]
fn a_registry_knows_the_type() {
    let registry = protozero::Registry::new();
    let any = Any::pack(&Timestamp::new(5, 6).unwrap()).unwrap();
    let unknown = any.unpack_dynamic(&registry).unwrap_err();
    assert!(unknown.to_string().contains("Registry::add"), "{unknown}");
    registry.add::<Timestamp>().unwrap();
    let message = any.unpack_dynamic(&registry).unwrap();
    assert_eq!(message.get("nanos").and_then(|nanos| nanos.as_i64()), Some(6));
}

#[cfg(feature = "reflect")]
#[test]
fn json_shows_the_content_of_types_that_were_added() {
    use protozero::json;

    let message = Any::pack(&crate::StringValue::from("x")).unwrap();
    protozero::Registry::global().add::<crate::StringValue>().unwrap();
    let text = r#"{"@type":"type.googleapis.com/google.protobuf.StringValue","value":"x"}"#;
    assert_eq!(json::to_string(&message).unwrap(), text);
    assert_eq!(json::from_str::<Any>(text).unwrap(), message);
}

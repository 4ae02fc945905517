//! Plain types of Rust in place of well-known messages: the same bytes, and the same JSON.

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use super::direct::{reads, same};
use crate::descriptor::{self as d, Kind};
use crate::{Message, UnknownFields, rt};

/// A struct with messages, and one with plain types, both with the same descriptor.
macro_rules! both {
    ($($name:ident: $text:ty = $kind:ident($text_kind:ty), $empty:ty = $empty_kind:ident;)*) => {$(
        #[derive(Clone, PartialEq, Default)]
        struct $name {
            text: Option<$text>,
            empty: Option<$empty>,
            many: Vec<$text>,
            by_id: BTreeMap<i32, $text>,
            unknown_fields: UnknownFields,
        }
        rt::owned! { $name;
            map by_id = 4 as Int32, $kind($text_kind);
            repeated many = 3 as $kind($text_kind);
            optional empty = 2 as $empty_kind($empty);
            optional text = 1 as $kind($text_kind);
        }
        d::describe! { $name, d::message("t.All", &[
            d::optional("text", 1, Kind::Message(|| StringValue::DESCRIPTOR)),
            d::optional("empty", 2, Kind::Message(|| Empty::DESCRIPTOR)),
            d::repeated("many", 3, Kind::Message(|| StringValue::DESCRIPTOR)),
            d::map("by_id", 4, &[Kind::Int32, Kind::Message(|| StringValue::DESCRIPTOR)]),
        ]) }
    )*};
}

both! {
    Messages: StringValue = Nested(StringValue), Empty = Nested;
    Plain: String = Wrapped(rt::owned::Utf8), () = Nested;
}

#[derive(Clone, PartialEq, Default)]
struct StringValue {
    value: String,
    unknown_fields: UnknownFields,
}
rt::owned! { StringValue; implicit value = 1 as Utf8; }
d::describe! { StringValue, d::message("google.protobuf.StringValue", &[
    d::optional("value", 1, Kind::String).implicit(),
]) }

#[derive(Clone, PartialEq, Default)]
struct Empty {
    unknown_fields: UnknownFields,
}
rt::owned! { Empty; }
d::describe! { Empty, d::message("google.protobuf.Empty", &[]) }

#[test]
fn plain_types_are_like_messages() {
    for text in [
        "{}",
        r#"{"text":""}"#,
        r#"{"text":"a","empty":{},"many":["","b\n"],"byId":{"1":"","2":"c"}}"#,
        r#"{"text":null,"empty":null}"#,
    ] {
        reads::<Plain>(text, true);
        let plain: Plain = crate::json::from_str(text).expect(text);
        let messages: Messages = crate::json::from_str(text).expect(text);
        assert_eq!(plain.encode_to_vec(), messages.encode_to_vec(), "{text}");
        assert_eq!(Plain::decode(&messages.encode_to_vec()), Ok(plain.clone()), "{text}");
        same(&plain, true);
    }
    for text in [r#"{"text":{}}"#, r#"{"text":1}"#, r#"{"empty":{"a":1}}"#, r#"{"many":[null]}"#] {
        reads::<Plain>(text, false);
    }
    // What the messages do not have is dropped; the last value counts.
    let plain = Plain::decode(b"\x0a\x05\x10\x01\x0a\x01a\x12\x02\x08\x01\x0a\x03\x0a\x01b");
    let expected = Plain { text: Some("b".into()), empty: Some(()), ..Plain::default() };
    assert_eq!(plain, Ok(expected));
    let error = Plain::decode(b"\x0a\x03\x0a\x01\xff").expect_err("not UTF-8");
    assert_eq!(error.path(), "t.All.text.value");
}

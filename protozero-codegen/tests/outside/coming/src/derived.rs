//! A derived message with a name is the same as one that is generated from its `.proto` file: descriptor, JSON, text and
//! bytes.

use std::collections::{BTreeMap, HashMap};

use protozero::descriptor::{FieldDescriptor, Kind, MessageDescriptor};
use protozero::json::{self, ParseOptions, PrintOptions};
use protozero::{Enumeration, Message, Named, Oneof, Reflect, UnknownFields, text};
use protozero_types::Timestamp;

use crate::described::described::v1 as generated;

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(name = "described.v1.Order")]
struct Order {
    #[pb(uint64, 1)]
    order_id: u64,
    #[pb(string, 2)]
    r#type: Option<String>,
    #[pb(message, 3, repeated)]
    lines: Vec<Line>,
    #[pb(enumeration, 4)]
    status: Status,
    #[pb(enumeration, 5)]
    mode: Option<Mode>,
    #[pb(map(string, message), 6)]
    by_name: BTreeMap<String, Line>,
    #[pb(map(int32, enumeration), 7)]
    by_id: HashMap<i32, Status>,
    #[pb(oneof, 8, 9, 10, 20, 22)]
    paid: Option<Paid>,
    #[pb(message, 12, boxed)]
    parent: Option<Box<Order>>,
    #[pb(message, 13)]
    at: Option<Timestamp>,
    #[pb(group, 14)]
    group: Option<Line>,
    #[pb(sint32, 15, packed)]
    packed: Vec<i32>,
    #[pb(sint32, 16, repeated)]
    expanded: Vec<i32>,
    #[pb(bytes, 17, name = "rawBytes", json = "@raw")]
    raw: Vec<u8>,
    #[pb(bool, 18, required)]
    is_new: bool,
    #[pb(string, 19, or_unknown)]
    loose: String,
    #[pb(enumeration, 21, packed)]
    modes: Vec<Mode>,
    #[pb(string, 23, repeated)]
    texts: Vec<String>,
    #[pb(map(bool, bytes), 24)]
    by_flag: BTreeMap<bool, Vec<u8>>,
    #[pb(double, 25)]
    ratio: f64,
    #[pb(fixed64, 26)]
    fixed: u64,
    #[pb(unknown)]
    rest: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Default, Message)]
#[pb(name = "described.v1.Line")]
struct Line {
    #[pb(string, 1)]
    name: String,
    #[pb(float, 2)]
    price: Option<f32>,
    #[pb(unknown)]
    rest: UnknownFields,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
enum Paid {
    #[pb(uint64, 8)]
    CardNumber(u64),
    #[pb(message, 9)]
    Refund(Line),
    #[pb(message, 10, boxed)]
    OtherOrder(Box<Order>),
    #[pb(enumeration, 20, name = "byMode", json = "mode2")]
    ByMode(Mode),
    #[pb(string, 22, or_unknown)]
    LooseText(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(name = "described.v1.Status", values(STATUS_NONE = 0, STATUS_SHIPPED = 1))]
struct Status(i32);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Enumeration)]
#[pb(name = "described.v1.Mode")]
enum Mode {
    #[default]
    #[pb(name = "MODE_OFF")]
    Off = 0,
    #[pb(name = "MODE_ON")]
    On = 1,
}

/// What a descriptor says, without the messages in it.
fn shown(message: &MessageDescriptor) -> Vec<String> {
    let kind = |kind: &Kind| match kind {
        Kind::Map(kinds) => format!("{} to {}", kinds[0].name(), kinds[1].name()),
        Kind::Enum(of) => format!("{} {:?} {}", of.name, of.values, of.closed),
        other => other.name().to_owned(),
    };
    let field = |field: &FieldDescriptor| {
        let FieldDescriptor {
            name,
            number,
            label,
            presence,
            oneof,
            delimited,
            utf8,
            json_name,
            ..
        } = field;
        let of = kind(&field.kind);
        format!(
            "{name} {number} {label:?} {of} {presence:?} {oneof:?} {delimited} {utf8} {json_name:?}"
        )
    };
    let mut all = vec![message.name.to_owned()];
    all.extend(message.fields.iter().map(field));
    all
}

#[test]
fn descriptors_are_equal() {
    assert_eq!(shown(Order::DESCRIPTOR), shown(generated::Order::DESCRIPTOR));
    assert_eq!(shown(Line::DESCRIPTOR), shown(generated::Line::DESCRIPTOR));
    assert_eq!(Order::FULL_NAME, generated::Order::FULL_NAME);
}

/// JSON texts that set each kind of field.
const TEXTS: &[&str] = &[
    r#"{"isNew":true}"#,
    r#"{"orderId":"18446744073709551615","type":"","lines":[{"name":"ß","price":0.5},{}],"isNew":false}"#,
    r#"{"status":"STATUS_SHIPPED","mode":"MODE_ON","isNew":false,"modes":["MODE_ON","MODE_OFF"]}"#,
    r#"{"status":7,"byName":{"":{},"a":{"name":"b"}},"byId":{"-1":"STATUS_SHIPPED","2":5},"isNew":true}"#,
    r#"{"cardNumber":"0","isNew":false}"#,
    r#"{"refund":{"price":-1.5},"isNew":false}"#,
    r#"{"otherOrder":{"parent":{"isNew":true},"isNew":false},"isNew":true}"#,
    r#"{"isNew":true,"mode2":"MODE_OFF"}"#,
    r#"{"isNew":true,"looseText":"x"}"#,
    r#"{"at":"2026-01-02T03:04:05.600Z","group":{"name":"g"},"packed":[1,-1],"expanded":[-300],"isNew":true}"#,
    r#"{"@raw":"/wA=","isNew":true,"loose":"l","texts":["","t"],"byFlag":{"false":"","true":"AA=="}}"#,
    r#"{"isNew":true,"ratio":"NaN","fixed":"1"}"#,
    r#"{"isNew":true,"ratio":1.0,"unknown":1}"#,
];

#[test]
fn json_text_and_bytes_are_equal() {
    let parse = ParseOptions { ignore_unknown: true, ..ParseOptions::default() };
    for source in TEXTS {
        let ours: Order = json::from_str_with(source, &parse).unwrap();
        let theirs: generated::Order = json::from_str_with(source, &parse).unwrap();
        let bytes = theirs.encode_to_vec();
        assert_eq!(ours.encode_to_vec(), bytes, "{source}");
        for bits in 0..16 {
            let options = PrintOptions {
                original_names: bits & 1 != 0,
                defaults: bits & 2 != 0,
                enums_as_numbers: bits & 4 != 0,
                pretty: bits & 8 != 0,
            };
            let printed = json::to_string_with(&ours, &options).unwrap();
            assert_eq!(printed, json::to_string_with(&theirs, &options).unwrap());
            let again: Order = json::from_str(&printed).unwrap();
            assert_eq!(again.encode_to_vec(), bytes, "{printed}");
        }
        let printed = json::to_string(&ours).unwrap();
        let same = source.contains("unknown") || printed == *source;
        assert!(same, "{source}\n{printed}");
        let options = text::PrintOptions::default();
        let of = |descriptor| text::print_bytes(descriptor, &bytes, &options).unwrap();
        let printed = of(Order::DESCRIPTOR);
        assert_eq!(printed, of(generated::Order::DESCRIPTOR));
        let parsed = text::parse(Order::DESCRIPTOR, printed.as_bytes(), &text::Options::default());
        assert_eq!(parsed, Ok(bytes.clone()));
        assert_eq!(ours.to_dynamic().unwrap().encode(), bytes);
    }
}

#[test]
fn wrong_json_has_the_same_error() {
    for source in [
        r#"{"isNew":1}"#,
        r#"{"unknown":1}"#,
        r#"{"mode":"OFF"}"#,
        r#"{"cardNumber":1,"mode2":0}"#,
        r#"{"lines":[{"price":"x"}]}"#,
        r#"{"byId":{"a":1}}"#,
        r#"{"orderId":-1}"#,
    ] {
        let ours = json::from_str::<Order>(source).unwrap_err();
        let theirs = json::from_str::<generated::Order>(source).unwrap_err();
        assert_eq!(ours.to_string(), theirs.to_string(), "{source}");
    }
}

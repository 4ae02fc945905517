//! One order of bytes: generated messages, derived ones, dynamic ones, JSON and text give the same bytes for the same
//! value.

use std::collections::{BTreeMap, HashMap};

use protozero::dynamic::{DynamicMessage, MessageDescriptor};
use protozero::{Message, Named, Oneof, Reader, UnknownFields, json, text};

use crate::differential::{any_message, descriptor};
use crate::golden::cases::order::{Mixed, Mixed_PickOneof, Mixed_SecondOneof};
use crate::golden::cases::{self, three::Three};

/// As `cases.order.Mixed`, written by hand in another order.
#[derive(Clone, PartialEq, Debug, Default, Message)]
struct Derived {
    #[pb(message, 3, repeated)]
    children: Vec<Derived>,
    #[pb(map(bool, bytes), 8)]
    by_flag: HashMap<bool, Vec<u8>>,
    #[pb(oneof, 7, 1)]
    second: Option<Second>,
    #[pb(map(string, message), 300)]
    by_name: HashMap<String, Derived>,
    #[pb(unknown)]
    unknown_fields: UnknownFields,
    #[pb(fixed64, 2)]
    first: Option<u64>,
    #[pb(oneof, 12, 9, 5, 4)]
    pick: Option<Pick>,
    #[pb(string, 20)]
    last: Option<String>,
    #[pb(map(sint64, int32), 11)]
    by_id: BTreeMap<i64, i32>,
    #[pb(int32, 6, packed)]
    numbers: Vec<i32>,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
enum Pick {
    #[pb(message, 9, boxed)]
    Nested(Box<Derived>),
    #[pb(string, 12)]
    Text(String),
    #[pb(int32, 4)]
    Number(i32),
    #[pb(int32, 5)]
    Other(i32),
}

#[derive(Clone, PartialEq, Debug, Oneof)]
enum Second {
    #[pb(bool, 7)]
    Yes(bool),
    #[pb(bytes, 1)]
    Raw(Vec<u8>),
}

/// The numbers of the fields in `bytes`, without repetitions.
fn numbers(bytes: &[u8]) -> Vec<u32> {
    let mut reader = Reader::new(bytes);
    let fields = std::iter::from_fn(|| reader.next_field().unwrap());
    let mut numbers: Vec<u32> = fields.map(|field| field.number).collect();
    numbers.dedup();
    numbers
}

#[test]
fn each_member_of_a_oneof_has_the_place_of_its_number() {
    let with = |pick, second| Mixed {
        first: Some(1),
        children: vec![Mixed::default(); 2],
        numbers: vec![1],
        by_flag: [(true, vec![]), (false, vec![])].into(),
        by_id: [(1, 1), (-1, 1)].into(),
        last: Some(String::new()),
        by_name: [("b".into(), Mixed::default()), ("a".into(), Mixed::default())].into(),
        pick,
        second,
        ..Mixed::default()
    };
    let others = [2, 3, 6, 8, 11, 20, 300];
    let (number, other) = (Mixed_PickOneof::Number(1), Mixed_PickOneof::Other(1));
    let (nested, text) =
        (Mixed_PickOneof::Nested(Box::default()), Mixed_PickOneof::Text("x".into()));
    let (yes, raw) = (Mixed_SecondOneof::Yes(true), Mixed_SecondOneof::Raw(vec![]));
    for (pick, second, two) in [
        (None, None, &[][..]),
        (Some(number), Some(yes.clone()), &[4, 7]),
        (Some(other), Some(raw.clone()), &[1, 5]),
        (Some(nested), Some(yes), &[7, 9]),
        (Some(text), Some(raw), &[1, 12]),
    ] {
        let message = with(pick, second);
        let bytes = message.encode_to_vec();
        let mut expected = [&others[..], two].concat();
        expected.sort_unstable();
        assert_eq!(numbers(&bytes), expected);
        assert_eq!(Mixed::decode(&bytes).unwrap(), message);
        assert_eq!(Derived::decode(&bytes).unwrap().encode_to_vec(), bytes);
    }
}

/// Decodes `bytes` in each way and encodes the result.
fn check<M: Message + Named + 'static>(bytes: &[u8]) {
    let of = M::descriptor();
    let mut message = DynamicMessage::decode(of.clone(), bytes).unwrap();
    let encoded = M::decode(bytes).unwrap().encode_to_vec();
    assert_eq!(message.encode(), encoded, "{}", M::FULL_NAME);
    assert_eq!(M::decode(&encoded).unwrap().encode_to_vec(), encoded, "{}", M::FULL_NAME);
    if M::FULL_NAME == Mixed::FULL_NAME {
        assert_eq!(Derived::decode(bytes).unwrap().encode_to_vec(), encoded);
    }
    // Structs are printed without these bytes, if they have no unknown fields.
    let struct_json = |bytes| json::to_string(&M::decode(bytes).unwrap()).ok();
    let bytes_json = |bytes| json::print_bytes(&of, bytes, &json::PrintOptions::default()).ok();
    assert_eq!(struct_json(&encoded), bytes_json(&encoded), "{}", M::FULL_NAME);
    // These formats have no unknown fields.
    message.unknown_fields_mut().clear();
    let encoded = message.encode();
    let json = message.to_json().unwrap();
    assert_eq!(struct_json(&encoded).as_ref(), Some(&json), "{}", M::FULL_NAME);
    assert_eq!(parsed(&of, &json), encoded, "{json}");
    assert_eq!(json::from_str::<M>(&json).unwrap().encode_to_vec(), encoded, "{json}");
    let text = message.to_text();
    assert_eq!(DynamicMessage::from_text(of, &text).unwrap().encode(), encoded, "{text}");
    let wire = text::parse(M::SCHEMA.unwrap(), text.as_bytes(), &text::Options::default());
    assert_eq!(wire.unwrap(), encoded, "{text}");
}

fn parsed(of: &MessageDescriptor, json: &str) -> Vec<u8> {
    json::parse(of, json.as_bytes(), &json::ParseOptions::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn all_faces_write_the_same_bytes() {
    fn all<M: Message + Named + 'static>() {
        any_message(&descriptor(M::FULL_NAME), check::<M>);
    }
    all::<Mixed>();
    all::<Three>();
    all::<cases::Scalars>();
    all::<cases::Tree>();
    all::<cases::Option_>();
}

#[test]
fn fields_and_keys_of_json_may_have_any_order() {
    let of = Mixed::descriptor();
    let sorted = r#"{"first":"1","children":[{"number":1,"last":"x"}],"nested":{"raw":"AA==","by_flag":{}},
        "byId":{"-300":1,"-2":2,"7":3},"byName":{"":{},"a":{},"ab":{"number":1},"b":{}}}"#;
    let mixed = r#"{"byName":{"b":{},"ab":{"number":1},"":{},"a":{}},
        "nested":{"by_flag":{},"raw":"AA=="},"byId":{"7":3,"-2":2,"-300":1},
        "children":[{"last":"x","number":1}],"first":"1"}"#;
    assert_eq!(parsed(&of, mixed), parsed(&of, sorted));
    check::<Mixed>(&parsed(&of, mixed));
    assert_eq!(numbers(&parsed(&of, mixed)), [2, 3, 9, 11, 300]);
}

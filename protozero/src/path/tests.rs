//! Paths of owned messages, of readers with a descriptor, and of dynamic messages: the same field is named.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::descriptor as d;
use crate::{DecodeErrorKind, Message, Named, Oneof, Reader, UnknownFields, rt};

/// A struct without a schema: its names are those of Rust.
#[derive(Clone, PartialEq, Debug, Default, crate::Message)]
#[pb(crate = crate, skip_unknown)]
struct Derived {
    #[pb(string, 1)]
    r#type: String,
    #[pb(message, 2, repeated)]
    lines: Vec<Derived>,
    #[pb(map(string, message), 3)]
    by_name: BTreeMap<String, Derived>,
    #[pb(map(sint32, string), 4)]
    by_number: BTreeMap<i32, String>,
    #[pb(oneof, 5, 6)]
    way: Option<Way>,
    #[pb(uint32, 7, packed)]
    numbers: Vec<u32>,
    #[pb(string, 8, repeated)]
    notes: Vec<String>,
    #[pb(fixed32, 9, packed)]
    words: Vec<u32>,
    #[pb(message, 10, boxed)]
    next: Option<Box<Derived>>,
    #[pb(map(bool, string), 11)]
    flags: BTreeMap<bool, String>,
    #[pb(group, 12)]
    group: Option<Inner>,
}

#[derive(Clone, PartialEq, Debug, Default, crate::Message)]
#[pb(crate = crate, skip_unknown)]
struct Inner {
    #[pb(string, 1)]
    text: String,
}

#[derive(Clone, PartialEq, Debug, Oneof)]
#[pb(crate = crate)]
enum Way {
    #[pb(string, 5)]
    ByShip(String),
    #[pb(message, 6)]
    OnFoot(Inner),
}

/// The same as `rt::owned!` makes it, with a name.
#[derive(Clone, PartialEq, Default)]
struct Made {
    r#type: String,
    lines: Vec<Made>,
    by_name: BTreeMap<String, Made>,
    by_number: BTreeMap<i32, String>,
    way: Option<MadeWay>,
    numbers: Vec<u32>,
    notes: Vec<String>,
    words: Vec<u32>,
    next: Option<Box<Made>>,
    flags: BTreeMap<bool, String>,
    group: Option<Box<MadeInner>>,
    unknown_fields: UnknownFields,
}

rt::owned! { Made;
    optional group = 12 as Group(Box<MadeInner>);
    map flags = 11 as Bool, Utf8;
    optional next = 10 as Nested(Box<Made>);
    packed words = 9 as Fixed32;
    repeated notes = 8 as Utf8;
    packed numbers = 7 as Uint32;
    oneof way = 5 | 6;
    map by_number = 4 as Sint32, Utf8;
    map by_name = 3 as Text, Nested(Made);
    repeated lines = 2 as Nested(Made);
    implicit r#type = 1 as Utf8;
}
rt::named!(Made, "shop.Order");

#[derive(Clone, PartialEq, Debug)]
enum MadeWay {
    ByShip(String),
    OnFoot(MadeInner),
}

rt::oneof! { MadeWay;
    ByShip = 5 as Utf8;
    OnFoot = 6 as Nested(MadeInner);
}

#[derive(Clone, PartialEq, Default)]
struct MadeInner {
    text: String,
    unknown_fields: UnknownFields,
}

rt::owned! { MadeInner;
    implicit text = 1 as Utf8;
}

/// The same with a descriptor.
const SCHEMA: &d::MessageDescriptor = &d::message(
    "shop.Order",
    &[
        d::optional("type", 1, d::Kind::String),
        d::repeated("lines", 2, d::Kind::Message(|| SCHEMA)),
        d::map("by_name", 3, &[d::Kind::String, d::Kind::Message(|| SCHEMA)]),
        d::map("by_number", 4, &[d::Kind::Sint32, d::Kind::String]).utf8(),
        d::optional("by_ship", 5, d::Kind::String).utf8(),
        d::optional("on_foot", 6, d::Kind::Message(|| INNER)),
        d::packed("numbers", 7, d::Kind::Uint32),
        d::repeated("notes", 8, d::Kind::String).utf8(),
        d::packed("words", 9, d::Kind::Fixed32),
        d::optional("next", 10, d::Kind::Message(|| SCHEMA)),
        d::map("flags", 11, &[d::Kind::Bool, d::Kind::String]).utf8(),
        d::optional("group", 12, d::Kind::Message(|| INNER)).delimited(),
    ],
);
const INNER: &d::MessageDescriptor =
    &d::message("shop.Inner", &[d::optional("text", 1, d::Kind::String).utf8()]);

/// With a table of less code, and so with numbers or, here, a descriptor.
#[derive(PartialEq, Default)]
struct Small {
    lines: Vec<Small>,
    notes: Vec<String>,
    unknown_fields: UnknownFields,
}

rt::compact! { Small;
    repeated notes = 8 as Utf8;
    repeated lines = 2 as Nested(Small);
}

impl Named for Small {
    const FULL_NAME: &'static str = "shop.Order";
    const SCHEMA: Option<&'static d::MessageDescriptor> = Some(SCHEMA);
}

/// A compact message without one.
#[derive(PartialEq, Default)]
struct Bare {
    lines: Vec<Bare>,
    notes: Vec<String>,
    unknown_fields: UnknownFields,
}

rt::compact! { Bare;
    repeated notes = 8 as Utf8;
    repeated lines = 2 as Nested(Bare);
}

/// Path and offset of the error in `bytes`.
fn of<M: Message>(bytes: &[u8]) -> (String, usize) {
    let error = M::decode(bytes).expect_err("an error");
    (error.path().to_string(), error.offset)
}

/// All messages find the error of `bytes` at `offset`, in the field `path` of the message.
fn check(bytes: &[u8], offset: usize, path: &str) {
    assert_eq!(of::<Made>(bytes), (format!("shop.Order{path}"), offset), "{bytes:x?}");
    assert_eq!(of::<Derived>(bytes), (format!("Derived{path}"), offset), "{bytes:x?}");
    let mut error = Reader::new(b"\x08").next_field().unwrap_err();
    error.offset = offset;
    assert_eq!(error.path(SCHEMA, bytes).to_string(), format!("shop.Order{path}"));
}

#[test]
fn a_field_is_named() {
    check(b"\x0a\x01\xff", 0, ".type");
    check(b"\x0a\x05a", 0, ".type");
    check(b"\x38\x01\x0a\x01\xff", 2, ".type");
    check(b"\x2a\x01\xff", 0, ".by_ship");
    check(b"\x32\x03\x0a\x01\xff", 2, ".on_foot.text");
    check(b"\x63\x0a\x01\xff\x64", 1, ".group.text");
    check(b"\x52\x05\x52\x03\x0a\x01\xff", 4, ".next.next.type");
}

#[test]
fn an_element_has_its_index() {
    check(b"\x12\x00\x0a\x00\x12\x00\x12\x03\x0a\x01\xff", 8, ".lines[2].type");
    check(b"\x12\x05\x12\x03\x0a\x01\xff", 4, ".lines[0].lines[0].type");
    check(b"\x42\x01a\x42\x01\xff", 3, ".notes[1]");
    check(b"\x12\x00\x12\x05\x12\x09", 2, ".lines[1]");
}

#[test]
fn a_packed_element_has_its_index() {
    // Three elements, and one without its end.
    check(b"\x38\x01\x3a\x03\x01\x81\x01\x38\xff", 7, ".numbers[3]");
    // A packed field whose length is wrong, as a whole.
    check(b"\x4a\x04\0\0\0\0\x4a\x03\0\0\0", 6, ".words");
    check(b"\x4a\x08\0\0\0\0\0\0\0\0\x4d\0\0", 10, ".words[2]");
}

#[test]
fn an_entry_has_its_key() {
    check(b"\x1a\x08\x0a\x01k\x12\x03\x0a\x01\xff", 7, ".by_name[\"k\"].type");
    // The value before the key.
    check(b"\x1a\x08\x12\x03\x0a\x01\xff\x0a\x01k", 4, ".by_name[\"k\"].type");
    check(b"\x1a\x05\x12\x03\x0a\x01\xff", 4, ".by_name[\"\"].type");
    check(b"\x22\x05\x08\x03\x12\x01\xff", 4, ".by_number[-2]");
    check(b"\x22\x03\x12\x01\xff", 2, ".by_number[0]");
    check(b"\x5a\x05\x08\x01\x12\x01\xff", 4, ".flags[true]");
    check(b"\x22\x02\x08\x80", 2, ".by_number.key");
    check(b"\x22\x09", 0, ".by_number");
    // Control characters and long keys would disturb a terminal.
    check(b"\x1a\x08\x0a\x01\n\x12\x03\x0a\x01\xff", 7, ".by_name[\"\\n\"].type");
    let long = [b"\x1a\x39\x0a\x32".as_slice(), &[b'k'; 50], b"\x12\x03\x0a\x01\xff"].concat();
    check(&long, 56, &format!(".by_name[\"{}...\"].type", "k".repeat(40)));
}

#[test]
fn what_has_no_name_is_its_number() {
    check(b"\xf8\x06\x80", 0, ".111");
    // A malformed tag is at no field, but in a message.
    check(b"\x12\x00\x12\x01\x07", 4, ".lines[1]");
    check(b"\x00", 0, "");
    assert_eq!(of::<Bare>(b"\x12\x00\x12\x03\x42\x01\xff"), ("Bare.2.8".into(), 4));
    assert_eq!(of::<Bare>(b"\x12\x00\x12\x02\x42\x01"), ("Bare.2.8".into(), 4));
}

#[test]
fn the_descriptor_has_the_first_word() {
    let bytes = b"\x12\x00\x12\x03\x42\x01\xff";
    assert_eq!(of::<Small>(bytes), ("shop.Order.lines[1].notes[0]".into(), 4));
    assert_eq!(of::<Box<Small>>(bytes), ("shop.Order.lines[1].notes[0]".into(), 4));
}

#[test]
fn a_path_can_be_left_out() {
    let bytes = b"\x12\x00\x12\x03\x42\x01\xff";
    let error = Made::decode(bytes).unwrap_err();
    assert_eq!(Made::decode_without_path(bytes), Err(error.kind.at(error.offset)));
    let error = rt::decode_within::<Made>(bytes, rt::DecodeContext::new()).unwrap_err();
    assert_eq!(error.to_string(), "arguments: string is not UTF-8 at byte 4");
    let message = Made { r#type: "x".into(), ..Default::default() };
    assert_eq!(Made::decode_without_path(b"\x0a\x01x"), Ok(message));
}

#[test]
fn an_offset_counts_from_the_start_of_the_input() {
    let mut input = b"\x05\x38\x01\x0a\x01\xff".as_slice();
    let error = Made::decode_length_delimited(&mut input).unwrap_err();
    assert_eq!((error.path(), error.offset), ("shop.Order.type", 3));
    let mut input = b"\x05\x38".as_slice();
    let error = Made::decode_length_delimited(&mut input).unwrap_err();
    assert_eq!((error.path(), error.offset), ("", 0));
    assert_eq!(error.to_string(), "the input ends inside a field at byte 0");
}

#[test]
fn a_hundred_levels_have_a_path() {
    let mut bytes = Vec::new();
    for _ in 0..101 {
        let len = u8::try_from(bytes.len()).unwrap_or(0x7f);
        let mut outer = Vec::from([0x52]);
        match bytes.len() {
            0..0x80 => outer.push(len),
            long => outer.extend([long as u8 | 0x80, (long >> 7) as u8]),
        }
        outer.append(&mut bytes);
        bytes = outer;
    }
    let error = Made::decode(&bytes).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::TooDeep);
    assert_eq!(error.path(), format!("shop.Order{}", ".next".repeat(101)));
}

#[cfg(feature = "text")]
#[test]
fn a_dynamic_message_has_the_same_path() {
    use crate::dynamic::{DynamicMessage, MessageDescriptor};
    let check = |bytes: &[u8], offset: usize, path: &str| {
        let error = DynamicMessage::decode(MessageDescriptor::from(SCHEMA), bytes).unwrap_err();
        assert_eq!((error.path(), error.offset), (&*format!("shop.Order{path}"), offset));
    };
    check(b"\x12\x00\x12\x05\x42\x00\x42\x01\xff", 6, ".lines[1].notes[1]");
    check(b"\x1a\x0a\x0a\x01k\x12\x05\x0a\x00\x42\x01\xff", 9, ".by_name[\"k\"].notes[0]");
    check(b"\x22\x05\x08\x03\x12\x01\xff", 4, ".by_number[-2]");
    check(b"\x3a\x04\x01\x81\x01\xff", 5, ".numbers[2]");
    check(b"\x63\x0a\x01\xff\x64", 1, ".group.text");
    check(b"\x12\x00\x12\x01\x07", 4, ".lines[1]");
}

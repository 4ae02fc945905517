//! Structs are printed like their bytes, and directly if their descriptor says what they have.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use proptest::prelude::*;

use crate::descriptor::{self as d, Kind};
use crate::json::{ParseOptions, PrintOptions, from_str, parse, print, print_bytes, to_string};
use crate::{Message, Named, Reflect as _, UnknownFields, rt};

#[derive(Clone, PartialEq, Default)]
struct All {
    small: i32,
    large: Option<u64>,
    ratio: Option<f64>,
    is_on: Option<bool>,
    name: Option<String>,
    raw: Option<Vec<u8>>,
    numbers: Vec<i64>,
    texts: Vec<String>,
    children: Vec<All>,
    child: Option<Box<All>>,
    at: Option<Timestamp>,
    by_flag: BTreeMap<bool, All>,
    by_id: BTreeMap<i32, String>,
    by_fixed: BTreeMap<u64, i32>,
    by_name: BTreeMap<String, i32>,
    pick: Option<Pick>,
    a_name_that_is_longer_than_most: Option<u32>,
    unknown_fields: UnknownFields,
}

#[derive(Clone, PartialEq, Debug)]
enum Pick {
    Number(i32),
    Message(Box<All>),
}

rt::owned! { All;
    optional a_name_that_is_longer_than_most = 40 as Fixed32;
    oneof pick = 20 | 21;
    map by_name = 15 as Text, Int32;
    map by_fixed = 14 as Fixed64, Int32;
    map by_id = 13 as Sint32, Text;
    map by_flag = 12 as Bool, Nested(All);
    optional at = 11 as Nested(Timestamp);
    optional child = 10 as Group(Box<All>);
    repeated children = 9 as Nested(All);
    repeated texts = 8 as Text;
    packed numbers = 7 as Sint64;
    optional raw = 6 as Bytes;
    optional name = 5 as Text;
    optional is_on = 4 as Bool;
    optional ratio = 3 as Double;
    optional large = 2 as Uint64;
    implicit small = 1 as Sint32;
}
rt::oneof! { Pick;
    Number = 20 as Int32;
    Message = 21 as Nested(Box<All>);
}
d::describe! { All, d::message("t.All", &[
    d::optional("small", 1, Kind::Sint32).implicit(),
    d::optional("large", 2, Kind::Uint64),
    d::optional("ratio", 3, Kind::Double),
    d::optional("is_on", 4, Kind::Bool),
    d::optional("name", 5, Kind::String),
    d::optional("raw", 6, Kind::Bytes),
    d::packed("numbers", 7, Kind::Sint64),
    d::repeated("texts", 8, Kind::String),
    d::repeated("children", 9, Kind::Message(|| All::DESCRIPTOR)),
    d::optional("child", 10, Kind::Message(|| All::DESCRIPTOR)).delimited(),
    d::optional("at", 11, Kind::Message(|| Timestamp::DESCRIPTOR)),
    d::map("by_flag", 12, &[Kind::Bool, Kind::Message(|| All::DESCRIPTOR)]),
    d::map("by_id", 13, &[Kind::Sint32, Kind::String]),
    d::map("by_fixed", 14, &[Kind::Fixed64, Kind::Int32]),
    d::map("by_name", 15, &[Kind::String, Kind::Int32]),
    d::optional("number", 20, Kind::Int32).of("pick"),
    d::optional("message", 21, Kind::Message(|| All::DESCRIPTOR)).of("pick"),
    d::optional("a_name_that_is_longer_than_most", 40, Kind::Fixed32),
]) }

#[derive(Clone, PartialEq, Default)]
struct Timestamp {
    seconds: i64,
    nanos: i32,
    unknown_fields: UnknownFields,
}

rt::owned! { Timestamp;
    implicit nanos = 2 as Int32;
    implicit seconds = 1 as Int64;
}
d::describe! { Timestamp, d::message("google.protobuf.Timestamp", &[
    d::optional("seconds", 1, Kind::Int64).implicit(),
    d::optional("nanos", 2, Kind::Int32).implicit(),
]) }

/// A struct whose lines are in the wrong order.
#[derive(Clone, PartialEq, Default)]
struct Turned {
    first: Option<i32>,
    second: Option<i32>,
    unknown_fields: UnknownFields,
}

rt::owned! { Turned;
    optional first = 1 as Int32;
    optional second = 2 as Int32;
}
d::describe! { Turned, d::message("t.Turned", &[
    d::optional("first", 1, Kind::Int32),
    d::optional("second", 2, Kind::Int32),
]) }

/// A struct without one of the fields, which drops what it does not know.
#[derive(Clone, PartialEq, Default)]
struct Dropping {
    first: Option<All>,
}

rt::owned! { Dropping without unknown_fields;
    optional first = 1 as Nested(All);
}
d::describe! { Dropping, d::message("t.Dropping", &[
    d::optional("first", 1, Kind::Message(|| All::DESCRIPTOR)),
    d::repeated("second", 2, Kind::Message(|| All::DESCRIPTOR)),
]) }

/// A struct with one field, and a descriptor that says something else of it.
macro_rules! other {
    ($name:ident, $line:ident $of:ty as $($kind:ident $(($ty:ty))?),+; $said:expr) => {
        #[derive(Clone, PartialEq, Default)]
        struct $name {
            field: $of,
            unknown_fields: UnknownFields,
        }
        rt::owned! { $name; $line field = 1 as $($kind $(($ty))?),+; }
        d::describe! { $name, d::message(concat!("t.", stringify!($name)), &[$said]) }
    };
}

other! { NoField, optional Option<i32> as Int32; d::optional("f", 2, Kind::Int32) }
other! { OtherWire, optional Option<i32> as Int32; d::optional("f", 1, Kind::Fixed32) }
other! { NoList, repeated Vec<String> as Text; d::optional("f", 1, Kind::String) }
other! { AList, optional Option<String> as Text; d::repeated("f", 1, Kind::String) }
other! { NoText, optional Option<String> as Text; d::optional("f", 1, Kind::Message(|| All::DESCRIPTOR)) }
other! { NoGroup, optional Option<All> as Nested(All); d::optional("f", 1, Kind::Message(|| All::DESCRIPTOR)).delimited() }
other! { NoBytes, optional Option<Vec<u8>> as Bytes; d::optional("f", 1, Kind::Message(|| All::DESCRIPTOR)) }
other! { NoBytesGroup, optional Option<Vec<u8>> as Bytes; d::optional("f", 1, Kind::Message(|| All::DESCRIPTOR)).delimited() }
other! { NoMessage, optional Option<All> as Nested(All); d::optional("f", 1, Kind::String) }
other! { NoEntries, optional Option<All> as Nested(All); d::map("f", 1, &[Kind::Int32, Kind::Int32]) }
other! { NoMap, map BTreeMap<i32, i32> as Int32, Int32; d::optional("f", 1, Kind::Int32) }

fn by_bytes<M: Message + Named + 'static>(message: &M) -> String {
    let bytes = message.encode_to_vec();
    print_bytes(&M::descriptor(), &bytes, &PrintOptions::default()).expect("JSON")
}

#[track_caller]
pub(super) fn same<M: Message + Named + 'static>(message: &M, is_direct: bool) {
    let direct = print::direct(&M::descriptor(), |out| message.put_direct(out));
    assert_eq!(direct.is_some(), is_direct, "{message:?}");
    assert_eq!(to_string(message).expect("JSON"), by_bytes(message));
}

fn all(level: u32) -> All {
    let inner = || if level == 0 { All::default() } else { all(level - 1) };
    All {
        small: -12,
        large: Some(u64::MAX),
        ratio: Some(0.25),
        is_on: Some(false),
        name: Some("a \"name\"\n\u{e9}".into()),
        raw: Some(vec![0, 1, 2, 255]),
        numbers: vec![0, -1, 9, 10, 99, 100, 1234, i64::MIN, i64::MAX],
        texts: vec![String::new(), "x".into(), "\\".into()],
        children: vec![inner(), All::default()],
        child: Some(Box::new(inner())),
        at: Some(Timestamp { seconds: 7, nanos: 500_000_000, ..Default::default() }),
        by_flag: BTreeMap::from([(false, inner()), (true, All::default())]),
        by_id: BTreeMap::from([(-3, "a".into()), (4, String::new())]),
        by_fixed: BTreeMap::from([(0, 0), (u64::MAX, 1)]),
        by_name: BTreeMap::from([(String::new(), -1), ("a".into(), 0), ("ab".into(), 1)]),
        pick: Some(if level == 1 { Pick::Number(0) } else { Pick::Message(Box::new(inner())) }),
        a_name_that_is_longer_than_most: Some(u32::MAX),
        ..Default::default()
    }
}

#[test]
fn structs_are_printed_like_their_bytes() {
    for level in 0..4 {
        same(&all(level), true);
    }
    same(&All::default(), true);
}

/// Texts around the length of the block, and of what is left of it.
#[test]
fn texts_of_every_length() {
    for len in (0..70).chain(1_900..2_100).chain([5_000, 100_000]) {
        for letter in ["a", "\n"] {
            let texts = vec!["b".into(), letter.repeat(len), String::new(), "c\"".repeat(len / 2)];
            same(
                &All { texts, large: Some(1), raw: Some(vec![9; len]), ..Default::default() },
                true,
            );
        }
    }
}

#[test]
fn a_struct_that_is_not_as_its_descriptor_says() {
    let unknown_fields = UnknownFields::new;
    same(&NoField { field: Some(1), unknown_fields: unknown_fields() }, false);
    same(&OtherWire { field: Some(1), unknown_fields: unknown_fields() }, false);
    same(&NoList { field: vec!["a".into()], unknown_fields: unknown_fields() }, false);
    same(&AList { field: Some("a".into()), unknown_fields: unknown_fields() }, false);
    same(&NoText { field: Some(String::new()), unknown_fields: unknown_fields() }, false);
    same(&NoGroup { field: Some(All::default()), unknown_fields: unknown_fields() }, false);
    same(&NoMap { field: BTreeMap::from([(1, 2)]), unknown_fields: unknown_fields() }, false);
    same(&Turned { first: Some(1), second: Some(2), unknown_fields: unknown_fields() }, false);
    let mut message = all(1);
    message.children[0].unknown_fields.push_varint(1000, 1);
    same(&message, false);
}

/// `message` so many levels below another.
fn inside(levels: u32, message: All) -> All {
    (0..levels).fold(message, |message, _| All { children: vec![message], ..Default::default() })
}

/// Maps with entries in any order, as other encoders write them, with more and fewer than are sorted in an array.
#[test]
fn maps_in_any_order() {
    let entry = |key: usize| {
        let by_name = BTreeMap::from([(format!("k{key}"), key as i32)]);
        All { by_name, ..Default::default() }.encode_to_vec()
    };
    for len in 0..20 {
        for step in [1, 3, 7, 19] {
            let keys = (0..len).map(|at| at * step % 19);
            let wire: Vec<u8> =
                keys.clone().chain(keys.take(usize::from(step == 3))).flat_map(entry).collect();
            let expected = to_string(&All::decode(&wire).expect("a message")).expect("JSON");
            let printed = print_bytes(&All::descriptor(), &wire, &PrintOptions::default());
            assert_eq!(printed.expect("JSON"), expected);
        }
    }
    // The value of one key twice: in two entries, and in one.
    for wire in [
        &b"\x7a\x05\x0a\x01a\x10\x01\x7a\x05\x0a\x01a\x10\x02"[..],
        b"\x7a\x07\x0a\x01a\x10\x01\x10\x02",
    ] {
        let printed = print_bytes(&All::descriptor(), wire, &PrintOptions::default());
        assert_eq!(printed.expect("JSON"), r#"{"byName":{"a":2}}"#);
    }
}

/// As deep as messages can be encoded, and one level deeper.
#[test]
fn levels_are_bounded() {
    let mut message = All::default();
    for level in 0..=crate::decode::limits::DEPTH_MAX {
        let is_printed = to_string(&message).is_ok();
        assert_eq!(is_printed, message.try_encode_to_vec().is_ok(), "{level}");
        let direct = print::direct(&All::descriptor(), |out| message.put_direct(out));
        assert_eq!(direct.is_some(), is_printed, "{level}");
        // An entry is one level more.
        let by_id = BTreeMap::from([(1, String::new())]);
        let with_map = inside(level, All { by_id, ..Default::default() });
        assert_eq!(to_string(&with_map).is_ok(), with_map.try_encode_to_vec().is_ok(), "{level}");
        let direct = print::direct(&All::descriptor(), |out| with_map.put_direct(out));
        assert_eq!(direct.is_some(), with_map.try_encode_to_vec().is_ok(), "{level}");
        // Through each kind of nested message.
        message = match level % 4 {
            0 => All { children: vec![message], ..Default::default() },
            1 => All { child: Some(Box::new(message)), ..Default::default() },
            2 => All { pick: Some(Pick::Message(Box::new(message))), ..Default::default() },
            _ => All { by_flag: BTreeMap::from([(true, message)]), ..Default::default() },
        };
    }
    assert!(to_string(&message).is_err(), "{}", format!("{message:?}").len());
}

fn parsed<M: Message + Named + 'static>(text: &str) -> Option<M> {
    let bytes = parse::parse_text(&M::descriptor(), text, &ParseOptions::default()).ok()?;
    M::decode(&bytes).ok()
}

/// Parses `text` as a struct and as bytes. `is_direct`: without the bytes.
#[track_caller]
pub(super) fn reads<M: Message + Named + 'static>(text: &str, is_direct: bool) {
    let direct = parse::direct::<M>(&M::descriptor(), text, None);
    assert_eq!(direct.is_some(), is_direct, "{text}");
    assert!(direct.is_none() || direct == parsed(text), "{text}");
    assert_eq!(from_str(text).ok(), parsed::<M>(text), "{text}");
}

#[test]
fn structs_are_parsed_like_their_bytes() {
    for level in 0..4 {
        reads::<All>(&to_string(&all(level)).expect("JSON"), true);
    }
    let spaces = to_string(&all(1)).expect("JSON").replace(',', " ,\n\t").replace("\":", "\" : ");
    reads::<All>(&spaces, true);
    for text in [
        "{}",
        " { } ",
        r#"{"small":"-1","large":1e3,"ratio":"-Infinity","isOn":true,"byId":{"1":"\u0041"}}"#,
        r#"{"ratio":-0.0,"numbers":["-9223372036854775808",9223372036854775807,1.0]}"#,
        r#"{"ratio":"1.5","large":"18446744073709551615","raw":"_-8","name":null}"#,
        r#"{"is_on":true,"a_name_that_is_longer_than_most":3,"numbers":[],"byFlag":{}}"#,
        r#"{"byId":{"2":"a","1":"b"},"texts":[],"at":"1970-01-01T00:00:00Z"}"#,
        r#"{"byFlag":{"true":{"byId":{"2":"a","1":"b"}},"false":{"byId":{"1":"a"}}}}"#,
        r#"{"byName":{"b":1,"a":2,"":3},"byFixed":{"18446744073709551615":1,"0":2}}"#,
        r#"{"number":0}"#,
    ] {
        reads::<All>(text, true);
    }
}

/// These are parsed to bytes, which has the error.
#[test]
fn texts_that_are_wrong_or_rare() {
    for text in [
        "",
        "{",
        "{}x",
        "[]",
        "{\"small\"}",
        "{,}",
        r#"{"small":1,}"#,
        r#"{"small":1 2}"#,
        r#"{"small":1,"small":2}"#,
        r#"{"small":2147483648}"#,
        r#"{"small":1.5}"#,
        r#"{"small":" 1"}"#,
        r#"{"small":"1 "}"#,
        r#"{"small":01}"#,
        r#"{"small":"1}"#,
        r#"{"small":-}"#,
        r#"{"large":-1}"#,
        r#"{"ratio":1e400}"#,
        r#"{"ratio":NaN}"#,
        r#"{"ratio":"nan"}"#,
        r#"{"isOn":"true"}"#,
        r#"{"isOn":truex}"#,
        r#"{"name":7}"#,
        "{\"name\":\"\n\"}",
        r#"{"name":"\x"}"#,
        r#"{"name":"\ud800"}"#,
        r#"{"name":"a\"#,
        r#"{"raw":"a"}"#,
        r#"{"raw":"\u0041A"}"#,
        r#"{"texts":[null]}"#,
        r#"{"texts":["a",]}"#,
        r#"{"texts":["a""b"]}"#,
        r#"{"numbers":1}"#,
        r#"{"child":[]}"#,
        r#"{"children":{}}"#,
        r#"{"child":{"small":1}"#,
        r#"{"byFlag":{"yes":{}}}"#,
        r#"{"byId":{1:"a"}}"#,
        r#"{"byId":{"1":null}}"#,
        r#"{"byId":{"1":"a",}}"#,
        r#"{"byId":{"x":"a"}}"#,
        r#"{"number":1,"message":{}}"#,
        r#"{"at":"1970-01-01"}"#,
        r#"{"at":7}"#,
        r#"{"nope":1}"#,
        r#"{"small":nul}"#,
        r#"{"[t.x]":1}"#,
        // A key twice.
        r#"{"byId":{"2":"a","1":"b","2":"c"}}"#,
        r#"{"byId":{"1":"a","1.0":"b"}}"#,
        r#"{"byName":{"a":1,"a":2}}"#,
        r#"{"byFlag":{"true":{"byId":{"1":"a"},"byName":{"b":1}},"true":{}}}"#,
        r#"{"byFlag":{"true":{"byId":{"2":"a","1":"b","2":"c"}},"false":{}}}"#,
        // Escapes in a key are read by the other parser.
        r#"{"byName":{"\u0061":1,"b":2}}"#,
    ] {
        reads::<All>(text, false);
    }
    assert!(from_str::<All>(r#"{"byName":{"\u0061":1,"b":2}}"#).is_ok());
    assert!(from_str::<All>(r#"{"byName":{"\u0061":1,"a":2}}"#).is_err());
}

#[test]
fn a_struct_that_is_not_as_its_descriptor_says_is_parsed() {
    reads::<NoField>(r#"{"f":1}"#, false);
    reads::<OtherWire>(r#"{"f":1}"#, false);
    reads::<NoText>(r#"{"f":{"name":"a"}}"#, false);
    reads::<NoBytes>(r#"{"f":{"name":"a"}}"#, false);
    reads::<NoBytesGroup>(r#"{"f":{"name":"a"}}"#, false);
    reads::<NoGroup>(r#"{"f":{"name":"a"}}"#, false);
    reads::<NoMessage>(r#"{"f":"\u0001"}"#, false);
    // Nobody asks for the second messages, so it is not known where they end.
    reads::<Dropping>(r#"{"first":{},"second":[{},{},{}]}"#, false);
    // A group of a number, which is base64, too.
    reads::<NoMessage>(r#"{"f":"3PA4"}"#, false);
    reads::<NoMap>(r#"{"f":1}"#, false);
    reads::<NoEntries>(r#"{"f":{"1":2}}"#, false);
}

#[test]
fn levels_of_texts_are_bounded() {
    for (open, close) in
        [(r#"{"child":"#, "}"), (r#"{"children":["#, "]}"), (r#"{"byFlag":{"true":"#, "}}")]
    {
        for levels in [1usize, 49, 50, 51, 99, 100, 101, 2000] {
            let text = format!("{}{{}}{}", open.repeat(levels), close.repeat(levels));
            let is_map = usize::from(open.contains("byFlag"));
            let is_direct = levels << is_map <= 100;
            reads::<All>(&text, is_direct);
            // No text becomes bytes that decoders refuse for their levels.
            let options = ParseOptions::default();
            let bytes = parse::parse_text(&All::descriptor(), &text, &options);
            assert_eq!(bytes.is_ok(), is_direct, "{levels} of {open}");
        }
    }
}

/// Bytes that a text becomes may still be refused: they take too much memory. Their offsets are not shown.
#[test]
fn a_text_whose_bytes_are_refused() {
    let refused = All::decode(b"\x4a\x00\x4a\x02\x2a\x05").expect_err("cut off");
    assert_eq!(refused.path(), "t.All.children[1].name");
    let errors = parse::not_decoded(&refused, b"{}", &ParseOptions::default());
    let [error] = &errors.errors[..] else { panic!("{errors}") };
    assert_eq!((&*error.message, &*error.path), ("the input ends inside a field", refused.path()));
}

proptest! {
    /// A text with changes is parsed as its bytes are, or not at all.
    #[test]
    fn any_change(changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, "[{}\\[\\]:,\"\\\\0-9a-z .-]{0,3}"), 1..4)) {
        let mut text = to_string(&all(1)).expect("JSON");
        for (at, len, piece) in changes {
            let at = at.index(text.len());
            let end = (at + len).min(text.len());
            if text.is_char_boundary(at) && text.is_char_boundary(end) {
                text.replace_range(at..end, &piece);
            }
        }
        if let Some(message) = parse::direct::<All>(&All::descriptor(), &text, None) {
            let by_bytes = parsed(&text);
            prop_assert_eq!(Some(message), by_bytes, "{}", text);
        }
    }
}

/// A time out of range is an error, as it is from bytes.
#[test]
fn a_time_out_of_range_is_an_error() {
    let at = Some(Timestamp { seconds: i64::MAX, ..Default::default() });
    assert!(to_string(&All { at, ..Default::default() }).is_err());
}

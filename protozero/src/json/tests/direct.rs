//! Structs are printed like their bytes, and directly if their descriptor says what they have.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use crate::descriptor::{self as d, Kind};
use crate::json::{PrintOptions, print, print_bytes, to_string};
use crate::{Message, Named, UnknownFields, rt};

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
other! { NoMap, map BTreeMap<i32, i32> as Int32, Int32; d::optional("f", 1, Kind::Int32) }

fn by_bytes<M: Message + Named + 'static>(message: &M) -> String {
    let bytes = message.encode_to_vec();
    print_bytes(&M::descriptor(), &bytes, &PrintOptions::default()).expect("JSON")
}

#[track_caller]
fn same<M: Message + Named + 'static>(message: &M, is_direct: bool) {
    let direct = print::direct(&M::descriptor(), message);
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
    let mut message = all(1);
    message.children[0].unknown_fields.push_varint(1000, 1);
    same(&message, false);
}

/// As deep as messages can be encoded, and one level deeper.
#[test]
fn levels_are_bounded() {
    let mut message = All::default();
    for level in 0..=crate::decode::limits::DEPTH_MAX {
        let is_printed = to_string(&message).is_ok();
        assert_eq!(is_printed, message.try_encode_to_vec().is_ok(), "{level}");
        let direct = print::direct(&All::descriptor(), &message);
        assert_eq!(direct.is_some(), is_printed, "{level}");
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

/// A time out of range is an error, as it is from bytes.
#[test]
fn a_time_out_of_range_is_an_error() {
    let at = Some(Timestamp { seconds: i64::MAX, ..Default::default() });
    assert!(to_string(&All { at, ..Default::default() }).is_err());
}

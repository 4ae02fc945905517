//! Decoding, values and encoding.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;
use std::{format, vec};

use super::{EVERYTHING, decode, new, pool, read};
use crate::dynamic::{DynamicMessage, MapKey, SetError, Value};
use crate::{DecodeErrorKind, DecodeOptions, ReadError, Reader, WriteError};

/// `wire` is decoded to `text`, and encoded as `canonical`.
#[track_caller]
fn check_as(name: &str, wire: &[u8], text: &str, canonical: &[u8]) {
    let pool = pool(EVERYTHING);
    let message = decode(&pool, name, wire);
    assert_eq!(message.to_text_with(&super::print::LINE), text);
    assert_eq!(message.encode(), canonical, "{text}");
    assert_eq!(message.encoded_len(), canonical.len());
    // Decoding the fields before and after any boundary gives the same message.
    let mut reader = Reader::new(wire);
    while reader.next_field().unwrap().is_some() {
        let (first, second) = wire.split_at(reader.position());
        let mut merged = decode(&pool, name, first);
        merged.merge(second).unwrap();
        assert_eq!(merged, message);
    }
}

#[track_caller]
fn check(wire: &[u8], text: &str) {
    check_as("e.All", wire, text, wire);
}

#[test]
fn scalars() {
    check(b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "i32: -1");
    check(b"\x28\x03\x30\x04", "s32: -2 s64: 2");
    check(b"\x3d\x01\0\0\0\x41\x02\0\0\0\0\0\0\0\x4d\xff\xff\xff\xff", "f32: 1 f64: 2 sf32: -1");
    check(
        b"\x5d\0\0\xc0\x3f\x68\0\x72\x02hi\x7a\x01\xff",
        r#"float: 1.5 flag: false text: "hi" blob: "\377""#,
    );
    // Zero values of fields with presence are kept.
    check(b"\x10\0", "i64: 0");
    // The last value counts, with the bits of its type.
    check_as("e.All", b"\x18\x05\x18\x86\x80\x80\x80\x90\x01", "u32: 6", b"\x18\x06");
    check_as("e.All", b"\x68\xe4\x01", "flag: true", b"\x68\x01");
}

#[test]
fn a_program_sets_the_limits() {
    let of = pool(EVERYTHING).message("e.All").unwrap();
    let within = |limits: DecodeOptions, wire: &[u8]| {
        limits.decode_dynamic(of.clone(), wire).map_err(|error| error.kind)
    };
    let (none, levels) = (DecodeOptions::new(), b"\x8a\x01\x05\x8a\x01\x02\x08\x01");
    assert_eq!(within(none.depth_max(1), levels), Err(DecodeErrorKind::TooDeep));
    let message = DynamicMessage::decode(of.clone(), levels).unwrap();
    assert_eq!(within(none.depth_max(2), levels).as_ref(), Ok(&message));
    assert_eq!(within(none, levels).as_ref(), Ok(&message));
    let long = [&b"\x7a\x80\x20"[..], &[1; 4096]].concat();
    assert_eq!(within(none.memory_max(1024), &long), Err(DecodeErrorKind::TooLarge));
    assert!(within(none, &long).is_ok());
}

#[test]
fn another_wire_type_is_an_unknown_field() {
    check(b"\x0d\x01\0\0\0", "1: 0x00000001");
    check(b"\x72\x02hi\x70\x05", r#"text: "hi" 14: 5"#);
    check(b"\x8b\x01\x8c\x01", "17 { }");
    check(b"\x92\x01\x02\x08\x01", "18 { 1: 1 }");
    check(b"\x0a\x01\x05", r#"1: "\005""#);
}

#[test]
fn closed_enums() {
    check(b"\x80\x01\x07", "color: BLUE");
    check(b"\x80\x01\x05", "16: 5");
    check(b"\x80\x01\x07\x80\x01\x05", "color: BLUE 16: 5");
    // The unknown elements of a packed field become unknown fields.
    check_as(
        "e.All",
        b"\x92\x02\x04\x07\x05\x00\x06",
        "colors: BLUE colors: RED 34: 5 34: 6",
        b"\x92\x02\x02\x07\x00\x90\x02\x05\x90\x02\x06",
    );
    // An unknown value makes a whole map entry unknown.
    check(b"\xca\x02\x05\x0a\x01a\x10\x05", r#"41 { 1: "a" 2: 5 }"#);
}

#[test]
fn unchecked_strings() {
    check(b"\x72\x01\xff", r#"14: "\377""#);
    check(b"\x8a\x02\x02ok\x8a\x02\x01\xff", r#"texts: "ok" 33: "\377""#);
}

#[test]
fn checked_strings() {
    let pool = pool(
        "file { syntax: 'proto3' message_type { name: 'M'
           field { name: 's' number: 1 type: TYPE_STRING } field { name: 'm' number: 2 type_name: 'M' }
           field { name: 'map' number: 3 label: LABEL_REPEATED type_name: 'E' }
           nested_type { name: 'E' options { map_entry: true }
             field { name: 'key' number: 1 type: TYPE_STRING }
             field { name: 'value' number: 2 type_name: 'M' } } } }",
    );
    for (wire, offset) in [
        (&b"\x0a\x01\xff"[..], 0),
        (b"\x12\x05\x12\x03\x0a\x01\xff", 4),
        (b"\x1a\x03\x0a\x01\xff", 2),
        (b"\x1a\x05\x12\x03\x0a\x01\xff", 4),
    ] {
        let error = DynamicMessage::decode(pool.message("M").unwrap(), wire).unwrap_err();
        assert_eq!(ReadError::from(error), DecodeErrorKind::Utf8.at(offset), "{wire:x?}");
    }
}

#[test]
fn presence() {
    let pool = pool(
        "file { syntax: 'proto3' message_type { name: 'M'
           field { name: 'a' number: 1 type: TYPE_DOUBLE }
           field { name: 'b' number: 2 type: TYPE_INT32 proto3_optional: true } } }",
    );
    let mut message = decode(&pool, "M", &[&b"\x09"[..], &1f64.to_le_bytes(), b"\x10\0"].concat());
    assert!(message.has("a") && message.has("b"));
    message.merge(b"\x09\0\0\0\0\0\0\0\0").unwrap();
    assert!(!message.has("a"), "zero is not stored");
    assert_eq!(message.encode(), b"\x10\0");
    message.set("a", -0.0).unwrap();
    assert!(message.has("a"), "negative zero is stored");
}

#[test]
fn repeated_fields_packed_or_not() {
    let unpacked = b"\xf8\x01\x01\xf8\x01\x02";
    check(unpacked, "numbers: -1 numbers: 1");
    check_as("e.All", b"\xfa\x01\x02\x01\x02", "numbers: -1 numbers: 1", unpacked);
    let packed = b"\x82\x02\x08\x01\0\0\0\x02\0\0\0";
    check(packed, "packed: 1 packed: 2");
    check_as("e.All", b"\x85\x02\x01\0\0\0\x85\x02\x02\0\0\0", "packed: 1 packed: 2", packed);
    check_as("e.All", b"\x82\x02\0", "", b"");
    let cut =
        DynamicMessage::decode(pool(EVERYTHING).message("e.All").unwrap(), b"\x82\x02\x03\0\0\0");
    assert_eq!(ReadError::from(cut.unwrap_err()), DecodeErrorKind::PackedLength.at(0));
    let cut =
        DynamicMessage::decode(pool(EVERYTHING).message("e.All").unwrap(), b"\xfa\x01\x02\x01\x80");
    assert_eq!(ReadError::from(cut.unwrap_err()), DecodeErrorKind::Truncated.at(4));
}

#[test]
fn messages_are_merged_and_oneofs_are_not() {
    check_as(
        "e.All",
        b"\x8a\x01\x02\x08\x01\x8a\x01\x02\x10\x02",
        "child { i32: 1 i64: 2 }",
        b"\x8a\x01\x04\x08\x01\x10\x02",
    );
    check_as("e.All", b"\x98\x01\x01\xa2\x01\0", "one_child { }", b"\xa2\x01\0");
    check_as("e.All", b"\xa2\x01\0\x98\x01\x01", "one_number: 1", b"\x98\x01\x01");
    check_as(
        "e.All",
        b"\xa2\x01\x02\x08\x01\xa2\x01\x02\x10\x02",
        "one_child { i32: 1 i64: 2 }",
        b"\xa2\x01\x04\x08\x01\x10\x02",
    );
    check_as(
        "e.All",
        b"\xa2\x01\x02\x08\x01\x98\x01\x01\xa2\x01\x02\x10\x02",
        "one_child { i64: 2 }",
        b"\xa2\x01\x02\x10\x02",
    );
}

#[test]
fn groups() {
    check(b"\x93\x01\x08\x05\x94\x01", "Part { x: 5 }");
    check(b"\xa3\x02\x08\x05\xa4\x02\xa3\x02\xa4\x02", "Parts { x: 5 } Parts { }");
}

#[test]
fn maps() {
    let wire = b"\xca\x02\x05\x0a\x01a\x10\x07\xca\x02\x05\x0a\x01b\x10\x00";
    check(wire, r#"names { key: "a" value: BLUE } names { key: "b" value: RED }"#);
    // A missing key or value is zero, the last value of a key counts, and entries are sorted by
    // key.
    check_as(
        "e.All",
        b"\xca\x02\x02\x10\x07\xca\x02\x03\x0a\x01a\xca\x02\x00",
        r#"names { key: "" value: RED } names { key: "a" value: RED }"#,
        b"\xca\x02\x04\x0a\0\x10\0\xca\x02\x05\x0a\x01a\x10\0",
    );
    check_as(
        "e.All",
        b"\xd2\x02\x08\x08\x03\x12\x02\x08\x01\x12\x00\xd2\x02\x02\x08\x01\xd2\x02\x02\x08\x04",
        "by_id { key: -2 value { i32: 1 } } by_id { key: -1 value { } } by_id { key: 2 value { } }",
        b"\xd2\x02\x06\x08\x03\x12\x02\x08\x01\xd2\x02\x04\x08\x01\x12\0\xd2\x02\x04\x08\x04\x12\0",
    );
}

#[test]
fn extensions_and_message_sets() {
    check(b"\xa0\x06\x05\xaa\x06\x02\x08\x01", "[e.ext]: 5 [e.exts] { n: 1 }");
    let wire = b"\x0b\x10\x80\x94\xeb\xdc\x03\x1a\x02\x08\x05\x0c";
    check_as("e.Set", wire, "[e.Member] { n: 5 }", wire);
    let turned = b"\x0b\x1a\x02\x08\x05\x10\x80\x94\xeb\xdc\x03\x0c";
    check_as("e.Set", turned, "[e.Member] { n: 5 }", wire);
    let unknown = b"\x0b\x10\x07\x1a\x02\x08\x05\x0c";
    check_as("e.Set", unknown, "1 { 2: 7 3 { 1: 5 } }", unknown);
}

#[test]
fn unknown_fields_stay_in_order() {
    check(b"\xf8\x3f\x01\xfa\x3f\x01x\xf8\x3f\x02", r#"1023: 1 1023: "x" 1023: 2"#);
}

#[test]
fn depth_is_bounded() {
    let nest = |levels: usize| {
        let mut wire = Vec::new();
        for _ in 0..levels {
            let mut outer = b"\x8a\x01".to_vec();
            let mut len = wire.len();
            while len >= 0x80 {
                outer.push(len as u8 | 0x80);
                len >>= 7;
            }
            outer.push(len as u8);
            outer.extend(wire);
            wire = outer;
        }
        wire
    };
    let pool = pool(EVERYTHING);
    let all = pool.message("e.All").unwrap();
    let message = DynamicMessage::decode(all.clone(), &nest(100)).unwrap();
    assert_eq!(message.encode(), nest(100));
    let error = DynamicMessage::decode(all.clone(), &nest(101)).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::TooDeep);
    let groups = |n: usize| [b"\xa3\x02".repeat(n), b"\xa4\x02".repeat(n)].concat();
    assert!(DynamicMessage::decode(all.clone(), &groups(100_000)).is_err());
    // The same limit applies to setters.
    let mut outer = DynamicMessage::new(all.clone());
    let mut inner = &mut outer;
    for _ in 0..100 {
        inner = inner.message_mut("child").unwrap();
    }
    assert_eq!(inner.message_mut("child").err(), Some(SetError::TooDeep));
    let mut root = DynamicMessage::new(all);
    assert_eq!(root.set("child", outer.clone()), Err(SetError::TooDeep));
    let Some(Value::Message(shorter)) = outer.clear("child") else { panic!() };
    root.set("child", *shorter).unwrap();
    assert_eq!(root.encode(), nest(100));
}

#[test]
fn swapped_messages_are_dropped_level_by_level() {
    let pool = pool(EVERYTHING);
    let mut root = new(&pool, "e.All");
    for _ in 0..20_000 {
        let mut next = new(&pool, "e.All");
        core::mem::swap(next.message_mut("child").unwrap(), &mut root);
        root = next;
    }
    assert_eq!(root.try_encode(), Err(WriteError::TooDeep { depth: 100 }));
    drop(root);
}

#[test]
fn a_key_of_a_map_is_made_of_a_plain_type() {
    let pool = pool(EVERYTHING);
    let mut m = new(&pool, "e.All");
    m.insert("names", "text", Value::Enum(7)).unwrap();
    let text = String::from("borrowed");
    m.insert("names", &text, Value::Enum(7)).unwrap();
    m.insert("names", String::from("owned"), Value::Enum(7)).unwrap();
    for key in ["text", &text, "owned"] {
        assert_eq!(m.at(&format!("names[\"{key}\"]")), Some(&Value::Enum(7)), "{key}");
    }
    m.insert("by_id", 1i64, new(&pool, "e.All")).unwrap();
    assert!(m.at("by_id[1]").is_some());
    let wrong = Err(SetError::WrongType);
    assert_eq!(m.insert("names", true, Value::Enum(7)), wrong);
    assert_eq!(m.insert("names", 1u64, Value::Enum(7)), wrong);
    assert_eq!([MapKey::from(1), MapKey::from(1u32)], [MapKey::I32(1), MapKey::U32(1)]);
    m.set("text", &text).unwrap();
}

#[test]
fn set_push_insert() {
    let pool = pool(EVERYTHING);
    let mut m = new(&pool, "e.All");
    let all = pool.message("e.All").unwrap();
    m.set("i32", -3).unwrap();
    m.set(2, 5i64).unwrap();
    m.set(&all.field("text").unwrap(), "hi").unwrap();
    m.set("[e.ext]", 9).unwrap();
    m.push("numbers", 1).unwrap();
    m.push("numbers", 2).unwrap();
    m.insert("names", MapKey::String("k".into()), Value::Enum(7)).unwrap();
    m.message_mut("child").unwrap().set("flag", true).unwrap();
    assert_eq!(m.get("i32").and_then(Value::as_i64), Some(-3));
    assert_eq!(m.at("child.flag"), Some(&Value::Bool(true)));
    assert_eq!(m.at("numbers[1]"), Some(&Value::I32(2)));
    assert_eq!(m.at("names[\"k\"]"), Some(&Value::Enum(7)));
    assert_eq!(m.at("[e.ext]"), Some(&Value::I32(9)));
    for absent in [
        "numbers[2]",
        "names[\"x\"]",
        "child.x",
        "child[0]",
        "text.x",
        "",
        ".",
        "[",
        "names[",
        "numbers[-1]",
    ] {
        assert_eq!(m.at(absent), None, "{absent}");
    }
    let wrong = Err(SetError::WrongType);
    assert_eq!(m.set("i32", 5i64), wrong);
    assert_eq!(m.set("i32", Value::List(vec![])), wrong);
    assert_eq!(m.set("numbers", 5), wrong);
    assert_eq!(m.push("i32", 5), wrong);
    assert_eq!(m.push("numbers", 5u32), wrong);
    assert_eq!(m.set("color", Value::Enum(5)), wrong);
    assert_eq!(m.insert("names", MapKey::I32(1), Value::Enum(7)), wrong);
    assert_eq!(m.insert("names", MapKey::String(String::new()), 1), wrong);
    assert_eq!(m.set("child", new(&pool, "e.Member")), wrong);
    assert_eq!(m.set("nothing", 1), Err(SetError::NoField));
    assert_eq!(m.set("[e.nothing]", 1), Err(SetError::NoField));
    assert_eq!(m.set(99, 1), Err(SetError::NoField));
    assert_eq!(m.message_mut("i32").err(), Some(SetError::WrongType));
    // A list can be set as a whole; an empty one removes the field.
    m.set("numbers", vec![Value::I32(7)]).unwrap();
    assert_eq!(m.at("numbers[0]"), Some(&Value::I32(7)));
    m.set("numbers", Vec::<Value>::new()).unwrap();
    assert!(!m.has("numbers"));
    m.set("names", BTreeMap::new()).unwrap();
    assert!(!m.has("names"));
    // Oneofs.
    m.set("one_number", 1).unwrap();
    m.message_mut("one_child").unwrap();
    assert!(!m.has("one_number"));
    m.set("one_number", 0).unwrap();
    assert!(!m.has("one_child") && m.has("one_number"));
    let names: Vec<String> = m.fields().map(|(field, _)| field.name().into()).collect();
    assert_eq!(names, ["i32", "i64", "text", "child", "one_number", "ext"]);
    assert_eq!(Value::from(m.clone()), Value::Message(Box::new(m)));
}

#[test]
fn missing_required_fields_are_found_on_request() {
    let pool = pool(
        "file { message_type { name: 'M' field { name: 'a' number: 1 type: TYPE_INT32 label: LABEL_REQUIRED }
           field { name: 'm' number: 2 type_name: 'M' }
           field { name: 'ms' number: 3 type_name: 'M' label: LABEL_REPEATED }
           field { name: 'map' number: 4 type_name: 'M.E' label: LABEL_REPEATED }
           extension_range { start: 9 end: 10 }
           nested_type { name: 'E' options { map_entry: true }
             field { name: 'key' number: 1 type: TYPE_STRING }
             field { name: 'value' number: 2 type_name: 'M' } } }
         extension { name: 'x' number: 9 extendee: 'M' type_name: 'M' } }",
    );
    let missing = |text: &str| read(&pool, "M", text).missing_required();
    for (text, path) in [
        ("", "a"),
        ("m { m { a: 1 } }", "a"),
        ("a: 1 m { a: 1 m { } }", "m.m.a"),
        ("a: 1 m { } ms { }", "m.a"),
        ("a: 1 m { a: 1 } ms { a: 1 } ms { }", "ms[1].a"),
        ("a: 1 map { key: 'x' value { a: 1 } } map { key: 'y\"' value { } }", "map[\"y\\\"\"].a"),
        ("a: 1 [x] { }", "[x].a"),
    ] {
        let path = path.replace("\\\"", "\"");
        assert_eq!(missing(text).as_deref(), Some(path.as_str()), "{text}");
    }
    // The path contains the messages above the field.
    let message = read(&pool, "M", "a: 1 map { key: 'k' value { a: 1 ms { a: 1 } ms { } } }");
    let path = message.missing_required().unwrap();
    assert_eq!(path, "map[\"k\"].ms[1].a");
    assert!(message.at(path.strip_suffix(".a").unwrap()).unwrap().as_message().unwrap().is_empty());
    assert_eq!(missing("a: 1 m { a: 1 } map { key: 'x' value { a: 1 } } [x] { a: 1 }"), None);
}

#[test]
fn debug_prints_the_text_format() {
    let pool = pool(EVERYTHING);
    let message = read(&pool, "e.All", "i32: 1 child { text: 'a' }");
    assert_eq!(format!("{message:?}"), r#"e.All { i32: 1 child { text: "a" } }"#);
    assert_eq!(format!("{:?}", new(&pool, "e.All")), "e.All { }");
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Color(i32);

impl crate::Enumeration for Color {
    const NAME: &'static str = "e.Color";
    const VALUES: &'static [(&'static str, i32)] = &[("RED", 0)];
    fn from_i32(number: i32) -> Self {
        Self(number)
    }
    fn to_i32(self) -> i32 {
        self.0
    }
}

/// As of two generated types that share no pool.
#[test]
fn a_message_of_another_pool_becomes_one_of_this_pool() {
    let (pool, other) = (self::pool(EVERYTHING), self::pool(EVERYTHING));
    let mut message = new(&pool, "e.All");
    let (wire, own) = (b"\x08\x01", || decode(&pool, "e.All", b"\x08\x01"));
    let foreign = || decode(&other, "e.All", wire);
    assert_ne!(foreign(), own());
    message.set("child", foreign()).unwrap();
    message.push("children", foreign()).unwrap();
    message.insert("by_id", MapKey::I64(1), foreign()).unwrap();
    assert_eq!(message.get("child").and_then(Value::as_message), Some(&own()));
    let expected = message.clone();
    let mut message = new(&pool, "e.All");
    message.set("child", own()).unwrap();
    message.set("children", vec![Value::from(foreign())]).unwrap();
    let entries = BTreeMap::from([(MapKey::I64(1), Value::from(foreign()))]);
    message.set("by_id", entries).unwrap();
    assert_eq!(message, expected);
    // Another name is another type, and levels count.
    assert_eq!(message.set("child", new(&other, "e.Member")), Err(SetError::WrongType));
    let mut deep = foreign();
    for _ in 0..100 {
        let mut next = new(&other, "e.All");
        core::mem::swap(next.message_mut("child").unwrap(), &mut deep);
        deep = next;
    }
    assert_eq!(message.set("child", deep), Err(SetError::TooDeep));
}

/// The same name, in another version of the schema.
#[test]
fn a_message_of_another_schema_is_decoded_again() {
    let of = |syntax: &str| {
        let file = r#"message_type { name: 'M' field { name: 'text' number: 1 type: TYPE_STRING }
            field { name: 'm' number: 2 type: TYPE_MESSAGE type_name: 'M' } }"#;
        pool(&format!("file {{ name: 'f' syntax: '{syntax}' {file} }}"))
    };
    let (strict, other) = (of("proto3"), of("proto2"));
    let mut message = new(&strict, "M");
    message.set("m", decode(&other, "M", b"\x0a\x01x\x18\x05")).unwrap();
    assert_eq!(message.encode(), b"\x12\x05\x0a\x01x\x18\x05");
    let mut no_text = new(&other, "M");
    no_text.unknown_fields_mut().push_bytes(1, b"\xff");
    assert_eq!(message.set("m", no_text), Err(SetError::OtherPool));
}

#[test]
fn enums_by_name() {
    let pool = pool(EVERYTHING);
    let of = pool.enumeration("e.Color").unwrap();
    let (red, blue) = (of.number("RED").unwrap(), of.number("BLUE").unwrap());
    let mut message = new(&pool, "e.All");
    message.set("color", "BLUE").unwrap();
    assert_eq!(message.get("color"), Some(&Value::Enum(blue)));
    message.set("color", Color(red)).unwrap();
    assert_eq!(message.get("color"), Some(&Value::Enum(red)));
    message.set("colors", vec![Value::from("BLUE"), Value::Enum(blue)]).unwrap();
    message.push("colors", "BLUE").unwrap();
    assert_eq!(message.get("colors"), Some(&Value::List(vec![Value::Enum(blue); 3])));
    message.insert("names", MapKey::String("k".into()), "BLUE").unwrap();
    let entries = BTreeMap::from([(MapKey::String("k".into()), Value::Enum(blue))]);
    assert_eq!(message.get("names"), Some(&Value::Map(entries)));

    assert_eq!(message.set("color", "blue"), Err(SetError::NoEnumValue));
    assert_eq!(message.push("colors", ""), Err(SetError::NoEnumValue));
    let unknown = message.insert("names", MapKey::String("k".into()), "NONE");
    assert_eq!(unknown, Err(SetError::NoEnumValue));
    assert_eq!(message.set("i32", "BLUE"), Err(SetError::WrongType));
    assert_eq!(message.set("color", MapKey::I32(blue)), Err(SetError::WrongType));
}

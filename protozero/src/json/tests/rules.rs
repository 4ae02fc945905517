//! What the format does not allow, and where errors are.

use std::string::ToString;
use std::{format, vec};

use super::{KNOWN, check, read, refused};
use crate::dynamic::DynamicMessage;
use crate::dynamic::tests::{EVERYTHING, pool};
use crate::json::{PrintOptions, print_bytes, write_bytes};

/// The path of what cannot be printed, also if the output is written in pieces.
#[test]
fn an_error_of_printing_has_the_path_of_its_value() {
    let known = pool(KNOWN);
    let m = known.message("m.M").expect("m.M");
    let text = "value { list_value { values { bool_value: true } values { struct_value { \
        fields { key: 'a b' value { number_value: inf } } } } } }";
    let message = DynamicMessage::from_text(m.clone(), text).expect(text);
    let error = message.to_json().expect_err(text);
    assert_eq!(error.path(), r#"m.M.value[1]["a b"]"#);
    let everything = pool(EVERYTHING);
    let all = everything.message("e.All").expect("e.All");
    // A time behind a text that is more than one piece.
    let text = [&[b'J', 0x80, 0xa0, 1][..], &[b'x'; 20_480]].concat();
    let wire = [&text[..], &[10, 11, 16], &[0xff; 9], &[1]].concat();
    for pretty in [false, true] {
        let options = PrintOptions { pretty, ..Default::default() };
        let error = print_bytes(&m, &wire, &options).expect_err("a time");
        let mut out = vec![];
        let written = write_bytes(&m, &wire, &options, &mut out).expect_err("a time");
        for error in [error, written] {
            assert_eq!(error.to_string(), "m.M.time: a timestamp: 0 s and -1 ns are out of range");
        }
    }
    // Malformed bytes: { child: { children: { }, children: { i32: a varint that is cut off } } }.
    let wire = [0x8a, 1, 8, 0x9a, 2, 0, 0x9a, 2, 2, 8, 0x80];
    let error = print_bytes(&all, &wire, &PrintOptions::default()).expect_err("cut off");
    let expected = DynamicMessage::decode(all, &wire).expect_err("cut off");
    assert_eq!(error.to_string(), expected.to_string());
    assert_eq!(error.path(), expected.path());
    assert!(error.path().starts_with("e.All.child."), "{error}");
    // The content of an `Any`, which is not decoded.
    let url = b"a/google.protobuf.Timestamp";
    let wire = [&[34, 33, 10, 27][..], url, &[18, 2, 8, 0x80]].concat();
    let error = print_bytes(&m, &wire, &PrintOptions::default()).expect_err("cut off");
    assert_eq!(error.path(), "m.M.any.value");
}

#[test]
fn a_key_occurs_once() {
    let (everything, known) = (pool(EVERYTHING), pool(KNOWN));
    for (text, error) in [
        (r#"{"names":{"b":"RED","b":"BLUE"}}"#, "1:21 error: the key `b` is set twice"),
        (r#"{"names":{"b":"RED","a":"RED","b":"BLUE"}}"#, "1:31 error: the key `b` is set twice"),
        (r#"{"names":{"b":"RED","\u0062":"BLUE"}}"#, "1:21 error: the key `b` is set twice"),
        (r#"{"byId":{"1":{},"1.0":{}}}"#, "1:17 error: the key `1.0` is set twice"),
        (
            r#"{"byId":{"1":{"byId":{"2":{},"1":{}},"text":":"},"1e0":{}}}"#,
            "1:50 error: the key `1e0` is set twice",
        ),
        (
            r#"{"byId":{"1":{"byId":{"2":{},"1":{},"2":{}}},"2":{}}}"#,
            "1:37 error: the key `2` is set twice",
        ),
    ] {
        assert_eq!(refused(&everything, "e.All", text), error, "{text}");
    }
    let text = r#"{"value":{"a":{"x":1,"y":2,"x":2}}}"#;
    assert_eq!(refused(&known, "m.M", text), "1:28 error: the key `x` is set twice");
    let message = DynamicMessage::from_json(known.message("m.M").expect("m.M"), text);
    assert_eq!(message.expect_err(text).errors[0].path, "m.M.value.a");
}

/// `null` is a value of a `Value` and of a `NullValue`, so it sets their oneof.
#[test]
fn a_null_that_is_a_value() {
    let schema = format!(
        "{KNOWN} file {{ name: 'n' package: 'n' syntax: 'proto2'
          message_type {{ name: 'N'
            field {{ name: 'v' number: 1 type: TYPE_MESSAGE type_name: '.google.protobuf.Value' oneof_index: 0 }}
            field {{ name: 's' number: 2 type: TYPE_STRING oneof_index: 0 }}
            field {{ name: 'n' number: 3 type: TYPE_ENUM type_name: '.google.protobuf.NullValue' oneof_index: 0 }}
            field {{ name: 'group' number: 4 type: TYPE_GROUP type_name: '.google.protobuf.Value' }}
            field {{ name: 'all' number: 5 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: '.google.protobuf.Value' }}
            oneof_decl {{ name: 'pick' }} }} }}"
    );
    let pool = pool(&schema);
    for text in [
        r#"{"v":null,"s":"x"}"#,
        r#"{"s":"x","v":null}"#,
        r#"{"n":null,"s":"x"}"#,
        r#"{"v":null,"n":null}"#,
    ] {
        let error = refused(&pool, "n.N", text);
        assert!(error.ends_with("another field of the same oneof is set, too"), "{error}");
    }
    check(&pool, "n.N", r#"{"v":null}"#, "v { null_value: NULL_VALUE }");
    check(&pool, "n.N", r#"{"n":null}"#, "n: NULL_VALUE");
    check(&pool, "n.N", r#"{"group":null}"#, "group { null_value: NULL_VALUE }");
    check(&pool, "n.N", r#"{"all":[null]}"#, "all { null_value: NULL_VALUE }");
    let message = read(&pool, "n.N", r#"{"s":null,"all":null,"v":1}"#);
    assert_eq!(message.to_json().expect("JSON"), r#"{"v":1}"#);
}

/// Old schemas have fields whose names in JSON are the same.
#[test]
fn names_that_are_the_same_in_json() {
    let pool = pool(
        "file { name: 'o' package: 'o' syntax: 'proto2'
          message_type { name: 'O'
            field { name: 'foo_bar' number: 1 type: TYPE_INT32 }
            field { name: 'fooBar' number: 2 type: TYPE_INT32 }
            field { name: 'foo_Bar' number: 3 type: TYPE_INT32 } } }",
    );
    let text = r#"{"foo_bar":1,"fooBar":2,"foo_Bar":3}"#;
    check(&pool, "o.O", text, "foo_bar: 1 fooBar: 2 foo_Bar: 3");
    check(&pool, "o.O", r#"{"fooBar":2}"#, "fooBar: 2");
}

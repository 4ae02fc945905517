//! Texts with the messages that they are, and texts that are refused.

mod direct;
mod plain;
mod props;
mod rules;

use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, vec};

use super::{ParseOptions, PrintOptions};
use crate::dynamic::tests::{EVERYTHING, pool};
use crate::dynamic::{DynamicMessage, Pool};

/// The messages with forms of their own, and one that uses them.
const KNOWN: &str = r#"
file { name: 'k' package: 'google.protobuf' syntax: 'proto3'
  message_type { name: 'Any'
    field { name: 'type_url' number: 1 type: TYPE_STRING }
    field { name: 'value' number: 2 type: TYPE_BYTES } }
  message_type { name: 'Timestamp'
    field { name: 'seconds' number: 1 type: TYPE_INT64 }
    field { name: 'nanos' number: 2 type: TYPE_INT32 } }
  message_type { name: 'Duration'
    field { name: 'seconds' number: 1 type: TYPE_INT64 }
    field { name: 'nanos' number: 2 type: TYPE_INT32 } }
  message_type { name: 'FieldMask'
    field { name: 'paths' number: 1 label: LABEL_REPEATED type: TYPE_STRING } }
  message_type { name: 'Struct'
    field { name: 'fields' number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: 'FieldsEntry' }
    nested_type { name: 'FieldsEntry' options { map_entry: true }
      field { name: 'key' number: 1 type: TYPE_STRING }
      field { name: 'value' number: 2 type: TYPE_MESSAGE type_name: 'Value' } } }
  message_type { name: 'Value'
    field { name: 'null_value' number: 1 type: TYPE_ENUM type_name: 'NullValue' oneof_index: 0 }
    field { name: 'number_value' number: 2 type: TYPE_DOUBLE oneof_index: 0 }
    field { name: 'string_value' number: 3 type: TYPE_STRING oneof_index: 0 }
    field { name: 'bool_value' number: 4 type: TYPE_BOOL oneof_index: 0 }
    field { name: 'struct_value' number: 5 type: TYPE_MESSAGE type_name: 'Struct' oneof_index: 0 }
    field { name: 'list_value' number: 6 type: TYPE_MESSAGE type_name: 'ListValue' oneof_index: 0 }
    oneof_decl { name: 'kind' } }
  message_type { name: 'ListValue'
    field { name: 'values' number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: 'Value' } }
  message_type { name: 'Int64Value' field { name: 'value' number: 1 type: TYPE_INT64 } }
  enum_type { name: 'NullValue' value { name: 'NULL_VALUE' number: 0 } }
}
file { name: 'm' package: 'm' syntax: 'proto3'
  message_type { name: 'M'
    field { name: 'time' number: 1 type: TYPE_MESSAGE type_name: '.google.protobuf.Timestamp' }
    field { name: 'took' number: 2 type: TYPE_MESSAGE type_name: '.google.protobuf.Duration' }
    field { name: 'mask' number: 3 type: TYPE_MESSAGE type_name: '.google.protobuf.FieldMask' }
    field { name: 'any' number: 4 type: TYPE_MESSAGE type_name: '.google.protobuf.Any' }
    field { name: 'value' number: 5 type: TYPE_MESSAGE type_name: '.google.protobuf.Value' }
    field { name: 'count' number: 6 type: TYPE_MESSAGE type_name: '.google.protobuf.Int64Value' }
    field { name: 'number' number: 7 type: TYPE_INT32 }
    field { name: 'numbers' number: 8 label: LABEL_REPEATED type: TYPE_UINT64 }
    field { name: 'some_name' number: 9 type: TYPE_STRING json_name: 'other' } }
}
"#;

#[track_caller]
fn read(pool: &Pool, name: &str, text: &str) -> DynamicMessage {
    DynamicMessage::from_json(pool.message(name).expect(name), text)
        .unwrap_or_else(|errors| panic!("{errors}"))
}

/// The text that comes out again, and the message as protobuf's text.
#[track_caller]
fn check(pool: &Pool, name: &str, json: &str, text: &str) {
    let message = read(pool, name, json);
    let line = crate::text::PrintOptions { single_line: true, ..Default::default() };
    assert_eq!(message.to_text_with(&line), text, "{json}");
    assert_eq!(message.to_json().expect("JSON"), json);
}

/// The first line of the error.
#[track_caller]
fn refused(pool: &Pool, name: &str, text: &str) -> String {
    let message = DynamicMessage::from_json(pool.message(name).expect(name), text);
    let error = message.expect_err(text).to_string();
    error.lines().next().expect("a line").replace("<json>:", "")
}

#[test]
fn an_error_has_the_path_of_its_value() {
    let pool = pool(EVERYTHING);
    let check = |text: &str, path: &str| {
        let message = DynamicMessage::from_json(pool.message("e.All").expect("a type"), text);
        assert_eq!(message.expect_err(text).errors[0].path, path, "{text}");
    };
    check(r#"{"i32":1,"text":5}"#, "e.All.text");
    check(r#"{"children":[{},{"flag":1}]}"#, "e.All.children[1].flag");
    check(r#"{"children":[{"flag":true},{"bad":1}]}"#, "e.All.children[1]");
    check(r#"{"names":{"a b":"RED","x\"y":7.5}}"#, r#"e.All.names["x\"y"]"#);
    check(r#"{"names":{"a":true}}"#, "e.All.names.a");
    check(r#"{"byId":{"-1":{},"2":[]}}"#, "e.All.byId[\"2\"]");
    check(r#"{"packed":[1,2,"x"]}"#, "e.All.packed[2]");
    check(r#"{"i32":1"#, "e.All.i32");
    check("[]", "");
    check("{} {}", "");
    let long = "k".repeat(50);
    check(&format!(r#"{{"names":{{"{long}":true}}}}"#), &format!("e.All.names.{}...", &long[..40]));
}

#[test]
fn fields_of_every_type() {
    let pool = pool(EVERYTHING);
    let all = |json, text| check(&pool, "e.All", json, text);
    all(
        r#"{"i32":-1,"i64":"-1","u64":"18446744073709551615"}"#,
        "i32: -1 i64: -1 u64: 18446744073709551615",
    );
    all(r#"{"float":1.5,"double":"-Infinity"}"#, "float: 1.5 double: -inf");
    all(r#"{"double":1e-7}"#, "double: 1e-7");
    all(r#"{"text":"\"\\\n\u0001é😀/"}"#, "text: \"\\\"\\\\\\n\\001é😀/\"");
    all(r#"{"blob":"AP+/"}"#, "blob: \"\\000\\377\\277\"");
    all(r#"{"color":"DARK","colors":["RED","BLUE"]}"#, "color: DARK colors: RED colors: BLUE");
    all(r#"{"child":{"part":{"x":1}},"oneNumber":0}"#, "child { Part { x: 1 } } one_number: 0");
    all(
        r#"{"packed":[1,2],"children":[{},{"flag":true}]}"#,
        "packed: 1 packed: 2 children { } children { flag: true }",
    );
    all(
        r#"{"names":{"":"RED","a":"BLUE"},"byId":{"-1":{},"2":{}}}"#,
        "names { key: \"\" value: RED } names { key: \"a\" value: BLUE } by_id { key: -1 value { } } by_id { key: 2 value { } }",
    );
    all(r#"{"[e.ext]":5,"[e.exts]":[{"n":1}]}"#, "[e.ext]: 5 [e.exts] { n: 1 }");
    all(r#"{"any":{"@type":"a/e.Member","n":3}}"#, "any { [a/e.Member] { n: 3 } }");
    check(&pool, "e.Set", r#"{"[e.Member.of_set]":{"n":4}}"#, "[e.Member] { n: 4 }");
}

#[test]
fn other_ways_to_write_a_value() {
    let pool = pool(EVERYTHING);
    for (text, same) in [
        (r#" { "i32" : 1.0e1 , "one_number":"7" } "#, r#"{"i32":10,"oneNumber":7}"#),
        (
            r#"{"i64":-9223372036854775808,"u64":1.8446744073709551615e19}"#,
            r#"{"i64":"-9223372036854775808","u64":"18446744073709551615"}"#,
        ),
        (
            r#"{"color":7,"blob":"AP-_","float":"1.5"}"#,
            r#"{"color":"BLUE","blob":"AP+/","float":1.5}"#,
        ),
        (r#"{"\u0069\u00332":1,"text":"\ud83d\ude00\/"}"#, r#"{"i32":1,"text":"😀/"}"#),
        (
            r#"{"i32":null,"numbers":null,"child":null,"oneChild":null,"oneNumber":1}"#,
            r#"{"oneNumber":1}"#,
        ),
        (r#"{"any":{"n":3,"@type":"a/e.Member"}}"#, r#"{"any":{"@type":"a/e.Member","n":3}}"#),
        (r#"{"i32":1e0,"i64":0e99999999999999999999}"#, r#"{"i32":1,"i64":"0"}"#),
    ] {
        let message = read(&pool, "e.All", text);
        assert_eq!(message.encode(), read(&pool, "e.All", same).encode(), "{text}");
    }
}

#[test]
fn what_is_no_message_is_refused() {
    let pool = pool(EVERYTHING);
    for (text, error) in [
        ("", "1:1 error: expected an object: `{`, found the end"),
        ("{", "1:2 error: expected a name in quotes, found the end"),
        ("{} x", "1:4 error: expected the end behind the message, found `x`"),
        (r#"{"i32":1,}"#, "1:10 error: expected a name in quotes, found `}`"),
        (r#"{"i32":1 "i64":1}"#, "1:10 error: expected `,` or `}` behind a value, found `\"i64\"`"),
        (r#"{"i32" 1}"#, "1:8 error: expected `:` behind the name, found `1`"),
        (r#"{"i32":01}"#, "1:8 error: expected a number, found `01`"),
        (r#"{"i32":1.5}"#, "1:8 error: expected an integer from -2^31 to 2^31 - 1, found `1.5`"),
        (
            r#"{"i32":2147483648}"#,
            "1:8 error: expected an integer from -2^31 to 2^31 - 1, found `2147483648`",
        ),
        (r#"{"u32":-1}"#, "1:8 error: expected an integer from 0 to 2^32 - 1, found `-1`"),
        (r#"{"i32":" 1"}"#, "1:8 error: expected an integer from -2^31 to 2^31 - 1, found ` 1`"),
        (r#"{"float":1e39}"#, "1:10 error: expected a number that a `float` can be, found `1e39`"),
        (r#"{"float":NaN}"#, "1:10 error: expected a number, found `NaN`"),
        (r#"{"flag":"true"}"#, "1:9 error: expected `true` or `false`, found `\"true\"`"),
        (r#"{"flag":truely}"#, "1:9 error: expected `true` or `false`, found `truely`"),
        (r#"{"text":1}"#, "1:9 error: expected text in quotes, found `1`"),
        (
            "{\"text\":\"\n\"}",
            "1:10 error: a control character in a string must be escaped: `\\n`, `\\u0001`",
        ),
        (r#"{"text":"\ud800"}"#, "1:10 error: half of a pair of surrogates is no character"),
        (r#"{"text":"\ud800\u0041"}"#, "1:10 error: half of a pair of surrogates is no character"),
        (r#"{"text":"\x"}"#, "1:10 error: JSON has no such escape"),
        (r#"{"text":"\u00g0"}"#, "1:10 error: `\\u` needs four hexadecimal digits"),
        (r#"{"text":"a"#, "1:9 error: this string does not end"),
        (r#"{"blob":"A"}"#, "1:9 error: this is not base64"),
        (r#"{"blob":"AAAA===="}"#, "1:9 error: this is not base64"),
        (r#"{"blob":"===="}"#, "1:9 error: this is not base64"),
        (r#"{"blob":"AAA=="}"#, "1:9 error: this is not base64"),
        (r#"{"blob":"AA="}"#, "1:9 error: this is not base64"),
        (r#"{"color":"BLU"}"#, "1:10 error: `e.Color` has no value `BLU`: did you mean `BLUE`?"),
        (r#"{"color":1.5}"#, "1:10 error: expected an integer from -2^31 to 2^31 - 1, found `1.5`"),
        (r#"{"color":3}"#, "1:10 error: `e.Color` has no value 3"),
        (r#"{"numbers":[null]}"#, "1:13 error: expected a number, found `null`"),
        (r#"{"numbers":1}"#, "1:12 error: expected a list: `[`, found `1`"),
        (
            r#"{"byId":{"x":{}}}"#,
            "1:10 error: expected an integer from -2^63 to 2^63 - 1, found `x`",
        ),
        (r#"{"nubers":[]}"#, "1:2 error: `All` has no field `nubers`: did you mean `numbers`?"),
        (r#"{"i32":1,"i32":2}"#, "1:10 error: the field `i32` is set twice"),
        (r#"{"oneNumber":1,"one_number":2}"#, "1:16 error: the field `one_number` is set twice"),
        (
            r#"{"oneNumber":1,"oneChild":{}}"#,
            "1:16 error: `oneChild`: another field of the same oneof is set, too",
        ),
        (r#"{"any":{"n":3}}"#, "1:8 error: an `Any` needs `@type`, the URL of its message"),
        (
            r#"{"any":{"@type":"a/x.Y"}}"#,
            "1:8 error: `@type`: the pool has no message `a/x.Y`: `Registry::add` adds a generated type",
        ),
        (
            r#"{"any":{"@type":"e.Member"}}"#,
            "1:8 error: `@type`: the URL `e.Member` has no slash before the name of the message",
        ),
        (r#"{"any":{"@type":"a/b","@type":"a/b"}}"#, "1:23 error: `@type` is set twice"),
    ] {
        assert_eq!(refused(&pool, "e.All", text), error, "{text}");
    }
}

#[test]
fn messages_with_a_form_of_their_own() {
    let pool = pool(KNOWN);
    let check = |json, text| check(&pool, "m.M", json, text);
    check(r#"{"time":"1970-01-01T00:00:01Z"}"#, "time { seconds: 1 }");
    check(r#"{"time":"2024-02-29T23:59:59.000001Z"}"#, "time { seconds: 1709251199 nanos: 1000 }");
    check(r#"{"took":"-0.500s"}"#, "took { nanos: -500000000 }");
    check(
        r#"{"took":"3s","mask":"a.bC,d"}"#,
        "took { seconds: 3 } mask { paths: \"a.b_c\" paths: \"d\" }",
    );
    check(
        r#"{"any":{"@type":"a/google.protobuf.Duration","value":"1s"}}"#,
        "any { [a/google.protobuf.Duration] { seconds: 1 } }",
    );
    check(r#"{"any":{}}"#, "any { }");
    check(r#"{"value":null}"#, "value { null_value: NULL_VALUE }");
    check(
        r#"{"value":{"a":[1,"x",true,null,{}]}}"#,
        "value { struct_value { fields { key: \"a\" value { list_value { values { number_value: 1 } values { string_value: \"x\" } values { bool_value: true } values { null_value: NULL_VALUE } values { struct_value { } } } } } } }",
    );
    check(r#"{"count":"0"}"#, "count { }");
    check(r#"{"other":"x"}"#, "some_name: \"x\"");
    for (text, same) in [
        (r#"{"time":"1970-01-01T01:00:00.1+01:00"}"#, r#"{"time":"1970-01-01T00:00:00.100Z"}"#),
        (r#"{"some_name":"x","count":null,"number":0}"#, r#"{"other":"x"}"#),
    ] {
        assert_eq!(read(&pool, "m.M", text).to_json().expect("JSON"), same);
    }
    for text in [
        r#"{"time":"1970-02-30T00:00:00Z"}"#,
        r#"{"time":"1970-01-01t00:00:00Z"}"#,
        r#"{"time":"0000-12-31T23:59:59Z"}"#,
        r#"{"time":"1970-01-01T00:00:00"}"#,
        r#"{"time":"1970-01-01T00:00:00.1234567890Z"}"#,
        r#"{"took":"1"}"#,
        r#"{"took":"315576000001s"}"#,
        r#"{"mask":"a_b"}"#,
        r#"{"mask":"a,,b"}"#,
        r#"{"mask":"a,"}"#,
        r#"{"mask":","}"#,
        r#"{"any":{"@type":"a/google.protobuf.Duration"}}"#,
        r#"{"any":{"@type":"a/google.protobuf.Duration","value":"1s","x":1}}"#,
        r#"{"any":{"@type":"a/google.protobuf.Duration","value":"1s","value":"1s"}}"#,
        r#"{"value":}"#,
    ] {
        refused(&pool, "m.M", text);
    }
}

#[test]
fn values_that_json_does_not_have() {
    let pool = pool(KNOWN);
    for (text, error) in [
        (
            "value { number_value: nan }",
            "m.M.value: number_value of a Value: JSON has neither NaN nor infinity",
        ),
        ("value { }", "m.M.value: a Value: it has no kind"),
        ("value { list_value { values { } } }", "m.M.value[0]: a Value: it has no kind"),
        ("time { nanos: -1 }", "m.M.time: a timestamp: 0 s and -1 ns are out of range"),
        ("took { seconds: 1 nanos: -1 }", "m.M.took: a duration: 1 s and -1 ns are out of range"),
        (
            "mask { paths: 'aB' }",
            "m.M.mask: a path of a FieldMask: \"aB\" would be another path when it is parsed",
        ),
        (
            "mask { paths: 'a' paths: '' }",
            "m.M.mask: a path of a FieldMask: \"\" would be another path when it is parsed",
        ),
        (
            "any { type_url: 'a/x.Y' value: 'z' }",
            "m.M.any: the content of an Any: the pool has no message \"x.Y\": `Registry::add` adds a generated type",
        ),
        ("any { type_url: 'm.M' }", "m.M.any: type_url of an Any: \"m.M\" has no slash"),
        ("any { value: 'z' }", "m.M.any: type_url of an Any: \"\" has no slash"),
    ] {
        let message = DynamicMessage::from_text(pool.message("m.M").expect("m.M"), text);
        let error_found = message.expect(text).to_json().expect_err(text).to_string();
        assert_eq!(error_found, error);
    }
}

#[test]
fn options_of_printing() {
    let known = pool(KNOWN);
    let message = read(&known, "m.M", r#"{"numbers":["1","2"],"other":"x"}"#);
    let print = |options: PrintOptions| message.to_json_with(&options).expect("JSON");
    let original_names = PrintOptions { original_names: true, ..Default::default() };
    assert_eq!(print(original_names), r#"{"numbers":["1","2"],"some_name":"x"}"#);
    let defaults = PrintOptions { defaults: true, ..Default::default() };
    assert_eq!(print(defaults), r#"{"numbers":["1","2"],"other":"x","number":0}"#);
    let pretty = PrintOptions { pretty: true, ..Default::default() };
    assert_eq!(
        print(pretty),
        "{\n  \"numbers\": [\n    \"1\",\n    \"2\"\n  ],\n  \"other\": \"x\"\n}"
    );
    let numbers = PrintOptions { enums_as_numbers: true, ..Default::default() };
    let everything = pool(EVERYTHING);
    let message = read(&everything, "e.All", r#"{"color":"DARK"}"#);
    assert_eq!(message.to_json_with(&numbers).expect("JSON"), r#"{"color":-1}"#);
}

#[test]
fn unknown_names_can_be_skipped() {
    let pool = pool(EVERYTHING);
    let options = ParseOptions { ignore_unknown: true, ..Default::default() };
    let text = r#"{"nope":[{"a":"\u0041"},1,true],"color":"NOPE","colors":["RED","NOPE"],
        "names":{"a":"NOPE","b":"BLUE"},"i32":1}"#;
    let all = pool.message("e.All").expect("e.All");
    let message = DynamicMessage::from_json_with(all, text, &options).expect("a message");
    assert_eq!(
        message.to_json().expect("JSON"),
        r#"{"i32":1,"colors":["RED"],"names":{"b":"BLUE"}}"#
    );
}

#[test]
fn memory_is_that_of_the_options() {
    let all = pool(EVERYTHING).message("e.All").expect("e.All");
    let text = format!(r#"{{"child":{}{{}}{}}}"#, r#"{"child":"#.repeat(50), "}".repeat(50));
    let within = |memory_max| {
        let options = ParseOptions { memory_max, ..Default::default() };
        DynamicMessage::from_json_with(all.clone(), &text, &options)
    };
    for memory_max in [None, Some(1 << 20)] {
        within(memory_max).expect("a message");
    }
    let error = within(Some(1 << 10)).expect_err("fifty messages in a kilobyte");
    assert!(error.to_string().contains("too large"), "{error}");
}

#[test]
fn levels_are_bounded() {
    let everything = pool(EVERYTHING);
    let nested =
        |levels: usize| format!("{}{}", "{\"child\":".repeat(levels), "{}") + &"}".repeat(levels);
    let message = read(&everything, "e.All", &nested(100));
    assert_eq!(message.to_json().expect("JSON"), nested(100));
    assert!(refused(&everything, "e.All", &nested(101)).contains("more than 100 levels"));
    let deep = vec!["["; 100_000].concat();
    let options = ParseOptions { ignore_unknown: true, ..Default::default() };
    for text in [format!("{{\"nope\":{deep}"), format!("{{\"any\":{{\"x\":{deep}")] {
        let all = everything.message("e.All").expect("e.All");
        let error = DynamicMessage::from_json_with(all, &text, &options).expect_err("too deep");
        assert!(error.to_string().contains("more than 100 levels"));
    }
    let known = pool(KNOWN);
    let error = refused(&known, "m.M", &format!("{{\"value\":{deep}"));
    assert!(error.contains("more than 100 levels"), "{error}");
    // An entry is a level, as it is in bytes: an object of a `Value` has three, and a list has two.
    for (pool, name, [open, close], max) in [
        (&everything, "e.All", [r#"{"byId":{"1":"#, "}}"], 50),
        (&known, "m.M", [r#"{"a":"#, "}"], 32),
        (&known, "m.M", ["[", "]"], 50),
    ] {
        for levels in 1..=max + 1 {
            let inside = if open == "[" { "" } else { "{}" };
            let value = format!("{}{inside}{}", open.repeat(levels), close.repeat(levels));
            let text = if name == "e.All" { value } else { format!("{{\"value\":{value}}}") };
            if levels <= max {
                let message = read(pool, name, &text);
                assert_eq!(message.to_json().expect("JSON"), text);
                continue;
            }
            let of = pool.message(name).expect(name);
            let error = DynamicMessage::from_json(of, &text).expect_err("too deep");
            let [error] = &error.errors[..] else { panic!("{error}") };
            assert_eq!(error.message, "more than 100 levels");
            assert!(error.column > 50 && error.path.len() > 50, "{error:?}");
        }
    }
    let flat =
        format!("{{{}\"names\":{{\"a\":\"RED\"}}{}", "\"child\":{".repeat(100), "}".repeat(101));
    assert!(refused(&everything, "e.All", &flat).contains("more than 100 levels"));
}

/// A field with another wire type than its own is an unknown one, also in a message with a form of its own.
#[test]
fn known_messages_leave_out_fields_with_another_wire_type() {
    let known = pool(KNOWN);
    let m = known.message("m.M").expect("m.M");
    let long = [9, 7, 0, 0, 0, 0, 0, 0, 0];
    for (number, content, expected) in [
        (1, [&long[..], &[8, 3]].concat(), r#"{"time":"1970-01-01T00:00:03Z"}"#),
        (2, [&[10, 1, b'x', 8, 3][..], &long].concat(), r#"{"took":"3s"}"#),
        (3, [&[8, 1, 10, 1, b'x'][..], &long].concat(), r#"{"mask":"x"}"#),
        (4, [&[8, 0][..], &long].concat(), r#"{"any":{}}"#),
        (5, [&[34, 1, b'x', 33, 0, 0, 0, 0, 0, 0, 0, 0, 32, 1][..]].concat(), r#"{"value":true}"#),
        (6, [&long[..], &[10, 1, b'x', 8, 5]].concat(), r#"{"count":"5"}"#),
        (6, long.to_vec(), r#"{"count":"0"}"#),
    ] {
        let wire = [&[number << 3 | 2, content.len() as u8][..], &content].concat();
        let direct = super::print_bytes(&m, &wire, &PrintOptions::default()).expect("JSON");
        let message = DynamicMessage::decode(m.clone(), &wire).expect("a message");
        assert_eq!(
            (direct.as_str(), message.to_json().expect("JSON").as_str()),
            (expected, expected)
        );
    }
    // An address that nobody knows, behind one that is none.
    let wire = [34, 5, 8, 0, 10, 1, 0];
    super::print_bytes(&m, &wire, &PrintOptions::default()).expect_err("no such message");
}

#[test]
fn fields_in_any_order() {
    let pool = pool(EVERYTHING);
    let all = pool.message("e.All").expect("e.All");
    let print = |wire: &[u8]| {
        let mut written = vec![];
        let printed = super::print_bytes(&all, wire, &PrintOptions::default());
        super::write_bytes(&all, wire, &PrintOptions::default(), &mut written).expect("JSON");
        let printed = printed.expect("JSON");
        assert_eq!(printed.as_bytes(), written);
        printed
    };
    // A known number of a closed enum between others, in two fields, and a field of another type.
    let colors = [9, 0, 0, 0, 0, 0, 0, 0, 0, 0x92, 2, 2, 1, 0, 0x90, 2, 0];
    assert_eq!(print(&colors), r#"{"colors":["RED","RED"]}"#);
    // Text that is not UTF-8 is not lost between values of a closed enum.
    let text = [0x92, 2, 2, 10, 0, 114, 1, 128, 0x90, 2, 0];
    let printed = super::print_bytes(&all, &text, &PrintOptions::default());
    assert_eq!(printed.expect_err("not UTF-8").to_string(), "text: is not UTF-8");
    // The last of two values counts.
    assert_eq!(print(&[8, 1, 8, 2]), r#"{"i32":2}"#);
    // Maps are sorted, and the last entry of a key counts: { "b": RED }, { "a": RED }, { "b": BLUE }.
    let names = all.field("names").expect("names").number();
    let entry = |key: u8, value: u8| {
        [(names << 3 | 2) as u8 | 0x80, (names >> 4) as u8, 5, 10, 1, key, 16, value]
    };
    let map = [entry(b'b', 0), entry(b'a', 0), entry(b'b', 7)].concat();
    assert_eq!(print(&map), r#"{"names":{"a":"RED","b":"BLUE"}}"#);
}

#[test]
fn bytes_do_not_have_the_order_of_the_text() {
    let everything = pool(EVERYTHING);
    let known = pool(KNOWN);
    let wire = |pool: &Pool, name, text: &str| {
        let of = pool.message(name).expect(name);
        let wire = super::parse(&of, text.as_bytes(), &ParseOptions::default());
        let wire = wire.unwrap_or_else(|errors| panic!("{errors}"));
        let message = DynamicMessage::decode(of, &wire).expect("a message");
        assert_eq!(message.encode(), wire, "{text}");
        wire
    };
    let long = "x".repeat(300);
    for (text, same) in [
        (r#"{"i64":"1","i32":2}"#, r#"{"i32":2,"i64":"1"}"#),
        (
            r#"{"children":[{"i64":1,"i32":2},{"u32":1}],"part":{"x":1},"numbers":[1,2],"packed":[1]}"#,
            r#"{"part":{"x":1},"numbers":[1,2],"packed":[1],"children":[{"i32":2,"i64":1},{"u32":1}]}"#,
        ),
        (
            r#"{"byId":{"5":{},"-5":{"u32":1,"i32":1},"-700":{}},"names":{"b":"RED","":"RED","a":"RED"}}"#,
            r#"{"names":{"":"RED","a":"RED","b":"RED"},"byId":{"-700":{},"-5":{"i32":1,"u32":1},"5":{}}}"#,
        ),
        (
            r#"{"names":{"ab":"RED","aa":"RED","a":"RED"}}"#,
            r#"{"names":{"a":"RED","aa":"RED","ab":"RED"}}"#,
        ),
        (r#"{"[e.ext]":1,"i32":2}"#, r#"{"i32":2,"[e.ext]":1}"#),
        (
            r#"{"any":{"text":"x","i32":1,"@type":"a/e.All"}}"#,
            r#"{"any":{"@type":"a/e.All","i32":1,"text":"x"}}"#,
        ),
    ] {
        assert_eq!(wire(&everything, "e.All", text), wire(&everything, "e.All", same), "{text}");
    }
    let text =
        format!(r#"{{"byId":{{"2":{{"text":"{long}"}},"1":{{}}}},"text":"{long}","i32":1}}"#);
    wire(&everything, "e.All", &text);
    // A long entry is moved with its key.
    let names = |names: [&str; 2]| {
        let [first, second] = names.map(|name| format!(r#""{long}{name}":"RED""#));
        wire(&everything, "e.All", &format!(r#"{{"names":{{{first},{second}}}}}"#))
    };
    assert_eq!(names(["b", "a"]), names(["a", "b"]));
    for (text, same) in [
        (r#"{"value":{"b":{"d":1,"c":2},"a":1}}"#, r#"{"value":{"a":1,"b":{"c":2,"d":1}}}"#),
        (r#"{"number":1,"value":null}"#, r#"{"value":null,"number":1}"#),
    ] {
        assert_eq!(wire(&known, "m.M", text), wire(&known, "m.M", same), "{text}");
    }
    let sets = EVERYTHING.replace("enum_type {", "extension { name: 'low' extendee: '.e.Set' number: 7 type: TYPE_MESSAGE type_name: '.e.Member' } enum_type {");
    let sets = pool(&sets);
    let (text, same) = (
        r#"{"[e.Member.of_set]":{"n":4},"[e.low]":{"n":5}}"#,
        r#"{"[e.low]":{"n":5},"[e.Member.of_set]":{"n":4}}"#,
    );
    assert_eq!(wire(&sets, "e.Set", text), wire(&sets, "e.Set", same));
}

/// Strings are copied in pieces; each byte of each piece may need an escape.
#[test]
fn every_byte_of_a_string_may_need_an_escape() {
    let pool = pool(KNOWN);
    for len in 0..50 {
        for at in 0..len {
            for escape in ["\\\"", "\\\\", "\\n", "\\u0000", "\\u001f", "!", "\u{7f}", "\u{e9}"] {
                let (before, behind) = ("a".repeat(at), "b".repeat(len - at - 1));
                let text = format!(r#"{{"other":"{before}{escape}{behind}"}}"#);
                assert_eq!(read(&pool, "m.M", &text).to_json().as_deref().ok(), Some(&*text));
            }
        }
    }
}

/// Spaces are allowed around each token, and names are found with and without them.
#[test]
fn spaces_between_members() {
    let pool = pool(EVERYTHING);
    let same = r#"{"i32":1,"i64":"2","text":"x","flag":true}"#;
    let expected = read(&pool, "e.All", same).encode();
    for comma in [",", " ,", ", ", "\n,\t", " , "] {
        for colon in [":", " :", ": "] {
            let text = same.replace(',', comma).replace(':', colon);
            assert_eq!(read(&pool, "e.All", &text).encode(), expected, "{text}");
        }
    }
    for text in [r#"{"i32":1,}"#, r#"{"i32":1,"#, r#"{"i32":1,"text"}"#, r#"{"i32":1"text":"x"}"#] {
        refused(&pool, "e.All", text);
    }
}

/// A map in a map: each level is printed a second time if that is found out too late, so all of them 2^60 times.
#[test]
fn unsorted_maps_in_maps_end() {
    let pool = pool(EVERYTHING);
    let all = pool.message("e.All").expect("e.All");
    let mut wire = vec![];
    for _ in 0..50 {
        // { 1: the message so far }, { 0: {} }; keys are sint64.
        let entry = [vec![8, 2, 18], varint(wire.len()), wire].concat();
        let number = [0xd2, 2];
        wire = [&number[..], &varint(entry.len()), &entry, &number, &[2, 8, 0]].concat();
    }
    let text = super::print_bytes(&all, &wire, &PrintOptions::default()).expect("JSON");
    assert_eq!(text.matches(r#""byId":{"0":{},"1":"#).count(), 50);
    // One more is what no decoder takes.
    let entry = [vec![8, 2, 18], varint(wire.len()), wire].concat();
    let wire = [&[0xd2, 2][..], &varint(entry.len()), &entry].concat();
    let error = super::print_bytes(&all, &wire, &PrintOptions::default()).expect_err("too deep");
    let decoded = DynamicMessage::decode(all, &wire).expect_err("too deep");
    assert_eq!(error.to_string(), decoded.to_string());
}

fn varint(value: usize) -> Vec<u8> {
    match u8::try_from(value) {
        Ok(byte) if byte < 0x80 => vec![byte],
        _ => vec![value as u8 & 0x7f | 0x80, (value >> 7) as u8],
    }
}

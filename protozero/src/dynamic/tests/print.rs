//! Printing and parsing messages.

use std::format;

use super::{EVERYTHING, decode, new, pool, read};
use crate::dynamic::DynamicMessage;
use crate::text::{Options, PrintOptions};

/// Prints in one line.
pub(super) const LINE: PrintOptions =
    PrintOptions { single_line: true, unknown_fields: true, expand_any: true, ascii: false };

/// `text` is printed as `line`, which is parsed as the same message.
#[track_caller]
fn check(text: &str, line: &str) {
    let pool = pool(EVERYTHING);
    let message = read(&pool, "e.All", text);
    assert_eq!(message.to_text_with(&LINE), line);
    assert_eq!(read(&pool, "e.All", line), message);
    assert_eq!(read(&pool, "e.All", &message.to_text()), message);
    assert_eq!(decode(&pool, "e.All", &message.encode()), message);
}

#[track_caller]
fn refused(text: &str, why: &str) {
    let pool = pool(EVERYTHING);
    let errors = DynamicMessage::from_text(pool.message("e.All").unwrap(), text).expect_err(text);
    assert_eq!(
        format!("{errors}").lines().next(),
        Some(format!("<text>:{why}").as_str()),
        "{text}"
    );
}

#[test]
fn lines() {
    let pool = pool(EVERYTHING);
    let message = read(&pool, "e.All", "child { child { flag: t } i32: 1 } texts: ['a', 'b']");
    assert_eq!(
        message.to_text(),
        "child {\n  i32: 1\n  child {\n    flag: true\n  }\n}\ntexts: \"a\"\ntexts: \"b\"\n"
    );
    assert_eq!(new(&pool, "e.All").to_text(), "");
}

#[test]
fn numbers() {
    check(
        "i32: -0x80000000 u64: 0xffffffffffffffff s64: -1",
        "i32: -2147483648 u64: 18446744073709551615 s64: -1",
    );
    for (text, printed) in [
        ("1", "1"),
        ("1.50", "1.5"),
        ("-0", "-0"),
        ("1e15", "1000000000000000"),
        ("1e16", "1e16"),
        ("1e300", "1e300"),
        ("1.25e-7", "1.25e-7"),
        ("0.00001", "0.00001"),
        ("123456.789f", "123456.789"),
        ("inf", "inf"),
        ("-Infinity", "-inf"),
    ] {
        check(&format!("double: {text}"), &format!("double: {printed}"));
    }
    check("float: 0.1", "float: 0.1");
    check("float: 3.4028235e38", "float: 3.4028235e38");
    let pool = pool(EVERYTHING);
    assert_eq!(read(&pool, "e.All", "float: -nan").to_text(), "float: nan\n");
    check("color: DARK color_is_not_here: 1".split(" color_").next().unwrap(), "color: DARK");
}

#[test]
fn strings() {
    check(r#"text: "é\n\t\"'\\\x01\u007f""#, r#"text: "é\n\t\"\'\\\001\177""#);
    check(r#"blob: "é\xff""#, r#"blob: "\303\251\377""#);
    check("text: '\\u0085\\u2028'", "text: \"\\302\\205\u{2028}\"");
    let pool = pool(EVERYTHING);
    let ascii = PrintOptions { ascii: true, ..LINE };
    assert_eq!(read(&pool, "e.All", "text: 'é'").to_text_with(&ascii), r#"text: "\303\251""#);
}

#[test]
fn maps_are_entries() {
    let line = r#"names { key: "a" value: BLUE } names { key: "b" value: RED }"#;
    check("names { key: 'b' } names { value: BLUE key: 'a' }", line);
    check("names: [{ key: 'b' value: RED }, < value: 7 key: 'a' >]", line);
    check(
        "names { key: 'a' value: RED } names { key: 'a' value: BLUE }",
        r#"names { key: "a" value: BLUE }"#,
    );
    check(
        "by_id { key: -1 } by_id { value { i32: 1 } }",
        "by_id { key: -1 value { } } by_id { key: 0 value { i32: 1 } }",
    );
    refused("names { key: 'a' key: 'b' }", "1:18 error: `key` is given twice, first in line 1");
}

#[test]
fn groups_have_two_names() {
    check("Part { x: 1 } parts { } Parts { x: 2 }", "Part { x: 1 } Parts { } Parts { x: 2 }");
    check("part { x: 1 }", "Part { x: 1 }");
    refused("PART { }", "1:1 error: no field named `PART` in `e.All`: did you mean `part`?");
    refused("Child { }", "1:1 error: no field named `Child` in `e.All`: did you mean `child`?");
}

#[test]
fn extensions() {
    check(
        "[e.exts] { n: 1 } [e.ext]: 5 [ e . exts ]: [{ }]",
        "[e.ext]: 5 [e.exts] { n: 1 } [e.exts] { }",
    );
    refused("[e.nope]: 5", "1:1 error: unknown extension `[e.nope]`");
    refused(
        "child { [e.Member.of_set] { } }",
        "1:9 error: `[e.Member.of_set]` does not extend `e.All`",
    );
    refused("[e.ext]: 5 [e.ext]: 6", "1:12 error: `e.ext` is given twice, first in line 1");
    let pool = pool(EVERYTHING);
    for text in ["[e.Member.of_set] { n: 1 }", "[e.Member] { n: 1 }"] {
        let set = read(&pool, "e.Set", text);
        assert_eq!(set.to_text_with(&LINE), "[e.Member] { n: 1 }");
    }
}

#[test]
fn content_of_any_is_printed() {
    let line = "any { [type.googleapis.com/e.Member] { n: 5 } }";
    check(line, line);
    check("any: < [ type.googleapis.com / e.Member ] : < n: 5 > >", line);
    check("any { type_url: 'type.googleapis.com/e.Member' value: '\\x08\\x05' }", line);
    check("any { type_url: 'x/e.Member' }", "any { [x/e.Member] { } }");
    // An `Any` that cannot be expanded is printed as a normal message.
    for plain in [
        r#"any { type_url: "type.googleapis.com/e.None" value: "\010\005" }"#,
        r#"any { type_url: "e.Member" value: "\010\005" }"#,
        r#"any { type_url: "type.googleapis.com/e.Member" value: "\010" }"#,
        r#"any { type_url: "no host/e.Member" }"#,
        r#"any { value: "\010" }"#,
        "any { }",
    ] {
        check(plain, plain);
    }
    refused("any { [x/e.None] { } }", "1:7 error: unknown type `e.None`");
    refused(
        "any { [x/e.Member] { } value: '' }",
        "1:24 error: `value` is given twice, first in line 1",
    );
    refused(
        "any { [x/e.Member] { } [x/e.Member] { } }",
        "1:24 error: the content of an `Any` is given twice",
    );
    refused("any { [x/e.Member]: 5 }", "1:21 error: expected `{`, found `5`");
    refused("child { [x/e.Member] { } }", "1:9 error: unknown extension `[x/e.Member]`");
    // An `Any` in an `Any`.
    let pool = pool(EVERYTHING);
    let nested = "any { [a/e.All] { any { [a/e.Member] { n: 1 } } } }";
    assert_eq!(read(&pool, "e.All", nested).to_text_with(&LINE), nested);
}

#[test]
fn oneofs() {
    check("one_number: 5", "one_number: 5");
    refused(
        "one_number: 5\none_child { }",
        "2:1 error: `one_child` cannot be set together with `one_number` (line 1): both are members of the oneof `choice`",
    );
    refused(
        "one_number: 5 one_number: 6",
        "1:15 error: `one_number` is given twice, first in line 1",
    );
}

#[test]
fn packed_is_written_packed() {
    let pool = pool(EVERYTHING);
    let message = read(&pool, "e.All", "packed: [1, 2] packed: 3");
    assert_eq!(message.encode(), b"\x82\x02\x0c\x01\0\0\0\x02\0\0\0\x03\0\0\0");
}

#[test]
fn perfetto_syntax_is_refused() {
    refused("i32 5", "1:5 error: expected `:`, found `5`");
    refused("text: 'a\nb'", "1:7 error: this string has no closing quote");
    refused("color: 5", "1:8 error: `5` is not a value of `e.Color`");
    refused("gone_not: 1", "1:1 error: no field named `gone_not` in `e.All`");
}

#[test]
fn reserved_names_are_skipped() {
    check("gone: 5 i32: 1 gone { x: [1, 2] }", "i32: 1");
}

#[test]
fn numbers_of_unknown_fields() {
    let pool = pool(EVERYTHING);
    let wire = b"\xf8\x3f\x96\x01\xf9\x3f\x01\0\0\0\0\0\0\0\xfa\x3f\x04\x0a\x02\x08\x05\xfb\x3f\xfd\x3f\x07\0\0\0\xfc\x3f";
    let message = decode(&pool, "e.All", wire);
    let line = "1023: 150 1023: 0x0000000000000001 1023 { 1 { 1: 5 } } 1023 { 1023: 0x00000007 }";
    assert_eq!(message.to_text_with(&LINE), line);
    assert_eq!(message.to_text(), "", "unknown fields are printed only as an option");
    let lossy = Options { lossy: true, ..Options::default() };
    let all = pool.message("e.All").unwrap();
    let read = DynamicMessage::from_text_with(all.clone(), line, &lossy).unwrap();
    assert!(read.is_empty());
    assert!(DynamicMessage::from_text(all, line).is_err());
}

#[test]
fn a_deep_any_is_printed_as_bytes() {
    let pool = pool(EVERYTHING);
    let mut inner = new(&pool, "e.All");
    for _ in 0..400 {
        let bytes = inner.encode();
        inner = new(&pool, "e.All");
        let any = inner.message_mut("any").unwrap();
        any.set("type_url", "a/e.All").unwrap();
        any.set("value", bytes).unwrap();
    }
    let text = inner.to_text_with(&LINE);
    assert!(text.contains("value: \""));
    assert_eq!(read(&pool, "e.All", &text), inner);
    let nest = |levels: usize| ["any { [a/e.All] {".repeat(levels), "} }".repeat(levels)].concat();
    let all = pool.message("e.All").unwrap();
    assert!(DynamicMessage::from_text(all.clone(), nest(50)).is_ok());
    assert!(DynamicMessage::from_text(all, nest(50_000)).is_err());
}

/// What this pool does not know of the content would be lost.
#[test]
fn an_any_with_unknown_fields_is_printed_as_bytes() {
    let pool = pool(EVERYTHING);
    // Number 1023: in the content, in a message, in a list and in a map.
    for bytes in [
        &b"\xf8\x3f\x01"[..],
        b"\x8a\x01\x03\xf8\x3f\x01",
        b"\x9a\x02\x03\xf8\x3f\x01",
        b"\xd2\x02\x07\x08\x02\x12\x03\xf8\x3f\x01",
    ] {
        let mut message = new(&pool, "e.All");
        let any = message.message_mut("any").unwrap();
        any.set("type_url", "a/e.All").unwrap();
        any.set("value", bytes.to_vec()).unwrap();
        let text = message.to_text();
        assert!(text.contains("value: \""), "{text}");
        assert_eq!(read(&pool, "e.All", &text), message);
        // As an option, they are printed.
        let text = message.to_text_with(&LINE);
        assert!(text.contains("any { [a/e.All] {") && text.contains("1023: 1"), "{text}");
    }
}

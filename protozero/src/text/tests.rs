//! Texts with the bytes or the error that they give.

use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, vec};

use super::{Options, parse};
use crate::descriptor::{
    EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, message, optional, repeated,
};
use crate::dynamic::MEMORY_MAX;

static POLICY: EnumDescriptor = EnumDescriptor {
    name: "test.Policy",
    values: &[("UNSPECIFIED", 0), ("RING_BUFFER", 1), ("DISCARD", 2), ("NEGATIVE", -1)],
    closed: false,
};

static FIELDS: [FieldDescriptor; 20] = [
    optional("i32", 1, Kind::Int32),
    optional("i64", 2, Kind::Int64),
    optional("u32", 3, Kind::Uint32),
    optional("u64", 4, Kind::Uint64),
    optional("s32", 5, Kind::Sint32),
    optional("s64", 6, Kind::Sint64),
    optional("f32", 7, Kind::Fixed32),
    optional("f64", 8, Kind::Fixed64),
    optional("sf32", 9, Kind::Sfixed32),
    optional("sf64", 10, Kind::Sfixed64),
    optional("float", 11, Kind::Float),
    optional("double", 12, Kind::Double),
    optional("flag", 13, Kind::Bool),
    optional("name", 14, Kind::String),
    optional("blob", 15, Kind::Bytes),
    optional("policy", 16, Kind::Enum(&POLICY)),
    optional("child", 17, Kind::Message(node)),
    repeated("children", 18, Kind::Message(node)),
    repeated("numbers", 19, Kind::Uint32),
    repeated("names", 20, Kind::String),
];

static NODE: MessageDescriptor = message("test.Node", &FIELDS);

pub(super) fn node() -> &'static MessageDescriptor {
    &NODE
}

fn read(text: &[u8], lossy: bool) -> Result<Vec<u8>, String> {
    parse(&NODE, text, &Options { file: "f", lossy, ..Options::default() })
        .map_err(|errors| errors.to_string())
}

/// `text` is encoded as `wire`.
#[track_caller]
fn check(text: &str, wire: &[u8]) {
    assert_eq!(read(text.as_bytes(), false).as_deref(), Ok(wire), "{text}");
}

/// All `texts` are encoded as `wire`.
#[track_caller]
fn all(texts: &[&str], wire: &[u8]) {
    for text in texts {
        check(text, wire);
    }
}

/// `text` is refused with exactly this report.
#[track_caller]
fn fails(text: &str, report: &str) {
    assert_eq!(read(text.as_bytes(), false), Err(report.to_string()));
}

/// `text` is refused with this message.
#[track_caller]
fn refused(text: &str, message: &str) {
    let report = read(text.as_bytes(), false).expect_err(text);
    assert!(report.lines().next().unwrap().ends_with(message), "{text}: {report}");
}

#[test]
fn separators_and_blanks() {
    all(
        &[
            "u32: 1 name: 'a'",
            "u32:1 name:\"a\"",
            "u32 1 name 'a'",
            "u32: 1; name: 'a';",
            "u32: 1, name: 'a',",
            "u32:1,name:'a'",
            "\n\tu32 : 1 # one\r\n# two\nname # three\n: # four\n'a' # five",
            "u32: 1#glued\nname: 'a'",
            "\u{feff}u32: 1 name: 'a'",
        ],
        b"\x18\x01\x72\x01a",
    );
    all(&["", " ", "# nothing", "\n\n#\n"], b"");
    refused("u32: 1;; name: 'a'", "expected a field name, found `;`");
    refused("u32 = 1", "expected a value, found `=`");
}

#[test]
fn messages() {
    all(
        &[
            "child { u32: 1 }",
            "child{u32:1}",
            "child: { u32: 1 }",
            "child: <u32: 1>",
            "child<u32:1;>",
            "child { u32: 1, };",
        ],
        b"\x8a\x01\x02\x18\x01",
    );
    check("child {}", b"\x8a\x01\0");
    check("child { child < child { } > }", b"\x8a\x01\x06\x8a\x01\x03\x8a\x01\x00");
    all(
        &[
            "children { u32: 1 } children {}",
            "children: [{ u32: 1 }, {}]",
            "children [ <u32: 1>, <> ],",
        ],
        b"\x92\x01\x02\x18\x01\x92\x01\0",
    );
    fails(
        "child {\n  u32: 1\n",
        "f:1:7 error: this has no closing `}`\nchild {\n      ^ in test.Node.child",
    );
    fails(
        "child { u32: 1 >",
        "f:1:16 error: expected a field name, found `>`\nchild { u32: 1 >\n               ^ in test.Node.child",
    );
    fails("u32: 1 }", "f:1:8 error: this has no matching opening brace\nu32: 1 }\n       ^");
    refused("child: 5", "`child` is a message: write `child { ... }`, not `5`");
    refused("u32 { }", "`u32` is a uint32, not a message");
}

#[test]
fn lists() {
    let wire = b"\x98\x01\x01\x98\x01\x02\x98\x01\x03";
    all(&["numbers: [1, 2, 3]", "numbers [1,2,3]", "numbers: 1 numbers: [2, 3]"], wire);
    all(&["names: ['a' \"b\", 'c']", "names: 'ab' names: 'c'"], b"\xa2\x01\x02ab\xa2\x01\x01c");
    check("numbers: []", b"");
    fails(
        "u32: [1]",
        "f:1:6 error: `u32` holds one value, not a list\nu32: [1]\n     ^ in test.Node.u32",
    );
    refused("numbers: [1 2]", "expected `,` or `]`, found `2`");
    refused("numbers: [1,", "expected a value, found the end of the text");
    refused("numbers: [1,]", "expected a value, found `]`");
    refused("numbers: [[1]]", "expected a value, found `[`");
}

#[test]
fn integers() {
    all(&["u32: 10", "u32: 0xa", "u32: 0XA", "u32: 012"], b"\x18\x0a");
    all(
        &["i32: -1", "i32: - 1", "i32: -0x1", "i32: -01"],
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    );
    check("u64: 18446744073709551615", b"\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    check("i64: -9223372036854775808", b"\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01");
    check("s32: -1 s64: -2", b"\x28\x01\x30\x03");
    check("f32: 1 sf32: -1", b"\x3d\x01\0\0\0\x4d\xff\xff\xff\xff");
    check("f64: 1 sf64: -1", b"\x41\x01\0\0\0\0\0\0\0\x51\xff\xff\xff\xff\xff\xff\xff\xff");
    check("u32: 0", b"\x18\0");
    refused("u32: 4294967296", "`4294967296` does not fit a uint32: 0 to 4294967295");
    refused("u32: -1", "`-1` does not fit a uint32: 0 to 4294967295");
    refused("i32: 2147483648", "`2147483648` does not fit a int32: -2147483648 to 2147483647");
    refused("u64: 18446744073709551616", "does not fit a uint64: 0 to 18446744073709551615");
    refused("u32: 0x", "`u32` is a uint32, `0x` is not");
    refused("u32: 09", "`u32` is a uint32, `09` is not");
    refused("u32: 1.5", "`u32` is a uint32, `1.5` is not");
    refused("i32: .5", "`i32` is a int32, `.5` is not");
    refused("u32: 12ab", "`u32` is a uint32, `12ab` is not");
    refused("u32: 'a'", "`u32` is a uint32, a string is not");
    refused("u32: abc", "`u32` is a uint32, `abc` is not");
    refused("u32: -'a'", "expected a number, found `'a'`");
}

#[test]
fn floats() {
    let double = |value: f64| [&b"\x61"[..], &value.to_le_bytes()].concat();
    for (text, value) in [
        ("1", 1.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1e3", -1000.0),
        ("1.5E-3", 0.0015),
        ("1e+3", 1000.0),
        ("2f", 2.0),
        ("2.5F", 2.5),
        ("0", 0.0),
        ("-0", -0.0),
        ("inf", f64::INFINITY),
        ("-Infinity", f64::NEG_INFINITY),
        ("1e999", f64::INFINITY),
        ("123456789012345678901234567890", 123_456_789_012_345_678_901_234_567_890.0),
    ] {
        check(&format!("double: {text}"), &double(value));
    }
    check("float: 0.1", b"\x5d\xcd\xcc\xcc\x3d");
    let nan = read(b"double: nan", false).unwrap();
    assert!(f64::from_le_bytes(nan[1..].try_into().unwrap()).is_nan());
    refused("double: 012", "`double` is a double, `012` is not");
    refused("double: 0x10", "`double` is a double, `0x10` is not");
    refused("double: 1e", "`double` is a double, `1e` is not");
    refused("double: 1.2.3", "`double` is a double, `1.2.3` is not");
    refused("float: pi", "`float` is a float, `pi` is not");
}

#[test]
fn words() {
    all(&["flag: true", "flag: t", "flag: True", "flag: 1", "flag true"], b"\x68\x01");
    all(&["flag: false", "flag: f", "flag: False", "flag: 0"], b"\x68\0");
    refused("flag: yes", "`flag` is a bool: write true or false, not `yes`");
    refused("flag: 2", "`flag` is a bool: write true or false, not `2`");
    all(&["policy: DISCARD", "policy: 2", "policy: 0x2"], b"\x80\x01\x02");
    all(&["policy: NEGATIVE", "policy: -1"], b"\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    check("policy: 77", b"\x80\x01\x4d");
    refused(
        "policy: DISCORD",
        "`DISCORD` is not a value of `test.Policy`: did you mean `DISCARD`?",
    );
    refused(
        "policy: OTHER",
        "`OTHER` is not a value of `test.Policy`; the values are UNSPECIFIED, RING_BUFFER, DISCARD, NEGATIVE",
    );
    refused("policy: 'DISCARD'", "write `policy: DISCARD` without quotes");
    refused("policy: 2147483648", "does not fit a test.Policy: -2147483648 to 2147483647");
    // Names of fields and values are not keywords.
    check("name: 'inf' flag: t", b"\x68\x01\x72\x03inf");
}

#[test]
fn strings() {
    let blob = |text: &str, bytes: &[u8]| {
        check(&format!("blob: {text}"), &[&[0x7a, bytes.len() as u8], bytes].concat());
    };
    blob(r#""""#, b"");
    blob(r#""it's""#, b"it's");
    blob(r#"'say "hi"'"#, b"say \"hi\"");
    blob(
        r#""a" 'b' # note
            "c""#,
        b"abc",
    );
    blob("\"two\nlines\"", b"two\nlines");
    blob(r#""\n\r\t\a\b\f\v\\\'\"\?""#, b"\n\r\t\x07\x08\x0c\x0b\\'\"?");
    blob(r#""\0\12\123\1234\377""#, b"\0\x0aSS4\xff");
    blob(r#""\x1\x41\xff\X7f!""#, b"\x01A\xff\x7f!");
    blob(r#""\u00e9\U0001f600""#, "é😀".as_bytes());
    check("name: 'é'", "\x72\x02é".as_bytes());
    fails(
        "blob: 'ab\\q'",
        "f:1:10 error: `\\q` is not an escape sequence\nblob: 'ab\\q'\n         ^~ in test.Node.blob",
    );
    refused(r"blob: '\400'", "an octal escape must not exceed \\377");
    refused(r"blob: '\xg'", "\\x needs one or two hex digits");
    refused(r"blob: '\u12'", "\\u needs four hex digits, \\U needs eight");
    refused(r"blob: '\ud800'", "this is not a Unicode character");
    refused(r"blob: '\ud83d\ude00'", "this is not a Unicode character");
    refused(r"blob: '\U00110000'", "this is not a Unicode character");
    refused(r"name: '\xff'", "`name` is a string, but the value is not UTF-8");
    refused("name: 5", "`name` is a string: put `5` in quotes");
    refused("name: abc", "`name` is a string: put `abc` in quotes");
    fails(
        "name: 'abc\nu32: 1",
        "f:1:7 error: this string has no closing quote\nname: 'abc\n      ^ in test.Node.name",
    );
    refused(r"name: '\", "this string has no closing quote");
    refused(r"name: '\'", "this string has no closing quote");
    // Strings and comments may contain any bytes. Errors in other encodings have a position.
    assert_eq!(read(b"blob: '\xff\xfe' # \xe9", false).unwrap(), b"\x7a\x02\xff\xfe");
    let latin = read(b"name: 'caf\xe9' x: 1", false).unwrap_err();
    assert!(
        latin.starts_with("f:1:7 error: `name` is a string, but the value is not UTF-8\n"),
        "{latin}"
    );
}

#[test]
fn unknown_fields() {
    fails(
        "u31: 1",
        "f:1:1 error: no field named `u31` in `test.Node`: did you mean `u32`?\nu31: 1\n^~~",
    );
    refused("colour: 1", "no field named `colour` in `test.Node`");
    fails(
        "[perfetto.protos.Ext.field] { a: 1 }",
        "f:1:1 error: unknown extension `[perfetto.protos.Ext.field]`\n[perfetto.protos.Ext.field] { a: 1 }\n^~~~~~~~~~~~~~~~~~~~~~~~~~~",
    );
    refused("[] { }", "expected the name of an extension and `]`, found `]`");
    refused("5: 1", "expected a field name, found `5`");
}

#[test]
fn lossy_parsing_skips_unknown_fields() {
    let texts = [
        "nope: 1",
        "nope: 'a' \"b\";",
        "nope: -inf",
        "nope { deep < [x.y]: [1, -2, 'c'], z: { } > }",
        "nope: [{ a: 1 }, { }]",
        "[pkg.ext] { a: 1 }",
        "[type.googleapis.com/pkg.Type-x] < >",
        "policy: NEW_VALUE",
        "child { nope: 1 }",
    ];
    for text in texts {
        let wire: &[u8] =
            if text.starts_with("child") { b"\x18\x01\x8a\x01\0" } else { b"\x18\x01" };
        assert_eq!(read(format!("{text} u32: 1").as_bytes(), true).as_deref(), Ok(wire), "{text}");
    }
    // Errors in types and syntax remain errors.
    for text in ["u32: 'a'", "policy: 1.5", "child: 1", "nope: [1", "nope { a 1 ", "u32: 1 u32: 2"]
    {
        assert!(read(text.as_bytes(), true).is_err(), "{text}");
    }
}

#[test]
fn repeated_singular_fields() {
    fails(
        "u32: 1\nname: 'a'\nu32: 1\n",
        "f:3:1 error: `u32` is given twice, first in line 1\nu32: 1\n^~~",
    );
    refused("child {} child {}", "`child` is given twice, first in line 1");
    check("children { u32: 1 } children { u32: 1 }", b"\x92\x01\x02\x18\x01\x92\x01\x02\x18\x01");
}

#[test]
fn several_errors_at_once() {
    fails(
        "u32: -1\n\tnope: 'x'\nchild { policy: WHAT u32: 99999999999 }\nname 'ok' }\nu32: 5",
        "f:1:6 error: `-1` does not fit a uint32: 0 to 4294967295\nu32: -1\n     ^~ in test.Node.u32\n\
         f:2:2 error: no field named `nope` in `test.Node`\n\tnope: 'x'\n\t^~~~\n\
         f:3:17 error: `WHAT` is not a value of `test.Policy`; the values are UNSPECIFIED, RING_BUFFER, DISCARD, NEGATIVE\n\
         child { policy: WHAT u32: 99999999999 }\n                ^~~~ in test.Node.child.policy\n\
         f:3:27 error: `99999999999` does not fit a uint32: 0 to 4294967295\n\
         child { policy: WHAT u32: 99999999999 }\n                          ^~~~~~~~~~~ in test.Node.child.u32\n\
         f:4:11 error: this has no matching opening brace\nname 'ok' }\n          ^",
    );
    let errors = parse(&NODE, "nope: 1\n".repeat(1000).as_bytes(), &Options::default());
    assert_eq!(errors.unwrap_err().errors.len(), 20);
}

#[test]
fn places() {
    // Columns count characters. A tab is one character and is repeated in the line of the caret.
    fails(
        "\tname: 'é' bad: 1",
        "f:1:12 error: no field named `bad` in `test.Node`\n\tname: 'é' bad: 1\n\t          ^~~",
    );
    // Line breaks of Windows.
    fails("u32: 1\r\nbad: 1\r\n", "f:2:1 error: no field named `bad` in `test.Node`\nbad: 1\n^~~");
    // The end of the text is a position.
    fails(
        "u32:",
        "f:1:5 error: expected a value, found the end of the text\nu32:\n    ^ in test.Node.u32",
    );
    fails(
        "u32:\n",
        "f:2:1 error: expected a value, found the end of the text\n\n^ in test.Node.u32",
    );
    // A long line is shortened to a part around the position.
    let long = format!("{}bad: 1{}", "flags: 1 ".repeat(1000), " ".repeat(1000));
    for error in read(long.as_bytes(), false).unwrap_err().lines() {
        assert!(error.chars().count() <= 160, "{error}");
    }
    // Control characters are replaced.
    let report = read(b"bad\x1b[31m: 1", false).unwrap_err();
    assert!(!report.contains('\x1b'), "{report}");
}

/// Each error in `text` is at this path.
fn check_paths(text: &str, expected: &[&str]) {
    let errors = parse(&NODE, text.as_bytes(), &Options::default()).expect_err(text).errors;
    let paths: Vec<&str> = errors.iter().map(|error| &*error.path).collect();
    assert_eq!(paths, expected, "{text}");
}

#[test]
fn an_error_has_the_path_of_its_field() {
    check_paths("u32: 'a' name: 5", &["test.Node.u32", "test.Node.name"]);
    check_paths("children {} children { child < u32: x > }", &["test.Node.children[1].child.u32"]);
    check_paths(
        "children: [{}, { u32: -1 }, { bad: 1 }]",
        &["test.Node.children[1].u32", "test.Node.children[2]"],
    );
    check_paths("numbers: 1 numbers: [2, x]", &["test.Node.numbers[2]"]);
    check_paths("names: ['a' 'b', 5], u32: -1", &["test.Node.names[1]", "test.Node.u32"]);
    // The second string of a value, and the field after a value.
    check_paths("name: 'a' '\\u12'", &["test.Node.name"]);
    check_paths("child { u32: 1 } bad: 1 u32: - 1", &["", "test.Node.u32"]);
    check_paths("child { } }", &[""]);
    check_paths("child { # }\n u32: 1; name: 5 }", &["test.Node.child.name"]);
}

#[test]
fn nesting_is_bounded() {
    let nest = |levels| ["child {".repeat(levels), "}".repeat(levels)].concat();
    assert!(read(nest(100).as_bytes(), false).is_ok());
    let report = read(nest(101).as_bytes(), false).unwrap_err();
    assert!(report.contains("error: messages are nested more than 100 levels deep"), "{report}");
    assert!(read(nest(100_000).as_bytes(), true).is_err());
    assert!(read("nope {".repeat(100_000).as_bytes(), true).is_err());
}

#[test]
fn output_is_what_decoders_read() {
    // Lengths of two bytes.
    let text = format!("child {{ name: '{}' }}", "x".repeat(300));
    let wire = read(text.as_bytes(), false).unwrap();
    assert_eq!(wire[..3], [0x8a, 0x01, 0xaf]);
    let mut reader = crate::Reader::new(&wire);
    let field = reader.next_field().unwrap().unwrap();
    assert_eq!((field.number, field.value.bytes().unwrap().len()), (17, 303));
    assert_eq!(vec![reader.next_field()], vec![Ok(None)]);
}

/// Each text takes more memory than a message may, although it is short: messages, elements and strings of lists.
#[test]
fn memory_is_limited() {
    let texts = [
        ("children{}", 1 << 18),
        ("children{numbers:1}", 1 << 15),
        ("numbers:1 ", 1 << 20),
        ("names:'' ", 1 << 20),
    ];
    for (part, count) in texts {
        let report = read(part.repeat(count).as_bytes(), false).expect_err(part);
        let message = format!("the message takes more than {MEMORY_MAX} bytes of memory");
        assert!(report.contains(&message), "{part}: {report}");
        assert!(read(part.repeat(count / 64).as_bytes(), false).is_ok(), "{part}");
    }
    let long = format!("name: '{}'", "a".repeat(MEMORY_MAX));
    assert!(read(long.as_bytes(), false).is_err());
    let within = |memory_max| {
        let options = Options { memory_max: Some(memory_max), ..Options::default() };
        parse(&NODE, b"children{}".repeat(100).as_slice(), &options).map(drop)
    };
    assert!(within(usize::MAX).is_ok());
    let error = within(1000).unwrap_err().to_string();
    assert!(error.contains("takes more than 1000 bytes of memory"), "{error}");
}

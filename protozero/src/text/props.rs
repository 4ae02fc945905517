//! Every value survives printing as text, and every text is parsed or refused.

use std::format;
use std::string::String;
use std::vec::Vec;

use proptest::prelude::*;

use super::tests::node;
use super::{Options, parse};
use crate::{Reader, Value};

/// Parses `text` and returns its only field.
fn field(text: &str) -> (u32, Value<'static>) {
    let wire = parse(node(), text.as_bytes(), &Options::default())
        .unwrap_or_else(|errors| panic!("{text}: {errors}"));
    let mut reader = Reader::new(wire.leak());
    let field = reader.next_field().unwrap().unwrap();
    assert_eq!(reader.next_field(), Ok(None));
    (field.number, field.value)
}

/// Random sequences of tokens. They reach deeper into the parser than random bytes.
fn random_tokens() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "u32",
        "child",
        "children",
        "numbers",
        "name",
        "policy",
        "nope",
        ":",
        "{",
        "}",
        "<",
        ">",
        "[",
        "]",
        ",",
        ";",
        "1",
        "-",
        "0x1f",
        "1.5e3",
        "'a'",
        "\"\\x41\\u00e9",
        "\"",
        "'",
        "\\",
        "#",
        "\n",
        " ",
        "true",
        "inf",
        "RING_BUFFER",
        "[pkg.ext]",
        ".",
        "\u{e9}",
        "99999999999999999999",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..60)
        .prop_map(|pieces| pieces.concat().into_bytes())
}

fn parsing_ends(text: &[u8]) {
    for lossy in [false, true] {
        match parse(node(), text, &Options { file: "f", lossy, ..Options::default() }) {
            Ok(wire) => {
                let mut reader = Reader::new(&wire);
                while reader.next_field().unwrap().is_some() {}
            }
            Err(errors) => {
                assert!(!errors.errors.is_empty());
                let report = format!("{errors}");
                assert_eq!(report.lines().count(), 3 * errors.errors.len(), "{report}");
            }
        }
    }
}

proptest! {
    #[test]
    fn signed(value: i64) {
        prop_assert_eq!(field(&format!("i64: {value}")), (2, Value::Varint(value as u64)));
        let hex = format!("i64: {}{:#x}", if value < 0 { "-" } else { "" }, value.unsigned_abs());
        prop_assert_eq!(field(&hex), (2, Value::Varint(value as u64)));
        prop_assert_eq!(field(&format!("s64: {value}")).1.sint64(), Ok(value));
    }

    #[test]
    fn ranges(value in -(1i128 << 65)..(1i128 << 65), shift in 0u32..64) {
        let value = value >> shift;
        let check = |name: &str| {
            parse(node(), format!("{name}: {value}").as_bytes(), &Options::default()).is_ok()
        };
        prop_assert_eq!(check("u32"), u32::try_from(value).is_ok());
        prop_assert_eq!(check("sf32"), i32::try_from(value).is_ok());
        prop_assert_eq!(check("f64"), u64::try_from(value).is_ok());
        prop_assert_eq!(check("i64"), i64::try_from(value).is_ok());
    }

    #[test]
    fn floats(value: f64) {
        prop_assert_eq!(field(&format!("double: {value}")), (12, Value::Fixed64(value.to_bits())));
        prop_assert_eq!(field(&format!("double: {value:e}")), (12, Value::Fixed64(value.to_bits())));
        let single = value as f32;
        prop_assert_eq!(field(&format!("float: {single:e}")), (11, Value::Fixed32(single.to_bits())));
    }

    #[test]
    fn strings(value: Vec<u8>) {
        let octal: String = value.iter().map(|byte| format!("\\{byte:03o}")).collect();
        prop_assert_eq!(field(&format!("blob: '{octal}'")), (15, Value::Len(&value)));
        let escaped = value.escape_ascii();
        prop_assert_eq!(field(&format!("blob: \"{escaped}\"")), (15, Value::Len(&value)));
    }

    #[test]
    fn any_bytes(text: Vec<u8>) {
        parsing_ends(&text);
    }

    #[test]
    fn any_pieces(text in random_tokens()) {
        parsing_ends(&text);
    }
}

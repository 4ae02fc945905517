//! Every message survives printing and parsing; any text and any bytes are read or refused.

use std::string::String;
use std::vec::Vec;

use proptest::prelude::*;

use crate::dynamic::DynamicMessage;
use crate::dynamic::tests::props::{all, random_message, remove_unknown, wire};
use crate::dynamic::tests::{EVERYTHING, pool};
use crate::json::output::Output;
use crate::json::{ParseOptions, PrintOptions, base64, parse, print_bytes, time, write_bytes};

fn every_option() -> impl Iterator<Item = PrintOptions> {
    (0..16).map(|bits| PrintOptions {
        original_names: bits & 1 != 0,
        defaults: bits & 2 != 0,
        enums_as_numbers: bits & 4 != 0,
        pretty: bits & 8 != 0,
    })
}

/// Pieces of JSON. They reach deeper into the parser than random bytes.
fn random_pieces() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "{\"child\":",
        "\"i32\":",
        "\"texts\":[",
        "\"byId\":{",
        "\"any\":{\"@type\":\"a/e.All\",",
        "\"color\":",
        "\"BLUE\"",
        "\"one_number\":",
        "1",
        "-0",
        "1.5e3",
        "\"-7\"",
        "null",
        "true",
        "\"\\ud83d\\ude00\"",
        "\"\\ud83d\"",
        "\"",
        "\\",
        " ",
        "\n",
        "\"[e.ext]\":",
        "\"nope\":",
        "99999999999999999999",
        "1e400",
        "\u{e9}",
    ];
    prop::collection::vec(prop::sample::select(PIECES), 0..40)
        .prop_map(|pieces| pieces.concat().into_bytes())
}

fn parsing_ends(text: &[u8]) {
    let pool = pool(EVERYTHING);
    for ignore_unknown in [false, true] {
        let options = ParseOptions { ignore_unknown, ..ParseOptions::default() };
        match parse(&all(&pool), text, &options) {
            Ok(wire) => {
                let message = DynamicMessage::decode(all(&pool), &wire).expect("a message");
                assert_eq!(message.encode(), wire);
            }
            Err(errors) => assert_eq!(std::format!("{errors}").lines().count(), 3),
        }
    }
}

proptest! {
    #[test]
    fn any_message(seed: u64) {
        let pool = pool(EVERYTHING);
        let message = random_message(&pool, seed);
        let wire = message.encode();
        for options in every_option() {
            let text = message.to_json_with(&options).unwrap();
            let read = DynamicMessage::from_json(all(&pool), &text).unwrap();
            // Fields that are printed for their default are set then.
            prop_assert!(options.defaults || read.encode() == wire, "{}", text);
            prop_assert_eq!(read.to_json_with(&options).unwrap(), &*text);
            let mut written = Vec::new();
            write_bytes(&all(&pool), &wire, &options, &mut written).unwrap();
            prop_assert_eq!(String::from_utf8(written).unwrap(), text);
        }
    }

    #[test]
    fn any_wire(wire in wire(3)) {
        let pool = pool(EVERYTHING);
        let Ok(mut message) = DynamicMessage::decode(all(&pool), &wire) else {
            prop_assert!(print_bytes(&all(&pool), &wire, &PrintOptions::default()).is_err());
            return Ok(());
        };
        // The order of the bytes makes no difference, but that of the fields.
        let direct = print_bytes(&all(&pool), &wire, &PrintOptions::default());
        let by_tree = message.to_json();
        prop_assert_eq!(direct.is_ok(), by_tree.is_ok());
        let (Ok(direct), Ok(by_tree)) = (direct, by_tree) else { return Ok(()) };
        remove_unknown(&mut message);
        for text in [direct, by_tree] {
            let read = DynamicMessage::from_json(all(&pool), &text).unwrap();
            // Whatever the order of the text.
            let wire = parse(&all(&pool), text.as_bytes(), &ParseOptions::default()).unwrap();
            prop_assert_eq!(read.encode(), wire, "{}", text);
            // Payloads of NaN are lost.
            prop_assert_eq!(read.to_json().unwrap(), message.to_json().unwrap(), "{}", text);
        }
    }

    #[test]
    fn any_bytes(text: Vec<u8>) {
        parsing_ends(&text);
    }

    #[test]
    fn any_pieces(text in random_pieces()) {
        parsing_ends(&text);
    }

    #[test]
    fn bytes_as_base64(bytes: Vec<u8>) {
        let mut text = Output::with_capacity(0);
        base64::encode(&bytes, &mut text);
        let text = text.into_string().unwrap().into_bytes();
        let url_safe: Vec<u8> = text
            .iter()
            .filter(|&&digit| digit != b'=')
            .map(|digit| match digit {
                b'+' => b'-',
                b'/' => b'_',
                digit => *digit,
            })
            .collect();
        for text in [text, url_safe] {
            let mut read = Vec::new();
            prop_assert!(base64::decode(&text, &mut read));
            prop_assert_eq!(&read, &bytes);
        }
    }

    #[test]
    fn times(seconds in -62_135_596_800i64..=253_402_300_799, nanos in 0i32..1_000_000_000) {
        let mut text = Output::with_capacity(0);
        prop_assert!(time::put_timestamp(seconds, nanos, &mut text));
        let text = text.into_string().unwrap();
        prop_assert_eq!(time::timestamp(&text), Some((seconds, nanos)));
    }

    #[test]
    fn durations(seconds in -315_576_000_000i64..=315_576_000_000, nanos in 0i32..1_000_000_000) {
        let nanos = if seconds < 0 { -nanos } else { nanos };
        let mut text = Output::with_capacity(0);
        prop_assert!(time::put_duration(seconds, nanos, &mut text));
        let text = text.into_string().unwrap();
        prop_assert_eq!(time::duration(&text), Some((seconds, nanos)));
    }
}

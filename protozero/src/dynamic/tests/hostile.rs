//! Sets of descriptors from somebody who means harm.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::{EVERYTHING, set, try_pool};
use crate::dynamic::build::names_max;
use crate::dynamic::{DynamicMessage, Pool, PoolErrorKind};

#[test]
fn every_prefix_and_flip_is_a_pool_or_an_error() {
    let whole = set(EVERYTHING);
    for len in 0..whole.len() {
        use_it(&whole[..len]);
    }
    for at in 0..whole.len() {
        for bit in [0x01, 0x08, 0x80] {
            let mut flipped = whole.clone();
            flipped[at] ^= bit;
            use_it(&flipped);
        }
    }
}

/// A pool that was let in works.
fn use_it(bytes: &[u8]) {
    let Ok(pool) = Pool::decode(bytes) else { return };
    for message in pool.messages() {
        for field in message.fields().chain(message.extensions()) {
            let _ = (field.kind(), field.default_value(), field.containing_oneof());
        }
        let wire =
            b"\x08\x01\x0a\x02\x08\x01\x12\x01a\x13\x08\x01\x14\xa2\x01\x02\x08\x01\xca\x02\0";
        if let Ok(decoded) = DynamicMessage::decode(message.clone(), wire) {
            let text = decoded.to_text();
            let read = DynamicMessage::from_text(message.clone(), text.as_str());
            let read = read.unwrap_or_else(|errors| panic!("{text}\n{errors}"));
            assert_eq!(read.to_text(), text);
            let again = DynamicMessage::decode(message, &decoded.encode()).unwrap();
            assert_eq!(again.encode(), decoded.encode());
        }
    }
}

#[test]
fn long_names_do_not_multiply() {
    let long = "n".repeat(2000);
    let nested = "nested_type { name: 'x' }";
    let text = format!("file {{ name: 'f' message_type {{ name: '{long}' {nested} }} }}");
    assert!(try_pool(&text).unwrap_err().to_string().len() < 200);
    let package: Vec<&str> = std::iter::repeat_n("p", 65).collect();
    assert!(try_pool(&format!("file {{ package: '{}' }}", package.join("."))).is_err());
    let mut inner = String::new();
    for _ in 0..30 {
        inner = format!("nested_type {{ name: '{}' {inner} }}", "n".repeat(50));
    }
    let text = format!("file {{ name: 'f' message_type {{ name: 'M' {inner} }} }}");
    assert!(try_pool(&text).unwrap_err().to_string().ends_with("this is no name"));
}

#[test]
fn names_cost_no_more_than_a_multiple_of_the_set() {
    let long = "n".repeat(1000);
    let mut refused = 0;
    for count in [10, 60, 1000, 3000] {
        let nested = |at| format!("nested_type {{ name: 'x{at}' }} ");
        let extension = |at| {
            let rest = "type: TYPE_BOOL label: LABEL_OPTIONAL extendee: 'E'";
            format!("extension {{ name: 'x{at}' number: {} {rest} }} ", at + 10)
        };
        let inner: [String; 2] =
            [(0..count).map(nested).collect(), (0..count).map(extension).collect()];
        for inner in inner {
            let bytes = set(&format!(
                "file {{ name: 'f' message_type {{ name: '{long}' {inner} }}
                 message_type {{ name: 'E' extension_range {{ start: 10 end: 9999 }} }} }}"
            ));
            match Pool::decode(&bytes) {
                Ok(pool) => {
                    let names: usize = pool.0.symbols.keys().map(String::len).sum();
                    assert!(names > 1000 * count, "the test is about something");
                    assert!(names <= names_max(bytes.len()), "{count}: {names}");
                }
                Err(error) => {
                    assert_eq!(error.kind, PoolErrorKind::Names);
                    refused += 1;
                }
            }
        }
    }
    assert_eq!(refused, 4);
}

#[test]
fn nesting_is_bounded() {
    let around = |tag: u8, inner: Vec<u8>| {
        let mut outer = Vec::from([tag]);
        let mut len = inner.len();
        while len >= 0x80 {
            outer.push(len as u8 | 0x80);
            len >>= 7;
        }
        outer.push(len as u8);
        outer.extend(inner);
        outer
    };
    // A message in a message, thousands of times; then one that has them, and its file.
    let wire = (0..5000).fold(Vec::new(), |wire, _| around(0x1a, wire));
    let wire = around(0x0a, around(0x22, wire));
    assert!(Pool::decode(&wire).is_err());
}

#[test]
fn circles_are_fine() {
    let text =
        "file { name: 'f' message_type { name: 'A' field { name: 'b' number: 1 type_name: 'B' } }
        message_type { name: 'B' field { name: 'a' number: 1 type_name: 'A' }
          field { name: 'b' number: 2 type_name: 'B' label: LABEL_REPEATED } } }";
    use_it(&set(text));
    // An entry that holds a map of itself.
    let text = "file { name: 'f' message_type { name: 'M'
        field { name: 'm' number: 1 type_name: 'E' label: LABEL_REPEATED }
        nested_type { name: 'E' options { map_entry: true }
          field { name: 'key' number: 1 type: TYPE_INT32 }
          field { name: 'value' number: 2 type_name: 'E' } } } }";
    assert!(try_pool(text).is_err());
}

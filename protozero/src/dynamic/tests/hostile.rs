//! Malicious sets of descriptors, and malicious messages.

use std::format;
use std::string::String;
use std::vec::Vec;

use super::{EVERYTHING, set, try_pool};
use crate::dynamic::build::names_max;
use crate::dynamic::{DynamicMessage, MapKey, Pool, PoolErrorKind, Value, cost};
use crate::text::{Options, PrintOptions};
use crate::{DecodeContext, DecodeErrorKind, DecodeMemory, WriteError};

#[test]
fn prefixes_and_changed_bytes_give_a_pool_or_an_error() {
    let whole = set(EVERYTHING);
    for len in 0..whole.len() {
        use_pool(&whole[..len]);
    }
    for at in 0..whole.len() {
        for bit in [0x01, 0x08, 0x80] {
            let mut flipped = whole.clone();
            flipped[at] ^= bit;
            use_pool(&flipped);
        }
    }
}

/// Uses all of a pool that was accepted.
fn use_pool(bytes: &[u8]) {
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
fn sum_of_long_names_is_limited() {
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
    assert!(try_pool(&text).unwrap_err().to_string().ends_with("invalid name"));
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
                    assert!(names > 1000 * count, "this set has long names");
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

/// Every kind of element that is larger in memory than on the wire.
const GROWS_IN_MEMORY: &str = "file { name: 'f' syntax: 'proto3' message_type { name: 'M'
  field { name: 'm' number: 1 type_name: 'M' }
  field { name: 'ms' number: 2 label: LABEL_REPEATED type_name: 'M' }
  field { name: 'ns' number: 3 label: LABEL_REPEATED type: TYPE_INT32 }
  field { name: 'a' number: 4 oneof_index: 0 type_name: 'M' }
  field { name: 'b' number: 5 oneof_index: 0 type_name: 'M' }
  field { name: 's' number: 6 type: TYPE_BYTES }
  field { name: 'map' number: 7 label: LABEL_REPEATED type_name: 'M.E' }
  nested_type { name: 'E' options { map_entry: true }
    field { name: 'key' number: 1 type: TYPE_INT32 }
    field { name: 'value' number: 2 type_name: 'M' } }
  oneof_decl { name: 'one' } } }";

/// Bytes that decoding `wire` subtracts from the budget.
fn cost(pool: &Pool, wire: &[u8], memory: usize) -> Result<usize, DecodeErrorKind> {
    let left = DecodeMemory::new(memory);
    let mut message = super::new(pool, "M");
    let context = DecodeContext::new().with_growth(&left);
    message.merge_within(wire, context).map_err(|error| error.kind)?;
    assert_eq!(message, super::decode(pool, "M", wire));
    Ok(memory - left.left())
}

#[test]
fn memory_is_bounded_and_counted() {
    use core::mem::size_of;

    let pool = super::pool(GROWS_IN_MEMORY);
    let (message, value) = (cost::MESSAGE, size_of::<Value>());
    let run = [&b"\x1a\x90\x4e"[..], &[1; 10_000]].concat();
    let entries: Vec<u8> = (0..=100).flat_map(|key| [0x3a, 2, 8, key]).collect();
    for (wire, least) in [
        (b"\x12\0".repeat(10_000), 10_000 * (message + value)),
        (b"\x12\x02\x12\0".repeat(10_000), 10_000 * (2 * message + 11 * value)),
        (b"\x12\x02\x0a\0".repeat(10_000), 10_000 * (2 * message + 11 * value)),
        (run, 10_000 * value),
        (b"\x18\x01".repeat(10_000), 10_000 * value),
        (b"\x82\x01\0".repeat(10_000), 30_000),
        (entries, 101 * (message + 2 * value)),
    ] {
        let cost = cost(&pool, &wire, usize::MAX).unwrap();
        assert!((least..4 * least).contains(&cost), "{cost} for {least}: {:x?}", &wire[..4]);
        assert_eq!(self::cost(&pool, &wire, cost), Ok(cost));
        assert_eq!(self::cost(&pool, &wire, cost - 1), Err(DecodeErrorKind::TooLarge));
    }
    // Merging the same bytes again charges nothing more; only a new message is charged.
    for (wire, each) in [
        (&b"\x0a\0"[..], 0),
        (b"\x32\0", 0),
        (b"\x32\x01\x01", 1),
        (b"\x22\0\x2a\0", 2 * message),
        (b"\x3a\x02\x08\x01", message),
    ] {
        let [one, many] = [1, 10_001].map(|count| cost(&pool, &wire.repeat(count), 1 << 30));
        assert!(many.unwrap() <= one.unwrap() + 10_000 * each + 2 * message, "{wire:x?}");
    }
}

/// What is parsed from text counts about as much as what is decoded.
#[test]
fn memory_of_a_text_is_that_of_its_bytes() {
    let pool = super::pool(GROWS_IN_MEMORY);
    let entries: String =
        (0..1000).map(|key| format!("map {{ key: {key} value {{}} }} ")).collect();
    for text in [
        "ms {} ".repeat(1000),
        "ms { ns: 1 } ".repeat(1000),
        "ms { map {} } ".repeat(1000),
        "ns: [1, 2, 3] ".repeat(1000),
        format!("s: '{}'", "a".repeat(10_000)),
        entries,
    ] {
        let read = |memory_max| {
            let options = Options { memory_max: Some(memory_max), ..Options::default() };
            DynamicMessage::from_text_with(pool.message("M").unwrap(), &text, &options)
        };
        let cost = cost(&pool, &read(usize::MAX).unwrap().encode(), usize::MAX).unwrap();
        let start = &text[..12];
        assert!(read(cost / 4 * 5).is_ok(), "{start}");
        assert!(read(cost / 5 * 4).is_err(), "{start}");
    }
}

#[test]
fn memory_of_a_message_is_limited() {
    // Each is charged with 500 bytes.
    let pool = super::pool(GROWS_IN_MEMORY);
    let wire = b"\x12\x02\x18\x01".repeat(1 << 16);
    let error = DynamicMessage::decode(pool.message("M").unwrap(), &wire).unwrap_err();
    assert_eq!(error.kind, DecodeErrorKind::TooLarge);
    // The budget ends at a message, or at the field in it.
    assert_eq!(error.offset % 2, 0);
}

#[test]
fn memory_of_a_set_is_limited() {
    // One file with a very large number of empty messages.
    let mut wire = Vec::from(*b"\x0a\x80\x80\x20");
    wire.extend(b"\x22\0".repeat(1 << 18));
    let PoolErrorKind::Malformed(error) = Pool::decode(&wire).unwrap_err().kind else { panic!() };
    assert_eq!(error.kind, DecodeErrorKind::TooMuchMemory);
}

#[test]
fn levels_are_counted() {
    let pool = super::pool(GROWS_IN_MEMORY);
    let within = |wire: &[u8], depth: u32| {
        let merged = super::new(&pool, "M").merge_within(wire, DecodeContext::with_depth(depth));
        merged.map_err(|error| error.kind)
    };
    for (wire, levels) in [
        (&b"\x0a\x02\x0a\0"[..], 2),
        (b"\x12\x02\x0a\0", 2),
        (b"\x3a\x02\x08\x01", 1),
        (b"\x3a\x02\x12\0", 2),
        (b"\x18\x01", 0),
    ] {
        assert_eq!(within(wire, levels), Ok(()), "{wire:x?}");
        if let Some(less) = levels.checked_sub(1) {
            assert_eq!(within(wire, less), Err(DecodeErrorKind::TooDeep), "{wire:x?}");
        }
    }
}

/// Only `mem::swap` can create this depth.
#[test]
fn operations_on_swapped_messages_end() {
    let pool = super::pool(GROWS_IN_MEMORY);
    let stacked = |levels: u32, number: i32| {
        let mut all = super::new(&pool, "M");
        all.push("ns", number).unwrap();
        for level in 0..levels {
            let mut outer = super::new(&pool, "M");
            match level % 3 {
                0 => core::mem::swap(outer.message_mut("m").unwrap(), &mut all),
                other => {
                    let empty = super::new(&pool, "M");
                    let value = if other == 1 {
                        outer.push("ms", empty).unwrap();
                        outer.fields.get_mut(&2)
                    } else {
                        outer.insert("map", MapKey::I32(5), empty).unwrap();
                        outer.fields.get_mut(&7)
                    };
                    value.unwrap().for_messages(|inner| core::mem::swap(inner, &mut all));
                }
            }
            all = outer;
        }
        all
    };
    let deep = stacked(100_000, 1);
    let copy = deep.clone();
    assert!(copy == deep);
    assert!(deep != stacked(100_000, 2) && deep != stacked(99_999, 1));
    assert!(Value::from(copy) == Value::from(deep.clone()));
    assert_eq!(deep.missing_required(), None);
    assert!(matches!(deep.try_encode(), Err(WriteError::TooDeep { .. })));
    assert!(super::new(&pool, "M").set("m", deep.clone()).is_err());
    let options = PrintOptions { single_line: true, ..PrintOptions::default() };
    for text in
        [deep.to_text_with(&options), deep.to_text(), format!("{deep:?}"), format!("{deep:#?}")]
    {
        assert!(text.contains("...") && text.len() < 30_000, "{text}");
        assert!(DynamicMessage::from_text(pool.message("M").unwrap(), text.as_str()).is_err());
    }
    // A message within the limit is encoded completely.
    for levels in [50, 73, 74, 75, 76] {
        let most = stacked(levels, 1);
        assert_eq!(most.to_text().contains("..."), most.try_encode().is_err(), "{levels}");
        let again = DynamicMessage::from_text(pool.message("M").unwrap(), most.to_text());
        assert_eq!(again.is_ok_and(|again| again == most), most.try_encode().is_ok(), "{levels}");
    }
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
    // A message with thousands of nested messages, in a file.
    let wire = (0..5000).fold(Vec::new(), |wire, _| around(0x1a, wire));
    let wire = around(0x0a, around(0x22, wire));
    assert!(Pool::decode(&wire).is_err());
}

#[test]
fn recursive_types_are_accepted() {
    let text =
        "file { name: 'f' message_type { name: 'A' field { name: 'b' number: 1 type_name: 'B' } }
        message_type { name: 'B' field { name: 'a' number: 1 type_name: 'A' }
          field { name: 'b' number: 2 type_name: 'B' label: LABEL_REPEATED } } }";
    use_pool(&set(text));
    // A map entry that contains a map of itself.
    let text = "file { name: 'f' message_type { name: 'M'
        field { name: 'm' number: 1 type_name: 'E' label: LABEL_REPEATED }
        nested_type { name: 'E' options { map_entry: true }
          field { name: 'key' number: 1 type: TYPE_INT32 }
          field { name: 'value' number: 2 type_name: 'E' } } } }";
    assert!(try_pool(text).is_err());
}

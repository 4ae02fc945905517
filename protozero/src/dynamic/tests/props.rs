//! Every message survives encoding, printing and parsing; random bytes are decoded or refused.

use std::string::String;
use std::vec::Vec;

use proptest::prelude::*;

use super::{EVERYTHING, pool};
use crate::dynamic::{DynamicMessage, FieldDescriptor, Kind, MapKey, Pool, Value};
use crate::text::PrintOptions;
use crate::wire::varint;

/// Random fields with numbers and types of the schema, which are valid more often than random
/// bytes.
pub(crate) fn wire(depth: u32) -> BoxedStrategy<Vec<u8>> {
    let numbers = prop::sample::select(
        &[
            1, 2, 3, 5, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 31, 32, 33, 34, 35, 36,
            41, 42, 43, 100, 101, 300,
        ][..],
    );
    let small = prop::collection::vec(any::<u8>(), 0..6).boxed();
    let body = if depth == 0 { small } else { prop_oneof![small, wire(depth - 1)].boxed() };
    let field = (numbers, 0u32..6, any::<u64>(), 0u32..64, body);
    let one = field.prop_map(|(number, wire_type, bits, shift, body)| {
        let mut out = Vec::new();
        let mut put = |value: u64| {
            let mut bytes = [0; varint::LEN_MAX];
            let len = varint::encode(value, &mut bytes);
            out.extend_from_slice(&bytes[..len]);
        };
        let wire_type = if wire_type == 4 { 2 } else { wire_type };
        put(u64::from(number << 3 | wire_type));
        match wire_type {
            0 => put(bits >> shift),
            2 => put(body.len() as u64),
            _ => {}
        }
        match wire_type {
            1 => out.extend_from_slice(&bits.to_le_bytes()),
            2 => out.extend_from_slice(&body),
            3 => {
                out.extend_from_slice(&body);
                let mut bytes = [0; varint::LEN_MAX];
                let len = varint::encode(u64::from(number << 3 | 4), &mut bytes);
                out.extend_from_slice(&bytes[..len]);
            }
            5 => out.extend_from_slice(&(bits as u32).to_le_bytes()),
            _ => {}
        }
        out
    });
    prop::collection::vec(one, 0..6).prop_map(|fields| fields.concat()).boxed()
}

/// Sets each field to a value from a stream of random numbers.
fn fill(message: &mut DynamicMessage, random: &mut impl FnMut() -> u64, depth: u32) {
    let descriptor = message.descriptor().clone();
    let fields: Vec<FieldDescriptor> = descriptor.fields().chain(descriptor.extensions()).collect();
    for field in fields {
        let count = random() % 3;
        if field.is_map() {
            let Kind::Message(entry) = field.kind() else { return };
            for _ in 0..count {
                let mut parts = DynamicMessage::new(entry.clone());
                fill(&mut parts, random, depth.saturating_sub(1));
                let value = parts.clear(2);
                let key = match parts.clear(1).and_then(Value::into_key) {
                    Some(key) => key,
                    None if field.name() == "names" => MapKey::String(String::new()),
                    None => MapKey::I64(0),
                };
                let Some(value) = value else { continue };
                message.insert(&field, key, value).unwrap();
            }
        } else if field.is_repeated() {
            for _ in 0..count {
                let Some(value) = value(message, &field, random, depth) else { continue };
                message.push(&field, value).unwrap();
            }
        } else if count > 0 {
            let Some(value) = value(message, &field, random, depth) else { continue };
            message.set(&field, value).unwrap();
        }
    }
}

fn value(
    message: &DynamicMessage,
    field: &FieldDescriptor,
    random: &mut impl FnMut() -> u64,
    depth: u32,
) -> Option<Value> {
    let bits = random() >> (random() % 64);
    let bytes = || bits.to_le_bytes()[..(bits % 9) as usize].to_vec();
    Some(match field.kind() {
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(bits as i32),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(bits as i64),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(bits as u32),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(bits),
        // No NaN, because it is not equal to itself.
        Kind::Float => Value::F32(Some(f32::from_bits(bits as u32)).filter(|f| !f.is_nan())?),
        Kind::Double => Value::F64(Some(f64::from_bits(bits)).filter(|f| !f.is_nan())?),
        Kind::Bool => Value::Bool(bits & 1 == 1),
        Kind::String => Value::String(String::from_utf8_lossy(&bytes()).into_owned()),
        Kind::Bytes => Value::Bytes(bytes()),
        Kind::Enum(values) => {
            let values: Vec<i32> = values.values().map(|value| value.1).collect();
            Value::Enum(values[bits as usize % values.len()])
        }
        Kind::Message(_) if depth == 0 => return None,
        Kind::Message(inner) => {
            let mut nested = DynamicMessage::new(inner);
            // An `Any` of random bytes can be printed in two forms.
            if nested.descriptor().name() != "Any" {
                fill(&mut nested, random, depth - 1);
            }
            let _ = message;
            nested.into()
        }
    })
}

pub(crate) fn all(pool: &Pool) -> crate::dynamic::MessageDescriptor {
    pool.message("e.All").unwrap()
}

/// A message with values in fields of all types, and in messages three levels below.
pub(crate) fn random_message(pool: &Pool, seed: u64) -> DynamicMessage {
    let mut state = seed | 1;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut message = DynamicMessage::new(all(pool));
    fill(&mut message, &mut random, 3);
    message
}

proptest! {
    #[test]
    fn any_message(seed: u64) {
        let pool = pool(EVERYTHING);
        let message = random_message(&pool, seed);
        let wire = message.encode();
        prop_assert_eq!(&DynamicMessage::decode(all(&pool), &wire).unwrap(), &message);
        for single_line in [false, true] {
            for ascii in [false, true] {
                let options = PrintOptions { single_line, ascii, ..PrintOptions::default() };
                let text = message.to_text_with(&options);
                let read = DynamicMessage::from_text(all(&pool), &text).unwrap();
                prop_assert_eq!(read.encode(), &*wire, "{}", text);
            }
        }
    }

    #[test]
    fn any_wire(wire in wire(3)) {
        let pool = pool(EVERYTHING);
        let Ok(message) = DynamicMessage::decode(all(&pool), &wire) else { return Ok(()) };
        // The first encoding is canonical: decoding and encoding it gives the same bytes. This
        // compares bytes, because a message with a NaN is not equal to itself.
        let canonical = message.encode();
        let again = DynamicMessage::decode(all(&pool), &canonical).unwrap();
        prop_assert_eq!(again.encode(), canonical);
        let _ = message.to_text_with(&super::print::LINE);
        // Text keeps everything except unknown fields and payloads of NaN.
        let mut known = message;
        remove_unknown(&mut known);
        let options = PrintOptions { expand_any: false, ..PrintOptions::default() };
        let text = known.to_text_with(&options);
        let read = DynamicMessage::from_text(all(&pool), &text).unwrap();
        prop_assert_eq!(read.to_text_with(&options), text);
    }

    #[test]
    fn any_bytes(wire: Vec<u8>, cut: prop::sample::Index) {
        let pool = pool(EVERYTHING);
        let whole = DynamicMessage::decode(all(&pool), &wire);
        // Merging field by field is equal to decoding at once.
        if let Ok(whole) = whole {
            let mut reader = crate::Reader::new(&wire);
            let (mut ends, mut merged) = (std::vec![0], DynamicMessage::new(all(&pool)));
            while reader.next_field().unwrap().is_some() {
                ends.push(reader.position());
            }
            let (first, second) = wire.split_at(ends[cut.index(ends.len())]);
            merged.merge(first).unwrap();
            merged.merge(second).unwrap();
            prop_assert_eq!(merged.encode(), whole.encode());
        }
    }
}

/// Removes all unknown fields, also in nested messages.
pub(crate) fn remove_unknown(message: &mut DynamicMessage) {
    message.unknown_fields_mut().clear();
    for value in message.fields.values_mut() {
        value.for_messages(remove_unknown);
    }
}

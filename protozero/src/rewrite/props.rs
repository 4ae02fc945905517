//! Compares with a rewriter that decodes the whole message in memory.

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;

use super::tests::{to_groups, to_lengths};
use crate::decode::{Reader, Value};

/// Fields of a random message.
#[derive(Clone, Debug)]
enum Op {
    Raw(Vec<u8>),
    Text(u32, Vec<u8>),
    Message(u32, Vec<Op>),
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 0x7f {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Encodes with groups or with lengths.
fn encode(ops: &[Op], groups: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for op in ops {
        match op {
            Op::Raw(bytes) => out.extend(bytes),
            Op::Text(number, text) => {
                varint(&mut out, u64::from(*number) << 3 | 2);
                varint(&mut out, text.len() as u64);
                out.extend(text);
            }
            Op::Message(number, inner) if groups => {
                varint(&mut out, u64::from(*number) << 3 | 3);
                out.extend(encode(inner, true));
                varint(&mut out, u64::from(*number) << 3 | 4);
            }
            Op::Message(number, inner) => {
                let inner = encode(inner, false);
                varint(&mut out, u64::from(*number) << 3 | 2);
                varint(&mut out, inner.len() as u64);
                out.extend(inner);
            }
        }
    }
    out
}

/// Messages have odd numbers, for `is_message`.
fn ops() -> impl Strategy<Value = Vec<Op>> {
    let number = (0u32..5, 0u32..29).prop_map(|(n, shift)| (n << shift) & ((1 << 28) - 1));
    let raw = prop_oneof![
        Just(vec![0x08, 0x96, 0x01]),
        Just(vec![0x15, 1, 2, 3, 4]),
        Just(vec![0x19, 1, 2, 3, 4, 5, 6, 7, 8]),
        Just(vec![0x88, 0x80, 0x00, 0x81, 0x00]),
    ];
    let leaf = prop_oneof![
        raw.prop_map(Op::Raw),
        (number.clone(), vec(any::<u8>(), 0..20))
            .prop_map(|(n, text)| Op::Text(2 * n.max(1), text)),
        // Produces lengths of one and of two bytes.
        (number.clone(), 30usize..200).prop_map(|(n, len)| Op::Text(2 * n.max(1), vec![b'x'; len])),
    ];
    let op = leaf.prop_recursive(5, 40, 5, move |inner| {
        (number.clone(), vec(inner, 0..5)).prop_map(|(n, ops)| Op::Message(2 * n + 1, ops))
    });
    vec(op, 0..6)
}

fn is_message(path: &[u32]) -> bool {
    path.iter().all(|number| number % 2 == 1)
}

/// Replaces padded lengths by their shortest form, for comparison.
fn canonical(bytes: &[u8], depth: usize) -> Vec<u8> {
    let mut reader = Reader::new(bytes);
    let mut out = Vec::new();
    while let Some(field) = reader.next_field().unwrap() {
        match field.value {
            Value::Len(inner) if field.number % 2 == 1 && depth < 10 => {
                let inner = canonical(inner, depth + 1);
                varint(&mut out, u64::from(field.number) << 3 | 2);
                varint(&mut out, inner.len() as u64);
                out.extend(inner);
            }
            _ => out.extend(field.raw),
        }
    }
    out
}

proptest! {
    #[test]
    fn both_ways(ops in ops(), piece in 1usize..40) {
        let (groups, lengths) = (encode(&ops, true), encode(&ops, false));
        let got = to_lengths(&groups, piece).unwrap();
        prop_assert_eq!(&got, &to_lengths(&groups, usize::MAX).unwrap());
        prop_assert_eq!(canonical(&got, 0), &lengths[..]);
        prop_assert_eq!(to_groups(&lengths, piece, is_message).unwrap(), &groups[..]);
        prop_assert_eq!(to_groups(&got, piece, is_message).unwrap(), &groups[..]);
    }

    /// Random bytes: the rewriter has an error exactly if a reader has one, and the result does not
    /// depend on the pieces.
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..60), piece in 1usize..10) {
        compare(&bytes, piece)?;
    }

    /// Messages with one changed byte: the rewriter has an error exactly if a reader has one, and the result does not
    /// depend on the pieces.
    #[test]
    fn almost_valid_messages(ops in ops(), at in any::<prop::sample::Index>(), byte: u8, piece in 1usize..10) {
        let mut bytes = encode(&ops, true);
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        compare(&bytes, piece)?;
    }
}

fn compare(bytes: &[u8], piece: usize) -> Result<(), TestCaseError> {
    let mut reader = Reader::new(bytes);
    let read = loop {
        match reader.next_field() {
            Ok(Some(_)) => {}
            Ok(None) => break Ok(()),
            Err(error) => break Err(error.kind),
        }
    };
    let whole = to_lengths(bytes, usize::MAX);
    prop_assert_eq!(whole.as_ref().map(drop).map_err(|e| e.kind), read);
    prop_assert_eq!(&to_lengths(bytes, piece), &whole);
    let same = to_groups(bytes, piece, |_| false);
    prop_assert_eq!(same.as_ref().map(drop).map_err(|e| e.kind), read);
    // Only tags of groups may change, to their shortest form.
    if let Ok(same) = same {
        prop_assert!(same.len() <= bytes.len());
        prop_assert_eq!(to_groups(&same, 7, |_| false).unwrap(), same);
    }
    prop_assert_eq!(
        to_groups(bytes, piece, |path| path[path.len() - 1] % 2 == 1),
        to_groups(bytes, usize::MAX, |path| path[path.len() - 1] % 2 == 1)
    );
    Ok(())
}

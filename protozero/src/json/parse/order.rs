//! Sorts what was written: JSON may have fields and keys in any order, and the bytes have one order.

use alloc::vec::Vec;
use core::ops::Range;

use crate::decode::{Field, Reader, Value};
use crate::dynamic::schema::Type;
use crate::wire::zigzag;

/// Number of the field of an item of a message set that has the number of its message.
const TYPE_ID: u32 = 2;

/// The key of an entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'b> {
    /// An unsigned number, or a signed one with its highest bit inverted.
    Number(u64),
    Text(&'b [u8]),
}

impl<'b> Key<'b> {
    /// The first field of `entry`, which is the key.
    pub(super) fn of(ty: Type, entry: &'b [u8]) -> Self {
        let key = Reader::new(entry).next_field();
        let Ok(Some(Field { value, .. })) = key else { return Self::Number(0) };
        let signed = |value: i64| value.cast_unsigned() ^ (1 << 63);
        Self::Number(match (ty, value) {
            (_, Value::Len(text)) => return Self::Text(text),
            (Type::Int32 | Type::Int64, Value::Varint(bits)) => signed(bits.cast_signed()),
            (Type::Sint32 | Type::Sint64, Value::Varint(bits)) => signed(zigzag::decode64(bits)),
            (Type::Sfixed32, Value::Fixed32(bits)) => signed(bits.cast_signed().into()),
            (Type::Sfixed64, Value::Fixed64(bits)) => signed(bits.cast_signed()),
            (_, Value::Varint(bits) | Value::Fixed64(bits)) => bits,
            (_, Value::Fixed32(bits)) => bits.into(),
            (_, Value::Group(_)) => 0,
        })
    }
}

/// Sorts `fields` by number, or the items of a message set by that of their message.
#[cold]
pub(super) fn sort_fields(fields: &mut [u8], is_message_set: bool) {
    let number = |field: &Field<'_>| match field.value {
        Value::Group(item) if is_message_set => item_number(item),
        _ => field.number,
    };
    let mut runs: Vec<(u32, Range<usize>)> = Vec::new();
    let mut reader = Reader::new(fields);
    let mut begin = 0;
    while let Ok(Some(field)) = reader.next_field() {
        let (number, end) = (number(&field), reader.position());
        match runs.last_mut() {
            Some((last, run)) if *last == number => run.end = end,
            _ => runs.push((number, begin..end)),
        }
        begin = end;
    }
    runs.sort_by_key(|(number, _)| *number);
    let mut sorted = Vec::with_capacity(fields.len());
    runs.into_iter().for_each(|(_, run)| sorted.extend_from_slice(&fields[run]));
    sorted.extend_from_slice(&fields[begin..]);
    fields.copy_from_slice(&sorted);
}

/// The number of the message in an item.
fn item_number(item: &[u8]) -> u32 {
    let mut reader = Reader::new(item);
    while let Ok(Some(field)) = reader.next_field() {
        if let (TYPE_ID, Value::Varint(number)) = (field.number, field.value) {
            return number as u32;
        }
    }
    0
}

/// Sorts the entries of a map with keys of type `ty`. False if two have the same key.
#[cold]
pub(super) fn sort_entries(entries: &mut [u8], ty: Type) -> bool {
    let mut all: Vec<(Key<'_>, &[u8])> = Vec::new();
    let mut reader = Reader::new(entries);
    while let Ok(Some(field)) = reader.next_field() {
        if let Value::Len(body) = field.value {
            all.push((Key::of(ty, body), field.raw));
        }
    }
    all.sort_by_key(|(key, _)| *key);
    if all.windows(2).any(|pair| matches!(pair, [(first, _), (second, _)] if first == second)) {
        return false;
    }
    let mut sorted = Vec::with_capacity(entries.len());
    all.into_iter().for_each(|(_, raw)| sorted.extend_from_slice(raw));
    if let Some(entries) = entries.get_mut(..sorted.len()) {
        entries.copy_from_slice(&sorted);
    }
    true
}

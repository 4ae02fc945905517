//! Whether the fields of a message can be printed as they come.
//!
//! They can if no field, oneof or key occurs a second time, the elements of a field come one after the other, and the
//! keys of a map are sorted. Encoders write messages like that.

use alloc::collections::BTreeSet;
use core::cmp::Ordering;

use crate::decode::{PackedFixed32, PackedFixed64, PackedVarint, Reader, Value as Wire};
use crate::dynamic::schema::{FieldData, Schema, Type};
use crate::error::DecodeError;
use crate::json::error::PrintError;
use crate::wire::zigzag;

/// Numbers, most of them small.
#[derive(Default)]
pub(in crate::json) struct Seen {
    low: u128,
    high: BTreeSet<u32>,
}

impl Seen {
    /// False if it was there.
    pub(in crate::json) fn insert(&mut self, number: u32) -> bool {
        if number >= u128::BITS {
            return self.high.insert(number);
        }
        let is_new = self.low >> number & 1 == 0;
        self.low |= 1 << number;
        is_new
    }

    pub(in crate::json) fn contains(&self, number: u32) -> bool {
        match number < u128::BITS {
            true => self.low >> number & 1 == 1,
            false => self.high.contains(&number),
        }
    }
}

pub(super) fn is_ordered(schema: &Schema, index: u32, bytes: &[u8]) -> Result<bool, DecodeError> {
    let (mut fields, mut oneofs) = (Seen::default(), Seen::default());
    let mut last: Option<&FieldData> = None;
    let mut key = None;
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        let again = last.filter(|data| data.number == field.number);
        let Some(data) = again.or_else(|| schema.field_by_number(index, field.number)) else {
            continue;
        };
        if !fits(data, &field.value) {
            continue;
        }
        if again.is_none() {
            let is_new =
                fields.insert(data.number) && data.oneof.is_none_or(|oneof| oneofs.insert(oneof));
            if !is_new {
                return Ok(false);
            }
            key = None;
        } else if !data.repeated() {
            return Ok(false);
        }
        last = Some(data);
        let (Some(of), Wire::Len(bytes)) = (data.entry(), field.value) else { continue };
        let Some(entry) = entry(schema, of, bytes)? else { return Ok(false) };
        let next = Key::new(entry.key_data.ty, entry.key);
        if key.is_some_and(|key| next.cmp(&key) != Ordering::Greater) {
            return Ok(false);
        }
        key = Some(next);
    }
    Ok(true)
}

/// The key of an entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'b> {
    Number(i128),
    Text(&'b [u8]),
}

impl<'b> Key<'b> {
    fn new(ty: Type, wire: Option<Wire<'b>>) -> Self {
        let number: i128 = match (ty, wire) {
            (_, Some(Wire::Len(bytes))) => return Self::Text(bytes),
            (Type::String, _) => return Self::Text(&[]),
            (Type::Int32, Some(Wire::Varint(bits))) => (bits as i32).into(),
            (Type::Int64, Some(Wire::Varint(bits))) => (bits as i64).into(),
            (Type::Sint32, Some(Wire::Varint(bits))) => zigzag::decode32(bits as u32).into(),
            (Type::Sint64, Some(Wire::Varint(bits))) => zigzag::decode64(bits).into(),
            (Type::Uint32, Some(Wire::Varint(bits))) => (bits as u32).into(),
            (Type::Bool, Some(Wire::Varint(bits))) => i128::from(bits != 0),
            (_, Some(Wire::Varint(bits))) => bits.into(),
            (Type::Sfixed32, Some(Wire::Fixed32(bits))) => (bits as i32).into(),
            (_, Some(Wire::Fixed32(bits))) => bits.into(),
            (Type::Sfixed64, Some(Wire::Fixed64(bits))) => (bits as i64).into(),
            (_, Some(Wire::Fixed64(bits))) => bits.into(),
            _ => 0,
        };
        Self::Number(number)
    }
}

/// An entry of a map.
pub(super) struct Entry<'s, 'b> {
    pub(super) key_data: &'s FieldData,
    pub(super) key: Option<Wire<'b>>,
    pub(super) value_data: &'s FieldData,
    pub(super) value: Option<Wire<'b>>,
}

/// An entry of a map, unless its key or its value occurs twice.
pub(super) fn entry<'s, 'b>(
    schema: &'s Schema,
    of: u32,
    bytes: &'b [u8],
) -> Result<Option<Entry<'s, 'b>>, DecodeError> {
    let parts = (schema.field_by_number(of, 1), schema.field_by_number(of, 2));
    let (Some(key_data), Some(value_data)) = parts else { return Ok(None) };
    let mut entry = Entry { key_data, key: None, value_data, value: None };
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        let part = match field.number {
            1 if fits(key_data, &field.value) => &mut entry.key,
            2 if fits(value_data, &field.value) => &mut entry.value,
            _ => continue,
        };
        if part.replace(field.value).is_some() {
            return Ok(None);
        }
    }
    Ok(Some(entry))
}

/// Whether a value is encoded as one of the field; else it is unknown.
pub(super) fn fits(data: &FieldData, wire: &Wire<'_>) -> bool {
    let is_packed = matches!(wire, Wire::Len(_)) && data.repeated() && data.ty.packable();
    is_packed
        || match wire {
            Wire::Varint(_) => matches!(
                data.ty,
                Type::Int32
                    | Type::Int64
                    | Type::Uint32
                    | Type::Uint64
                    | Type::Sint32
                    | Type::Sint64
                    | Type::Bool
                    | Type::Enum(_)
            ),
            Wire::Fixed32(_) => matches!(data.ty, Type::Fixed32 | Type::Sfixed32 | Type::Float),
            Wire::Fixed64(_) => matches!(data.ty, Type::Fixed64 | Type::Sfixed64 | Type::Double),
            Wire::Len(_) => match data.ty {
                Type::String | Type::Bytes => true,
                Type::Message(_) => !data.delimited,
                _ => false,
            },
            Wire::Group(_) => matches!(data.ty, Type::Message(_)) && data.delimited,
        }
}

/// Whether the number of a closed enum has a name; else the value is unknown. Other values are known.
pub(super) fn is_known(schema: &Schema, ty: Type, wire: Wire<'_>) -> bool {
    match (ty, wire) {
        (Type::Enum(index), Wire::Varint(bits)) => {
            let of = schema.enumeration(index);
            !of.closed || of.name_of(bits as i32).is_some()
        }
        _ => true,
    }
}

/// Calls `each` with every element of a field, packed or not.
pub(super) fn elements<'b>(
    data: &FieldData,
    wire: Wire<'b>,
    mut each: impl FnMut(Wire<'b>) -> Result<(), PrintError>,
) -> Result<(), PrintError> {
    let Wire::Len(bytes) = wire else { return each(wire) };
    match data.ty {
        Type::String | Type::Bytes | Type::Message(_) => each(wire),
        Type::Fixed32 | Type::Sfixed32 | Type::Float => {
            let mut run = PackedFixed32::new(bytes).map_err(|kind| kind.at(0))?;
            run.try_for_each(|bits| each(Wire::Fixed32(bits)))
        }
        Type::Fixed64 | Type::Sfixed64 | Type::Double => {
            let mut run = PackedFixed64::new(bytes).map_err(|kind| kind.at(0))?;
            run.try_for_each(|bits| each(Wire::Fixed64(bits)))
        }
        _ => PackedVarint::new(bytes).try_for_each(|bits| each(Wire::Varint(bits?))),
    }
}

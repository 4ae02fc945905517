//! The entries of maps: reading them, and the order of their keys.

use crate::decode::{Fields, Value as Wire};
use crate::dynamic::schema::Type;
use crate::error::ReadError;
use crate::json::table::{Field, Table};
use crate::wire::tag::{LEN, VARINT};
use crate::wire::zigzag;

/// The key of an entry. Numbers are in an order, but not those of the schema.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key<'b> {
    Number(u64),
    Text(&'b [u8]),
}

impl<'b> Key<'b> {
    #[inline]
    pub(super) fn new(ty: Type, wire: Option<Wire<'b>>) -> Self {
        let signed = |value: i64| (value as u64) ^ (1 << 63);
        let number = match (ty, wire) {
            (_, Some(Wire::Len(bytes))) => return Self::Text(bytes),
            (Type::String, _) => return Self::Text(&[]),
            (Type::Int32, Some(Wire::Varint(bits))) => signed((bits as i32).into()),
            (Type::Int64, Some(Wire::Varint(bits))) => signed(bits as i64),
            (Type::Sint32, Some(Wire::Varint(bits))) => {
                signed(zigzag::decode32(bits as u32).into())
            }
            (Type::Sint64, Some(Wire::Varint(bits))) => signed(zigzag::decode64(bits)),
            (Type::Uint32, Some(Wire::Varint(bits))) => (bits as u32).into(),
            (Type::Bool, Some(Wire::Varint(bits))) => u64::from(bits != 0),
            (Type::Sfixed32, Some(Wire::Fixed32(bits))) => signed((bits as i32).into()),
            (Type::Sfixed64, Some(Wire::Fixed64(bits))) => signed(bits as i64),
            (_, Some(Wire::Varint(bits) | Wire::Fixed64(bits))) => bits,
            (_, Some(Wire::Fixed32(bits))) => bits.into(),
            (
                Type::Int32
                | Type::Int64
                | Type::Sint32
                | Type::Sint64
                | Type::Sfixed32
                | Type::Sfixed64,
                _,
            ) => signed(0),
            _ => 0,
        };
        Self::Number(number)
    }
}

/// The type of an entry.
#[derive(Clone, Copy)]
pub(super) struct EntryType<'s> {
    pub(super) key: &'s Field,
    pub(super) value: &'s Field,
}

/// An entry of a map.
#[derive(Clone, Copy)]
pub(super) struct Entry<'b> {
    pub(super) key: Option<Wire<'b>>,
    pub(super) value: Option<Wire<'b>>,
}

impl<'s> EntryType<'s> {
    /// The type of the entries in this table; none if a wrong schema has it.
    #[inline]
    pub(super) fn new(table: &'s Table) -> Option<Self> {
        let [key, value] = &*table.fields else { return None };
        Some(Self { key, value })
    }

    /// Reads an entry. None if its key or its value occurs twice.
    #[inline]
    pub(super) fn read<'b>(&self, bytes: &'b [u8]) -> Result<Option<Entry<'b>>, ReadError> {
        let mut entry = Entry { key: None, value: None };
        let mut fields = Fields::new(bytes);
        while let Some(tag) = next_tag(&mut fields)? {
            let part = match tag {
                _ if tag == self.key.tag => &mut entry.key,
                _ if tag == self.value.tag => &mut entry.value,
                _ => {
                    fields.skip(tag).map_err(|_| fields.fail())?;
                    continue;
                }
            };
            if part.replace(read_value(&mut fields, tag)?).is_some() {
                return Ok(None);
            }
        }
        Ok(Some(entry))
    }
}

/// The value behind `tag`.
#[inline(always)]
pub(super) fn read_value<'b>(fields: &mut Fields<'b>, tag: u32) -> Result<Wire<'b>, ReadError> {
    let wire = match tag & 7 {
        LEN => fields.bytes().map(Wire::Len),
        VARINT => fields.uint64().map(Wire::Varint),
        _ => fields.unknown(tag).map(|field| field.value),
    };
    wire.map_err(|_| fields.fail())
}

/// The tag of the next field.
#[inline]
pub(super) fn next_tag(fields: &mut Fields<'_>) -> Result<Option<u32>, ReadError> {
    fields.next_tag().map_err(|_| fields.fail())
}

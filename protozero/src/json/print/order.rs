//! Whether the fields of a message can be printed as they come.
//!
//! They can if no field or oneof occurs a second time, and the elements of a field come one directly after the other.
//! Encoders write messages like that.

use alloc::collections::BTreeSet;

use super::entry::{EntryType, next_tag};
use crate::decode::{Fields, PackedFixed32, PackedFixed64, PackedVarint, Value as Wire};
use crate::dynamic::schema::{Schema, Type};
use crate::error::ReadError;
use crate::json::table::Shape;

/// Numbers, most of them small.
#[derive(Default)]
pub(in crate::json) struct Seen {
    low: u64,
    high: BTreeSet<u32>,
}

impl Seen {
    /// False if it was there.
    #[inline]
    pub(in crate::json) fn insert(&mut self, number: u32) -> bool {
        if number >= u64::BITS {
            return self.high.insert(number);
        }
        let is_new = self.low >> number & 1 == 0;
        self.low |= 1 << number;
        is_new
    }

    pub(in crate::json) fn contains(&self, number: u32) -> bool {
        match number < u64::BITS {
            true => self.low >> number & 1 == 1,
            false => self.high.contains(&number),
        }
    }
}

pub(super) fn is_ordered(schema: &Schema, index: u32, bytes: &[u8]) -> Result<bool, ReadError> {
    let table = &schema.json[index as usize];
    let mut seen = Seen::default();
    let mut last = None;
    let mut fields = Fields::new(bytes);
    while let Some(tag) = next_tag(&mut fields)? {
        let Some(at) = table.find_tag(tag, last.unwrap_or(0)) else {
            last = None;
            fields.skip(tag).map_err(|_| fields.fail())?;
            continue;
        };
        let field = &table.fields[at];
        let is_again = last == Some(at);
        if is_again && field.shape == Shape::One || !is_again && !seen.insert(field.slot) {
            return Ok(false);
        }
        last = Some(at);
        if let Shape::Map(of) = field.shape {
            let bytes = fields.bytes().map_err(|_| fields.fail())?;
            if let Some(ty) = EntryType::new(&schema.json[of as usize])
                && ty.read(bytes)?.is_none()
            {
                return Ok(false);
            }
        } else {
            fields.skip(tag).map_err(|_| fields.fail())?;
        }
    }
    Ok(true)
}

/// Calls `each` with every element of a packed field.
pub(super) fn elements<E: From<ReadError>>(
    ty: Type,
    run: &[u8],
    mut each: impl FnMut(Wire<'_>) -> Result<(), E>,
) -> Result<(), E> {
    match ty {
        Type::Fixed32 | Type::Sfixed32 | Type::Float => {
            let mut run = PackedFixed32::new(run).map_err(|kind| kind.at(0))?;
            run.try_for_each(|bits| each(Wire::Fixed32(bits)))
        }
        Type::Fixed64 | Type::Sfixed64 | Type::Double => {
            let mut run = PackedFixed64::new(run).map_err(|kind| kind.at(0))?;
            run.try_for_each(|bits| each(Wire::Fixed64(bits)))
        }
        _ => PackedVarint::new(run).try_for_each(|bits| each(Wire::Varint(bits?))),
    }
}

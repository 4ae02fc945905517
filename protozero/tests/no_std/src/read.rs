//! Reading, with and without a schema, in one piece and in several.

use protozero::decode::{Limits, Pieces, ScatteredReader, ScatteredValue};
use protozero::{DecodeError, Reader, Value};

use crate::kinds::{KindsField, KindsReader};

/// A sum over all that is read, so that nothing of it is in vain.
pub type Sum = u64;

fn text(text: &[u8]) -> Sum {
    text.iter().fold(0, |sum: Sum, byte| sum.wrapping_add(Sum::from(*byte)))
}

/// Without a schema: everything that could be a message is entered, `depth` levels deep.
///
/// # Errors
/// It is no message.
pub fn fields(bytes: &[u8], depth: u32) -> Result<Sum, DecodeError> {
    let mut sum: Sum = 0;
    let mut reader = Reader::new(bytes);
    while let Some(field) = reader.next_field()? {
        let number = match field.value {
            Value::Varint(v) => v.wrapping_add(field.value.sint64().unwrap_or(0) as u64),
            Value::Fixed64(_) => field.value.double().unwrap_or(0.0).to_bits(),
            Value::Fixed32(v) => Sum::from(v),
            Value::Len(inner) | Value::Group(inner) if depth > 0 => {
                fields(inner, depth - 1).unwrap_or_else(|_| text(inner))
            }
            _ => field.value.string().map_or(1, |s| text(s.as_bytes())),
        };
        sum = sum.wrapping_add(number).wrapping_add(field.raw.len() as Sum);
        for element in field.value.varints().into_iter().flatten().flatten() {
            sum = sum.wrapping_add(element);
        }
        for element in field.value.fixed32s().into_iter().flatten() {
            sum = sum.wrapping_add(Sum::from(element));
        }
        for element in field.value.fixed64s().into_iter().flatten() {
            sum = sum.wrapping_add(element);
        }
    }
    Ok(sum)
}

/// By the generated reader.
///
/// # Errors
/// It is no message.
pub fn kinds(bytes: &[u8], depth: u32) -> Result<Sum, DecodeError> {
    let mut sum: Sum = 0;
    for field in KindsReader::new(bytes) {
        let number = match field? {
            KindsField::AInt32(v) => v as Sum,
            KindsField::AInt64(v) => v as Sum,
            KindsField::AUint32(v) => Sum::from(v),
            KindsField::AUint64(v) | KindsField::AFixed64(v) => v,
            KindsField::PackedVarints(v) => v,
            KindsField::PackedFixed(v) => Sum::from(v),
            KindsField::ASint32(v) | KindsField::Loose(v) => v as Sum,
            KindsField::AString(v) | KindsField::Strings(v) | KindsField::That(v) => {
                text(v.as_bytes())
            }
            KindsField::ABytes(v) => text(v),
            KindsField::AMessage(v) if depth > 0 => kinds(v.bytes(), depth - 1)?,
            KindsField::Agroup(v) => v.into_iter().filter(Result::is_ok).count() as Sum,
            KindsField::Unknown(field) => field.raw.len() as Sum,
            _ => 1,
        };
        sum = sum.wrapping_add(number);
    }
    Ok(sum)
}

/// By name, and by the generated table.
///
/// # Errors
/// It is no message.
pub fn table(bytes: &[u8]) -> Result<Sum, DecodeError> {
    let reader = KindsReader::new(bytes);
    let table = reader.table()?;
    let mut sum = table.a_uint64.unwrap_or(0).wrapping_add(reader.a_sint64()?.unwrap_or(0) as Sum);
    sum = sum.wrapping_add(table.a_string.map_or(0, |s| text(s.as_bytes())));
    for element in table.packed_varints {
        sum = sum.wrapping_add(element?);
    }
    for element in &reader.packed_doubles() {
        sum = sum.wrapping_add(element?.to_bits());
    }
    for field in table.unknown_fields {
        sum = sum.wrapping_add(field?.raw.len() as Sum);
    }
    if let Some(KindsField::That(that)) = table.choice {
        sum = sum.wrapping_add(text(that.as_bytes()));
    }
    if let Some(group) = reader.agroup()? {
        sum = sum.wrapping_add(group.table()?.inside.map_or(0, Sum::from));
    }
    Ok(sum.wrapping_add(reader.this()?.map_or(0, Sum::from)))
}

/// Within limits.
///
/// # Errors
/// It is no message, or too much of one.
pub fn limited(bytes: &[u8]) -> Result<Sum, DecodeError> {
    let budget = Limits { fields_max: 1000, ..Limits::default() }.budget();
    let mut reader = budget.reader(bytes)?;
    let mut sum: Sum = 0;
    while let Some(field) = reader.next_field()? {
        match reader.nested(&field) {
            Ok(inner) => reader = inner,
            Err(_) => sum = sum.wrapping_add(field.raw.len() as Sum),
        }
    }
    Ok(sum)
}

/// In several pieces.
///
/// # Errors
/// It is no message.
pub fn scattered(slices: &[&[u8]]) -> Result<Sum, DecodeError> {
    let mut sum: Sum = 0;
    let mut reader = ScatteredReader::new(slices);
    while let Some(field) = reader.next_field()? {
        let number = match field.value {
            ScatteredValue::Whole(Value::Varint(v)) => v,
            ScatteredValue::Whole(_) => 1,
            ScatteredValue::Len(pieces) | ScatteredValue::Group(pieces) => cut(pieces),
        };
        for element in field.value.varints().into_iter().flatten().flatten() {
            sum = sum.wrapping_add(element);
        }
        if let Ok(mut inner) = field.value.message() {
            sum = sum.wrapping_add(Sum::from(inner.next_field().is_ok()));
        }
        sum = sum.wrapping_add(number);
    }
    Ok(sum)
}

fn cut(pieces: Pieces<'_, '_>) -> Sum {
    let mut copy = [0; 16];
    let mut rest = pieces;
    let taken = rest.take(pieces.copy_to(&mut copy)).is_some_and(|taken| taken == *copy.as_slice());
    let sum = pieces.iter().fold(0, |sum: Sum, piece| sum.wrapping_add(text(piece)));
    sum.wrapping_add(Sum::from(taken)).wrapping_add(Sum::from(pieces.is_utf8()))
}

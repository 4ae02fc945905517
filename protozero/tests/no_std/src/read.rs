//! Reading, with and without a schema, in one piece and in several.

use protozero::decode::{ScatteredReader, ScatteredValue};
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
            ScatteredValue::Len(pieces) | ScatteredValue::Group(pieces) => {
                pieces.iter().fold(0, |sum: Sum, piece| sum.wrapping_add(text(piece)))
            }
        };
        sum = sum.wrapping_add(number);
    }
    Ok(sum)
}

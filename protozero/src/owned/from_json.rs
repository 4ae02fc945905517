//! Values that are parsed from JSON: the parser passes them as fields with the wrong one of the two wire types that
//! have bytes. Without such a parser, a field with a wrong type is unknown.

use super::{Merge, Read, Understood};
use crate::decode::limits::JsonSource;
use crate::decode::{DecodeContext, Field, Value};
use crate::error::{DecodeErrorKind, ReadError};

/// The parser and the text, if the field comes from a parser.
fn source<'a, 'b>(
    field: &Field<'a>,
    context: DecodeContext<'b>,
) -> Option<(&'b dyn JsonSource, &'a [u8])> {
    let (Value::Len(text) | Value::Group(text)) = field.value else { return None };
    Some((context.json()?, text))
}

/// Parses a message.
#[inline]
pub(super) fn message<'a, M: Merge<'a>>(
    mut slot: &mut M,
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Understood {
    let Some((json, text)) = source(field, context) else { return Ok(false) };
    json.message(&mut slot, text, context)?;
    Ok(true)
}

/// Calls `set` with a text that has escapes.
#[inline(never)]
pub(super) fn text(
    field: &Field<'_>,
    context: DecodeContext<'_>,
    set: impl FnOnce(&str),
) -> Understood {
    let Some((json, text)) = source(field, context) else { return Ok(false) };
    set(&json.text(text)?);
    Ok(true)
}

/// Calls `set` with bytes that are base64.
#[inline(never)]
pub(super) fn bytes(
    field: &Field<'_>,
    context: DecodeContext<'_>,
    set: impl FnOnce(&[u8]),
) -> Understood {
    let Some((json, text)) = source(field, context) else { return Ok(false) };
    set(&json.bytes(text)?);
    Ok(true)
}

/// Parses the key and the value of an entry.
#[inline]
pub(super) fn entry<'a, K: Read<'a>, V: Read<'a>>(
    (key, value): (&mut K::Owned, &mut V::Owned),
    field: &Field<'a>,
    context: DecodeContext<'_>,
) -> Understood {
    let Some((json, text)) = source(field, context) else { return Ok(false) };
    let context = context.enter().map_err(|kind| kind.at(0))?;
    context.grow(K::FOOTPRINT.saturating_add(V::FOOTPRINT)).map_err(|kind| kind.at(0))?;
    let [key_part, value_part] = json.entry(text)?;
    if !K::merge(key, &key_part, context)? || !V::merge(value, &value_part, context)? {
        return Err(DecodeErrorKind::WireTypeMismatch.at(0));
    }
    Ok(true)
}

/// Refuses an entry of JSON whose key the map had already. In bytes of protobuf the last entry counts.
#[inline]
pub(super) fn refuse_duplicate_key(field: &Field<'_>) -> Result<(), ReadError> {
    match field.value {
        Value::Len(_) => Ok(()),
        _ => Err(DecodeErrorKind::WireTypeMismatch.at(0)),
    }
}

//! Message sets: an old encoding for messages that consist of extensions only.
//!
//! ```text
//!  message Set { repeated group Item = 1 { required int32 type_id = 2; required bytes message = 3; } }
//! ```
//!
//! `type_id` is the number of the extension. The two parts may come in any order.

use super::DynamicMessage;
use super::cost::{self, charge, enter};
use super::fault::{offset_in, too_deep};
use super::schema::{Schema, Type};
use crate::decode::{DecodeContext, Field, Reader, Value as Wire};
use crate::error::ReadError;

pub(super) const ITEM: u32 = 1;
pub(super) const TYPE_ID: u32 = 2;
pub(super) const MESSAGE: u32 = 3;

/// Decodes one field of a message set: an item, or a normally encoded extension.
pub(super) fn merge_item(
    set: &mut DynamicMessage,
    schema: &Schema,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Result<(), ReadError> {
    let (ITEM, Wire::Group(item)) = (field.number, field.value) else {
        return set.merge_field(schema, field, context);
    };
    let start = offset_in(field, item);
    let (mut number, mut body) = (None, None);
    let mut reader = Reader::new(item);
    while let Some(part) = reader.next_field().map_err(|e| e.kind.at(start + e.offset))? {
        match (part.number, part.value) {
            (TYPE_ID, Wire::Varint(bits)) if number.is_none() => number = Some(bits as u32),
            (MESSAGE, Wire::Len(bytes)) if body.is_none() => body = Some(bytes),
            _ => {}
        }
    }
    let known = number.and_then(|number| schema.field_by_number(set.descriptor.index, number));
    let (Some(data), Some(body)) = (known, body) else {
        charge(context, field.raw.len())?;
        set.unknown.push(field);
        return Ok(());
    };
    if !matches!(data.ty, Type::Message(_)) || data.repeated() {
        charge(context, field.raw.len())?;
        set.unknown.push(field);
        return Ok(());
    }
    let offset = offset_in(field, body);
    let before = set.fields.len();
    let inner = enter(context)?;
    let message = set.open(data).map_err(too_deep)?;
    message.merge_all(schema, body, inner).map_err(|e| e.kind.at(offset + e.offset))?;
    if set.fields.len() > before {
        charge(context, cost::MESSAGE + cost::entry::<u32>(before))?;
    }
    Ok(())
}

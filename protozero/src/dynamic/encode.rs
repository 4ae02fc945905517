//! Encodes messages from the last byte to the first: a length is written when the bytes that it
//! counts are already written. One pass, shortest lengths, and no moved bytes.

use alloc::vec::Vec;

use super::schema::{FieldData, Schema, Type};
use super::value::Value;
use super::{DynamicMessage, message_set};
use crate::error::WriteError;
use crate::owned::{Encode, Encoder, Output, count, to_vec};
use crate::wire::{tag, zigzag};

impl DynamicMessage {
    /// Encodes this message: fields and extensions in the order of numbers, maps in the order of
    /// keys, unknown fields last and unchanged. Equal messages have equal bytes.
    ///
    /// # Errors
    /// [`WriteError`] if it has more than 2^31-1 bytes or more than 100 levels. Only `mem::swap`
    /// can create so many levels.
    pub fn try_encode(&self) -> Result<Vec<u8>, WriteError> {
        to_vec(self, false)
    }

    /// [`DynamicMessage::try_encode`] for messages that can be encoded.
    ///
    /// # Panics
    /// If [`DynamicMessage::try_encode`] returns an error.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self.try_encode() {
            Ok(bytes) => bytes,
            Err(error) => panic!("{error}"),
        }
    }

    /// [`DynamicMessage::encode`] under the name that other messages use.
    ///
    /// # Panics
    /// In the same cases as [`DynamicMessage::encode`].
    #[must_use]
    pub fn encode_to_vec(&self) -> Vec<u8> {
        self.encode()
    }

    /// Length of the encoded message in bytes.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        count(self)
    }

    fn encode_before(&self, schema: &Schema, out: &mut Encoder<'_>) {
        out.raw(self.unknown.as_bytes());
        let message_set = schema.message(self.descriptor.index).message_set;
        for (number, value) in self.fields.iter().rev() {
            let Some(data) = schema.field_by_number(self.descriptor.index, *number) else {
                continue;
            };
            match value {
                Value::Message(message) if message_set => item(schema, *number, message, out),
                _ => field(schema, data, value, out),
            }
        }
    }
}

impl Encode for DynamicMessage {
    fn encode_fields<O: Output>(&self, out: &mut O) {
        out.through(|out| self.encode_before(&self.descriptor.pool.0, out));
    }
}

fn item(schema: &Schema, number: u32, message: &DynamicMessage, out: &mut Encoder<'_>) {
    out.tag(message_set::ITEM, tag::END_GROUP);
    let Some(end) = out.open() else { return };
    message.encode_before(schema, out);
    out.close(message_set::MESSAGE, end);
    out.varint(message_set::TYPE_ID, u64::from(number));
    out.tag(message_set::ITEM, tag::BEGIN_GROUP);
}

fn field(schema: &Schema, data: &FieldData, value: &Value, out: &mut Encoder<'_>) {
    match value {
        Value::List(values) if data.packed => {
            let end = out.written();
            for value in values.iter().rev() {
                bare(data.ty, value, out);
            }
            out.run(data.number, end);
        }
        Value::List(values) => {
            for value in values.iter().rev() {
                single(schema, data, value, out);
            }
        }
        Value::Map(entries) => {
            let Some(entry) = data.entry() else { return };
            let (Some(key_data), Some(value_data)) =
                (schema.field_by_number(entry, 1), schema.field_by_number(entry, 2))
            else {
                return;
            };
            for (key, value) in entries.iter().rev() {
                let Some(end) = out.open() else { return };
                single(schema, value_data, value, out);
                single(schema, key_data, &key.clone().into(), out);
                out.close(data.number, end);
            }
        }
        value => single(schema, data, value, out),
    }
}

/// Writes one value with its tag.
fn single(schema: &Schema, data: &FieldData, value: &Value, out: &mut Encoder<'_>) {
    match value {
        Value::Message(message) if data.delimited => {
            out.tag(data.number, tag::END_GROUP);
            if out.open().is_some() {
                message.encode_before(schema, out);
                out.close_group(data.number);
            }
        }
        Value::Message(message) => {
            if let Some(end) = out.open() {
                message.encode_before(schema, out);
                out.close(data.number, end);
            }
        }
        Value::String(text) => out.field(data.number, text.as_bytes()),
        Value::Bytes(bytes) => out.field(data.number, bytes),
        value => {
            let wire_type = bare(data.ty, value, out);
            out.tag(data.number, wire_type);
        }
    }
}

/// Writes a number without its tag; returns its wire type.
fn bare(ty: Type, value: &Value, out: &mut Encoder<'_>) -> u32 {
    let bits = match (ty, value) {
        (Type::Sint32, Value::I32(value)) => u64::from(zigzag::encode32(*value)),
        (Type::Sint64, Value::I64(value)) => zigzag::encode64(*value),
        (_, Value::Bool(value)) => u64::from(*value),
        (_, Value::I32(value) | Value::Enum(value)) => i64::from(*value).cast_unsigned(),
        (_, Value::I64(value)) => value.cast_unsigned(),
        (_, Value::U32(value)) => u64::from(*value),
        (_, Value::U64(value)) => *value,
        (_, Value::F32(value)) => u64::from(value.to_bits()),
        (_, Value::F64(value)) => value.to_bits(),
        // A number field contains no other value.
        _ => 0,
    };
    match ty {
        Type::Fixed32 | Type::Sfixed32 | Type::Float => {
            out.bare_fixed32(bits as u32);
            tag::FIXED32
        }
        Type::Fixed64 | Type::Sfixed64 | Type::Double => {
            out.bare_fixed64(bits);
            tag::FIXED64
        }
        _ => {
            out.bare_varint(bits);
            tag::VARINT
        }
    }
}

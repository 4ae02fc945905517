//! Values to wire bytes, from the last byte to the first: by the time a length is written, what it
//! measures lies behind it. One walk, exact lengths, nothing moved.

use alloc::vec;
use alloc::vec::Vec;

use super::schema::{FieldData, Schema, Type};
use super::value::Value;
use super::{DynamicMessage, message_set};
use crate::wire::{tag, varint, zigzag};

impl DynamicMessage {
    /// The encoding: fields and extensions by number, maps by key, unknown fields last and as they
    /// came. The same message gives the same bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Backward { bytes: Vec::new(), start: 0 };
        self.encode_before(&self.descriptor.pool.0, &mut out);
        out.finish()
    }

    /// As [`DynamicMessage::encode`], by the name other messages have for it.
    #[must_use]
    pub fn encode_to_vec(&self) -> Vec<u8> {
        self.encode()
    }

    /// Bytes of the encoding.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.encode().len()
    }

    fn encode_before(&self, schema: &Schema, out: &mut Backward) {
        out.put(self.unknown.as_bytes());
        let message_set = schema.message(self.descriptor.index).message_set;
        for (number, value) in self.fields.iter().rev() {
            let Some(data) = schema.numbered(self.descriptor.index, *number) else { continue };
            match value {
                Value::Message(message) if message_set => item(schema, *number, message, out),
                _ => field(schema, data, value, out),
            }
        }
    }
}

fn item(schema: &Schema, number: u32, message: &DynamicMessage, out: &mut Backward) {
    out.tag(message_set::ITEM, tag::END_GROUP);
    let end = out.len();
    message.encode_before(schema, out);
    out.varint((out.len() - end) as u64);
    out.tag(message_set::MESSAGE, tag::LEN);
    out.varint(u64::from(number));
    out.tag(message_set::TYPE_ID, tag::VARINT);
    out.tag(message_set::ITEM, tag::BEGIN_GROUP);
}

fn field(schema: &Schema, data: &FieldData, value: &Value, out: &mut Backward) {
    match value {
        Value::List(values) if data.packed => {
            let end = out.len();
            for value in values.iter().rev() {
                bare(data.ty, value, out);
            }
            out.varint((out.len() - end) as u64);
            out.tag(data.number, tag::LEN);
        }
        Value::List(values) => {
            for value in values.iter().rev() {
                single(schema, data, value, out);
            }
        }
        Value::Map(entries) => {
            let Some(entry) = data.entry() else { return };
            let (Some(key_data), Some(value_data)) =
                (schema.numbered(entry, 1), schema.numbered(entry, 2))
            else {
                return;
            };
            for (key, value) in entries.iter().rev() {
                let end = out.len();
                single(schema, value_data, value, out);
                single(schema, key_data, &key.clone().into(), out);
                out.varint((out.len() - end) as u64);
                out.tag(data.number, tag::LEN);
            }
        }
        value => single(schema, data, value, out),
    }
}

/// One value with its tag.
fn single(schema: &Schema, data: &FieldData, value: &Value, out: &mut Backward) {
    let wire_type = match value {
        Value::Message(message) if data.delimited => {
            out.tag(data.number, tag::END_GROUP);
            message.encode_before(schema, out);
            tag::BEGIN_GROUP
        }
        Value::Message(message) => {
            let end = out.len();
            message.encode_before(schema, out);
            out.varint((out.len() - end) as u64);
            tag::LEN
        }
        Value::String(text) => {
            out.put(text.as_bytes());
            out.varint(text.len() as u64);
            tag::LEN
        }
        Value::Bytes(bytes) => {
            out.put(bytes);
            out.varint(bytes.len() as u64);
            tag::LEN
        }
        value => bare(data.ty, value, out),
    };
    out.tag(data.number, wire_type);
}

/// A number without its tag; its wire type.
fn bare(ty: Type, value: &Value, out: &mut Backward) -> u32 {
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
        // Nothing else fits a field of numbers.
        _ => 0,
    };
    match ty {
        Type::Fixed32 | Type::Sfixed32 | Type::Float => {
            out.put(&(bits as u32).to_le_bytes());
            tag::FIXED32
        }
        Type::Fixed64 | Type::Sfixed64 | Type::Double => {
            out.put(&bits.to_le_bytes());
            tag::FIXED64
        }
        _ => {
            out.varint(bits);
            tag::VARINT
        }
    }
}

/// A buffer that grows towards its beginning.
struct Backward {
    bytes: Vec<u8>,
    /// What was written begins here.
    start: usize,
}

impl Backward {
    fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    fn put(&mut self, bytes: &[u8]) {
        if bytes.len() > self.start {
            self.grow(bytes.len());
        }
        let end = self.start;
        self.start -= bytes.len();
        self.bytes[self.start..end].copy_from_slice(bytes);
    }

    #[cold]
    fn grow(&mut self, more: usize) {
        let written = self.len();
        let room = (self.bytes.len() * 2).max(written + more).max(64);
        let mut bytes = vec![0; room];
        bytes[room - written..].copy_from_slice(&self.bytes[self.start..]);
        (self.bytes, self.start) = (bytes, room - written);
    }

    fn varint(&mut self, value: u64) {
        let mut bytes = [0; varint::LEN_MAX];
        let len = varint::encode(value, &mut bytes);
        self.put(&bytes[..len]);
    }

    fn tag(&mut self, number: u32, wire_type: u32) {
        self.varint(u64::from(tag::tag(number, wire_type)));
    }

    fn finish(mut self) -> Vec<u8> {
        self.bytes.drain(..self.start);
        self.bytes
    }
}

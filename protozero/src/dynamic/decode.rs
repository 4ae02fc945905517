//! Decodes messages, with protobuf's semantics for each kind of field.
//!
//! ```text
//!  singular    the last occurrence counts; messages are merged
//!  oneof       the last member counts
//!  repeated    elements in wire order, packed and unpacked
//!  map         an entry is a message { key = 1, value = 2 }; the last value of a key counts
//!  unknown     not in the schema, another wire type, invalid number of a closed enum: kept
//! ```

use alloc::boxed::Box;
use alloc::string::String;

use super::cost::{self, MEMORY_MAX, charge, enter};
use super::fault::{offset_in, too_deep};
use super::pool::MessageDescriptor;
use super::schema::{FieldData, Schema, Type};
use super::value::{MapKey, Value};
use super::{DynamicMessage, message_set, names};
use crate::decode::{DecodeContext, DecodeMemory, Field, Reader, Value as Wire};
use crate::error::{DecodeError, DecodeErrorKind, ReadError};
use crate::wire::zigzag;

impl DynamicMessage {
    /// Decodes a message of type `descriptor`.
    ///
    /// It takes at most [`MEMORY_MAX`] bytes of memory; [`merge_within`](Self::merge_within) has
    /// another limit.
    ///
    /// # Errors
    /// [`DecodeError`] if `bytes` is malformed, a `string` that the schema checks is not UTF-8, the
    /// message has more than 100 levels, or it exceeds the memory limit.
    pub fn decode(descriptor: MessageDescriptor, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut message = Self::new(descriptor);
        message.merge(bytes)?;
        Ok(message)
    }

    /// Merges all fields of `bytes` into `self`, as if the encoded `self` came before them.
    ///
    /// # Errors
    /// Those of [`DynamicMessage::decode`]; the fields before the error are merged.
    pub fn merge(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let memory = DecodeMemory::new(MEMORY_MAX);
        self.merge_within(bytes, DecodeContext::new().with_growth(&memory))
    }

    /// Merges all fields of `bytes` into `self` within the budget of `context`: the levels below
    /// this message, and the memory of messages and values.
    ///
    /// ```
    /// # #[cfg(feature = "dynamic")] {
    /// # use protozero::DecodeErrorKind;
    /// # use protozero::dynamic::Pool;
    /// use protozero::dynamic::DynamicMessage;
    /// use protozero::{DecodeContext, DecodeMemory};
    ///
    /// # let set = b"\x0a\x1d\x0a\x07p.proto\x22\x12\x0a\x05Point\x12\x09\x0a\x01x\x18\x01\x20\x01\x28\x05";
    /// # let point = Pool::decode(set)?.message("Point").unwrap();
    /// let memory = DecodeMemory::new(1 << 20);
    /// let mut message = DynamicMessage::new(point);
    /// message.merge_within(b"\x08\x03", DecodeContext::with_depth(10).with_growth(&memory))?;
    /// assert!(memory.left() < 1 << 20);
    /// # let memory = DecodeMemory::new(0);
    /// # let context = DecodeContext::new().with_growth(&memory);
    /// # let error = DynamicMessage::new(message.descriptor().clone()).merge_within(b"\x08\x03", context);
    /// # assert_eq!(error.map_err(|e| e.kind), Err(DecodeErrorKind::TooLarge));
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`DynamicMessage::merge`]; [`DecodeErrorKind::TooLarge`] if the memory budget is
    /// used up.
    pub fn merge_within(
        &mut self,
        bytes: &[u8],
        context: DecodeContext<'_>,
    ) -> Result<(), DecodeError> {
        let pool = self.descriptor.pool.clone();
        self.merge_all(&pool.0, bytes, context)
            .map_err(|error| names::failed(&pool.0, self.descriptor.index, bytes, error))
    }

    pub(super) fn merge_all(
        &mut self,
        schema: &Schema,
        bytes: &[u8],
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        let data = schema.message(self.descriptor.index);
        let mut reader = Reader::new(bytes);
        loop {
            let start = reader.position();
            let Some(field) = reader.next_field()? else { return Ok(()) };
            let result = if data.message_set {
                message_set::merge_item(self, schema, &field, context)
            } else {
                self.merge_field(schema, &field, context)
            };
            result.map_err(|error| error.kind.at(start + error.offset))?;
        }
    }

    /// Decodes one field. Offsets of errors count from its tag.
    pub(super) fn merge_field(
        &mut self,
        schema: &Schema,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        let before = self.fields.len();
        let understood = match schema.field_by_number(self.descriptor.index, field.number) {
            None => false,
            Some(data) if data.map => self.merge_entry(schema, data, field, context)?,
            Some(data) if matches!(data.ty, Type::Message(_)) => {
                self.merge_message(schema, data, field, context)?
            }
            Some(data) if data.repeated() => self.merge_elements(schema, data, field, context)?,
            Some(data) => match scalar(schema, data, field.value, context)? {
                Some(value) => {
                    self.put(data, value);
                    true
                }
                None => false,
            },
        };
        if !understood {
            charge(context, field.raw.len())?;
            self.unknown.push(field);
        }
        if self.fields.len() > before {
            charge(context, cost::entry::<u32>(before))?;
        }
        Ok(())
    }

    fn merge_message(
        &mut self,
        schema: &Schema,
        data: &FieldData,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        let Some(body) = body(data, field.value) else { return Ok(false) };
        let nested = |error: ReadError| error.kind.at(offset_in(field, body) + error.offset);
        let inner = enter(context)?;
        if data.repeated() {
            let Type::Message(index) = data.ty else { return Ok(false) };
            charge(context, cost::MESSAGE)?;
            let mut element = self.child(index).map_err(too_deep)?;
            element.merge_all(schema, body, inner).map_err(nested)?;
            self.element(data, Value::Message(Box::new(element)), context)?;
        } else {
            if !self.fields.contains_key(&data.number) {
                charge(context, cost::MESSAGE)?;
            }
            self.open(data).map_err(too_deep)?.merge_all(schema, body, inner).map_err(nested)?;
        }
        Ok(true)
    }

    /// Adds an element that fits the field, and charges its memory.
    fn element(
        &mut self,
        data: &FieldData,
        value: Value,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        match self.fields.get_mut(&data.number) {
            Some(Value::List(values)) => {
                if values.len() == values.capacity() {
                    charge(context, cost::element(values.len()))?;
                }
                values.push(value);
            }
            _ => {
                charge(context, cost::element(0))?;
                self.add(data, value);
            }
        }
        Ok(())
    }

    fn merge_elements(
        &mut self,
        schema: &Schema,
        data: &FieldData,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        let run = match field.value {
            Wire::Len(run) if data.ty.packable() => run,
            alone => {
                let Some(value) = scalar(schema, data, alone, context)? else { return Ok(false) };
                return self.element(data, value, context).map(|()| true);
            }
        };
        let whole = |kind: DecodeErrorKind| kind.at(0);
        match data.ty {
            Type::Fixed32 | Type::Sfixed32 | Type::Float => {
                for bits in field.value.fixed32s().map_err(whole)? {
                    self.merge_packed_element(schema, data, Wire::Fixed32(bits), context)?;
                }
            }
            Type::Fixed64 | Type::Sfixed64 | Type::Double => {
                for bits in field.value.fixed64s().map_err(whole)? {
                    self.merge_packed_element(schema, data, Wire::Fixed64(bits), context)?;
                }
            }
            _ => {
                for bits in field.value.varints().map_err(whole)? {
                    let bits = bits.map_err(|e| e.kind.at(offset_in(field, run) + e.offset))?;
                    self.merge_packed_element(schema, data, Wire::Varint(bits), context)?;
                }
            }
        }
        Ok(true)
    }

    /// Decodes one element of a packed field. An invalid number of a closed enum is kept as an
    /// unknown field.
    fn merge_packed_element(
        &mut self,
        schema: &Schema,
        data: &FieldData,
        wire: Wire<'_>,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        match (scalar(schema, data, wire, context)?, wire) {
            (Some(value), _) => self.element(data, value, context),
            (None, Wire::Varint(bits)) => {
                let before = self.unknown.as_bytes().len();
                self.unknown.push_varint(data.number, bits);
                charge(context, self.unknown.as_bytes().len() - before)
            }
            _ => Ok(()),
        }
    }

    fn merge_entry(
        &mut self,
        schema: &Schema,
        data: &FieldData,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        let (Wire::Len(bytes), Some(entry)) = (field.value, data.entry()) else { return Ok(false) };
        let (Some(key_data), Some(value_data)) =
            (schema.field_by_number(entry, 1), schema.field_by_number(entry, 2))
        else {
            return Ok(false);
        };
        let offset = offset_in(field, bytes);
        // An entry is a message, so it counts as a level.
        let context = enter(context)?;
        let mut key = Value::zero(schema, key_data.ty);
        let mut value = match value_data.ty {
            Type::Message(index) => {
                charge(context, cost::MESSAGE)?;
                let value = self.child(entry).and_then(|entry| entry.child(index));
                Some(Value::Message(Box::new(value.map_err(too_deep)?)))
            }
            ty => Value::zero(schema, ty),
        };
        let mut reader = Reader::new(bytes);
        loop {
            let start = offset + reader.position();
            let at = |error: ReadError| error.kind.at(start + error.offset);
            let next = reader.next_field().map_err(|e| e.kind.at(offset + e.offset))?;
            let Some(part) = next else { break };
            match (part.number, &mut value) {
                (1, _) if has_wire_type_of(key_data.ty, part.value) => {
                    key = scalar(schema, key_data, part.value, context).map_err(at)?;
                }
                (2, Some(Value::Message(message))) => {
                    if let Some(body) = body(value_data, part.value) {
                        let inner = |e: ReadError| e.kind.at(offset_in(&part, body) + e.offset);
                        let context = enter(context).map_err(at)?;
                        message.merge_all(schema, body, context).map_err(|e| at(inner(e)))?;
                    }
                }
                (2, _) if has_wire_type_of(value_data.ty, part.value) => {
                    value = scalar(schema, value_data, part.value, context).map_err(at)?;
                }
                _ => {}
            }
        }
        // An invalid key or value (not UTF-8, or not in its enum) makes the whole entry unknown.
        let (Some(key), Some(value)) = (key.and_then(Value::into_key), value) else {
            return Ok(false);
        };
        if let Some(before) = self.add_entry(data.number, key, value) {
            charge(context, cost::entry::<MapKey>(before))?;
        }
        Ok(true)
    }
}

/// The body of a message, if its wire type is that of the schema.
pub(super) fn body<'a>(data: &FieldData, value: Wire<'a>) -> Option<&'a [u8]> {
    match value {
        Wire::Len(body) if !data.delimited => Some(body),
        Wire::Group(body) if data.delimited => Some(body),
        _ => None,
    }
}

/// Whether values of type `ty` have the wire type of `value`.
fn has_wire_type_of(ty: Type, value: Wire<'_>) -> bool {
    match ty {
        Type::Fixed32 | Type::Sfixed32 | Type::Float => matches!(value, Wire::Fixed32(_)),
        Type::Fixed64 | Type::Sfixed64 | Type::Double => matches!(value, Wire::Fixed64(_)),
        Type::String | Type::Bytes => matches!(value, Wire::Len(_)),
        Type::Message(_) => false,
        _ => matches!(value, Wire::Varint(_)),
    }
}

/// Decodes one value. `None` if it has another wire type, is not in its closed enum, or is not
/// UTF-8 in a field that is not checked.
fn scalar(
    schema: &Schema,
    data: &FieldData,
    wire: Wire<'_>,
    context: DecodeContext<'_>,
) -> Result<Option<Value>, ReadError> {
    if !has_wire_type_of(data.ty, wire) {
        return Ok(None);
    }
    if let Wire::Len(bytes) = wire {
        charge(context, bytes.len())?;
    }
    Ok(Some(match (data.ty, wire) {
        (Type::Int32, Wire::Varint(bits)) => Value::I32(bits as i32),
        (Type::Int64, Wire::Varint(bits)) => Value::I64(bits.cast_signed()),
        (Type::Uint32, Wire::Varint(bits)) => Value::U32(bits as u32),
        (Type::Uint64, Wire::Varint(bits)) => Value::U64(bits),
        (Type::Sint32, Wire::Varint(bits)) => Value::I32(zigzag::decode32(bits as u32)),
        (Type::Sint64, Wire::Varint(bits)) => Value::I64(zigzag::decode64(bits)),
        (Type::Bool, Wire::Varint(bits)) => Value::Bool(bits != 0),
        (Type::Enum(index), Wire::Varint(bits)) => {
            let (data, number) = (schema.enumeration(index), bits as i32);
            if data.closed && data.name_of(number).is_none() {
                return Ok(None);
            }
            Value::Enum(number)
        }
        (Type::Fixed32, Wire::Fixed32(bits)) => Value::U32(bits),
        (Type::Sfixed32, Wire::Fixed32(bits)) => Value::I32(bits.cast_signed()),
        (Type::Float, Wire::Fixed32(bits)) => Value::F32(f32::from_bits(bits)),
        (Type::Fixed64, Wire::Fixed64(bits)) => Value::U64(bits),
        (Type::Sfixed64, Wire::Fixed64(bits)) => Value::I64(bits.cast_signed()),
        (Type::Double, Wire::Fixed64(bits)) => Value::F64(f64::from_bits(bits)),
        (Type::Bytes, Wire::Len(bytes)) => Value::Bytes(bytes.to_vec()),
        (Type::String, Wire::Len(bytes)) => match core::str::from_utf8(bytes) {
            Ok(text) => Value::String(String::from(text)),
            Err(_) if data.utf8 => return Err(DecodeErrorKind::Utf8.at(0)),
            Err(_) => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

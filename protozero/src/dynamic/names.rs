//! Paths with the names of a pool.

use alloc::string::String;

use super::schema::{FieldData, Schema, Type};
use crate::error::{DecodeError, ReadError};
use crate::path::{Holding, Key, Name, Names, Part, write};

/// A message type of a pool.
#[derive(Clone, Copy)]
struct Typed<'n> {
    schema: &'n Schema,
    index: u32,
}

impl<'n> Names<'n> for Typed<'n> {
    fn message(self) -> &'n str {
        &self.schema.message(self.index).full_name
    }

    fn field(self, number: u32) -> Option<Part<'n, Self>> {
        let data = self.schema.field_by_number(self.index, number)?;
        let name =
            if data.extension { Name::Extension(&data.name) } else { Name::Field(&data.name) };
        Some(Part { name, holds: self.holds(data) })
    }
}

impl Typed<'_> {
    fn holds(self, data: &FieldData) -> Holding<Self> {
        let typed = |index| Self { index, ..self };
        match (data.ty, data.repeated()) {
            (Type::Message(entry), _) if data.map => {
                let part = |number| self.schema.field_by_number(entry, number).map(|data| data.ty);
                let value = match part(2) {
                    Some(Type::Message(index)) => Some(typed(index)),
                    _ => None,
                };
                Holding::Map(part(1).map_or(Key::Other, key_of), value)
            }
            (Type::Message(index), false) => Holding::Message(typed(index)),
            (Type::Message(index), true) => Holding::Messages(typed(index)),
            (_, false) => Holding::Value,
            (Type::String | Type::Bytes, true) => Holding::Values,
            (_, true) => Holding::Numbers,
        }
    }
}

const fn key_of(ty: Type) -> Key {
    match ty {
        Type::Int32 | Type::Int64 | Type::Sfixed32 | Type::Sfixed64 => Key::Signed,
        Type::Uint32 | Type::Uint64 | Type::Fixed32 | Type::Fixed64 => Key::Unsigned,
        Type::Sint32 | Type::Sint64 => Key::Zigzag,
        Type::Bool => Key::Bool,
        _ => Key::Other,
    }
}

/// Adds the path to an error in `bytes`, a message of the type with this index.
#[cold]
pub(super) fn failed(schema: &Schema, index: u32, bytes: &[u8], error: ReadError) -> DecodeError {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut text, Typed { schema, index }, bytes, error.offset);
    DecodeError::new(error, text.into_boxed_str())
}

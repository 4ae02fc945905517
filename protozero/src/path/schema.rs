//! Paths with the names of a static descriptor.

use core::fmt;

use super::{Holding, Key, Name, Names, Part, write};
use crate::descriptor::{FieldDescriptor, Kind, Label, MessageDescriptor};
use crate::error::ReadError;

/// The path of a field in encoded bytes, to be printed: see
/// [`ReadError::path`](crate::ReadError::path).
#[derive(Clone, Copy, Debug)]
pub struct FieldPath<'a> {
    schema: &'static MessageDescriptor,
    bytes: &'a [u8],
    offset: usize,
}

impl ReadError {
    /// The path of the malformed field, to be printed: `shop.Order.lines[3].price`. `bytes` are the
    /// input of the reader, and `schema` is their type.
    ///
    /// ```
    /// use protozero::Reader;
    /// use protozero::descriptor::{FieldDescriptor, Kind, MessageDescriptor};
    ///
    /// const POINT: &MessageDescriptor =
    ///     &MessageDescriptor::new("shape.Point", &[FieldDescriptor::optional("x", 1, Kind::Sint32)]);
    ///
    /// let bytes = b"\x08";
    /// let error = Reader::new(bytes).next_field().unwrap_err();
    /// # #[cfg(feature = "alloc")]
    /// assert_eq!(error.path(POINT, bytes).to_string(), "shape.Point.x");
    /// ```
    #[must_use]
    pub const fn path<'a>(
        &self,
        schema: &'static MessageDescriptor,
        bytes: &'a [u8],
    ) -> FieldPath<'a> {
        FieldPath { schema, bytes, offset: self.offset }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self.schema, self.bytes, self.offset)
    }
}

impl Names<'static> for &'static MessageDescriptor {
    fn message(self) -> &'static str {
        self.name
    }

    fn field(self, number: u32) -> Option<Part<'static, Self>> {
        if let Some(field) = self.field_by_number(number) {
            return Some(Part { name: Name::Field(field.name), holds: holds(field) });
        }
        let field = self.extensions.iter().find(|field| field.number == number)?;
        Some(Part { name: Name::Extension(field.name), holds: holds(field) })
    }
}

fn holds(field: &FieldDescriptor) -> Holding<&'static MessageDescriptor> {
    match (field.kind, field.label) {
        (Kind::Map([key, value]), _) => {
            let message = match value {
                Kind::Message(descriptor) => Some(descriptor()),
                _ => None,
            };
            Holding::Map(key_of(*key), message)
        }
        (Kind::Message(descriptor), Label::Optional) => Holding::Message(descriptor()),
        (Kind::Message(descriptor), _) => Holding::Messages(descriptor()),
        (_, Label::Optional) => Holding::Value,
        (Kind::String | Kind::Bytes, _) => Holding::Values,
        _ => Holding::Numbers,
    }
}

const fn key_of(kind: Kind) -> Key {
    match kind {
        Kind::Int32 | Kind::Int64 | Kind::Sfixed32 | Kind::Sfixed64 => Key::Signed,
        Kind::Uint32 | Kind::Uint64 | Kind::Fixed32 | Kind::Fixed64 => Key::Unsigned,
        Kind::Sint32 | Kind::Sint64 => Key::Zigzag,
        Kind::Bool => Key::Bool,
        _ => Key::Other,
    }
}

//! The values of fields in dynamic messages.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::DynamicMessage;
use super::schema::{FieldData, Schema, Type};
use crate::text::literal;

/// A value. The variant depends only on the type of the field, not on its encoding: all 32-bit
/// integers are `I32` or `U32`.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// `bool`
    Bool(bool),
    /// `int32`, `sint32`, `sfixed32`
    I32(i32),
    /// `int64`, `sint64`, `sfixed64`
    I64(i64),
    /// `uint32`, `fixed32`
    U32(u32),
    /// `uint64`, `fixed64`
    U64(u64),
    /// `float`
    F32(f32),
    /// `double`
    F64(f64),
    /// `string`
    String(String),
    /// `bytes`
    Bytes(Vec<u8>),
    /// The number of an enum.
    Enum(i32),
    /// A message or group.
    Message(Box<DynamicMessage>),
    /// A repeated field.
    List(Vec<Self>),
    /// A map, sorted by key, so that equal maps have equal bytes.
    Map(BTreeMap<MapKey, Self>),
}

/// The key of a map entry.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MapKey {
    /// `bool`
    Bool(bool),
    /// `int32`, `sint32`, `sfixed32`
    I32(i32),
    /// `int64`, `sint64`, `sfixed64`
    I64(i64),
    /// `uint32`, `fixed32`
    U32(u32),
    /// `uint64`, `fixed64`
    U64(u64),
    /// `string`
    String(String),
}

macro_rules! from {
    ($target:ident: $($variant:ident($type:ty)),* $(,)?) => {$(
        impl From<$type> for $target {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    Value: Bool(bool), I32(i32), I64(i64), U32(u32), U64(u64), F32(f32), F64(f64), String(String),
    String(&str), String(&String), Bytes(Vec<u8>), Bytes(&[u8]), Message(DynamicMessage),
    List(Vec<Value>), Map(BTreeMap<MapKey, Value>),
}

from! {
    MapKey: Bool(bool), I32(i32), I64(i64), U32(u32), U64(u64), String(String), String(&str),
    String(&String),
}

impl<E: crate::Enumeration> From<E> for Value {
    fn from(value: E) -> Self {
        Self::Enum(value.to_i32())
    }
}

impl From<MapKey> for Value {
    fn from(key: MapKey) -> Self {
        match key {
            MapKey::Bool(value) => Self::Bool(value),
            MapKey::I32(value) => Self::I32(value),
            MapKey::I64(value) => Self::I64(value),
            MapKey::U32(value) => Self::U32(value),
            MapKey::U64(value) => Self::U64(value),
            MapKey::String(value) => Self::String(value),
        }
    }
}

macro_rules! views {
    ($($(#[$doc:meta])* $name:ident -> $type:ty { $($pattern:pat $(if $guard:expr)? => $value:expr,)* })*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(&self) -> Option<$type> {
            match self {
                $($pattern $(if $guard)? => Some($value),)*
                _ => None,
            }
        }
    )*};
}

impl Value {
    views! {
        /// A `bool`.
        as_bool -> bool { Self::Bool(value) => *value, }
        /// Any integer or enum that fits an `i64`.
        as_i64 -> i64 {
            Self::I32(value) | Self::Enum(value) => i64::from(*value),
            Self::I64(value) => *value,
            Self::U32(value) => i64::from(*value),
            Self::U64(value) if i64::try_from(*value).is_ok() => value.cast_signed(),
        }
        /// Any integer that is not negative.
        as_u64 -> u64 {
            Self::U32(value) => u64::from(*value),
            Self::U64(value) => *value,
            Self::I32(value) if *value >= 0 => i64::from(*value).cast_unsigned(),
            Self::I64(value) if *value >= 0 => value.cast_unsigned(),
        }
        /// A `float` or `double`.
        as_f64 -> f64 {
            Self::F32(value) => f64::from(*value),
            Self::F64(value) => *value,
        }
        /// A `string`.
        as_str -> &str { Self::String(value) => value, }
        /// `bytes`.
        as_bytes -> &[u8] { Self::Bytes(value) => value, }
        /// The number of an enum.
        as_enum -> i32 { Self::Enum(value) => *value, }
        /// A message.
        as_message -> &DynamicMessage { Self::Message(value) => value, }
        /// The elements of a repeated field.
        as_list -> &[Self] { Self::List(values) => values, }
        /// The entries of a map.
        as_map -> &BTreeMap<MapKey, Self> { Self::Map(entries) => entries, }
    }

    /// Converts this value to a map key, if its type can be one.
    #[must_use]
    pub fn into_key(self) -> Option<MapKey> {
        Some(match self {
            Self::Bool(value) => MapKey::Bool(value),
            Self::I32(value) => MapKey::I32(value),
            Self::I64(value) => MapKey::I64(value),
            Self::U32(value) => MapKey::U32(value),
            Self::U64(value) => MapKey::U64(value),
            Self::String(value) => MapKey::String(value),
            _ => return None,
        })
    }

    /// The zero value: 0, empty, or the first value of an enum. `None` for messages.
    pub(crate) fn zero(schema: &Schema, ty: Type) -> Option<Self> {
        Some(match ty {
            Type::Int32 | Type::Sint32 | Type::Sfixed32 => Self::I32(0),
            Type::Int64 | Type::Sint64 | Type::Sfixed64 => Self::I64(0),
            Type::Uint32 | Type::Fixed32 => Self::U32(0),
            Type::Uint64 | Type::Fixed64 => Self::U64(0),
            Type::Float => Self::F32(0.0),
            Type::Double => Self::F64(0.0),
            Type::Bool => Self::Bool(false),
            Type::String => Self::String(String::new()),
            Type::Bytes => Self::Bytes(Vec::new()),
            Type::Enum(index) => Self::Enum(schema.enumeration(index).default()),
            Type::Message(_) => return None,
        })
    }

    /// An explicit default in a descriptor. `None` if it does not fit the type.
    pub(super) fn parse_default(schema: &Schema, ty: Type, text: &str) -> Option<Self> {
        match ty {
            Type::Int32 | Type::Sint32 | Type::Sfixed32 => text.parse().map(Self::I32).ok(),
            Type::Int64 | Type::Sint64 | Type::Sfixed64 => text.parse().map(Self::I64).ok(),
            Type::Uint32 | Type::Fixed32 => text.parse().map(Self::U32).ok(),
            Type::Uint64 | Type::Fixed64 => text.parse().map(Self::U64).ok(),
            Type::Float => text.parse().map(Self::F32).ok(),
            Type::Double => text.parse().map(Self::F64).ok(),
            Type::Bool => text.parse().map(Self::Bool).ok(),
            Type::String => Some(Self::String(text.to_string())),
            Type::Bytes => {
                let mut bytes = Vec::new();
                // The default has the escapes of a string literal in the text format, but no quotes.
                let quoted = format!("\"{text}\"");
                literal::unescape(quoted.as_bytes(), &mut bytes)
                    .is_ok()
                    .then_some(Self::Bytes(bytes))
            }
            Type::Enum(index) => schema.enumeration(index).number(text).map(Self::Enum),
            Type::Message(_) => None,
        }
    }

    /// The value of a missing field.
    pub(crate) fn default_of(schema: &Schema, field: &FieldData) -> Option<Self> {
        match &field.default {
            _ if field.map => Some(Self::Map(BTreeMap::new())),
            _ if field.repeated() => Some(Self::List(Vec::new())),
            Some(value) => Some(value.clone()),
            None => Self::zero(schema, field.ty),
        }
    }

    /// Whether a field without presence omits this value. Negative zero is not omitted.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Self::Bool(value) => !value,
            Self::I32(value) | Self::Enum(value) => *value == 0,
            Self::I64(value) => *value == 0,
            Self::U32(value) => *value == 0,
            Self::U64(value) => *value == 0,
            Self::F32(value) => value.to_bits() == 0,
            Self::F64(value) => value.to_bits() == 0,
            Self::String(value) => value.is_empty(),
            Self::Bytes(value) => value.is_empty(),
            Self::Message(_) => false,
            Self::List(values) => values.is_empty(),
            Self::Map(entries) => entries.is_empty(),
        }
    }

    /// Whether this is a value of type `ty`.
    pub(crate) fn fits(&self, schema: &Schema, ty: Type) -> bool {
        match (self, ty) {
            (Self::I32(_), Type::Int32 | Type::Sint32 | Type::Sfixed32)
            | (Self::I64(_), Type::Int64 | Type::Sint64 | Type::Sfixed64)
            | (Self::U32(_), Type::Uint32 | Type::Fixed32)
            | (Self::U64(_), Type::Uint64 | Type::Fixed64)
            | (Self::F32(_), Type::Float)
            | (Self::F64(_), Type::Double)
            | (Self::Bool(_), Type::Bool)
            | (Self::String(_), Type::String)
            | (Self::Bytes(_), Type::Bytes) => true,
            (Self::Enum(number), Type::Enum(index)) => {
                let data = schema.enumeration(index);
                !data.closed || data.name_of(*number).is_some()
            }
            (Self::Message(message), Type::Message(index)) => {
                let descriptor = message.descriptor();
                descriptor.index == index && core::ptr::eq(&*descriptor.pool.0, schema)
            }
            _ => false,
        }
    }

    /// Calls `each` for the messages directly in this value.
    pub(super) fn for_messages(&mut self, mut each: impl FnMut(&mut DynamicMessage)) {
        match self {
            Self::Message(message) => each(message),
            Self::List(values) => {
                for value in values {
                    // All elements of a list have the same type, so the first that is no message
                    // ends the loop.
                    let Self::Message(message) = value else { return };
                    each(message);
                }
            }
            Self::Map(entries) => {
                for value in entries.values_mut() {
                    let Self::Message(message) = value else { return };
                    each(message);
                }
            }
            _ => {}
        }
    }
}

//! The types of fields.

use super::pool::{EnumDescriptor, MessageDescriptor};

/// Type of a field. The parameters represent enums and messages; by default these are their
/// descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "named like the types of a schema")]
pub enum Kind<E = EnumDescriptor, M = MessageDescriptor> {
    Int32,
    Int64,
    Uint32,
    Uint64,
    Sint32,
    Sint64,
    Fixed32,
    Fixed64,
    Sfixed32,
    Sfixed64,
    Float,
    Double,
    Bool,
    String,
    Bytes,
    Enum(E),
    Message(M),
}

/// The types in the tables of a pool, where enums and messages are indices.
pub(crate) type Type = Kind<u32, u32>;

impl<E, M> Kind<E, M> {
    /// Whether fields of this type can be packed.
    pub(crate) fn packable(&self) -> bool {
        !matches!(self, Self::String | Self::Bytes | Self::Message(_))
    }

    /// Replaces the representation of enums and messages.
    pub(crate) fn map<F, N>(
        self,
        enumeration: impl FnOnce(E) -> F,
        message: impl FnOnce(M) -> N,
    ) -> Kind<F, N> {
        match self {
            Self::Int32 => Kind::Int32,
            Self::Int64 => Kind::Int64,
            Self::Uint32 => Kind::Uint32,
            Self::Uint64 => Kind::Uint64,
            Self::Sint32 => Kind::Sint32,
            Self::Sint64 => Kind::Sint64,
            Self::Fixed32 => Kind::Fixed32,
            Self::Fixed64 => Kind::Fixed64,
            Self::Sfixed32 => Kind::Sfixed32,
            Self::Sfixed64 => Kind::Sfixed64,
            Self::Float => Kind::Float,
            Self::Double => Kind::Double,
            Self::Bool => Kind::Bool,
            Self::String => Kind::String,
            Self::Bytes => Kind::Bytes,
            Self::Enum(of) => Kind::Enum(enumeration(of)),
            Self::Message(of) => Kind::Message(message(of)),
        }
    }
}

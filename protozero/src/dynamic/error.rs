//! Why a set of descriptors makes no pool.

use alloc::string::String;
use core::fmt;

use crate::error::DecodeError;

/// What is wrong with a set of descriptors, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolError {
    /// The file it is in; empty if the set itself is malformed.
    pub file: String,
    /// Full name of the message, field, enum or extension.
    pub element: String,
    /// What is wrong.
    pub kind: PoolErrorKind,
}

/// The ways descriptors can fail to be a schema.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PoolErrorKind {
    /// The bytes are no `FileDescriptorSet`.
    Malformed(DecodeError),
    /// Neither proto2, proto3 nor an edition that is known.
    Syntax(String),
    /// Two files of this name differ.
    DuplicateFile,
    /// A name that is empty, longer than 1024 bytes with all that it lies in, or no identifier.
    Name,
    /// Full names that are many times longer, in sum, than the set.
    Names,
    /// Something else has this name.
    DuplicateName,
    /// Something else has this number.
    DuplicateNumber(i32),
    /// A number that no field may have: below 1, above 2^29-1, or 19000 to 19999.
    Number(i32),
    /// A number that the extended message does not set aside for extensions.
    ExtensionNumber(i32),
    /// Neither optional, required nor repeated, or a label that does not go with the rest.
    Label,
    /// No type, or a number that stands for none.
    Type,
    /// No such type in the set.
    UnknownType(String),
    /// That name stands for something of another kind.
    WrongType(String),
    /// A choice that the message does not have.
    Oneof(i32),
    /// The message of a map entry that is not one of a key and a value.
    MapEntry,
    /// A default that is no value of the field.
    Default(String),
    /// An enum without values.
    EmptyEnum,
}

impl fmt::Display for PoolErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "no set of file descriptors: {error}"),
            Self::Syntax(syntax) => write!(f, "syntax `{syntax}` is not known"),
            Self::DuplicateFile => f.write_str("two different files of this name"),
            Self::Name => f.write_str("this is no name"),
            Self::Names => f.write_str("the names are too long in sum"),
            Self::DuplicateName => f.write_str("this name is taken"),
            Self::DuplicateNumber(number) => write!(f, "number {number} is taken"),
            Self::Number(number) => write!(f, "no field may have the number {number}"),
            Self::ExtensionNumber(number) => write!(f, "number {number} is not for extensions"),
            Self::Label => f.write_str("wrong label"),
            Self::Type => f.write_str("wrong type"),
            Self::UnknownType(name) => write!(f, "no type `{name}`"),
            Self::WrongType(name) => write!(f, "`{name}` is of another kind"),
            Self::Oneof(index) => write!(f, "no oneof of index {index}"),
            Self::MapEntry => f.write_str("wrong message for a map entry"),
            Self::Default(text) => write!(f, "default `{text}` does not fit"),
            Self::EmptyEnum => f.write_str("an enum needs a value"),
        }
    }
}

impl fmt::Display for PoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in [&self.file, &self.element] {
            if !place.is_empty() {
                write!(f, "{place}: ")?;
            }
        }
        self.kind.fmt(f)
    }
}

impl core::error::Error for PoolError {}

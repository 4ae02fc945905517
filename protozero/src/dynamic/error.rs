//! Errors of sets of file descriptors.

use alloc::string::String;
use core::fmt;

use crate::error::DecodeError;

/// An error in a set of descriptors, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolError {
    /// The file; empty if the set itself is malformed.
    pub file: String,
    /// Full name of the message, field, enum or extension.
    pub element: String,
    /// What is wrong.
    pub kind: PoolErrorKind,
}

/// Faults of descriptors.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PoolErrorKind {
    /// The bytes are not a valid `FileDescriptorSet`.
    Malformed(DecodeError),
    /// Neither proto2 nor proto3 nor a known edition.
    Syntax(String),
    /// Two different files have this name.
    DuplicateFile,
    /// A name that is empty, is not an identifier, or has a full name longer than 1024 bytes.
    Name,
    /// The sum of all full names is many times longer than the set.
    Names,
    /// Another element has this name.
    DuplicateName,
    /// Another element has this number.
    DuplicateNumber(i32),
    /// An invalid field number: below 1, above 2^29-1, or 19000 to 19999.
    Number(i32),
    /// The extended message does not reserve this number for extensions.
    ExtensionNumber(i32),
    /// A label that is not optional, required or repeated, or not allowed here.
    Label,
    /// A missing or unknown type.
    Type,
    /// The set contains no type with this name.
    UnknownType(String),
    /// This name belongs to another kind of element.
    WrongType(String),
    /// The message has no oneof with this index.
    Oneof(i32),
    /// A map entry that does not consist of a key and a value.
    MapEntry,
    /// A default that is not a value of the field's type.
    Default(String),
    /// An enum without values.
    EmptyEnum,
}

impl fmt::Display for PoolErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => write!(f, "invalid set of file descriptors: {error}"),
            Self::Syntax(syntax) => write!(f, "unknown syntax `{syntax}`"),
            Self::DuplicateFile => f.write_str("two different files have this name"),
            Self::Name => f.write_str("invalid name"),
            Self::Names => f.write_str("the sum of all names is too long"),
            Self::DuplicateName => f.write_str("another element has this name"),
            Self::DuplicateNumber(number) => write!(f, "another element has the number {number}"),
            Self::Number(number) => write!(f, "invalid field number {number}"),
            Self::ExtensionNumber(number) => {
                write!(f, "number {number} is not reserved for extensions")
            }
            Self::Label => f.write_str("wrong label"),
            Self::Type => f.write_str("wrong type"),
            Self::UnknownType(name) => write!(f, "unknown type `{name}`"),
            Self::WrongType(name) => write!(f, "`{name}` is another kind of element"),
            Self::Oneof(index) => write!(f, "there is no oneof with index {index}"),
            Self::MapEntry => f.write_str("invalid message for a map entry"),
            Self::Default(text) => write!(f, "default `{text}` does not fit the type"),
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

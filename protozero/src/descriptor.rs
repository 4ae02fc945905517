//! Static descriptors: names, numbers and types of a schema. Only the text format, JSON, dynamic messages and
//! reflection use them. Generated code contains them if it is told to, a derived struct with a name has one, and they
//! can be written by hand: [`Named`](crate::Named) has examples.
//!
//! Messages refer to each other through functions, because the references of a schema may be
//! circular.

/// A message.
#[derive(Debug)]
pub struct MessageDescriptor {
    /// Full name, without a leading dot.
    pub name: &'static str,
    /// Fields in order of declaration.
    pub fields: &'static [FieldDescriptor],
    /// Extensions that were generated together with this message, by full name.
    pub extensions: &'static [FieldDescriptor],
    /// Names of deleted fields.
    pub reserved_names: &'static [&'static str],
    /// True for a message set: it contains only extensions, in an old format with a type number and
    /// a message for each.
    pub message_set: bool,
}

impl MessageDescriptor {
    /// A message with this full name and these fields.
    #[must_use]
    pub const fn new(name: &'static str, fields: &'static [FieldDescriptor]) -> Self {
        message(name, fields)
    }

    /// Adds extensions.
    #[must_use]
    pub const fn extended(self, extensions: &'static [FieldDescriptor]) -> Self {
        Self { extensions, ..self }
    }

    /// Adds the names of deleted fields.
    #[must_use]
    pub const fn reserved(self, reserved_names: &'static [&'static str]) -> Self {
        Self { reserved_names, ..self }
    }

    /// Makes it a message set.
    #[must_use]
    pub const fn message_set(self) -> Self {
        Self { message_set: true, ..self }
    }

    /// The field with this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static FieldDescriptor> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// The field with this number.
    #[must_use]
    pub fn field_by_number(&self, number: u32) -> Option<&'static FieldDescriptor> {
        self.fields.iter().find(|f| f.number == number)
    }
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub struct FieldDescriptor {
    /// Name in the schema.
    pub name: &'static str,
    /// Field number.
    pub number: u32,
    /// How often the field may occur.
    pub label: Label,
    /// Type of the value.
    pub kind: Kind,
    /// Whether a missing field differs from a default value. Has no meaning for repeated fields and
    /// maps.
    pub presence: Presence,
    /// Name of its oneof.
    pub oneof: Option<&'static str>,
    /// True for a message between two tags (a group) instead of after a length.
    pub delimited: bool,
    /// True for a string that must be UTF-8: otherwise the message is malformed.
    pub utf8: bool,
    /// Name in JSON, if the schema gives another one than `lowerCamelCase`.
    pub json_name: Option<&'static str>,
    /// Explicit default value, as text: a number (also `inf`, `-inf` and `nan`), `true` or `false`, the name of an enum
    /// value, a string as it is, or bytes with the escapes of a string in the text format. One that does not fit the
    /// type has no effect.
    pub default: Option<&'static str>,
}

impl FieldDescriptor {
    /// A singular field with presence.
    #[must_use]
    pub const fn optional(name: &'static str, number: u32, kind: Kind) -> Self {
        optional(name, number, kind)
    }

    /// A repeated field, with a tag for each element.
    #[must_use]
    pub const fn repeated(name: &'static str, number: u32, kind: Kind) -> Self {
        repeated(name, number, kind)
    }

    /// A repeated field of numbers, with one tag for all elements.
    #[must_use]
    pub const fn packed(name: &'static str, number: u32, kind: Kind) -> Self {
        packed(name, number, kind)
    }

    /// A map from the first kind to the second.
    #[must_use]
    pub const fn map(name: &'static str, number: u32, kinds: &'static [Kind; 2]) -> Self {
        map(name, number, kinds)
    }

    /// Makes it a field without presence: its default value is not written.
    #[must_use]
    pub const fn implicit(self) -> Self {
        Self { presence: Presence::Implicit, ..self }
    }

    /// Makes it required.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { presence: Presence::Required, ..self }
    }

    /// Makes it a member of the oneof `name`.
    #[must_use]
    pub const fn of(self, name: &'static str) -> Self {
        Self { oneof: Some(name), ..self }
    }

    /// Makes it a group.
    #[must_use]
    pub const fn delimited(self) -> Self {
        Self { delimited: true, ..self }
    }

    /// Gives it another name in JSON.
    #[must_use]
    pub const fn json(self, name: &'static str) -> Self {
        Self { json_name: Some(name), ..self }
    }

    /// Gives it an explicit default value, as text.
    #[must_use]
    pub const fn default(self, text: &'static str) -> Self {
        Self { default: Some(text), ..self }
    }

    /// Requires UTF-8.
    #[must_use]
    pub const fn utf8(self) -> Self {
        Self { utf8: true, ..self }
    }
}

/// Whether a missing field differs from one with the default value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// A missing field differs from a default value.
    Explicit,
    /// There is no difference: the default value is not written.
    Implicit,
    /// The schema requires the field. Nothing here enforces that.
    Required,
}

/// How often a field may occur in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// At most once.
    Optional,
    /// Any number of times, each with a tag.
    Repeated,
    /// Any number of times, written as one packed field.
    Packed,
}

/// An enum.
#[derive(Debug)]
pub struct EnumDescriptor {
    /// Full name, without a leading dot.
    pub name: &'static str,
    /// Names and numbers in order of declaration.
    pub values: &'static [(&'static str, i32)],
    /// Only numbers with a name are valid: a message keeps another number as an unknown field.
    pub closed: bool,
}

impl EnumDescriptor {
    /// The number with this name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i32> {
        self.values.iter().find(|v| v.0 == name).map(|v| v.1)
    }

    /// The first name of `number`.
    #[must_use]
    pub fn name_of(&self, number: i32) -> Option<&'static str> {
        self.values.iter().find(|v| v.1 == number).map(|v| v.0)
    }
}

/// Type of a field.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `uint32`
    Uint32,
    /// `uint64`
    Uint64,
    /// `sint32`
    Sint32,
    /// `sint64`
    Sint64,
    /// `fixed32`
    Fixed32,
    /// `fixed64`
    Fixed64,
    /// `sfixed32`
    Sfixed32,
    /// `sfixed64`
    Sfixed64,
    /// `float`
    Float,
    /// `double`
    Double,
    /// `bool`
    Bool,
    /// `string`
    String,
    /// `bytes`
    Bytes,
    /// An enum.
    Enum(&'static EnumDescriptor),
    /// A message.
    Message(fn() -> &'static MessageDescriptor),
    /// A map from the first kind to the second; its label is [`Label::Repeated`].
    Map(&'static [Self; 2]),
}

/// Declares a message.
#[doc(hidden)]
#[must_use]
pub const fn message(name: &'static str, fields: &'static [FieldDescriptor]) -> MessageDescriptor {
    MessageDescriptor { name, fields, extensions: &[], reserved_names: &[], message_set: false }
}

#[doc(hidden)]
#[macro_export]
macro_rules! __message_kind {
    ($message:ty) => {
        $crate::descriptor::Kind::Message(|| <$message>::DESCRIPTOR)
    };
}

/// The type of a message field.
#[doc(hidden)]
pub use __message_kind as of;

/// Gives a message its descriptor.
#[doc(hidden)]
pub use crate::__describe as describe;

impl Kind {
    /// The enum `E`.
    #[must_use]
    pub const fn of_enum<E: crate::Enumeration>() -> Self {
        enum_kind::<E>()
    }

    /// The name of the type in a `.proto` file: `uint32`, or the full name of a message or
    /// enumeration.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Sint32 => "sint32",
            Self::Sint64 => "sint64",
            Self::Fixed32 => "fixed32",
            Self::Fixed64 => "fixed64",
            Self::Sfixed32 => "sfixed32",
            Self::Sfixed64 => "sfixed64",
            Self::Float => "float",
            Self::Double => "double",
            Self::Bool => "bool",
            Self::String => "string",
            Self::Bytes => "bytes",
            Self::Message(descriptor) => descriptor().name,
            Self::Enum(descriptor) => descriptor.name,
            Self::Map(_) => "map",
        }
    }
}

const fn field(name: &'static str, number: u32, label: Label, kind: Kind) -> FieldDescriptor {
    let presence = Presence::Explicit;
    FieldDescriptor {
        name,
        number,
        label,
        kind,
        presence,
        oneof: None,
        delimited: false,
        utf8: false,
        json_name: None,
        default: None,
    }
}

/// Declares a singular field.
#[doc(hidden)]
#[must_use]
pub const fn optional(name: &'static str, number: u32, kind: Kind) -> FieldDescriptor {
    field(name, number, Label::Optional, kind)
}

/// Declares a repeated field.
#[doc(hidden)]
#[must_use]
pub const fn repeated(name: &'static str, number: u32, kind: Kind) -> FieldDescriptor {
    field(name, number, Label::Repeated, kind)
}

/// Declares a packed field.
#[doc(hidden)]
#[must_use]
pub const fn packed(name: &'static str, number: u32, kind: Kind) -> FieldDescriptor {
    field(name, number, Label::Packed, kind)
}

/// Declares a map.
#[doc(hidden)]
#[must_use]
pub const fn map(name: &'static str, number: u32, kinds: &'static [Kind; 2]) -> FieldDescriptor {
    field(name, number, Label::Repeated, Kind::Map(kinds))
}

/// The type of a field of enumeration `E`.
#[doc(hidden)]
#[must_use]
pub const fn enum_kind<E: crate::Enumeration>() -> Kind {
    struct Of<E>(E);
    impl<E: crate::Enumeration> Of<E> {
        const DESCRIPTOR: &'static EnumDescriptor =
            &EnumDescriptor { name: E::NAME, values: E::VALUES, closed: E::CLOSED };
    }
    Kind::Enum(Of::<E>::DESCRIPTOR)
}

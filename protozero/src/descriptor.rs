//! Static descriptors: names, numbers and types of a schema, for those who read or print the text
//! format. Nothing else in this crate looks at them.
//!
//! Messages refer to each other through functions, since a schema may be a circle.

/// A message.
#[derive(Debug)]
pub struct MessageDescriptor {
    /// Full name, without a leading dot.
    pub name: &'static str,
    /// In order of declaration.
    pub fields: &'static [FieldDescriptor],
    /// Extensions of it that were generated with it, by full name.
    pub extensions: &'static [FieldDescriptor],
    /// Names of fields that are no more.
    pub reserved_names: &'static [&'static str],
    /// It holds extensions only, in the ancient framing of a number and a message each.
    pub message_set: bool,
}

impl MessageDescriptor {
    /// The same, with extensions.
    #[doc(hidden)]
    #[must_use]
    pub const fn extended(self, extensions: &'static [FieldDescriptor]) -> Self {
        Self { extensions, ..self }
    }

    /// The same, with the names of fields that are no more.
    #[doc(hidden)]
    #[must_use]
    pub const fn reserved(self, reserved_names: &'static [&'static str]) -> Self {
        Self { reserved_names, ..self }
    }

    /// The same, in the framing of message sets.
    #[doc(hidden)]
    #[must_use]
    pub const fn message_set(self) -> Self {
        Self { message_set: true, ..self }
    }

    /// The field called `name`.
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
    /// As in the schema.
    pub name: &'static str,
    /// Its number.
    pub number: u32,
    /// How often it may stand.
    pub label: Label,
    /// Its type.
    pub kind: Kind,
    /// Whether absence can be told from the default. Says nothing about repeated fields and maps.
    pub presence: Presence,
    /// The choice it belongs to.
    pub oneof: Option<&'static str>,
    /// A message framed by a pair of tags (a group) instead of a length.
    pub delimited: bool,
    /// A string whose encoding must be checked: one that is not UTF-8 makes the message malformed.
    pub utf8: bool,
}

impl FieldDescriptor {
    /// The same, absent when it holds its default.
    #[doc(hidden)]
    #[must_use]
    pub const fn implicit(self) -> Self {
        Self { presence: Presence::Implicit, ..self }
    }

    /// The same, which must not be absent.
    #[doc(hidden)]
    #[must_use]
    pub const fn required(self) -> Self {
        Self { presence: Presence::Required, ..self }
    }

    /// The same, member of the choice `name`.
    #[doc(hidden)]
    #[must_use]
    pub const fn of(self, name: &'static str) -> Self {
        Self { oneof: Some(name), ..self }
    }

    /// The same, framed by tags.
    #[doc(hidden)]
    #[must_use]
    pub const fn delimited(self) -> Self {
        Self { delimited: true, ..self }
    }

    /// The same, with its encoding checked.
    #[doc(hidden)]
    #[must_use]
    pub const fn utf8(self) -> Self {
        Self { utf8: true, ..self }
    }
}

/// Whether the absence of a field can be told from its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It can.
    Explicit,
    /// It cannot: the default is not written.
    Implicit,
    /// The schema wants it always there. Nothing here insists on that.
    Required,
}

/// How often a field may stand in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// At most once.
    Optional,
    /// Any number of times, each with its own tag.
    Repeated,
    /// Any number of times, written as one run.
    Packed,
}

/// An enum.
#[derive(Debug)]
pub struct EnumDescriptor {
    /// Full name, without a leading dot.
    pub name: &'static str,
    /// Names and numbers in order of declaration.
    pub values: &'static [(&'static str, i32)],
    /// Numbers without a name are no values: a message that holds one keeps it as an unknown field.
    pub closed: bool,
}

impl EnumDescriptor {
    /// The number called `name`.
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

/// A message.
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

/// The type of a field that holds a message.
#[doc(hidden)]
pub use __message_kind as of;

impl Kind {
    /// What a `.proto` calls it: `uint32`, or the full name of a message or enumeration.
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
    }
}

/// A singular field, in one line of generated code.
#[doc(hidden)]
#[must_use]
pub const fn optional(name: &'static str, number: u32, kind: Kind) -> FieldDescriptor {
    field(name, number, Label::Optional, kind)
}

/// A repeated field.
#[doc(hidden)]
#[must_use]
pub const fn repeated(name: &'static str, number: u32, kind: Kind) -> FieldDescriptor {
    field(name, number, Label::Repeated, kind)
}

/// A packed field.
#[doc(hidden)]
#[must_use]
pub const fn packed(name: &'static str, number: u32, kind: Kind) -> FieldDescriptor {
    field(name, number, Label::Packed, kind)
}

/// A map.
#[doc(hidden)]
#[must_use]
pub const fn map(name: &'static str, number: u32, kinds: &'static [Kind; 2]) -> FieldDescriptor {
    field(name, number, Label::Repeated, Kind::Map(kinds))
}

/// The type of a field that holds an `E`.
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

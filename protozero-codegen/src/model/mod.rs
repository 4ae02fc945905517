//! The resolved schema, which is the input of the emitters.
//!
//! Everything is in declaration order, every reference is an index, and no type of the parser is used. Messages and
//! enums of all files are in two flat lists; each file has the indices of its own.

#![allow(dead_code, reason = "each API kind reads its part of it")]

pub(crate) mod cycles;
pub(crate) mod dump;
pub(crate) mod reach;
#[cfg(test)]
mod tests;

/// Index into [`Schema::messages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MessageId(pub usize);

/// Index into [`Schema::enums`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EnumId(pub usize);

/// All files.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    pub files: Vec<File>,
    pub messages: Vec<Message>,
    pub enums: Vec<Enumeration>,
}

impl Schema {
    /// Key and value of a map field; none if it is no map.
    pub fn map_entry(&self, field: &Field) -> Option<(&Field, &Field)> {
        let Kind::Message(MessageId(at)) = field.kind else { return None };
        match &self.messages[at] {
            Message { map_entry: true, fields, .. } => Some((fields.first()?, fields.get(1)?)),
            _ => None,
        }
    }
}

/// One `.proto` file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub path: String,
    /// `perfetto.protos`, or empty.
    pub package: String,
    pub comment: Vec<String>,
    /// Code is generated for it; otherwise other files only refer to it.
    pub emitted: bool,
    /// Module of another crate that holds its code, see [`Config::externs`](crate::Config::externs).
    pub extern_module: Option<String>,
    /// In declaration order, outer messages before inner ones.
    pub messages: Vec<MessageId>,
    /// Enums of the file, then those of its messages.
    pub enums: Vec<EnumId>,
    /// Extensions at file scope; each message has its own.
    pub extensions: Vec<Extension>,
    pub services: Vec<Service>,
}

impl File {
    /// Code for its types exists, in this output or in another crate.
    pub fn has_code(&self) -> bool {
        self.emitted || self.extern_module.is_some()
    }
}

/// A name in all the forms emitters need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    /// `perfetto.protos`, or empty.
    pub package: String,
    /// `["TraceConfig", "BufferConfig"]`.
    pub parts: Vec<String>,
}

impl Path {
    /// `perfetto.protos.TraceConfig.BufferConfig`.
    pub fn full(&self) -> String {
        let local = self.parts.join(".");
        if self.package.is_empty() { local } else { format!("{}.{local}", self.package) }
    }
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub path: Path,
    /// Index into [`Schema::files`].
    pub file: usize,
    pub comment: Vec<String>,
    pub fields: Vec<Field>,
    pub oneofs: Vec<Oneof>,
    pub deprecated: bool,
    /// The entry of a map: exactly `key = 1` and `value = 2`. It has no declaration in the `.proto` file.
    pub map_entry: bool,
    /// Numbers for extensions.
    pub extension_ranges: Vec<core::ops::Range<u32>>,
    /// Names of removed fields, which old text may still contain.
    pub reserved_names: Vec<String>,
    /// The framing of a message that holds extensions only.
    pub message_set: bool,
    /// Extensions declared inside it; it is only their scope.
    pub extensions: Vec<Extension>,
}

/// A field that one file adds to a message of any file.
#[derive(Clone, Debug)]
pub(crate) struct Extension {
    /// Its full name: the scope of its declaration, and the field's name.
    pub path: Path,
    /// The message it adds to.
    pub extendee: MessageId,
    /// [`Label::Optional`] or [`Label::Repeated`], in no oneof.
    pub field: Field,
}

/// How often a field may occur in a message, and the presence of a singular one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// At most once, with explicit presence: absent and default differ.
    Optional,
    /// Exactly once according to the schema; handled as [`Label::Optional`].
    Required,
    /// At most once, with implicit presence: the default value is not written.
    Implicit,
    Repeated,
}

/// A field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub name: String,
    pub number: u32,
    pub label: Label,
    pub kind: Kind,
    /// Repeated elements are encoded as one packed field.
    pub packed: bool,
    /// A message between group tags instead of after a length.
    pub delimited: bool,
    /// A string that is not UTF-8 is an error.
    pub utf8: bool,
    /// Name in JSON: from the schema, or the name in lower camel case.
    pub json_name: String,
    pub deprecated: bool,
    /// Index into [`Message::oneofs`].
    pub oneof: Option<usize>,
    /// An explicit default, already a Rust value.
    pub default: Option<Default>,
    pub comment: Vec<String>,
    /// The owned struct stores it in a `Box`, because its type would contain itself otherwise, or because the
    /// configuration asks for it.
    pub boxed: bool,
}

/// An explicit default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Default {
    Int(i128),
    Float(f64),
    Bool(bool),
    Text(String),
    Bytes(Vec<u8>),
    /// Name of the enum value.
    Enum(String),
}

/// Type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
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
    Enum(EnumId),
    Message(MessageId),
}

impl Kind {
    /// Name of the kind in `#[pb(...)]` and of its functions in `protozero::rt`.
    pub fn keyword(self) -> &'static str {
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
            Self::Enum(_) => "enumeration",
            Self::Message(_) => "message",
        }
    }

    /// Whether a repeated field of this kind may be packed.
    pub fn packable(self) -> bool {
        !matches!(self, Self::String | Self::Bytes | Self::Message(_))
    }

    /// Wire type of one unpacked value.
    pub fn wire_type(self) -> u32 {
        match self {
            Self::Fixed64 | Self::Sfixed64 | Self::Double => 1,
            Self::String | Self::Bytes | Self::Message(_) => 2,
            Self::Fixed32 | Self::Sfixed32 | Self::Float => 5,
            _ => 0,
        }
    }
}

/// A choice between fields.
#[derive(Clone, Debug)]
pub(crate) struct Oneof {
    pub name: String,
    pub comment: Vec<String>,
}

/// An enum.
#[derive(Clone, Debug)]
pub(crate) struct Enumeration {
    pub path: Path,
    /// Index into [`Schema::files`].
    pub file: usize,
    pub comment: Vec<String>,
    pub values: Vec<EnumValue>,
    /// Other numbers are unknown fields instead of values. Never set together with `open_enums`.
    pub closed: bool,
    pub deprecated: bool,
}

/// One value of an enum; several may share a number.
#[derive(Clone, Debug)]
pub(crate) struct EnumValue {
    pub name: String,
    pub number: i32,
    pub comment: Vec<String>,
    pub deprecated: bool,
}

/// A service.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub path: Path,
    pub comment: Vec<String>,
    pub deprecated: bool,
    pub methods: Vec<Method>,
}

/// A method; its id is its position in the service, from 1.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub name: String,
    pub request: MessageId,
    pub response: MessageId,
    /// Many responses to one request.
    pub streaming: bool,
    /// Many requests in one call.
    pub client_streaming: bool,
    pub deprecated: bool,
    pub comment: Vec<String>,
}

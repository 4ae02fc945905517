//! The schema, resolved and owned: what the emitters see.
//!
//! Everything is in declaration order, every reference is an index, and nothing of the parser's
//! types is left. Messages and enums of all files share two flat lists; a file names its own.

pub(crate) mod cycles;
pub(crate) mod dump;
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

/// One `.proto` file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub path: String,
    pub comment: Vec<String>,
    /// Outer before inner, in declaration order.
    pub messages: Vec<MessageId>,
    /// Those of the file, then those of its messages.
    pub enums: Vec<EnumId>,
    pub services: Vec<Service>,
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
}

/// How often a field may stand in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// At most once, and its absence can be told from its default.
    Optional,
    /// Once, says the schema; we read it as [`Label::Optional`].
    Required,
    /// proto3 without `optional`: the default is not written.
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
    pub packed: bool,
    pub deprecated: bool,
    /// Index into [`Message::oneofs`].
    pub oneof: Option<usize>,
    /// An explicit default, already a Rust value.
    pub default: Option<Default>,
    pub comment: Vec<String>,
    /// A value of its message would contain itself, so the owned struct keeps it in a `Box`.
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
    pub methods: Vec<Method>,
}

/// A method; its id is its place in the service, from 1.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub name: String,
    pub request: MessageId,
    pub response: MessageId,
    /// Many responses to one request.
    pub streaming: bool,
    pub comment: Vec<String>,
}

//! Paths with the names that owned messages know: those of their descriptor, or else of the Rust types.

use core::fmt;
use core::marker::PhantomData;

use super::{Holding, Key, Name, Names, Part};
use crate::descriptor::{Kind, MessageDescriptor};

/// What an error says of a message type.
#[derive(Clone, Copy, Debug)]
pub struct About {
    name: &'static str,
    rows: &'static [Row],
    schema: Option<&'static MessageDescriptor>,
}

impl About {
    /// Nothing is known.
    pub const NONE: Self = Self { name: "", rows: &[], schema: None };

    /// A message type: its name in the schema or, if that is empty, in Rust.
    #[must_use]
    pub const fn new(
        rust: &'static str,
        (full, schema): (&'static str, Option<&'static MessageDescriptor>),
        rows: &'static [Row],
    ) -> Self {
        Self { name: if full.is_empty() { rust } else { full }, rows, schema }
    }
}

/// A line of a message's table: its field, or a oneof.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// 0 for a oneof.
    number: u32,
    name: &'static str,
    /// Whether the name is that of the schema. Otherwise it is that of a field in Rust, or of the variant of a oneof.
    is_schema: bool,
    line: Line,
}

/// What a row describes.
#[derive(Clone, Copy, Debug)]
pub enum Line {
    /// A singular field.
    One(Holds),
    /// A repeated field.
    List(Holds),
    /// A repeated field of numbers.
    Numbers,
    /// A map, with its values.
    Map(Key, Holds),
    /// The members of a oneof.
    Oneof(&'static [Row]),
}

/// What a value of a kind is.
#[derive(Clone, Copy)]
pub enum Holds {
    /// A number, a string or bytes; as a key of a map it is printed like this.
    Value(Key),
    /// A message.
    Message(fn() -> About),
}

impl fmt::Debug for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(key) => f.debug_tuple("Value").field(key).finish(),
            Self::Message(_) => f.write_str("Message"),
        }
    }
}

impl Row {
    /// A row for a field, or of number 0 for a oneof.
    #[must_use]
    pub const fn new(number: u32, name: &'static str, line: Line) -> Self {
        Self { number, name, is_schema: false, line }
    }

    /// The same with the name that the field has in the schema.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, is_schema: true, ..self }
    }
}

/// Whether there are fields, and none of them is a message or a map.
#[must_use]
pub const fn are_flat(rows: &[Row]) -> bool {
    let mut at = 0;
    while at < rows.len() {
        match rows[at].line {
            Line::One(Holds::Value(_)) | Line::List(Holds::Value(_)) | Line::Numbers => {}
            Line::Oneof(members) if are_flat(members) => {}
            _ => return false,
        }
        at += 1;
    }
    at > 0
}

/// [`Names`] of an owned message.
impl Names<'static> for About {
    fn message(self) -> &'static str {
        self.name
    }

    fn field(self, number: u32) -> Option<Part<'static, Self>> {
        if let Some(schema) = self.schema {
            let Part { name, holds } = Names::field(schema, number)?;
            return Some(Part { name, holds: with_schema(holds) });
        }
        let row = self.rows.iter().find_map(|row| match row.line {
            Line::Oneof(members) => {
                members.iter().find(|row| row.number == number).map(|row| (row, true))
            }
            _ => (row.number == number).then_some((row, false)),
        });
        let (row, is_variant) = row?;
        let name = match is_variant && !row.is_schema {
            true => Name::Variant(row.name),
            false => Name::Field(row.name),
        };
        Some(Part { name, holds: holds(row.line) })
    }
}

fn holds(line: Line) -> Holding<About> {
    match line {
        Line::One(Holds::Message(about)) => Holding::Message(about()),
        Line::List(Holds::Message(about)) => Holding::Messages(about()),
        Line::One(Holds::Value(_)) | Line::Oneof(_) => Holding::Value,
        Line::List(Holds::Value(_)) => Holding::Values,
        Line::Numbers => Holding::Numbers,
        Line::Map(key, Holds::Message(about)) => Holding::Map(key, Some(about())),
        Line::Map(key, Holds::Value(_)) => Holding::Map(key, None),
    }
}

/// From a message with a descriptor on, the descriptor has all names.
fn with_schema(holds: Holding<&'static MessageDescriptor>) -> Holding<About> {
    let about = |schema: &'static MessageDescriptor| About {
        name: schema.name,
        rows: &[],
        schema: Some(schema),
    };
    match holds {
        Holding::Value => Holding::Value,
        Holding::Values => Holding::Values,
        Holding::Numbers => Holding::Numbers,
        Holding::Message(inner) => Holding::Message(about(inner)),
        Holding::Messages(inner) => Holding::Messages(about(inner)),
        Holding::Map(key, inner) => Holding::Map(key, inner.map(about)),
    }
}

/// The names of `M` if it implements [`Named`](crate::Named): then the constants below hide those of [`Unnamed`].
#[derive(Debug)]
pub struct Named<M>(PhantomData<M>);

impl<M: crate::Named> Named<M> {
    /// Full name, and descriptor.
    pub const NAMES: (&'static str, Option<&'static MessageDescriptor>) = (M::FULL_NAME, M::SCHEMA);
    /// Its kind as a member of a oneof.
    pub const KIND: Option<Kind> = Some(Kind::of_message::<M>());
}

/// Every other type.
pub trait Unnamed {
    /// No name.
    const NAMES: (&'static str, Option<&'static MessageDescriptor>) = ("", None);
    /// No descriptor.
    const KIND: Option<Kind> = None;
}

impl<M> Unnamed for Named<M> {}

/// The path of the field at `offset` of the message `bytes`.
pub(crate) fn path(about: About, bytes: &[u8], offset: usize) -> alloc::boxed::Box<str> {
    written(about, bytes, offset)
}

fn written(names: impl Names<'static>, bytes: &[u8], offset: usize) -> alloc::boxed::Box<str> {
    let mut text = alloc::string::String::new();
    // Writing to a string cannot fail.
    let _ = super::write(&mut text, names, bytes, offset);
    text.into_boxed_str()
}

/// [`path`] in the rest of a message, whose first fields are gone. Elements of its own lists have no index, because
/// nobody has counted those before.
#[cfg(feature = "bytes")]
pub(crate) fn path_in_rest(about: About, rest: &[u8], offset: usize) -> alloc::boxed::Box<str> {
    written(Rest { about, is_inside: false }, rest, offset)
}

/// [`Names`] of the rest of a message.
#[cfg(feature = "bytes")]
#[derive(Clone, Copy)]
struct Rest {
    about: About,
    /// In a message of the rest, which is whole.
    is_inside: bool,
}

#[cfg(feature = "bytes")]
impl Names<'static> for Rest {
    fn message(self) -> &'static str {
        self.about.message()
    }

    fn field(self, number: u32) -> Option<Part<'static, Self>> {
        let Part { name, holds } = self.about.field(number)?;
        let inside = |about| Self { about, is_inside: true };
        let holds = match holds {
            Holding::Values | Holding::Numbers if !self.is_inside => Holding::Value,
            Holding::Messages(about) if !self.is_inside => Holding::Message(inside(about)),
            Holding::Value => Holding::Value,
            Holding::Values => Holding::Values,
            Holding::Numbers => Holding::Numbers,
            Holding::Message(about) => Holding::Message(inside(about)),
            Holding::Messages(about) => Holding::Messages(inside(about)),
            Holding::Map(key, about) => Holding::Map(key, about.map(inside)),
        };
        Some(Part { name, holds })
    }
}

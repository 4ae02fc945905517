//! The path of the field at which decoding stopped: `shop.Order.lines[3].price`.
//!
//! ```text
//!  decoding ──▶ kind and offset ──┐
//!                                 ├──▶ the fields around the offset ──▶ their names and indices
//!  the bytes, the message type ───┘    are found again, from the outermost
//! ```
//!
//! Decoding itself counts nothing and keeps no names. All of this is called after an error only, and reads each byte
//! before the error once more for each level of messages around it.

#[cfg(feature = "alloc")]
mod about;
mod schema;
#[cfg(all(test, feature = "derive"))]
mod tests;

use core::fmt::{self, Write};

#[cfg(feature = "alloc")]
pub(crate) use about::path as path_of;
#[cfg(feature = "bytes")]
pub(crate) use about::path_in_rest;
#[cfg(feature = "alloc")]
pub use about::{About, Holds, Line, Named, Row, Unnamed, are_flat};
pub use schema::FieldPath;

use crate::decode::{Reader, Value};
use crate::wire::tag::{FIXED32, FIXED64, LEN};
use crate::wire::{hostile, zigzag};

/// Where a path finds the names of a message type.
pub(crate) trait Names<'n>: Copy {
    /// The name of the message type; empty if it has none.
    fn message(self) -> &'n str;

    /// What the schema says of a field.
    fn field(self, number: u32) -> Option<Part<'n, Self>>;
}

/// A field of a message type.
pub(crate) struct Part<'n, T> {
    pub(crate) name: Name<'n>,
    pub(crate) holds: Holding<T>,
}

/// How a name is written.
pub(crate) enum Name<'n> {
    Field(&'n str),
    /// A full name.
    Extension(&'n str),
    /// A variant of an enum, for the field with the same words.
    #[cfg(feature = "alloc")]
    Variant(&'n str),
}

/// What the values of a field are.
pub(crate) enum Holding<T> {
    Value,
    Message(T),
    /// Numbers, packed or not.
    Numbers,
    /// Strings.
    Values,
    Messages(T),
    Map(Key, Option<T>),
}

/// How the key of a map is printed.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// `int32` and `int64`.
    Signed,
    /// `uint32` and `uint64`.
    Unsigned,
    /// `sint32` and `sint64`.
    Zigzag,
    /// `true` or `false`.
    Bool,
    /// All others: their wire type says enough.
    Other,
}

/// Maximum number of characters of a key in a path.
const KEY_MAX: usize = 40;

/// A field in encoded bytes.
struct Place<'a> {
    /// 0 if its tag is malformed.
    number: u32,
    wire_type: u32,
    /// Offset of its tag.
    start: usize,
    /// None if it is malformed.
    value: Option<Value<'a>>,
    /// Offset of the content, if it has a length or is a group.
    body: usize,
}

impl<'a> Place<'a> {
    /// The content of a message, and the offset in it.
    fn inside(&self, offset: usize) -> Option<(&'a [u8], usize)> {
        let (Value::Len(body) | Value::Group(body)) = self.value? else { return None };
        let offset = offset.checked_sub(self.body).filter(|_| offset > self.start)?;
        Some((body, offset))
    }
}

/// The field of `bytes` that contains `offset`.
fn find(bytes: &[u8], offset: usize) -> Option<Place<'_>> {
    let mut reader = Reader::new(bytes);
    loop {
        let start = reader.position();
        match reader.next_field() {
            Ok(Some(field)) if reader.position() > offset => {
                let body = match field.value {
                    Value::Len(body) | Value::Group(body) => {
                        body.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr())
                    }
                    _ => start,
                };
                let wire_type = wire_type(bytes, start);
                let value = Some(field.value);
                return Some(Place { number: field.number, wire_type, start, value, body });
            }
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(_) => {
                // A malformed tag is no field: its number is 0.
                let tag = hostile::tag(bytes.get(start..)?).map_or(0, |(tag, _)| tag);
                let (number, wire_type) = (tag >> 3, tag & 7);
                return Some(Place { number, wire_type, start, value: None, body: start });
            }
        }
    }
}

fn wire_type(bytes: &[u8], start: usize) -> u32 {
    bytes.get(start).map_or(0, |byte| u32::from(byte & 7))
}

/// How many fields with this number are before `place`.
fn count_before(bytes: &[u8], place: &Place<'_>) -> usize {
    each_before(bytes, place, |_| 1)
}

/// How many elements of a list of numbers are before the one at `offset`; none if a packed field as a whole is meant.
fn numbers_before(bytes: &[u8], place: &Place<'_>, offset: usize) -> Option<usize> {
    let varints = |run: &[u8]| run.iter().filter(|&&byte| byte < 0x80).count();
    let inside = place.inside(offset);
    if place.wire_type == LEN && inside.is_none() {
        return None;
    }
    let before = each_before(bytes, place, |value| match (value, place.wire_type) {
        (Value::Len(run), FIXED32) => run.len() / 4,
        (Value::Len(run), FIXED64) => run.len() / 8,
        (Value::Len(run), _) => varints(run),
        _ => 1,
    });
    let within = inside.and_then(|(run, offset)| run.get(..offset)).map_or(0, varints);
    Some(before.saturating_add(within))
}

fn each_before(bytes: &[u8], place: &Place<'_>, count: impl Fn(Value<'_>) -> usize) -> usize {
    let mut reader = Reader::new(bytes.get(..place.start).unwrap_or_default());
    let mut sum = 0usize;
    while let Ok(Some(field)) = reader.next_field() {
        if field.number == place.number {
            sum = sum.saturating_add(count(field.value));
        }
    }
    sum
}

/// Writes the path of the field at `offset` of the message `bytes`.
pub(crate) fn write<'n, T: Names<'n>>(
    out: &mut dyn Write,
    root: T,
    mut bytes: &[u8],
    mut offset: usize,
) -> fmt::Result {
    out.write_str(root.message())?;
    let mut names = Some(root);
    // Each round goes on in a part of the bytes, so this ends.
    while let Some(place) = find(bytes, offset).filter(|place| place.number != 0) {
        let part = names.and_then(|names| names.field(place.number));
        let Some(Part { name, holds }) = part else {
            write!(out, ".{}", place.number)?;
            names = None;
            // What has no names can only be a message here: other values have no offset inside.
            let Some(inside) = place.inside(offset) else { return Ok(()) };
            (bytes, offset) = inside;
            continue;
        };
        name.write(out)?;
        names = match holds {
            Holding::Value => return Ok(()),
            Holding::Message(inner) => Some(inner),
            Holding::Values => return write!(out, "[{}]", count_before(bytes, &place)),
            Holding::Messages(inner) => {
                write!(out, "[{}]", count_before(bytes, &place))?;
                Some(inner)
            }
            Holding::Numbers => {
                return match numbers_before(bytes, &place, offset) {
                    Some(index) => write!(out, "[{index}]"),
                    None => Ok(()),
                };
            }
            Holding::Map(key, inner) => {
                let Some((entry, at)) = place.inside(offset) else { return Ok(()) };
                let Some(part) = find(entry, at) else { return Ok(()) };
                if part.number == 1 {
                    return out.write_str(".key");
                }
                write_key(out, key, entry)?;
                (bytes, offset) = match part.inside(at) {
                    Some(inside) if part.number == 2 && inner.is_some() => inside,
                    _ => return Ok(()),
                };
                names = inner;
                continue;
            }
        };
        let Some(inside) = place.inside(offset) else { return Ok(()) };
        (bytes, offset) = inside;
    }
    Ok(())
}

/// Writes the key of an entry, with brackets.
fn write_key(out: &mut dyn Write, kind: Key, entry: &[u8]) -> fmt::Result {
    let mut reader = Reader::new(entry);
    let mut key = None;
    while let Ok(Some(field)) = reader.next_field() {
        if field.number == 1 {
            key = Some(field.value);
        }
    }
    match (key, kind) {
        (Some(Value::Len(text)), _) => {
            let text = core::str::from_utf8(text).unwrap_or("?");
            let end = text.char_indices().nth(KEY_MAX).map(|(at, _)| at);
            let shown = end.and_then(|end| text.get(..end)).unwrap_or(text);
            out.write_str("[\"")?;
            write_escaped(out, shown)?;
            out.write_str(if end.is_some() { "...\"]" } else { "\"]" })
        }
        (Some(Value::Varint(bits)), Key::Unsigned) => write!(out, "[{bits}]"),
        (Some(Value::Varint(bits)), Key::Zigzag) => write!(out, "[{}]", zigzag::decode64(bits)),
        (Some(Value::Varint(bits)), Key::Bool) => write!(out, "[{}]", bits != 0),
        (Some(Value::Varint(bits)), _) => write!(out, "[{}]", bits.cast_signed()),
        (Some(Value::Fixed32(bits)), Key::Signed) => write!(out, "[{}]", bits.cast_signed()),
        (Some(Value::Fixed32(bits)), _) => write!(out, "[{bits}]"),
        (Some(Value::Fixed64(bits)), Key::Signed) => write!(out, "[{}]", bits.cast_signed()),
        (Some(Value::Fixed64(bits)), _) => write!(out, "[{bits}]"),
        // A missing key is the default.
        (_, Key::Other) => out.write_str("[\"\"]"),
        (_, Key::Bool) => out.write_str("[false]"),
        _ => out.write_str("[0]"),
    }
}

/// Writes a text so that it stays on its line.
#[cfg(feature = "alloc")]
fn write_escaped(out: &mut dyn Write, text: &str) -> fmt::Result {
    write!(out, "{}", text.escape_debug())
}

/// The same for small machines: what is not ASCII is a question mark, as to escape it is more code, which can panic.
#[cfg(not(feature = "alloc"))]
fn write_escaped(out: &mut dyn Write, text: &str) -> fmt::Result {
    let is_shown = |c: &char| matches!(c, ' '..='~');
    text.chars().try_for_each(|c| out.write_char(if is_shown(&c) { c } else { '?' }))
}

impl Name<'_> {
    fn write(&self, out: &mut dyn Write) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{}", name.strip_prefix("r#").unwrap_or(name)),
            Self::Extension(name) => write!(out, ".[{name}]"),
            #[cfg(feature = "alloc")]
            Self::Variant(name) => {
                out.write_char('.')?;
                for (at, letter) in name.char_indices() {
                    if letter.is_ascii_uppercase() && at != 0 {
                        out.write_char('_')?;
                    }
                    out.write_char(letter.to_ascii_lowercase())?;
                }
                Ok(())
            }
        }
    }
}

//! Annotations of an event, as a tree that borrows from the packet.

use std::borrow::Cow;

use protozero::Reader;

use super::interned::{ARG_NAMES, ARG_TEXTS, PROTO_NAMES, text};
use super::sequence::Sequence;

/// Annotations in their order: of an event, of a dictionary, or of a list.
#[derive(Clone, Copy, Debug)]
pub struct Annotations<'r> {
    reader: Reader<'r>,
    number: u32,
    names: &'r Sequence,
}

/// A value with its name.
#[derive(Clone, Debug)]
pub struct Annotation<'r> {
    /// Its name. Elements of lists have none.
    pub name: Option<Cow<'r, str>>,
    /// Its value.
    pub value: Value<'r>,
}

/// A value of an annotation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Value<'r> {
    /// There is none.
    None,
    /// True or false.
    Bool(bool),
    /// A number without a sign.
    Uint(u64),
    /// A number with a sign.
    Int(i64),
    /// A real number.
    Double(f64),
    /// A text.
    Text(Cow<'r, str>),
    /// An address.
    Pointer(u64),
    /// A value in JSON, as text.
    Json(Cow<'r, str>),
    /// Entries with names.
    Dict(Annotations<'r>),
    /// Elements.
    List(Annotations<'r>),
    /// An encoded message, and the name of its type.
    Proto(Option<Cow<'r, str>>, &'r [u8]),
    /// The old form of nested values (`DebugAnnotation.NestedValue`), encoded.
    Nested(&'r [u8]),
}

impl<'r> Annotations<'r> {
    pub(super) const fn new(body: &'r [u8], number: u32, names: &'r Sequence) -> Self {
        Self { reader: Reader::new(body), number, names }
    }
}

impl<'r> Iterator for Annotations<'r> {
    type Item = Annotation<'r>;

    fn next(&mut self) -> Option<Self::Item> {
        while let Ok(Some(field)) = self.reader.next_field() {
            if field.number == self.number
                && let Ok(body) = field.value.bytes()
            {
                return Some(Annotation::read(body, self.names));
            }
        }
        None
    }
}

impl<'r> Annotation<'r> {
    /// The first kind in upstream's order that is there.
    fn read(body: &'r [u8], names: &'r Sequence) -> Self {
        let interned = |kind, iid| names.text(kind, iid).map(Cow::Borrowed);
        let (mut name, mut proto_name) = (None, None);
        // The lower the rank, the earlier a reader looks for it.
        let mut best = (u32::MAX, Value::None);
        let mut reader = Reader::new(body);
        while let Ok(Some(field)) = reader.next_field() {
            let bytes = field.value.bytes().ok();
            let number = field.value.uint64().ok();
            let found = match (field.number, number, bytes) {
                (1, Some(iid), _) => {
                    name = interned(ARG_NAMES, iid);
                    continue;
                }
                (10, _, Some(it)) => {
                    name = name.or(Some(text(it)));
                    continue;
                }
                (13, Some(iid), _) => {
                    proto_name = interned(PROTO_NAMES, iid);
                    continue;
                }
                (16, _, Some(it)) => {
                    proto_name = Some(text(it));
                    continue;
                }
                (11, _, Some(_)) => (0, Value::Dict(Annotations::new(body, 11, names))),
                (12, _, Some(_)) => (1, Value::List(Annotations::new(body, 12, names))),
                (2, Some(it), _) => (2, Value::Bool(it != 0)),
                (3, Some(it), _) => (3, Value::Uint(it)),
                (4, Some(it), _) => (4, Value::Int(it as i64)),
                (5, _, _) => match field.value.double() {
                    Ok(it) => (5, Value::Double(it)),
                    Err(_) => continue,
                },
                (6, _, Some(it)) => (6, Value::Text(text(it))),
                (17, Some(iid), _) => match interned(ARG_TEXTS, iid) {
                    Some(it) => (7, Value::Text(it)),
                    None => continue,
                },
                (7, Some(it), _) => (8, Value::Pointer(it)),
                (9, _, Some(it)) => (9, Value::Json(text(it))),
                (14, _, Some(it)) => (10, Value::Proto(None, it)),
                (8, _, Some(it)) => (11, Value::Nested(it)),
                _ => continue,
            };
            if found.0 <= best.0 {
                best = found;
            }
        }
        let value = match best.1 {
            Value::Proto(_, bytes) => Value::Proto(proto_name, bytes),
            value => value,
        };
        Self { name, value }
    }
}

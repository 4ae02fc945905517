//! What the messages of a pool were made of: whether the pool can be that of another type, too.

use alloc::collections::{BTreeMap, BTreeSet};
use core::mem::discriminant;
use core::ptr;

use crate::descriptor::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

/// The source of each message of a pool, by full name, with its index.
///
/// The compiler may make several copies of one descriptor, so descriptors are compared by what they say.
#[derive(Debug)]
pub(crate) struct Origins(BTreeMap<&'static str, (u32, &'static MessageDescriptor)>);

impl Origins {
    pub(super) fn new(messages: impl Iterator<Item = (u32, &'static MessageDescriptor)>) -> Self {
        Self(messages.map(|(index, message)| (message.name, (index, message))).collect())
    }

    /// The index of the message with this full name.
    pub(crate) fn index(&self, full_name: &str) -> Option<u32> {
        self.0.get(full_name).map(|(index, _)| *index)
    }

    /// Whether `roots` and all messages that they use are in the pool as they are here.
    pub(crate) fn cover(&self, roots: &[&'static MessageDescriptor]) -> bool {
        used_by(roots, |message| {
            self.0.get(message.name).is_some_and(|(_, known)| is_same(known, message))
        })
    }
}

/// Visits `roots` and all messages that they use, until `visit` returns false. Returns whether it never did.
pub(crate) fn used_by(
    roots: &[&'static MessageDescriptor],
    mut visit: impl FnMut(&'static MessageDescriptor) -> bool,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = roots.to_vec();
    while let Some(message) = open.pop() {
        if !seen.insert(ptr::from_ref(message)) {
            continue;
        }
        if !visit(message) {
            return false;
        }
        for field in message.fields.iter().chain(message.extensions) {
            let kinds: &[Kind] = match &field.kind {
                Kind::Map(kinds) => *kinds,
                kind => core::slice::from_ref(kind),
            };
            open.extend(kinds.iter().filter_map(|kind| match kind {
                Kind::Message(of) => Some(of()),
                _ => None,
            }));
        }
    }
    true
}

/// Whether two descriptors say the same of one message. Messages in its fields are compared by name alone.
fn is_same(a: &MessageDescriptor, b: &MessageDescriptor) -> bool {
    let MessageDescriptor { name, fields, extensions, reserved_names, message_set } = a;
    let same = |a: &[FieldDescriptor], b: &[FieldDescriptor]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_field(a, b))
    };
    ptr::eq(a, b)
        || (name, reserved_names, message_set) == (&b.name, &b.reserved_names, &b.message_set)
            && same(fields, b.fields)
            && same(extensions, b.extensions)
}

fn is_same_field(a: &FieldDescriptor, b: &FieldDescriptor) -> bool {
    let FieldDescriptor { name, number, label, kind, presence, oneof, .. } = a;
    let FieldDescriptor { delimited, utf8, json_name, default, .. } = a;
    (name, number, label, presence, oneof) == (&b.name, &b.number, &b.label, &b.presence, &b.oneof)
        && (delimited, utf8, json_name, default)
            == (&b.delimited, &b.utf8, &b.json_name, &b.default)
        && is_same_kind(*kind, b.kind)
}

fn is_same_kind(a: Kind, b: Kind) -> bool {
    match (a, b) {
        (Kind::Message(a), Kind::Message(b)) => a().name == b().name,
        (Kind::Enum(a), Kind::Enum(b)) => is_same_enum(a, b),
        (Kind::Map(a), Kind::Map(b)) => a.iter().zip(b).all(|(a, b)| is_same_kind(*a, *b)),
        _ => discriminant(&a) == discriminant(&b),
    }
}

fn is_same_enum(a: &EnumDescriptor, b: &EnumDescriptor) -> bool {
    ptr::eq(a, b) || (a.name, a.values, a.closed) == (b.name, b.values, b.closed)
}

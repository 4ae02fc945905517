//! Which fields must be boxed: those on a cycle of values, such as a tree's child.
//!
//! Only singular message fields hold their value inside the struct; a repeated one sits behind a
//! `Vec` and breaks any cycle by itself. A field is boxed when its message can reach the message it
//! is in, so every cycle has a box on each of its edges: more than needed, but independent of order.

use super::{Kind, Label, MessageId, Schema};

/// Sets [`Field::boxed`](super::Field::boxed) throughout.
pub(crate) fn mark(schema: &mut Schema) {
    let edges: Vec<Vec<usize>> =
        schema.messages.iter().map(|m| m.fields.iter().filter_map(inline).collect()).collect();
    for (at, message) in schema.messages.iter_mut().enumerate() {
        for field in &mut message.fields {
            field.boxed = inline(field).is_some_and(|to| reaches(&edges, to, at));
        }
    }
}

fn inline(field: &super::Field) -> Option<usize> {
    match field.kind {
        Kind::Message(MessageId(to)) if field.label != Label::Repeated => Some(to),
        _ => None,
    }
}

fn reaches(edges: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; edges.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if !core::mem::replace(&mut seen[at], true) {
            open.extend(&edges[at]);
        }
    }
    false
}

//! Which fields must be boxed: those on a cycle of messages, such as the child of a tree node.
//!
//! Only singular message fields are stored inside the struct; a repeated field is in a `Vec`, which breaks a cycle. A
//! field is boxed if its message can reach the message that contains it. So each edge of a cycle is boxed: more than
//! needed, but independent of order.

use super::{Kind, Label, MessageId, Schema};

/// Sets [`Field::boxed`](super::Field::boxed) throughout.
pub(crate) fn mark(schema: &mut Schema) {
    let edges: Vec<Vec<usize>> =
        schema.messages.iter().map(|m| m.fields.iter().filter_map(inline).collect()).collect();
    let groups = groups(&edges);
    for (at, message) in schema.messages.iter_mut().enumerate() {
        for field in &mut message.fields {
            field.boxed = inline(field).is_some_and(|to| groups[to] == groups[at]);
        }
    }
}

fn inline(field: &super::Field) -> Option<usize> {
    match field.kind {
        Kind::Message(MessageId(to)) if field.label != Label::Repeated => Some(to),
        _ => None,
    }
}

/// A number per message, equal for messages that can reach each other: Kosaraju's algorithm for strongly connected
/// components.
fn groups(edges: &[Vec<usize>]) -> Vec<usize> {
    let mut ended = Vec::new();
    let mut seen = vec![false; edges.len()];
    for start in 0..edges.len() {
        let mut open = vec![(start, 0)];
        while let Some((at, next)) = open.pop() {
            if next == 0 && core::mem::replace(&mut seen[at], true) {
                continue;
            }
            match edges[at].get(next) {
                Some(to) => open.extend([(at, next + 1), (*to, 0)]),
                None => ended.push(at),
            }
        }
    }
    let mut back = vec![Vec::new(); edges.len()];
    for (from, all) in edges.iter().enumerate() {
        all.iter().for_each(|to| back[*to].push(from));
    }
    let mut groups = vec![usize::MAX; edges.len()];
    for start in ended.into_iter().rev() {
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            if groups[at] == usize::MAX {
                groups[at] = start;
                open.extend(&back[at]);
            }
        }
    }
    groups
}

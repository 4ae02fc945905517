//! Which fields must be boxed: those on a cycle of messages, such as the child of a tree node.
//!
//! Only singular message fields are stored inside the struct; a repeated field is in a `Vec`, which breaks a cycle. A
//! field is boxed if its message can reach the message that contains it. So each edge of a cycle is boxed: more than
//! needed, but independent of order.
//!
//! The schema does not tell which edge of a cycle is the newest one, so an added field can change the types of fields
//! of other messages. A program that names that field in [`Config::boxed`](crate::Config::boxed) avoids this.

use super::{Field, Kind, Label, Message, MessageId, Schema};

/// Sets [`Field::boxed`] throughout. What `is_asked` for is boxed, and breaks cycles as a list does.
pub(crate) fn mark(schema: &mut Schema, is_asked: impl Fn(&Message, &Field) -> bool) {
    let asked = |message: &Message, field: &Field| {
        // The value of a map's entry is in the map.
        !message.map_entry && inline(field).is_some() && is_asked(message, field)
    };
    let mut edges = Vec::new();
    for message in &mut schema.messages {
        let whole: &Message = message;
        let all: Vec<bool> = whole.fields.iter().map(|field| asked(whole, field)).collect();
        message.fields.iter_mut().zip(all).for_each(|(field, asked)| field.boxed = asked);
        let stored = message.fields.iter().filter(|field| !field.boxed);
        edges.push(stored.filter_map(inline).collect::<Vec<usize>>());
    }
    let groups = groups(&edges);
    for (at, message) in schema.messages.iter_mut().enumerate() {
        for field in &mut message.fields {
            field.boxed |= inline(field).is_some_and(|to| groups[to] == groups[at]);
        }
    }
}

fn inline(field: &Field) -> Option<usize> {
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

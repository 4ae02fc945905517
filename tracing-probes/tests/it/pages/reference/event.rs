//! An event of the kernel: its format, and what the schema makes of it.

use tracing_probes::offline::Event;

use super::Val;
use super::field::{Field, line};

#[derive(Clone, Debug)]
pub(super) struct Known {
    /// Its place among the events of the kernel.
    pub(super) place: usize,
    pub(super) group: String,
    pub(super) name: String,
    pub(super) id: u16,
    pub(super) common: Vec<Field>,
    pub(super) fields: Vec<Field>,
    /// Of a generic event: its number.
    pub(super) number: u32,
}

/// A field of the schema: its name, its number and a letter for the type.
type Column = (&'static str, u32, char);

/// The number of an event in the schema, and its fields.
pub(super) fn schema(group: &str, name: &str) -> Option<(u32, &'static [Column])> {
    Some(match (group, name) {
        ("ftrace", "print") => (3, &[("buf", 2, 's')]),
        ("raw_syscalls", "sys_enter") => (329, &[("id", 1, 'I'), ("args", 2, 'U')]),
        ("sched", "sched_switch") => (
            4,
            &[
                ("prev_comm", 1, 's'),
                ("prev_pid", 2, 'i'),
                ("prev_prio", 3, 'i'),
                ("prev_state", 4, 'I'),
                ("next_comm", 5, 's'),
                ("next_pid", 6, 'i'),
                ("next_prio", 7, 'i'),
            ],
        ),
        ("sched", "sched_waking") => (
            20,
            &[
                ("comm", 1, 's'),
                ("pid", 2, 'i'),
                ("prio", 3, 'i'),
                ("success", 4, 'i'),
                ("target_cpu", 5, 'i'),
            ],
        ),
        ("task", "task_rename") => (
            236,
            &[("pid", 1, 'i'), ("oldcomm", 2, 's'), ("newcomm", 3, 's'), ("oom_score_adj", 4, 'i')],
        ),
        _ => return None,
    })
}

pub(super) fn known(place: usize, event: &Event<'_>) -> Option<Known> {
    let (mut id, mut has_name, mut all) = (None, false, Vec::new());
    for text in event.format.split(|byte| *byte == b'\n') {
        let Ok(text) = std::str::from_utf8(text) else { continue };
        let text = text.trim_ascii();
        if text.starts_with("print fmt:") {
            break;
        } else if let Some(name) = text.strip_prefix("name:") {
            has_name |= !name.trim_ascii().is_empty();
        } else if let Some(number) = text.strip_prefix("ID:") {
            id = number.trim_ascii().parse::<u16>().ok().filter(|id| *id != 0);
        } else {
            all.extend(line(text));
        }
    }
    let is_common = |field: &Field| field.name.starts_with("common_");
    let (common, fields): (Vec<_>, Vec<_>) = all.into_iter().partition(is_common);
    let (group, name) = (event.group.to_owned(), event.name.to_owned());
    let is_format = has_name && !common.is_empty();
    is_format.then_some(Known { place, group, name, id: id?, common, fields, number: 0 })
}

impl Known {
    pub(super) fn end(&self) -> usize {
        self.common.iter().map(|field| field.at + field.len).max().unwrap_or(0)
    }

    /// The fields that a generic event has, with their types.
    fn generic(&self) -> Vec<(&Field, char)> {
        let is_first =
            |at: usize| !self.fields[..at].iter().any(|f| f.name == self.fields[at].name);
        let fields = self.fields.iter().enumerate().filter(|(at, _)| is_first(*at));
        fields.filter_map(|(_, field)| Some((field, field.generic()?))).collect()
    }

    pub(super) fn descriptor(&self) -> Vec<u8> {
        let mut message = vec![(1, text(&self.name))];
        for (number, (field, letter)) in (1..32).zip(self.generic()) {
            let kind = match letter {
                's' => 9,
                'b' => 12,
                'I' => 3,
                _ => 4,
            };
            let field = [(1, text(&field.name)), (3, Val::Number(number)), (5, Val::Number(kind))];
            message.push((2, Val::Bytes(encode(&field))));
        }
        let number = Val::Number(self.number.into());
        encode(&[(1, number), (2, Val::Bytes(encode(&message))), (3, text(&self.group))])
    }

    /// The fields of the event that are written: number, field and type.
    pub(super) fn written(&self, is_dense: bool) -> Vec<(u32, &Field, char)> {
        match schema(&self.group, &self.name) {
            Some((_, fields)) => fields
                .iter()
                .filter_map(|(name, number, letter)| {
                    let field = self.fields.iter().find(|field| field.name == *name)?;
                    field.becomes(*letter).then_some((*number, field, *letter))
                })
                .collect(),
            None if is_dense => {
                let fields = (1..32).zip(self.generic());
                fields.map(|(number, (field, letter))| (number, field, letter)).collect()
            }
            None => {
                let fields = self.generic().into_iter().filter(|(_, letter)| *letter != 'b');
                fields.map(|(field, letter)| (2, field, letter)).collect()
            }
        }
    }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 128 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

pub(super) fn encode(fields: &[(u32, Val)]) -> Vec<u8> {
    let mut message = Vec::new();
    for (number, value) in fields {
        let tag = u64::from(*number) * 8;
        match value {
            Val::Number(value) => message.extend([varint(tag), varint(*value)].concat()),
            Val::Bytes(bytes) => {
                message
                    .extend([varint(tag | 2), varint(bytes.len() as u64), bytes.clone()].concat());
            }
        }
    }
    message
}

pub(super) fn text(text: &str) -> Val {
    Val::Bytes(text.as_bytes().to_vec())
}

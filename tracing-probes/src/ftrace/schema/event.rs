//! An event of the schema, as the table has it.

/// An event: group, name, number of its field in `FtraceEvent`, and its fields.
pub(in crate::ftrace) struct Event(
    pub(super) &'static str,
    pub(super) &'static str,
    pub(super) u32,
    pub(super) &'static str,
);

/// A field of the message of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ftrace) struct Field {
    pub(in crate::ftrace) name: &'static str,
    pub(in crate::ftrace) number: u32,
    pub(in crate::ftrace) kind: Kind,
}

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ftrace) enum Kind {
    U32,
    U64,
    I32,
    I64,
    String,
    Bytes,
}

impl Event {
    /// The folder in `events`.
    pub(in crate::ftrace) const fn group(&self) -> &'static str {
        self.0
    }

    /// The folder in that of the group.
    pub(in crate::ftrace) const fn name(&self) -> &'static str {
        self.1
    }

    /// The number of the field of `FtraceEvent`.
    pub(in crate::ftrace) const fn number(&self) -> u32 {
        self.2
    }

    /// The fields of its message, by number. None is repeated but `args` of `raw_syscalls/sys_enter`.
    pub(in crate::ftrace) fn fields(&self) -> impl Iterator<Item = Field> {
        self.3.split_terminator(' ').filter_map(field)
    }
}

/// Reads `NAME=NUMBER` and a letter for the type.
pub(super) fn field(text: &'static str) -> Option<Field> {
    let (name, rest) = text.split_once('=')?;
    let (number, letter) = rest.split_at_checked(rest.len().checked_sub(1)?)?;
    let kind = match letter {
        "u" => Kind::U32,
        "U" => Kind::U64,
        "i" => Kind::I32,
        "I" => Kind::I64,
        "s" => Kind::String,
        "b" => Kind::Bytes,
        _ => return None,
    };
    Some(Field { name, number: number.parse().ok()?, kind })
}

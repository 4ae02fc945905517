//! Names of events.

use std::fmt;

use crate::ftrace::tracefs::is_part;

/// An event: group and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EventName {
    pub(crate) group: String,
    pub(crate) name: String,
}

impl EventName {
    pub(crate) fn new(group: &str, name: &str) -> Self {
        Self { group: group.to_owned(), name: name.to_owned() }
    }

    /// The path of one of its files, below a directory of tracefs.
    pub(crate) fn file(&self, file: &str) -> String {
        format!("events/{}/{}/{file}", self.group, self.name)
    }

    /// Is it `raw_syscalls/sys_enter` or `sys_exit`?
    pub(crate) fn is_raw_syscall(&self) -> bool {
        self.group == "raw_syscalls" && matches!(self.name.as_str(), "sys_enter" | "sys_exit")
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.group, self.name)
    }
}

/// The events that the schema has, whether or not this kernel has them.
pub(crate) trait KnownEvents {
    /// The groups with an event of this name: in the order of bytes.
    fn groups_of(&self, name: &str) -> Vec<String>;

    /// The names of a group's events.
    fn names_of(&self, group: &str) -> Vec<String>;

    /// Is the event in the schema?
    fn is_known(&self, event: &EventName) -> bool;
}

/// An entry of `ftrace_events`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    Event(EventName),
    /// `group/*`
    Group(String),
    /// A name in whichever group of the schema has it.
    Name(String),
}

impl Pattern {
    /// Parses an entry. `None`: it could lead out of the folder of events, or means nothing.
    pub(super) fn new(entry: &str) -> Option<Self> {
        let is_plain = |text: &str| is_part(text) && !text.contains('*');
        match entry.split_once('/') {
            None => (is_part(entry) && is_pattern(entry)).then(|| Self::Name(entry.to_owned())),
            Some((group, "*")) => is_plain(group).then(|| Self::Group(group.to_owned())),
            Some((group, name)) => (is_plain(group) && is_part(name) && is_pattern(name))
                .then(|| Self::Event(EventName::new(group, name))),
        }
    }
}

/// `*` may be the last byte, where upstream takes it literally.
fn is_pattern(name: &str) -> bool {
    !name.trim_end_matches('*').contains('*') && !name.ends_with("**")
}

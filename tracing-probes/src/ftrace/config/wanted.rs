//! From names of a config to events of this kernel.

use std::collections::BTreeSet;

use super::categories;
use super::events::{EventName, KnownEvents, Pattern};
use super::{Config, Syscalls};
use crate::ftrace::tracefs::{Directory, Tracefs, is_part};

/// What a config asks for, on this kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Events. The kernel may not have all that the config names as `group/name`.
    pub(crate) events: BTreeSet<EventName>,
    /// Entries without any event, as in the config.
    pub(crate) unknown: Vec<String>,
}

impl Config {
    /// The events that this config asks for. `syscalls` is what it asks for of system calls.
    pub(crate) fn wanted(
        &self,
        known: &dyn KnownEvents,
        tracefs: &dyn Tracefs,
        directory: &Directory,
        syscalls: &Syscalls,
    ) -> Wanted {
        let exists = |event: &EventName| tracefs.exists(&directory.path(&event.file("format")));
        let mut wanted = Wanted::default();
        for pattern in &self.events {
            match pattern {
                Pattern::Event(event) => _ = wanted.events.insert(event.clone()),
                Pattern::Group(group) => {
                    wanted.add(group_events(tracefs, directory, group), || format!("{group}/*"))
                }
                Pattern::Name(name) => {
                    let events =
                        known.groups_of(name).into_iter().map(|g| EventName::new(&g, name));
                    wanted.add(events.filter(exists).take(1).collect(), || name.clone());
                }
            }
        }
        if !self.categories.is_empty() || self.has_apps {
            wanted.events.insert(EventName::new("ftrace", "print"));
        }
        // What the config leaves out is not unknown: see its notes.
        for category in self.categories.iter().filter(|_| !self.is_userspace_only) {
            let events = category_events(category, known);
            wanted.add(events.into_iter().filter(exists).collect(), || category.clone());
        }
        if !self.syscalls.is_empty() {
            let names = ["sys_enter", "sys_exit"];
            wanted.events.extend(names.map(|name| EventName::new("raw_syscalls", name)));
        }
        if *syscalls == Syscalls::none() {
            wanted.events.retain(|event| !event.is_raw_syscall());
        }
        if self.graph.is_some() {
            let names = ["funcgraph_entry", "funcgraph_exit"];
            wanted.events.extend(names.map(|name| EventName::new("ftrace", name)));
        }
        wanted
    }
}

impl Wanted {
    /// Adds the events of an entry, or the entry itself to the unknown ones.
    fn add(&mut self, events: Vec<EventName>, entry: impl FnOnce() -> String) {
        if events.is_empty() {
            self.unknown.push(entry());
        }
        self.events.extend(events);
    }
}

/// The events of a group that this kernel has.
fn group_events(tracefs: &dyn Tracefs, directory: &Directory, group: &str) -> Vec<EventName> {
    let names = tracefs.folders(&directory.path(&format!("events/{group}"))).unwrap_or_default();
    names
        .into_iter()
        .filter(|name| is_part(name))
        .map(|name| EventName { group: group.to_owned(), name })
        .collect()
}

fn category_events(category: &str, known: &dyn KnownEvents) -> Vec<EventName> {
    let mut events = Vec::new();
    for (group, names) in categories::events(category) {
        match names {
            ["*"] => {
                events.extend(known.names_of(group).iter().map(|name| EventName::new(group, name)))
            }
            names => events.extend(names.iter().map(|name| EventName::new(group, name))),
        }
    }
    events
}

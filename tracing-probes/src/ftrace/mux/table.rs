//! The table of events, as the mux sees it.

use super::events::{EventKind, EventTable};
use crate::ftrace::config::{EventName, KnownEvents};
use crate::ftrace::schema;
use crate::ftrace::table::{FieldIds, Table};

/// The table of an instance of tracefs, and the numbers of generic events, which all instances share.
pub(crate) struct Formats<'a> {
    pub(crate) table: &'a mut Table,
    pub(crate) ids: &'a mut FieldIds,
}

impl KnownEvents for Formats<'_> {
    fn groups_of(&self, name: &str) -> Vec<String> {
        let events = self.table.events().filter(|event| event.name == name);
        events.map(|event| event.group.clone().into_owned()).collect()
    }

    fn names_of(&self, group: &str) -> Vec<String> {
        self.table.group(group).map(|event| event.name.clone().into_owned()).collect()
    }

    fn is_known(&self, event: &EventName) -> bool {
        schema::find(&event.group, &event.name).is_some()
    }
}

impl EventTable for Formats<'_> {
    fn add(&mut self, event: &EventName, kind: EventKind, format: &[u8]) -> Option<u16> {
        let (group, name, format) = (&event.group, &event.name, Some(format));
        let added = match kind {
            EventKind::Kprobe(_) => self.table.add_kprobe(group, name, format),
            EventKind::Known | EventKind::Generic { .. } => {
                self.table.add(group, name, format, self.ids)
            }
        };
        added.ok()
    }
}

//! Events of the kernel: switched on and off.

use std::collections::BTreeMap;
use std::io;

use super::change::{Change, text};
use super::journal::{Transaction, Until};
use super::kprobes::{GROUPS, KprobeKind};
use crate::ftrace::config::{EventName, KnownEvents, Refusal};
use crate::ftrace::tracefs::{Directory, Tracefs};

/// What an event becomes in the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A message of the schema.
    Known,
    /// A message with a descriptor, or `GenericFtraceEvent`.
    Generic { is_dense: bool },
    /// `KprobeEvent`.
    Kprobe(KprobeKind),
}

/// Where the formats of events go.
pub(crate) trait EventTable: KnownEvents {
    /// Takes the format of an event, as the kernel prints it now: ids of events that come and go are used again, with
    /// other fields. Gives the id of its records. `None`: records of this format cannot be read.
    fn add(&mut self, event: &EventName, kind: EventKind, format: &[u8]) -> Option<u16>;
}

/// The events that are on for sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct EnabledEvents {
    /// With the one that others had on before.
    on: BTreeMap<EventName, bool>,
}

impl EnabledEvents {
    /// Switches an event on, unless it is on for another session. `is_all_off`: all events were switched off for the
    /// first session, so their states are remembered already.
    ///
    /// # Errors
    /// The outer one if the transaction fails, the inner one if the kernel refuses.
    pub(super) fn enable(
        &mut self,
        transaction: &mut Transaction<'_>,
        directory: &Directory,
        event: &EventName,
        is_all_off: bool,
    ) -> Result<io::Result<()>, Refusal> {
        // Those are written by the tracer and by markers, and have no switch.
        if event.group == "ftrace" || self.on.contains_key(event) {
            return Ok(Ok(()));
        }
        let path = directory.path(&event.file("enable"));
        let state = text(transaction.tracefs(), &path).unwrap_or_default();
        let was_on = state.starts_with('1');
        // A probe can only be removed while its event is off, and it is removed before all events go off.
        let is_remembered = is_all_off && !GROUPS.contains(&event.group.as_str());
        if !was_on {
            let until = if is_remembered { Until::Kept } else { Until::LastSession };
            let on = Change::write(path.clone(), "1");
            if let Err(error) = transaction.change(&on, Change::write(path, "0"), until)? {
                let Some((on, off)) = by_name(directory, event) else { return Ok(Err(error)) };
                if let Err(error) = transaction.change(&on, off, until)? {
                    return Ok(Err(error));
                }
            }
        }
        self.on.insert(event.clone(), was_on);
        Ok(Ok(()))
    }

    /// Switches off what is not wanted any more.
    pub(super) fn release(
        &mut self,
        tracefs: &dyn Tracefs,
        directory: &Directory,
        is_wanted: impl Fn(&EventName) -> bool,
        notes: &mut Vec<String>,
    ) {
        self.on.retain(|event, was_on| {
            if is_wanted(event) {
                return true;
            }
            let path = directory.path(&event.file("enable"));
            if *was_on || Change::write(path, "0").apply(tracefs).is_ok() {
                return false;
            }
            let result = by_name(directory, event).map(|(_, off)| off.apply(tracefs));
            if let Some(Err(error)) = result
                && error.kind() != io::ErrorKind::NotFound
            {
                notes.push(format!("{event} stays on: {error}"));
            }
            false
        });
    }
}

/// The commands of `set_event` that switch an event on and off. `None`: the name could be read as another command.
fn by_name(directory: &Directory, event: &EventName) -> Option<(Change, Change)> {
    let is_plain = |text: &str| {
        text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    if !is_plain(&event.group) || !is_plain(&event.name) {
        return None;
    }
    let name = format!("{}:{}\n", event.group, event.name);
    let path = directory.path("set_event");
    Some((Change::append(path.clone(), &name), Change::append(path, &format!("!{name}"))))
}

/// The files with the filters of system calls.
pub(super) fn filter_paths(directory: &Directory) -> [String; 2] {
    ["sys_enter", "sys_exit"]
        .map(|name| directory.path(&format!("events/raw_syscalls/{name}/filter")))
}

/// Writes the filter of system calls. `before` is the last one written; `None`: the one found counts.
pub(super) fn set_syscall_filter(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    before: Option<&str>,
    filter: &str,
) -> Result<(), Refusal> {
    if before == Some(filter) {
        return Ok(());
    }
    for path in filter_paths(directory) {
        let (undo, until) = match before {
            Some(before) => (before.to_owned(), Until::Kept),
            None => (transaction.text(&path)?, Until::LastSession),
        };
        let undo = if undo == "none" || undo.is_empty() { "0" } else { &undo };
        let (change, undo) = (Change::write(path.clone(), filter), Change::write(path, undo));
        transaction.must(&change, undo, until, "leave syscall_events empty to record all")?;
    }
    Ok(())
}

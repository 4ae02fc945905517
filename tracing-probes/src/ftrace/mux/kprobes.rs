//! Probes at functions of the kernel, which exist while a session wants them.

use super::change::Change;
use super::journal::{Transaction, Until};
use crate::ftrace::config::{EventName, Kprobe, Refusal};
use crate::ftrace::tracefs::Directory;

/// The groups of probes of entries and returns. All probes in them are ours: those of a process that was killed are
/// taken as they are, and removed at the end.
pub(super) const GROUPS: [&str; 2] = ["perfetto_kprobes", "perfetto_kretprobes"];

/// Only the main instance has it.
const COMMANDS: &str = "kprobe_events";

/// What an event of a probe tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KprobeKind {
    /// The function was called, or returned: only one of them is recorded.
    Instant,
    /// The function was called; its return is recorded, too.
    Begin,
    /// The function returned.
    End,
}

/// The events of a probe: of the entry, of the return.
pub(super) fn events(kprobe: &Kprobe) -> Vec<(EventName, KprobeKind)> {
    let [entry, exit] = GROUPS.map(|group| EventName::new(group, &kprobe.function));
    match (kprobe.on_entry, kprobe.on_return) {
        (true, true) => vec![(entry, KprobeKind::Begin), (exit, KprobeKind::End)],
        (true, false) => vec![(entry, KprobeKind::Instant)],
        (false, true) => vec![(exit, KprobeKind::Instant)],
        (false, false) => Vec::new(),
    }
}

/// Makes the probe of an event, whose name is checked, unless it is there. Returns `false` if the kernel refuses.
pub(super) fn create(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    event: &EventName,
) -> Result<bool, Refusal> {
    let (change, undo) = commands(event);
    if transaction.tracefs().exists(&directory.path(&event.file("format"))) {
        transaction.remember(undo, Until::LastSession)?;
        return Ok(true);
    }
    Ok(transaction.change(&change, undo, Until::LastSession)?.is_ok())
}

fn commands(event: &EventName) -> (Change, Change) {
    // Room for as many calls at a time as the kernel remembers at most for a return probe of ours.
    let kind = if event.group == GROUPS[0] { "p" } else { "r1024" };
    let (group, function) = (&event.group, &event.name);
    let make = format!("{kind}:{group}/{function} {function}\n");
    let remove = format!("-:{group}/{function}\n");
    (Change::append(COMMANDS.to_owned(), &make), Change::append(COMMANDS.to_owned(), &remove))
}

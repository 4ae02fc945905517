//! Filters that others have left in an instance: threads, CPUs, fields of events.
//!
//! A session that did not ask for them would miss what they keep away, and nobody would tell. So one that takes the
//! instance lets everything pass, and each filter comes back at the end, as all that was found does.

use std::collections::BTreeSet;

use super::change::{Change, text};
use super::exclusive::list;
use super::journal::{Transaction, Until};
use crate::ftrace::config::{EventName, Refusal};
use crate::ftrace::tracefs::{CPUS_MAX, Directory, Tracefs, cpus_of_mask, mask_of_cpus};

/// Threads whose events are kept, and threads whose events are not.
pub(super) const THREADS: [&str; 2] = ["set_event_pid", "set_event_notrace_pid"];
pub(super) const CPUS: &str = "tracing_cpumask";

/// What triggers may do that ends a recording.
const ENDS: [&str; 2] = ["traceoff", "disable_event"];

/// Lets the events of all threads and CPUs pass. What stays in the way is told in `notes`.
///
/// # Errors
/// As [`Transaction::remember`].
pub(super) fn open(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    offline_cpus: &[u32],
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    for file in THREADS {
        let path = directory.path(file);
        // A kernel that has no such filter has nothing to open. `no pid` is an empty one.
        let found = text(transaction.tracefs(), &path).unwrap_or_default();
        let tids = list(found.split_ascii_whitespace().filter(|word| word.parse::<u32>().is_ok()));
        if !tids.is_empty() {
            let change = Change::fill(path.clone(), "");
            try_to(transaction, &change, Change::fill(path, &tids), notes)?;
        }
    }
    let path = directory.path(CPUS);
    let found = text(transaction.tracefs(), &path).unwrap_or_default();
    let mut cpus = cpus(transaction.tracefs(), directory);
    cpus.retain(|cpu| !offline_cpus.contains(cpu));
    if !found.is_empty() && !cpus.is_subset(&cpus_of_mask(&found)) {
        let change = Change::write(path.clone(), &mask_of_cpus(&cpus));
        try_to(transaction, &change, Change::write(path, &found), notes)?;
    }
    Ok(())
}

/// Lets an event pass whatever its fields have.
///
/// # Errors
/// As [`Transaction::remember`].
pub(super) fn open_event(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    event: &EventName,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    let path = directory.path(&event.file("filter"));
    let found = text(transaction.tracefs(), &path).unwrap_or_default();
    // Of one that the kernel could not read, it prints the reason, too. It keeps nothing away.
    if is_filter(&found) && !found.contains('\n') {
        let change = Change::write(path.clone(), ALL);
        try_to(transaction, &change, Change::write(path, &found), notes)?;
    }
    // Triggers have counters and states that cannot be put back, so they stay.
    let path = directory.path(&event.file("trigger"));
    let found = text(transaction.tracefs(), &path).unwrap_or_default();
    let ends = |line: &&str| ENDS.iter().any(|end| line.starts_with(end));
    if let Some(trigger) = found.lines().find(ends) {
        notes.push(format!(
            "{path} has the trigger `{trigger}`, which ends the recording of events; `!` and its text, written to that \
             file, remove it"
        ));
    }
    Ok(())
}

/// The filter of an event that lets everything pass.
pub(super) const ALL: &str = "0";

/// Does the filter of an event, as the kernel prints it, keep something away?
fn is_filter(found: &str) -> bool {
    !matches!(found, "" | "none")
}

/// The files of the main instance with filters of events that keep something away.
pub(super) fn of_events(tracefs: &dyn Tracefs) -> Vec<String> {
    let folders = |path: &str| tracefs.folders(path).unwrap_or_default();
    let of_group = |group: String| {
        let events = folders(&format!("events/{group}")).into_iter();
        events.map(move |event| format!("events/{group}/{event}/filter"))
    };
    let mut paths: Vec<String> = folders("events").into_iter().flat_map(of_group).collect();
    paths.retain(|path| text(tracefs, path).is_ok_and(|found| is_filter(&found)));
    paths
}

fn try_to(
    transaction: &mut Transaction<'_>,
    change: &Change,
    undo: Change,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    if let Err(error) = transaction.change(change, undo, Until::LastSession)? {
        let path = change.path();
        notes.push(format!("{path} keeps events away, and cannot be changed: {error}"));
    }
    Ok(())
}

/// The CPUs that an instance has rings of.
pub(super) fn cpus(tracefs: &dyn Tracefs, directory: &Directory) -> BTreeSet<u32> {
    let folders = tracefs.folders(&directory.path("per_cpu")).unwrap_or_default();
    let cpu = |name: &String| name.strip_prefix("cpu")?.parse().ok().filter(|cpu| *cpu < CPUS_MAX);
    folders.iter().filter_map(cpu).collect()
}

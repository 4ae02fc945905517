//! Filters that others have left in an instance: threads, CPUs, functions, fields of events.
//!
//! A session that did not ask for them would miss what they keep away, and nobody would tell. So one that takes the
//! instance lets everything pass, and each filter comes back at the end, as all that was found does. What stays in the
//! way is told in `notes`.

use std::collections::BTreeSet;

use super::change::{Change, list, text};
use super::journal::Transaction;
use crate::ftrace::config::{EventName, Refusal};
use crate::ftrace::tracefs::{Directory, Tracefs, cpus_of_mask, functions_listed, mask_of_cpus};
use crate::limits::CPUS_MAX;

/// Threads whose events are kept, and threads whose events are not.
pub(super) const THREADS: [&str; 2] = ["set_event_pid", "set_event_notrace_pid"];
/// The same of calls of functions.
pub(super) const FUNCTION_THREADS: [&str; 2] = ["set_ftrace_pid", "set_ftrace_notrace_pid"];
/// Functions whose calls are not kept.
pub(super) const FUNCTIONS: [&str; 2] = ["set_ftrace_notrace", "set_graph_notrace"];
/// The CPUs whose events are kept.
pub(super) const CPUS: &str = "tracing_cpumask";
/// What is written to the filter of an event to remove it.
pub(super) const NO_FILTER: &str = "0";
/// Longest filter of an event, bytes: the kernel takes none that is longer than a page.
const FILTER_BYTES_MAX: usize = 4096;

/// What triggers may do that ends a recording.
const TRIGGERS_THAT_END: [&str; 2] = ["traceoff", "disable_event"];
/// Letters of a trigger that are told.
const TRIGGER_SHOWN_MAX: usize = 100;
/// Triggers that are told.
const TRIGGERS_MAX: usize = 8;

/// Lets the events of all threads and CPUs pass.
///
/// # Errors
/// As [`Transaction::remember`].
pub(super) fn let_all_pass(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    clear_threads(transaction, directory, THREADS, notes)?;
    let path = directory.path(CPUS);
    let found = text(transaction.tracefs(), &path).unwrap_or_default();
    let cpus = cpus(transaction.tracefs(), directory);
    if !found.is_empty() && !cpus.is_subset(&cpus_of_mask(&found)) {
        let change = Change::write(path.clone(), &mask_of_cpus(&cpus));
        try_to(transaction, &change, Change::write(path, &found), notes)?;
    }
    Ok(())
}

/// Lets the calls of all threads and functions pass. A session without function graph does not need that, and it may
/// take seconds: the kernel looks up each name of a list that comes back.
///
/// # Errors
/// As [`Transaction::remember`].
pub(super) fn let_functions_pass(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    clear_threads(transaction, directory, FUNCTION_THREADS, notes)?;
    for file in FUNCTIONS {
        let path = directory.path(file);
        let found = functions_listed(&transaction.tracefs().read(&path).unwrap_or_default());
        clear(transaction, path, &list(&found), notes)?;
    }
    Ok(())
}

fn clear_threads(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    files: [&str; 2],
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    for file in files {
        let path = directory.path(file);
        // A kernel that has no such filter keeps nothing away. `no pid` is an empty one.
        let found = text(transaction.tracefs(), &path).unwrap_or_default();
        let tids = found.split_ascii_whitespace().filter(|word| word.parse::<u32>().is_ok());
        clear(transaction, path, &list(tids), notes)?;
    }
    Ok(())
}

/// Clears a list, if it has something.
fn clear(
    transaction: &mut Transaction<'_>,
    path: String,
    found: &str,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    if found.is_empty() {
        return Ok(());
    }
    try_to(transaction, &Change::fill(path.clone(), ""), Change::fill(path, found), notes)
}

/// Lets an event pass whatever its fields have.
///
/// # Errors
/// As [`Transaction::remember`].
pub(super) fn let_event_pass(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    event: &EventName,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    let path = directory.path(&event.file("filter"));
    let found = text(transaction.tracefs(), &path).unwrap_or_default();
    // Of one that the kernel could not read, it prints the reason, too. It keeps nothing away.
    if !is_filter(&found) || found.contains('\n') {
        return Ok(());
    }
    if found.len() > FILTER_BYTES_MAX || found.contains(char::REPLACEMENT_CHARACTER) {
        notes.push(format!("{path} keeps events away, and stays: it could not be put back"));
        return Ok(());
    }
    let change = Change::write(path.clone(), NO_FILTER);
    try_to(transaction, &change, Change::write(path, &found), notes)
}

/// Does the filter of an event, as the kernel prints it, keep something away?
fn is_filter(found: &str) -> bool {
    !matches!(found, "" | "none")
}

/// Tells of a trigger of an event that ends the recording. Triggers have counters and states that cannot be put back,
/// so they stay.
pub(super) fn tell_trigger(
    tracefs: &dyn Tracefs,
    directory: &Directory,
    event: &EventName,
    notes: &mut Vec<String>,
) {
    const WHAT: &str =
        "which ends the recording of events; to remove it, write `!` and this text to";
    let path = directory.path(&event.file("trigger"));
    let found = text(tracefs, &path).unwrap_or_default();
    let ends = |line: &&str| TRIGGERS_THAT_END.iter().any(|end| line.starts_with(end));
    let told = notes.iter().filter(|note| note.contains(WHAT)).count();
    if let Some(trigger) = found.lines().find(ends)
        && told < TRIGGERS_MAX
    {
        let trigger: String = trigger.chars().take(TRIGGER_SHOWN_MAX).collect();
        notes.push(format!("{event} has the trigger `{trigger}`, {WHAT} {path}"));
    }
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

/// The CPUs that an instance has rings of: those that the machine can have.
pub(super) fn cpus(tracefs: &dyn Tracefs, directory: &Directory) -> BTreeSet<u32> {
    let folders = tracefs.folders(&directory.path("per_cpu")).unwrap_or_default();
    let cpu = |name: &String| name.strip_prefix("cpu")?.parse().ok().filter(|cpu| *cpu < CPUS_MAX);
    folders.iter().filter_map(cpu).collect()
}

/// Makes a change that the recording can be without.
fn try_to(
    transaction: &mut Transaction<'_>,
    change: &Change,
    undo: Change,
    notes: &mut Vec<String>,
) -> Result<(), Refusal> {
    if let Err(error) = transaction.attempt(change, undo)? {
        notes.push(format!("{} keeps events away, and cannot be changed: {error}", change.path()));
    }
    Ok(())
}

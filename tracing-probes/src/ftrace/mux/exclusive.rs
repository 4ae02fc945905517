//! What only a session alone in its instance can have: threads, options, CPUs.

use super::change::{Change, list};
use super::journal::{Transaction, Until};
use crate::ftrace::config::{Exclusive, Refusal};
use crate::ftrace::tracefs::Directory;

pub(super) fn set(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    wanted: &Exclusive,
) -> Result<(), Refusal> {
    if !wanted.tids.is_empty() {
        set_tids(transaction, directory, &wanted.tids)?;
    }
    for (name, is_on) in &wanted.options {
        set_option(transaction, directory, name, *is_on)?;
    }
    let Some(mask) = &wanted.cpumask else { return Ok(()) };
    let path = directory.path("tracing_cpumask");
    let found = transaction.text(&path)?;
    let (change, undo) = (Change::write(path.clone(), mask), Change::write(path, &found));
    transaction.must(
        &change,
        undo,
        Until::LastSession,
        "tracing_cpumask may name CPUs of this machine alone",
    )
}

fn set_tids(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    tids: &[u32],
) -> Result<(), Refusal> {
    let path = directory.path("set_event_pid");
    let found = transaction.text(&path)?;
    let found = list(found.split_ascii_whitespace());
    let wanted = list(tids.iter().map(u32::to_string));
    let (change, undo) = (Change::fill(path.clone(), &wanted), Change::fill(path, &found));
    transaction.must(&change, undo, Until::LastSession, "name fewer tids_to_trace")
}

fn set_option(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    name: &str,
    is_on: bool,
) -> Result<(), Refusal> {
    let path = directory.path(&format!("options/{name}"));
    let found = transaction.text(&path).map_err(|Refusal(text)| {
        Refusal(format!(
            "tracefs_options: {text}, or leave out an option that this kernel does not have"
        ))
    })?;
    if !matches!(found.as_str(), "0" | "1") {
        return Err(Refusal(format!(
            "tracefs_options: {path} has neither 0 nor 1; leave out `{name}`"
        )));
    }
    let value = if is_on { "1" } else { "0" };
    let (change, undo) = (Change::write(path.clone(), value), Change::write(path, &found));
    transaction.must(
        &change,
        undo,
        Until::LastSession,
        "the kernel does not let this option change",
    )
}

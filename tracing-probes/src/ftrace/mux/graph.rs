//! Function graph: which functions the kernel records, for all sessions together.
//!
//! Functions are told apart when records are read, and so are depths. The kernel counts a depth from one function that
//! it records to the next, whichever session asked for them; and where it begins is one list.

use std::collections::BTreeSet;
use std::io;

use super::change::{Change, list};
use super::journal::{Transaction, Until};
use crate::ftrace::config::{Graph, Refusal};
use crate::ftrace::tracefs::{Directory, functions_listed};

const TRACER: &str = "current_tracer";

/// The files that function graph changes, in the order of the changes.
const FILES: [&str; 4] = ["set_ftrace_filter", "set_graph_function", "max_graph_depth", TRACER];

/// Their paths.
pub(super) fn paths(directory: &Directory) -> Vec<String> {
    FILES.iter().map(|file| directory.path(file)).collect()
}

/// Can two sessions get what they ask for at the same time?
///
/// # Errors
/// Why not.
pub(super) fn check_beside(wanted: &Graph, other: &Graph) -> Result<(), Refusal> {
    let advice = "ask for the same, or stop it first";
    if !is_same(&wanted.roots, &other.roots) {
        return Err(Refusal(format!(
            "function_graph_roots: another session has others, and the kernel one list for all; {advice}"
        )));
    }
    let has_depth = wanted.depth_max != 0 || other.depth_max != 0;
    if has_depth && !is_same(&wanted.filters, &other.filters) {
        return Err(Refusal(format!(
            "function_graph_max_depth: the kernel counts the functions of all sessions, and another session has other \
             function_filters; {advice}"
        )));
    }
    Ok(())
}

/// Are the same functions in both, in any order?
pub(super) fn is_same(a: &[String], b: &[String]) -> bool {
    a.iter().collect::<BTreeSet<_>>() == b.iter().collect::<BTreeSet<_>>()
}

/// What two sessions want. An empty list means all functions, and a depth of 0 any depth.
pub(super) fn union(a: Graph, b: Graph) -> Graph {
    let join = |a: Vec<String>, b: Vec<String>| {
        if a.is_empty() || b.is_empty() {
            return Vec::new();
        }
        let mut all = [a, b].concat();
        all.sort_unstable();
        all.dedup();
        all
    };
    let depth_max =
        if a.depth_max == 0 || b.depth_max == 0 { 0 } else { a.depth_max.max(b.depth_max) };
    Graph { filters: join(a.filters, b.filters), roots: join(a.roots, b.roots), depth_max }
}

/// What sets the functions. The tracer is on or follows.
pub(super) fn changes(directory: &Directory, graph: &Graph) -> [Change; 3] {
    let [filters, roots, depth, _] = FILES.map(|file| directory.path(file));
    [
        Change::fill(filters, &list(&graph.filters)),
        Change::fill(roots, &list(&graph.roots)),
        Change::write(depth, &graph.depth_max.to_string()),
    ]
}

/// Changes the functions from those of `before` to `after`, and switches the tracer on if it is off.
pub(super) fn set(
    transaction: &mut Transaction<'_>,
    directory: &Directory,
    before: Option<&Graph>,
    after: &Graph,
) -> Result<(), Refusal> {
    if before == Some(after) {
        return Ok(());
    }
    let (undo, until) = match before {
        Some(before) => (changes(directory, before), Until::Kept),
        None => (found(transaction, directory)?, Until::LastSession),
    };
    let advice =
        "name functions of available_filter_functions in function_filters and function_graph_roots";
    for (change, undo) in changes(directory, after).iter().zip(undo) {
        transaction.must(change, undo, until, advice)?;
    }
    if before.is_some() {
        return Ok(());
    }
    let path = directory.path(TRACER);
    let on = Change::write(path.clone(), "function_graph");
    let result = transaction.change(&on, Change::write(path, "nop"), until)?;
    result.map_err(|error| {
        let reason = match error.kind() {
            io::ErrorKind::ResourceBusy => "another program reads trace_pipe_raw; stop it first",
            _ => "a kernel with CONFIG_FUNCTION_GRAPH_TRACER has it; see available_tracers",
        };
        Refusal(format!("enable_function_graph: {error}; {reason}"))
    })
}

/// What puts the functions back.
fn found(transaction: &Transaction<'_>, directory: &Directory) -> Result<[Change; 3], Refusal> {
    let [filters, roots, depth, _] = FILES.map(|file| directory.path(file));
    let missing = |Refusal(text)| {
        Refusal(format!(
            "enable_function_graph: {text}, and use a kernel with CONFIG_FUNCTION_GRAPH_TRACER"
        ))
    };
    let functions = |path: String| {
        let text = transaction.text(&path).map_err(missing)?;
        Ok(Change::fill(path, &list(functions_listed(text.as_bytes()))))
    };
    let depth_found = transaction.text(&depth).map_err(missing)?;
    Ok([functions(filters)?, functions(roots)?, Change::write(depth, &depth_found)])
}

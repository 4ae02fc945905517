//! Cycles of a directed graph of files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// The items that one file names of another.
pub type Edges = BTreeMap<(String, String), BTreeSet<String>>;

/// The sets of files that reach each other.
pub fn cycles(edges: &Edges) -> Vec<BTreeSet<String>> {
    let files: BTreeSet<&String> = edges.keys().flat_map(|(from, to)| [from, to]).collect();
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        files.iter().map(|file| (*file, reached(edges, file))).collect();
    let mut cycles = BTreeSet::new();
    for file in &files {
        let both: BTreeSet<String> = reach[file]
            .iter()
            .filter(|other| reach[*other].contains(file))
            .map(|other| (*other).clone())
            .collect();
        // A file that is in no cycle does not reach itself.
        if !both.is_empty() {
            cycles.insert(both);
        }
    }
    cycles.into_iter().collect()
}

fn reached<'e>(edges: &'e Edges, start: &str) -> BTreeSet<&'e String> {
    let mut found = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        for (from, to) in edges.keys() {
            if from == file && found.insert(to) {
                open.push(to);
            }
        }
    }
    found
}

/// One line for each edge inside a cycle.
pub fn describe(edges: &Edges, cycle: &BTreeSet<String>) -> String {
    let mut text = String::new();
    for ((from, to), names) in edges {
        if cycle.contains(from) && cycle.contains(to) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let _ = writeln!(text, "    {from} names {} of {to}", names.join(", "));
        }
    }
    text
}

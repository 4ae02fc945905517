//! Cycles between the files of one crate.
//!
//! A file has an edge to another file of its crate when it names an item that the other file defines: in a `use`, in
//! a path of a type or an expression, or by calling its macro. The item counts, not the module through which the path
//! leads. So a `mod.rs` that declares its children and re-exports their items has no edge to them, and a file that
//! takes the item from there has none to the `mod.rs`. A method call names no item. Tests are left out.
//!
//! `ARCHITECTURE.md` lists the cycles that stay, with their reasons, below the heading [`HEADING`].

mod graph;
mod load;
mod tree;

use super::text::{Findings, Text};
use std::collections::{BTreeMap, BTreeSet};

/// The root files of the crates that are checked.
const ROOTS: &[&str] = &[
    "protozero/src/lib.rs",
    "protozero-codegen/src/lib.rs",
    "protozero-derive/src/lib.rs",
    "tracing-core/abi/src/lib.rs",
    "tracing-core/os/src/lib.rs",
    "tracing-core/client/src/lib.rs",
    "tracing-core/service/src/lib.rs",
    "tracing-core/daemon/src/lib.rs",
    "tracing-file/src/lib.rs",
    "tracing-probes/src/lib.rs",
    "tracing-sdk/src/lib.rs",
    "tracing-sdk/derive/src/lib.rs",
    "tracebox/src/lib.rs",
    "xtask/src/main.rs",
];

const LIST: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Cycles between files";

pub fn check(texts: &[Text], findings: &mut Findings) -> Result<(), String> {
    check_roots(ROOTS, texts, findings)
}

fn check_roots(roots: &[&str], texts: &[Text], findings: &mut Findings) -> Result<(), String> {
    let files: BTreeMap<&str, &str> =
        texts.iter().map(|t| (t.path.as_str(), t.text.as_str())).collect();
    let mut allowed = listed(files.get(LIST).copied().unwrap_or_default(), findings);
    for root in roots {
        let tree = load::load(root, &files)?;
        let edges = tree.edges();
        for cycle in graph::cycles(&edges) {
            if allowed.remove(&cycle).is_none() {
                let list: Vec<&str> = cycle.iter().map(String::as_str).collect();
                let what = format!(
                    "cycle between files: {}. Move what they share to the lower file.\n{}",
                    list.join(", "),
                    graph::describe(&edges, &cycle)
                );
                findings.add(list[0], 1, what);
            }
        }
    }
    for (files, line) in allowed {
        let list: Vec<String> = files.into_iter().collect();
        findings.add(LIST, line, format!("no cycle any more: {}", list.join(", ")));
    }
    Ok(())
}

/// The cycles that `ARCHITECTURE.md` allows, each with its line: table rows of files and a reason.
fn listed(document: &str, findings: &mut Findings) -> BTreeMap<BTreeSet<String>, usize> {
    let mut cycles = BTreeMap::new();
    let lines = document.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    for (number, line) in lines.take_while(|(_, line)| !line.starts_with("## ")) {
        let mut cells = line.split('|').skip(1);
        let (Some(files), reason) = (cells.next(), cells.next()) else { continue };
        let files: BTreeSet<String> =
            files.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        if files.is_empty() {
            continue;
        }
        if reason.is_none_or(|reason| reason.trim().is_empty()) {
            findings.add(LIST, number + 1, "a cycle that stays needs a reason");
        }
        cycles.insert(files, number + 1);
    }
    cycles
}

#[cfg(test)]
mod tests;

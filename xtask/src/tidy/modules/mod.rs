//! One convention for files: `foo/mod.rs` for a module with children, never `foo.rs` beside `foo/`; and unit tests in
//! a sibling file `tests.rs`, so that code and tests are read and counted apart.

use super::text::{Findings, Text};
use std::collections::BTreeSet;

pub fn check(texts: &[Text], findings: &mut Findings) {
    let folders: BTreeSet<&str> = texts
        .iter()
        .filter(|t| t.is_rust() && !t.is_generated())
        .flat_map(|t| t.path.match_indices('/').map(|(at, _)| &t.path[..at]))
        .collect();
    for text in texts.iter().filter(|t| t.is_rust() && !t.is_generated()) {
        let stem = text.path.trim_end_matches(".rs");
        if folders.contains(stem) {
            findings.add(&text.path, 1, format!("move it to `{stem}/mod.rs`"));
        }
        if let Some(line) = inline_tests(&text.code) {
            findings.add(&text.path, line, "move the tests to a file `tests.rs`");
        }
        if text.path.ends_with("_tests.rs") {
            findings.add(&text.path, 1, "unit tests stand in `tests.rs` of the module's folder");
        }
    }
}

/// The line of an inline module of tests.
fn inline_tests(code: &str) -> Option<usize> {
    let at = code.lines().position(|line| line.trim() == "mod tests {")?;
    Some(at + 1)
}

#[cfg(test)]
mod tests;

//! Compares the list of unsafe code in `SAFETY.md` with the code.

use super::text::{Findings, Text, required};
use crate::ctx::Ctx;
use std::collections::BTreeMap;

const LEDGER: &str = "SAFETY.md";

/// Blocks, implementations, and declarations (functions, traits, attributes, foreign blocks).
type Counts = [usize; 3];

pub fn check(ctx: &Ctx, texts: &[Text], findings: &mut Findings) -> Result<(), String> {
    let listed = parse(&required(ctx, LEDGER)?);
    let mut found = BTreeMap::new();
    // The benchmark workspace calls foreign code and is not published.
    for text in texts.iter().filter(|t| t.is_rust() && !t.path.starts_with("bench/")) {
        let counts = count(&text.code);
        if counts != [0; 3] {
            found.insert(text.path.clone(), counts);
        }
    }
    for (path, counts) in &found {
        let [blocks, impls, declarations] = counts;
        let row = format!("| `{path}` | {blocks} | {impls} | {declarations} |");
        match listed.get(path) {
            None => {
                let what = format!("unsafe code, not in {LEDGER}; if it must be, add `{row}`");
                findings.add(path, 1, what);
            }
            Some(other) if other != counts => {
                findings.add(LEDGER, 1, format!("the row of {path} has to be `{row}`"));
            }
            Some(_) => {}
        }
    }
    for path in listed.keys().filter(|p| !found.contains_key(*p)) {
        findings.add(LEDGER, 1, format!("{path} has no unsafe code: delete its row"));
    }
    Ok(())
}

/// Rows of the form: path in backticks, three numbers.
fn parse(text: &str) -> BTreeMap<String, Counts> {
    let mut rows = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", path, blocks, impls, declarations, ..] = cells[..] else { continue };
        let (Ok(blocks), Ok(impls), Ok(declarations)) =
            (blocks.parse(), impls.parse(), declarations.parse())
        else {
            continue;
        };
        rows.insert(path.trim_matches('`').to_owned(), [blocks, impls, declarations]);
    }
    rows
}

fn count(code: &str) -> Counts {
    let mut counts = [0; 3];
    for (at, word) in code.match_indices("unsafe") {
        let before = code[..at].chars().next_back();
        let rest = code[at + word.len()..].trim_start();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if before.is_some_and(is_word) || code[at + word.len()..].starts_with(is_word) {
            continue;
        }
        let place = if rest.starts_with('{') {
            0
        } else if rest.starts_with("impl") {
            1
        } else {
            2
        };
        counts[place] += 1;
    }
    counts
}

#[cfg(test)]
mod tests;

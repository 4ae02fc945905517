//! Imports: each must be a plain path to an existing file, must occur once, and must not form a cycle.

use std::collections::BTreeMap;

use super::parsed::Parsed;
use crate::error::Error;
use crate::syntax::{PLAIN, not_plain, plain};

pub(super) fn check(files: &[Parsed]) -> Result<(), Error> {
    // Check imports first, so that the error for a bad path points at the import statement.
    for file in files {
        if let Some((at, import)) = file.imports().enumerate().find(|(_, import)| !plain(import)) {
            let message = not_plain(import);
            return Err(file.error(&format!("#import{at}"), |n| n.at, message));
        }
    }
    let mut by_path = BTreeMap::new();
    for (at, file) in files.iter().enumerate() {
        if !plain(&file.path) {
            let message = format!("a source's path must be plain: {PLAIN}");
            return Err(file.error("", |_| Default::default(), message));
        }
        if by_path.insert(file.path.as_str(), at).is_some() {
            let message = "two sources have this path".into();
            return Err(file.error("", |_| Default::default(), message));
        }
    }
    let mut done = vec![None; files.len()];
    for at in 0..files.len() {
        visit(files, &by_path, at, &mut done)?;
    }
    Ok(())
}

/// Depth first, without recursion; `Some(false)` in `done` means the file is being visited.
fn visit(
    files: &[Parsed],
    by_path: &BTreeMap<&str, usize>,
    start: usize,
    done: &mut [Option<bool>],
) -> Result<(), Error> {
    let mut stack = vec![(start, 0)];
    while let Some((at, next)) = stack.pop() {
        if next == 0 {
            if done[at].is_some() {
                continue;
            }
            done[at] = Some(false);
        }
        let mut imports = files[at].imports();
        let Some(import) = imports.nth(next) else {
            done[at] = Some(true);
            continue;
        };
        stack.push((at, next + 1));
        let fail = |message| Err(files[at].error(&format!("#import{next}"), |n| n.at, message));
        if files[at].imports().take(next).any(|earlier| earlier == import) {
            return fail(format!("{import} is imported twice"));
        }
        let Some(&to) = by_path.get(import.as_str()) else {
            return fail(format!("imported file {import} is not among the sources"));
        };
        match done[to] {
            Some(false) => return fail(format!("import of {import} makes a circle")),
            None => stack.push((to, 0)),
            Some(true) => {}
        }
    }
    Ok(())
}

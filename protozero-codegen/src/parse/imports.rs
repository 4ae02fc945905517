//! Imports, checked before the parser follows them: it would recurse for ever on a circle, and says
//! less about a missing file.

use std::collections::BTreeMap;

use crate::{Error, Source};

pub(super) fn check(sources: &[Source]) -> Result<(), Error> {
    let graph: BTreeMap<&str, Vec<(u32, &str)>> =
        sources.iter().map(|s| (s.path.as_str(), of(&s.text))).collect();
    let mut done = BTreeMap::new();
    for source in sources {
        visit(&graph, &source.path, &mut done)?;
    }
    Ok(())
}

/// Import statements at the start of a line, with their line.
fn of(text: &str) -> Vec<(u32, &str)> {
    let mut found = Vec::new();
    for (at, line) in (1..).zip(text.lines()) {
        let rest = line.trim_start().strip_prefix("import").map(str::trim_start);
        let Some(rest) = rest else { continue };
        let rest = ["public", "weak"].iter().find_map(|w| rest.strip_prefix(w)).unwrap_or(rest);
        let mut quoted = rest.trim_start().split(['"', '\'']);
        if quoted.next() == Some("") {
            found.extend(quoted.next().map(|path| (at, path)));
        }
    }
    found
}

/// Depth first; `false` in `done` means the file is being visited.
fn visit<'a>(
    graph: &BTreeMap<&'a str, Vec<(u32, &'a str)>>,
    start: &'a str,
    done: &mut BTreeMap<&'a str, bool>,
) -> Result<(), Error> {
    let mut stack = vec![(start, 0)];
    while let Some((file, next)) = stack.pop() {
        if next == 0 && done.insert(file, false) == Some(true) {
            done.insert(file, true);
            continue;
        }
        let Some(&(line, import)) = graph.get(file).and_then(|list| list.get(next)) else {
            done.insert(file, true);
            continue;
        };
        stack.push((file, next + 1));
        if done.get(import) == Some(&false) {
            return Err(Error {
                file: file.to_owned(),
                line,
                column: 1,
                message: format!("import of {import} makes a circle"),
            });
        }
        if !done.contains_key(import) && graph.contains_key(import) {
            stack.push((import, 0));
        } else if !graph.contains_key(import) && !import.starts_with("google/protobuf/") {
            return Err(Error {
                file: file.to_owned(),
                line,
                column: 1,
                message: format!("imported file {import} is not among the sources"),
            });
        }
    }
    Ok(())
}

//! A table of files in the head of a module, or in plain comments behind it, has all of its files.
//!
//! Its header begins with `| file |` or `| module |`; other tables are about other things. Modules of tests do not
//! count.

use super::text::{Findings, Text};

pub fn check(texts: &[Text], findings: &mut Findings) {
    for text in texts.iter().filter(|t| t.is_rust() && !t.is_generated()) {
        let rows = rows(&text.text);
        if rows.is_empty() {
            continue;
        }
        for (line, name) in modules(&text.code).filter(|(_, name)| !is_listed(&rows, name)) {
            let what =
                format!("`{name}` is not in the table of the head: add a row that says what it is");
            findings.add(&text.path, line, what);
        }
    }
}

/// The rows of tables of files in the head of a module.
fn rows(text: &str) -> Vec<&str> {
    let mut is_row = false;
    let lines = text.lines().filter_map(comment).map(str::trim);
    lines
        .filter(|line| {
            let begins = line.starts_with("| file |") || line.starts_with("| module |");
            is_row = begins || is_row && line.starts_with('|');
            is_row
        })
        .collect()
}

/// The text of a line of the documentation of a module, or of a plain comment.
fn comment(line: &str) -> Option<&str> {
    line.strip_prefix("//!").or_else(|| line.strip_prefix("// "))
}

/// The modules that a file declares, with the lines, except those of tests.
fn modules(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_for_tests = false;
    code.lines().enumerate().filter_map(move |(number, line)| {
        let Some(name) = declared(line) else {
            let is_item = line.trim().is_empty() || line.ends_with(';') || line.ends_with('}');
            is_for_tests = !is_item && (is_for_tests || names_test(line));
            return None;
        };
        let is_of_tests = std::mem::take(&mut is_for_tests);
        (!is_of_tests).then_some((number + 1, name))
    })
}

/// The name in `mod name;`.
fn declared(line: &str) -> Option<&str> {
    let visible = ["pub ", "pub(crate) ", "pub(super) "];
    let line = visible.iter().find_map(|word| line.strip_prefix(word)).unwrap_or(line);
    line.strip_prefix("mod ")?.strip_suffix(';')
}

/// An attribute such as `cfg(test)`.
fn names_test(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "test")
}

/// A row names the module, its file, its folder or a file in that.
fn is_listed(rows: &[&str], name: &str) -> bool {
    let mut quoted = rows.iter().flat_map(|row| row.split('`').skip(1).step_by(2));
    quoted.any(|quoted| {
        let rest = quoted.trim_start_matches("mod@").strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
    })
}

#[cfg(test)]
mod tests;

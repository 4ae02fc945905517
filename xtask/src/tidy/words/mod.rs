//! Words that have no place in the repository.

use super::{Findings, Text};

pub fn check(texts: &[Text], findings: &mut Findings) {
    // The patterns are put together here so that this file does not find itself.
    let todo = ["TO", "DO"].concat();
    let fixme = ["FIX", "ME"].concat();
    let ignore = ["#[", "ignore"].concat();
    // Where people keep their checkouts.
    let homes = ["root", "home", "Users", "work"].map(|folder| format!("/{folder}/"));
    for text in texts {
        if text.path.starts_with("xtask/src/tidy/") {
            continue;
        }
        for (number, line) in text.text.lines().enumerate() {
            let mut add = |what: &str| findings.add(&text.path, number + 1, what);
            if line.contains(&fixme) {
                add("mend it or open an issue");
            }
            if has_word(line, &todo) && !line.contains(&format!("{todo}(#")) {
                add("what is left to do needs an issue: `(#number)` behind the word");
            }
            if text.is_rust() && line.contains(&ignore) {
                add("a test that is not run is no test");
            }
            if homes.iter().any(|home| names_machine(line, home)) {
                add("path of one machine");
            }
            if text.path.ends_with("Cargo.lock")
                && line.starts_with("source = ")
                && !line.contains("registry+https://github.com/rust-lang/crates.io-index")
            {
                add("dependency from elsewhere than crates.io");
            }
        }
    }
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// An absolute path: what precedes it must not be a part of a longer one.
fn names_machine(line: &str, home: &str) -> bool {
    line.match_indices(home).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.' | '}' | '*'))
    })
}

//! Words that have no place in the repository.

mod declared;
mod list;

use self::declared::{Shape, declared};
use self::list::{FUNCTIONS, NAMES, PHRASES, TYPES, WORDS};
use super::text::{Findings, Text};

pub fn check(texts: &[Text], findings: &mut Findings) {
    // The patterns are put together here, so that this file does not contain them.
    let todo = ["TO", "DO"].concat();
    let fixme = ["FIX", "ME"].concat();
    let ignore = ["#[", "ignore"].concat();
    // Folders of checkouts.
    let homes = ["root", "home", "Users", "work"].map(|folder| format!("/{folder}/"));
    for text in texts {
        // The list, and texts of tests that the list bans.
        if text.path.starts_with("xtask/src/tidy/words/") {
            continue;
        }
        for (number, line) in text.text.lines().enumerate() {
            let mut add = |what: &str| findings.add(&text.path, number + 1, what);
            if line.contains(&fixme) {
                add("repair it or open an issue");
            }
            if has_word(line, &todo) && !line.contains(&format!("{todo}(#")) {
                add("work that is left to do needs an issue: `(#number)` behind the word");
            }
            if text.is_rust() && line.contains(&ignore) {
                add("a test that is not run is no test");
            }
            let doc = if text.path.ends_with(".proto") { "// ..." } else { "/// ..." };
            if line.trim_start().starts_with(doc) {
                add("a comment is read alone: begin it with a whole sentence");
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
        check_file_name(text, findings);
        check_names(text, findings);
        check_phrases(text, findings);
    }
}

/// Names of [`list`], of a module's file and its folders.
fn check_file_name(text: &Text, findings: &mut Findings) {
    if !text.is_rust() {
        return;
    }
    for part in text.path.split('/').map(|part| part.trim_end_matches(".rs")) {
        for (name, instead) in NAMES.iter().filter(|(name, _)| *name == part) {
            findings.add(&text.path, 1, format!("`{name}` is banned: call the file {instead}"));
        }
    }
}

/// Names of [`list`], in Rust code.
fn check_names(text: &Text, findings: &mut Findings) {
    // The derive's tests need fields of every name, and call their messages as they like.
    if text.is_generated() || text.path.starts_with("protozero-derive/tests/ui/") {
        return;
    }
    let mut add = |line: usize, name: &str, instead: &str| {
        findings.add(&text.path, line + 1, format!("`{name}` is banned: call it {instead}"));
    };
    for (number, line) in text.code.lines().enumerate() {
        for (name, instead) in WORDS.iter().filter(|(name, _)| has_word(line, name)) {
            add(number, name, instead);
        }
    }
    for found in declared(&text.code) {
        let lists: &[_] = match found.shape {
            Shape::Type | Shape::Variant => &[TYPES],
            Shape::Function | Shape::Closure => &[NAMES, FUNCTIONS],
            Shape::Field | Shape::Local => &[NAMES],
        };
        for (name, instead) in lists.iter().copied().flatten().filter(|(n, _)| *n == found.name) {
            add(found.line, name, instead);
        }
    }
}

/// Ends of the names of files with prose: documents, and sources with comments. The `.proto` files below `protos` are
/// among them, as their comments are in our own words.
const PROSE: &[&str] = &[
    ".cc", ".ci/run", ".conf", ".md", ".proto", ".py", ".rs", ".service", ".sh", ".socket", ".toml",
];

/// Phrases of [`list`], in comments, messages and documents, also across the end of a line.
fn check_phrases(text: &Text, findings: &mut Findings) {
    if text.is_generated() || !PROSE.iter().any(|end| text.path.ends_with(end)) {
        return;
    }
    let is_comment_or_message = |l: &&str| !text.is_rust() || l.contains("//") || l.contains('"');
    let prose = |l: &str| Some(l).filter(is_comment_or_message).map(prose).unwrap_or_default();
    let lines: Vec<String> = text.text.lines().map(prose).collect();
    for (number, line) in lines.iter().enumerate() {
        let next = lines.get(number + 1).map_or("", String::as_str);
        let both = format!("{line} {next}");
        for phrase in PHRASES.iter().filter(|phrase| starts_before(&both, phrase, line.len())) {
            findings.add(&text.path, number + 1, format!("`{phrase}`: name the thing (STYLE.md)"));
        }
    }
}

/// A line in lower case, without the marks of a comment.
fn prose(line: &str) -> String {
    line.trim().trim_start_matches(['/', '!', '>', '*', '#']).trim().to_lowercase()
}

fn starts_before(text: &str, phrase: &str, end: usize) -> bool {
    words_at(text, phrase).any(|at| at < end)
}

fn has_word(line: &str, word: &str) -> bool {
    words_at(line, word).next().is_some()
}

/// Where `word` stands by itself.
fn words_at(line: &str, word: &str) -> impl Iterator<Item = usize> {
    line.match_indices(word).map(|(at, _)| at).filter(move |&at| {
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

#[cfg(test)]
mod tests;

//! Code of examples, and its words.

use crate::source;
use std::collections::BTreeSet;

/// The words of an example, without those in comments and texts.
#[derive(Default)]
pub struct Example {
    words: BTreeSet<String>,
    /// Behind `.`, `::` or `fn`.
    methods: BTreeSet<String>,
    /// Before `!`.
    macros: BTreeSet<String>,
}

impl Example {
    pub fn new(text: &str) -> Self {
        let code = source::code_only(text);
        let mut example = Self::default();
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let mut rest = code.as_str();
        let mut before = String::new();
        while let Some(start) = rest.find(is_part) {
            let end = rest[start..].find(|c| !is_part(c)).map_or(rest.len(), |len| start + len);
            let word = &rest[start..end];
            let joint = rest[..start].trim();
            if joint.ends_with(['.', ':']) || joint.is_empty() && before == "fn" {
                example.methods.insert(word.to_owned());
            }
            if rest[end..].starts_with('!') {
                example.macros.insert(word.to_owned());
            }
            example.words.insert(word.to_owned());
            before = word.to_owned();
            rest = &rest[end..];
        }
        example
    }

    pub fn has_word(&self, word: &str) -> bool {
        self.words.contains(word)
    }

    pub fn has_method(&self, name: &str) -> bool {
        self.methods.contains(name)
    }

    pub fn has_macro(&self, name: &str) -> bool {
        self.macros.contains(name)
    }
}

/// The documentation in a Rust file.
pub fn documentation(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines().map(str::trim_start) {
        let line = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        // Other lines end a block that is left open.
        lines += line.map_or("", |line| line.strip_prefix(' ').unwrap_or(line));
        lines.push('\n');
    }
    lines
}

/// The blocks of Rust code in a text that are compiled.
pub fn blocks(text: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, String)> = None;
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), &mut open) {
            (Some(kind), None) => open = Some((is_compiled(kind), String::new())),
            (Some(_), Some(_)) => {
                blocks.extend(
                    open.take().filter(|(is_compiled, _)| *is_compiled).map(|(_, text)| text),
                );
            }
            (None, Some((_, block))) => {
                // A line that readers do not see is compiled, too.
                *block += line.strip_prefix("# ").unwrap_or(line);
                block.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

fn is_compiled(kind: &str) -> bool {
    kind.split(',').all(|word| matches!(word.trim(), "" | "rust" | "no_run" | "should_panic"))
}

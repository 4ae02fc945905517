//! Rust identifiers: case, keywords, and a number of names of which no two are equal.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Span};

/// Rust's keywords that may be written as `r#keyword`.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Assigns unique names that are valid Rust identifiers.
pub(crate) struct Taken {
    names: BTreeSet<String>,
    /// The number of underscores that the last request for a name needed.
    underscores: BTreeMap<String, usize>,
}

impl Taken {
    pub fn new(reserved: &[&str]) -> Self {
        let names = reserved.iter().map(|s| (*s).to_owned()).collect();
        Self { names, underscores: BTreeMap::new() }
    }

    pub fn take(&mut self, name: String) -> String {
        let name = if NEVER_RAW.contains(&name.as_str()) { format!("{name}_") } else { name };
        if self.names.insert(name.clone()) {
            return name;
        }
        let count = self.underscores.entry(name.clone()).or_default();
        loop {
            *count += 1;
            let longer = format!("{name}{}", "_".repeat(*count));
            if self.names.insert(longer.clone()) {
                return longer;
            }
        }
    }
}

/// Keywords that cannot be raw identifiers.
pub(super) const NEVER_RAW: &[&str] = &["self", "Self", "super", "crate", "_"];

/// A valid identifier for `name`: keywords become raw identifiers, or get an underscore where that is not possible.
pub(crate) fn raw(name: &str) -> Ident {
    if NEVER_RAW.contains(&name) {
        Ident::new(&format!("{name}_"), Span::call_site())
    } else if KEYWORDS.contains(&name) {
        Ident::new_raw(name, Span::call_site())
    } else {
        Ident::new(name, Span::call_site())
    }
}

/// `FOO_BAR` to `FooBar`: as [`camel`], for a name in capitals.
pub(crate) fn pascal(name: &str) -> String {
    let quiet = |part: &str| {
        let loud = !part.contains(|c: char| c.is_ascii_lowercase());
        if loud { part.to_ascii_lowercase() } else { part.to_owned() }
    };
    camel(&name.split('_').map(quiet).collect::<Vec<_>>().join("_"))
}

/// `foo_bar` to `FooBar`; existing capitals stay.
pub(crate) fn camel(name: &str) -> String {
    let mut out = String::new();
    let mut start = true;
    for c in name.chars() {
        if c == '_' {
            start = true;
        } else if start {
            out.extend(c.to_uppercase());
            start = false;
        } else {
            out.push(c);
        }
    }
    // The name has only underscores, or starts with a digit.
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    if out == "_" { "__".into() } else { out }
}

/// `foo_bar` to `fooBar`, the default name in JSON.
pub(crate) fn json(name: &str) -> String {
    let mut out = String::new();
    let mut capital = false;
    for c in name.chars() {
        if c == '_' {
            capital = true;
        } else if core::mem::take(&mut capital) {
            out.push(c.to_ascii_uppercase());
        } else {
            out.push(c);
        }
    }
    out
}

/// `foo_bar` to `FooBar`, the name of a map's entry message.
pub(crate) fn entry(name: &str) -> String {
    let json = json(name);
    let mut chars = json.chars();
    chars.next().map_or_else(String::new, |c| c.to_ascii_uppercase().to_string()) + chars.as_str()
}

/// `FooBarIPC` to `foo_bar_ipc`.
pub(crate) fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (at, c) in chars.iter().enumerate() {
        let after_lower =
            at > 0 && (chars[at - 1].is_lowercase() || chars[at - 1].is_ascii_digit());
        let word_start = at > 0
            && chars[at - 1].is_uppercase()
            && chars.get(at + 1).is_some_and(|n| n.is_lowercase());
        if c.is_uppercase() && (after_lower || word_start) {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests;

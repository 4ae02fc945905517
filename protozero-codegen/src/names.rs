//! Names of the schema as Rust identifiers: case, keywords, collisions.
//!
//! All types land in one flat namespace, as in the receiving crate's re-export: a message is named by
//! its path without separators (`TraceConfig.BufferConfig` becomes `TraceConfigBufferConfig`), and
//! its writer, reader, reader field and oneof enums by a suffix. Whoever comes second to a taken name
//! gets an underscore behind it; declaration order decides, messages before everything derived.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span};

use crate::model::{EnumId, Message, MessageId, Schema};

/// Types that generated code names bare: a message of that name would shadow them.
const RESERVED_TYPES: &[&str] = &[
    "Box",
    "Clone",
    "Debug",
    "Default",
    "Err",
    "Error",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "PartialEq",
    "Result",
    "Self",
    "Some",
    "String",
    "Vec",
];

/// Rust's keywords that may stand as `r#keyword`.
const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return",
    "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
    "virtual", "where", "while", "yield",
];

/// Rust names of one message.
#[derive(Clone, Debug)]
pub(crate) struct MessageNames {
    pub owned: String,
    pub writer: String,
    pub reader: String,
    /// The enum a reader yields.
    pub field: String,
    /// The struct a reader becomes in one pass.
    pub table: String,
    /// One enum per oneof.
    pub oneofs: Vec<String>,
}

/// Rust names of the whole schema.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    messages: Vec<MessageNames>,
    enums: Vec<String>,
    /// Per file, per service: its module.
    services: Vec<Vec<String>>,
}

impl Names {
    pub fn new(schema: &Schema) -> Self {
        let mut types = Taken::new(RESERVED_TYPES);
        let owned: Vec<_> =
            schema.messages.iter().map(|m| types.take(camel(&m.path.parts.concat()))).collect();
        let enums =
            schema.enums.iter().map(|e| types.take(camel(&e.path.parts.concat()))).collect();
        let messages = schema
            .messages
            .iter()
            .zip(owned)
            .map(|(m, owned)| {
                let base = camel(&m.path.parts.concat());
                MessageNames {
                    owned,
                    writer: types.take(format!("{base}Writer")),
                    reader: types.take(format!("{base}Reader")),
                    field: types.take(format!("{base}Field")),
                    table: types.take(format!("{base}Table")),
                    oneofs: m
                        .oneofs
                        .iter()
                        .map(|o| types.take(format!("{base}{}", camel(&o.name))))
                        .collect(),
                }
            })
            .collect();
        let mut modules = Taken::new(&[]);
        let services = schema
            .files
            .iter()
            .map(|f| {
                f.services.iter().map(|s| modules.take(snake(&s.path.parts.concat()))).collect()
            })
            .collect();
        Self { messages, enums, services }
    }

    pub fn message(&self, id: MessageId) -> &MessageNames {
        &self.messages[id.0]
    }

    pub fn enumeration(&self, id: EnumId) -> &str {
        &self.enums[id.0]
    }

    pub fn service(&self, file: usize, at: usize) -> &str {
        &self.services[file][at]
    }
}

/// Hands out names once.
pub(crate) struct Taken(BTreeSet<String>);

impl Taken {
    pub fn new(reserved: &[&str]) -> Self {
        Self(reserved.iter().map(|s| (*s).to_owned()).collect())
    }

    pub fn take(&mut self, mut name: String) -> String {
        while !self.0.insert(name.clone()) {
            name.push('_');
        }
        name
    }
}

/// Variants of an enum over the fields of `message` that `keep` selects, in order.
pub(crate) fn variants(
    message: &Message,
    reserved: &[&str],
    keep: impl Fn(usize) -> bool,
) -> Vec<Option<Ident>> {
    let mut taken = Taken::new(reserved);
    taken.0.insert("Self".into());
    let all = message.fields.iter().enumerate();
    all.map(|(at, f)| keep(at).then(|| raw(&taken.take(camel(&f.name))))).collect()
}

/// A valid identifier for `name`: keywords become raw, and those that cannot get an underscore.
pub(crate) fn raw(name: &str) -> Ident {
    if matches!(name, "self" | "Self" | "super" | "crate" | "_") {
        Ident::new(&format!("{name}_"), Span::call_site())
    } else if KEYWORDS.contains(&name) {
        Ident::new_raw(name, Span::call_site())
    } else {
        Ident::new(name, Span::call_site())
    }
}

/// `foo_bar` to `FooBar`; capitals already there stay.
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
    // Nothing but underscores, or a digit in front.
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, '_');
    }
    if out == "_" { "__".into() } else { out }
}

/// `foo_bar` to `fooBar`, as JSON has it.
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

/// `foo_bar` to `FooBar`, as the entry of a map is called.
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

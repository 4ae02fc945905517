//! Turns names of the schema into Rust identifiers: case, keywords, collisions.
//!
//! All types of a package share one flat namespace, as in the re-export of the receiving crate. A message is named by
//! its path without separators (`TraceConfig.BufferConfig` becomes `TraceConfigBufferConfig`); its writer, reader,
//! reader field and oneof enums add a suffix. If a name is taken, an underscore is appended. Names are assigned in
//! declaration order, messages first, then the types derived from them. Two packages may use the same name: the root
//! then re-exports the first package's type, and the other is found in the module of its file.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, Span};

use crate::model::{EnumId, Enumeration, Message, MessageId, Path, Schema};

/// Types that generated code uses without a path; a message with such a name would shadow them.
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

/// First segments of paths in generated code; a module with such a name would shadow them.
const RESERVED_MODULES: &[&str] = &["alloc", "core", "d", "protozero", "rt", "std"];

/// Rust's keywords that may be written as `r#keyword`.
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
    /// The struct that holds all fields after one pass.
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
    /// Per file: whether the root re-exports all of it.
    flat: Vec<bool>,
}

impl Names {
    pub fn new(schema: &Schema) -> Self {
        // Each package has its own namespace, as in the schema.
        let mut packages = BTreeMap::new();
        let mut take = |package: &str, name: String| {
            let types = packages.entry(package.to_owned());
            types.or_insert_with(|| Taken::new(RESERVED_TYPES)).take(name)
        };
        let mut by_path = |path: &Path| take(&path.package, camel(&path.parts.concat()));
        let owned: Vec<_> = schema.messages.iter().map(|m| by_path(&m.path)).collect();
        let enums: Vec<_> = schema.enums.iter().map(|e| by_path(&e.path)).collect();
        let mut messages = Vec::new();
        for (m, owned) in schema.messages.iter().zip(owned) {
            let base = camel(&m.path.parts.concat());
            let mut take = |name: String| take(&m.path.package, name);
            messages.push(MessageNames {
                owned,
                writer: take(format!("{base}Writer")),
                reader: take(format!("{base}Reader")),
                field: take(format!("{base}Field")),
                table: take(format!("{base}Table")),
                oneofs: m
                    .oneofs
                    .iter()
                    .map(|o| take(format!("{base}{}", camel(&o.name))))
                    .collect(),
            });
        }
        let mut modules = BTreeMap::new();
        let services = schema.files.iter().map(|f| {
            let module = |s: &crate::model::Service| {
                let taken = modules.entry(s.path.package.clone());
                taken
                    .or_insert_with(|| Taken::new(RESERVED_MODULES))
                    .take(snake(&s.path.parts.concat()))
            };
            f.services.iter().map(module).collect()
        });
        let services = services.collect();
        let mut names = Self { messages, enums, services, flat: Vec::new() };
        names.flat = names.flat(schema);
        names
    }

    /// The root does not re-export a file if another package already has one of its names there.
    fn flat(&self, schema: &Schema) -> Vec<bool> {
        let mut root: BTreeMap<&str, &str> = BTreeMap::new();
        let mut flat = Vec::new();
        for (at, file) in schema.files.iter().enumerate() {
            let mut names: Vec<&str> = self.services[at].iter().map(String::as_str).collect();
            names.extend(file.enums.iter().map(|id| self.enumeration(*id)));
            for message in file.messages.iter().map(|id| self.message(*id)) {
                names.extend(
                    [
                        &message.owned,
                        &message.writer,
                        &message.reader,
                        &message.field,
                        &message.table,
                    ]
                    .map(String::as_str),
                );
                names.extend(message.oneofs.iter().map(String::as_str));
            }
            let package = file.package.as_str();
            let free = names.iter().all(|name| root.get(name).is_none_or(|p| *p == package));
            if free && file.emitted {
                root.extend(names.into_iter().map(|name| (name, package)));
            }
            flat.push(free);
        }
        flat
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

    /// Whether the root re-exports all of the file.
    pub fn is_flat(&self, file: usize) -> bool {
        self.flat[file]
    }
}

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

/// The constants of an enum, in the order of its values.
pub(crate) fn constants(e: &Enumeration) -> Vec<Ident> {
    // Names that an associated constant could shadow or clash with.
    let taken = ["NAME", "VALUES", "CLOSED", "name", "from_name", "from_i32", "to_i32"];
    let mut taken = Taken::new(&taken);
    e.values.iter().map(|v| raw(&taken.take(v.name.clone()))).collect()
}

/// Variants of an enum over the fields of `message` that `keep` selects, in order.
pub(crate) fn variants(
    message: &Message,
    reserved: &[&str],
    keep: impl Fn(usize) -> bool,
) -> Vec<Option<Ident>> {
    let mut taken = Taken::new(reserved);
    let all = message.fields.iter().enumerate();
    all.map(|(at, f)| keep(at).then(|| raw(&taken.take(camel(&f.name))))).collect()
}

/// Keywords that cannot be raw identifiers.
const NEVER_RAW: &[&str] = &["self", "Self", "super", "crate", "_"];

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

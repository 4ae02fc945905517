//! The module tree: the module of each file, and `mod.rs` with a flat re-export of everything.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use crate::Config;
use crate::model::Schema;
use crate::names::{Names, raw};

/// Modules from the root to a file's own.
pub(crate) struct ModulePath(Vec<String>);

impl ModulePath {
    /// Path of the file below the output folder.
    pub fn file(&self) -> String {
        format!("{}.rs", self.0.join("/"))
    }

    /// The modules' names.
    pub fn idents(&self) -> impl Iterator<Item = Ident> {
        self.0.iter().map(|part| raw(part))
    }
}

/// The folders and the name of a file as modules; names are changed into identifiers where necessary.
fn split(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".proto").unwrap_or(path);
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let part = |part: &str| -> String {
        let mut part: String = part.chars().map(clean).collect();
        if part.is_empty() || part.starts_with(|c: char| c.is_ascii_digit()) {
            part.insert(0, '_');
        }
        // `mod` would collide with the root's `mod.rs`, and the others cannot be raw identifiers.
        if matches!(part.as_str(), "mod" | "self" | "Self" | "super" | "crate" | "_") {
            part.push('_');
        }
        part
    };
    path.split('/').map(part).collect()
}

/// One per file of the schema.
pub(crate) fn modules(schema: &Schema) -> Vec<ModulePath> {
    let mut taken = BTreeSet::new();
    for file in &schema.files {
        let parts = split(&file.path);
        taken.extend((1..parts.len()).map(|n| parts[..n].to_vec()));
    }
    let place = |path: &str| {
        let mut parts = split(path);
        // A file next to a folder with the same name, or two names that differ only in a dash.
        while !taken.insert(parts.clone()) {
            if let Some(last) = parts.last_mut() {
                last.push('_');
            }
        }
        ModulePath(parts)
    };
    let mut place = place;
    schema.files.iter().map(|f| place(&f.path)).collect()
}

#[derive(Default)]
struct Node {
    file: bool,
    feature: Option<String>,
    children: BTreeMap<String, Node>,
}

/// Tokens of `mod.rs`.
pub(crate) fn emit(
    config: &Config,
    schema: &Schema,
    names: &Names,
    modules: &[ModulePath],
) -> TokenStream {
    let mut root = Node::default();
    let mut uses = Vec::new();
    for (at, (file, module)) in schema.files.iter().zip(modules).enumerate() {
        if !file.emitted {
            continue;
        }
        let mut node = &mut root;
        for part in &module.0 {
            node = node.children.entry(part.clone()).or_default();
        }
        node.file = true;
        node.feature = config.feature(&file.path).map(str::to_owned);
        let gate = gate(node.feature.as_deref());
        let idents = module.idents();
        let extensions = config.api_kinds.owned && !file.extensions.is_empty();
        let something = extensions
            || !(file.messages.is_empty() && file.enums.is_empty() && file.services.is_empty());
        if something && names.is_flat(at) {
            uses.push(quote! { #gate #[allow(unused_imports)] pub use #(#idents)::* ::*; });
        }
    }
    let mods = declare(&root, "", "");
    quote! { #(#uses)* #mods }
}

fn gate(feature: Option<&str>) -> TokenStream {
    feature.iter().map(|f| quote! { #[cfg(feature = #f)] }).collect()
}

fn declare(node: &Node, parent: &str, path: &str) -> TokenStream {
    node.children
        .iter()
        .map(|(name, child)| {
            let id = raw(name);
            let same = (name == parent).then(|| quote! { #[allow(clippy::module_inception)] });
            if child.file {
                let gate = gate(child.feature.as_deref());
                return quote! { #gate #same pub mod #id; };
            }
            let path = format!("{path}{name}/");
            let doc = format!(" Schemas of `{path}`.");
            let inner = declare(child, name, &path);
            quote! {
                #[doc = #doc]
                #same
                pub mod #id { #inner }
            }
        })
        .collect()
}

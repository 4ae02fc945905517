//! `mod.rs`: a module for each package, which includes the code of its files.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenStream;
use quote::quote;

use super::aliases;
use super::context::{cfg, path};
use crate::Config;
use crate::model::Schema;
use crate::names::{Names, ROOT_ITEMS, raw};

/// The folders and the name of a file's code, in characters that each file system accepts.
fn split(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".proto").unwrap_or(path);
    let clean = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    let part = |part: &str| -> String {
        let mut part: String = part.chars().map(clean).collect();
        // `mod` would collide with the root's `mod.rs`.
        if part.is_empty() || part == "mod" {
            part.push('_');
        }
        part
    };
    path.split('/').map(part).collect()
}

/// For each file of the schema, the path of its code below the output folder.
pub(crate) fn paths(schema: &Schema) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut place = |path: &str| {
        let mut parts = split(path);
        // Two names that differ only in a dash, or in case.
        while !taken.insert(parts.join("/").to_lowercase()) {
            if let Some(last) = parts.last_mut() {
                last.push('_');
            }
        }
        format!("{}.rs", parts.join("/"))
    };
    schema.files.iter().map(|f| place(&f.path)).collect()
}

/// A package, or a part of the name of one.
#[derive(Default)]
struct Node {
    files: Vec<usize>,
    children: BTreeMap<String, Node>,
}

struct Tree<'a> {
    config: &'a Config,
    schema: &'a Schema,
    names: &'a Names,
    /// The code of each file.
    paths: &'a [String],
}

/// Tokens of `mod.rs`.
pub(crate) fn emit(
    config: &Config,
    schema: &Schema,
    names: &Names,
    paths: &[String],
) -> TokenStream {
    let mut root = Node::default();
    for (at, _) in schema.files.iter().enumerate().filter(|(_, file)| file.emitted) {
        let mut node = &mut root;
        for part in names.modules(at) {
            node = node.children.entry(part.clone()).or_default();
        }
        node.files.push(at);
    }
    let tree = Tree { config, schema, names, paths };
    let (items, modules) = (tree.root_items(&root), tree.children(&root, ""));
    quote! { #items #modules }
}

impl Tree<'_> {
    /// Attributes of a module apply to what it includes, and those of the root are not ours. So its items are in a
    /// module of their own.
    fn root_items(&self, root: &Node) -> TokenStream {
        if root.files.is_empty() {
            return TokenStream::new();
        }
        let (name, allow, items) = (raw(ROOT_ITEMS), allow(), self.items(root));
        quote! {
            #[allow(unused_imports)]
            pub use self::#name::*;
            #allow
            mod #name { #items }
        }
    }

    fn children(&self, node: &Node, package_of: &str) -> TokenStream {
        let modules = node.children.iter().map(|(name, child)| {
            let package = match child.files.first() {
                Some(at) => self.schema.files[*at].package.clone(),
                None => format!("{package_of}{name}"),
            };
            let doc = format!(" Package `{package}`.");
            // What holds for a module holds inside it.
            let allow = package_of.is_empty().then(allow);
            let (id, items) = (raw(name), self.items(child));
            let inner = self.children(child, &format!("{package}."));
            quote! {
                #[doc = #doc]
                #allow
                pub mod #id { #items #inner }
            }
        });
        modules.collect()
    }

    /// The code of the package's files, and what it needs.
    fn items(&self, node: &Node) -> TokenStream {
        if node.files.is_empty() {
            return TokenStream::new();
        }
        let api_kinds = self.config.api_kinds;
        let messages = node.files.iter().any(|at| !self.schema.files[*at].messages.is_empty());
        let any = |yes: bool| yes && messages;
        let runtime = runtime(self.config);
        let rt = any(api_kinds.owned || api_kinds.view || api_kinds.writer || api_kinds.reader)
            .then(|| quote! { use protozero::rt; });
        let heap =
            any(api_kinds.owned || api_kinds.view).then(|| quote! { use protozero::rt::heap::*; });
        let descriptors = any(api_kinds.descriptor).then(|| {
            let cfg = cfg(self.config.text_feature.as_deref());
            quote! { #cfg use protozero::descriptor as d; }
        });
        let files = node.files.iter().map(|at| {
            let gate = cfg(self.config.feature(&self.schema.files[*at].path));
            let path = &self.paths[*at];
            quote! { #gate include!(#path); }
        });
        let aliases = self.config.prost_names.then(|| {
            let beside = node.children.keys();
            aliases::emit(self.config, self.schema, self.names, &node.files, beside)
        });
        quote! { #runtime #rt #heap #descriptors #(#files)* #aliases }
    }
}

/// Names come from the schema, and no program uses all of them.
fn allow() -> TokenStream {
    quote! { #[allow(clippy::all, deprecated, missing_docs, nonstandard_style, unused)] }
}

/// Imports the runtime into a module, if [`Config::runtime`] names another path than `protozero`.
pub(super) fn runtime(config: &Config) -> TokenStream {
    if config.runtime.is_empty() {
        return TokenStream::new();
    }
    let runtime = path(&config.runtime);
    quote! { use #runtime as protozero; }
}

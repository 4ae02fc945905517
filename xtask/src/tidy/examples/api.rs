//! The public items of a crate, as its users see them.

use crate::tidy::text::Text;
use std::collections::BTreeSet;
use syn::{Attribute, Ident, ImplItem, TraitItem, Type, UseTree, Visibility};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A type, a trait, a function or a constant.
    Named,
    Macro,
    /// A method, or a constant of a type.
    Method,
}

pub struct Item<'t> {
    pub path: &'t str,
    pub kind: Kind,
    pub owner: Option<String>,
    pub ident: String,
    pub documentation: String,
}

impl Item<'_> {
    /// `Type::method`, `function`.
    pub fn name(&self) -> String {
        match &self.owner {
            Some(owner) => format!("{owner}::{}", self.ident),
            None => self.ident.clone(),
        }
    }
}

/// The public items of the crate with these files.
pub fn items<'t>(sources: &[&'t Text]) -> Result<Vec<Item<'t>>, String> {
    let mut files = Vec::new();
    for text in sources {
        let file = syn::parse_file(&text.text).map_err(|e| format!("{}: {e}", text.path))?;
        files.push((text.path.as_str(), file));
    }
    let exported = Exported::new(&files)?;
    let mut items = Vec::new();
    let mut owners = BTreeSet::new();
    for (path, file) in &files {
        for item in &file.items {
            own(path, item, &exported, &mut items, &mut owners);
        }
    }
    for (path, file) in &files {
        for item in &file.items {
            methods(path, item, &owners, &mut items);
        }
    }
    for (path, ident) in exported.foreign {
        items.push(Item {
            path,
            kind: Kind::Named,
            owner: None,
            ident,
            documentation: String::new(),
        });
    }
    Ok(items)
}

/// What public modules name.
#[derive(Default)]
struct Exported<'t> {
    /// Items of private modules.
    names: BTreeSet<String>,
    /// Files of public modules, whose public items all are.
    files: BTreeSet<&'t str>,
    /// Items of other crates, and the files that name them.
    foreign: Vec<(&'t str, String)>,
}

impl<'t> Exported<'t> {
    fn new(files: &[(&'t str, syn::File)]) -> Result<Self, String> {
        let mut exported = Self::default();
        let is_root = |path: &str| path.ends_with("/src/lib.rs");
        let mut next: Vec<&(&str, syn::File)> =
            files.iter().filter(|(path, _)| is_root(path)).collect();
        while let Some((path, file)) = next.pop() {
            exported.files.insert(path);
            for item in &file.items {
                match item {
                    syn::Item::Use(item) if is_public(&item.vis, &item.attrs) => {
                        exported.add(path, &item.tree);
                    }
                    syn::Item::Mod(item)
                        if is_public(&item.vis, &item.attrs) && item.content.is_none() =>
                    {
                        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
                        let at = format!("{folder}/{}", item.ident);
                        let (file, folder) = (format!("{at}.rs"), format!("{at}/mod.rs"));
                        let found = files.iter().find(|(path, _)| *path == file || *path == folder);
                        next.push(found.ok_or_else(|| format!("{path}: where is `{at}`?"))?);
                    }
                    _ => {}
                }
            }
        }
        Ok(exported)
    }

    fn add(&mut self, path: &'t str, tree: &UseTree) {
        let is_ours =
            matches!(tree, UseTree::Path(first) if first.ident == "self" || first.ident == "crate");
        let mut names = Vec::new();
        last_names(tree, &mut names);
        match is_ours {
            true => self.names.extend(names),
            false => self.foreign.extend(names.into_iter().map(|name| (path, name))),
        }
    }
}

fn last_names(tree: &UseTree, names: &mut Vec<String>) {
    match tree {
        UseTree::Path(path) => last_names(&path.tree, names),
        UseTree::Name(name) => names.push(name.ident.to_string()),
        UseTree::Rename(name) => names.push(name.rename.to_string()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| last_names(tree, names)),
        UseTree::Glob(_) => {}
    }
}

/// Adds an item with the methods of a trait, and its name to those that have methods.
fn own<'t>(
    path: &'t str,
    item: &syn::Item,
    exported: &Exported<'_>,
    items: &mut Vec<Item<'t>>,
    owners: &mut BTreeSet<String>,
) {
    let (ident, vis, attrs) = match item {
        syn::Item::Struct(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Enum(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Trait(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Fn(item) => (&item.sig.ident, &item.vis, &item.attrs),
        syn::Item::Const(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Static(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Type(item) => (&item.ident, &item.vis, &item.attrs),
        syn::Item::Macro(syn::ItemMacro { ident: Some(ident), attrs, .. })
            if has(attrs, "macro_export") && !is_hidden(attrs) =>
        {
            add(items, path, Kind::Macro, None, ident, attrs);
            return;
        }
        _ => return,
    };
    let is_exported = exported.files.contains(path) || exported.names.contains(&ident.to_string());
    if !is_exported || !is_public(vis, attrs) {
        return;
    }
    add(items, path, Kind::Named, None, ident, attrs);
    let owner = ident.to_string();
    owners.insert(owner.clone());
    if let syn::Item::Trait(item) = item {
        for function in &item.items {
            if let TraitItem::Fn(function) = function
                && !is_hidden(&function.attrs)
            {
                let ident = &function.sig.ident;
                add(items, path, Kind::Method, Some(&owner), ident, &function.attrs);
            }
        }
    }
}

/// Adds the methods and constants of an `impl` block without a trait.
fn methods<'t>(
    path: &'t str,
    item: &syn::Item,
    owners: &BTreeSet<String>,
    items: &mut Vec<Item<'t>>,
) {
    let syn::Item::Impl(block) = item else { return };
    let Type::Path(self_type) = &*block.self_ty else { return };
    let Some(owner) = self_type.path.segments.last().map(|segment| segment.ident.to_string())
    else {
        return;
    };
    if block.trait_.is_some() || !owners.contains(&owner) {
        return;
    }
    for item in &block.items {
        let (ident, vis, attrs) = match item {
            ImplItem::Fn(item) => (&item.sig.ident, &item.vis, &item.attrs),
            ImplItem::Const(item) => (&item.ident, &item.vis, &item.attrs),
            _ => continue,
        };
        if is_public(vis, attrs) {
            add(items, path, Kind::Method, Some(&owner), ident, attrs);
        }
    }
}

fn add<'t>(
    items: &mut Vec<Item<'t>>,
    path: &'t str,
    kind: Kind,
    owner: Option<&String>,
    ident: &Ident,
    attrs: &[Attribute],
) {
    items.push(Item {
        path,
        kind,
        owner: owner.cloned(),
        ident: ident.to_string(),
        documentation: documentation(attrs),
    });
}

fn is_public(vis: &Visibility, attrs: &[Attribute]) -> bool {
    matches!(vis, Visibility::Public(_)) && !is_hidden(attrs)
}

/// `#[doc(hidden)]`
fn is_hidden(attrs: &[Attribute]) -> bool {
    let is_hidden = |attribute: &Attribute| {
        attribute.parse_args::<Ident>().is_ok_and(|argument| argument == "hidden")
    };
    attrs.iter().any(|attribute| attribute.path().is_ident("doc") && is_hidden(attribute))
}

fn has(attrs: &[Attribute], name: &str) -> bool {
    attrs.iter().any(|attribute| attribute.path().is_ident(name))
}

fn documentation(attrs: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attrs.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let syn::Meta::NameValue(meta) = &attribute.meta
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(line), .. }) = &meta.value
        {
            let line = line.value();
            text += line.strip_prefix(' ').unwrap_or(&line);
            text.push('\n');
        }
    }
    text
}

//! Reads the files of a crate, and collects the names that each defines and imports and the paths that it mentions.

use super::tree::{Kind, Mention, Name, Tree};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// Reads the crate whose root file is `root`.
///
/// # Errors
/// A file is missing or is no Rust.
pub fn load(root: &str, files: &BTreeMap<&str, &str>) -> Result<Tree, String> {
    let mut tree = Tree::default();
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut open = vec![tree.add(None, root.to_owned(), folder.to_owned())];
    while let Some(module) = open.pop() {
        let path = tree.modules[module].file.clone();
        let text = files.get(path.as_str()).ok_or_else(|| format!("{path}: no such file"))?;
        let file = syn::parse_file(text).map_err(|e| format!("{path}: {e}"))?;
        for (parent, child) in ModuleVisitor::run(&mut tree, module, &file) {
            let folder = format!("{}/{child}", tree.modules[parent].folder);
            let flat = format!("{folder}.rs");
            let path = match files.contains_key(flat.as_str()) {
                true => flat,
                false => format!("{folder}/mod.rs"),
            };
            let added = tree.add(Some(parent), path, folder);
            tree.define(parent, &child, Name::Module(added));
            open.push(added);
        }
    }
    Ok(tree)
}

/// Collects what one file declares, imports and mentions.
struct ModuleVisitor<'t> {
    tree: &'t mut Tree,
    /// The innermost module around the current item.
    module: usize,
    /// Modules declared with `mod name;`, each with its parent.
    children: Vec<(usize, String)>,
}

impl ModuleVisitor<'_> {
    /// Adds what `file` has to `tree`; returns the modules that are files of their own.
    fn run(tree: &mut Tree, module: usize, file: &syn::File) -> Vec<(usize, String)> {
        let mut visitor = ModuleVisitor { tree, module, children: Vec::new() };
        visitor.visit_file(file);
        visitor.children
    }

    fn define(&mut self, name: &syn::Ident) {
        self.tree.define(self.module, &name.to_string(), Name::Item);
    }

    fn mention(&mut self, path: Vec<String>, kind: Kind) {
        self.tree.mentions.push(Mention { module: self.module, path, kind });
    }

    fn import(&mut self, tree: &UseTree, mut path: Vec<String>, kind: Kind) {
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.import(&part.tree, path, kind);
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.import(item, path.clone(), kind));
            }
            UseTree::Glob(_) => {
                // The names that are used through it count; of an enum, the glob itself.
                self.mention(path.clone(), kind);
                self.tree.glob(self.module, path);
            }
            UseTree::Name(name) => self.bind(path, &name.ident, &name.ident, kind),
            UseTree::Rename(name) => self.bind(path, &name.ident, &name.rename, kind),
        }
    }

    fn bind(&mut self, mut path: Vec<String>, name: &syn::Ident, alias: &syn::Ident, kind: Kind) {
        if name != "self" {
            path.push(name.to_string());
        }
        let last = path.last().cloned().unwrap_or_default();
        let alias = if alias == "self" { last } else { alias.to_string() };
        self.mention(path.clone(), kind);
        self.tree.define(self.module, &alias, Name::Import(path));
    }

    /// The paths among the tokens of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let (mut colons, mut is_member) = (0, false);
        let mut trees = tokens.into_iter().peekable();
        while let Some(tree) = trees.next() {
            match tree {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end(&mut path);
                    }
                    // A field or a method is no path; a variable of a macro neither, but `$crate` is.
                    if !is_member || name == "crate" {
                        path.push(name.to_string());
                    }
                    (colons, is_member) = (0, false);
                }
                TokenTree::Punct(punct) => {
                    let is_colon = punct.as_char() == ':' && !path.is_empty() && colons < 2;
                    colons = if is_colon { colons + 1 } else { 0 };
                    is_member = matches!(punct.as_char(), '.' | '$' | '\'');
                    let is_call =
                        punct.as_char() == '!' && matches!(trees.peek(), Some(TokenTree::Group(_)));
                    if is_call && !path.is_empty() {
                        self.mention(std::mem::take(&mut path), Kind::Macro);
                    } else if !is_colon {
                        self.end(&mut path);
                    }
                }
                TokenTree::Group(group) => {
                    self.end(&mut path);
                    (colons, is_member) = (0, false);
                    self.tokens(group.stream());
                }
                TokenTree::Literal(_) => {
                    self.end(&mut path);
                    (colons, is_member) = (0, false);
                }
            }
        }
        self.end(&mut path);
    }

    fn end(&mut self, path: &mut Vec<String>) {
        if !path.is_empty() {
            let path = std::mem::take(path);
            self.mention(path, Kind::Path);
        }
    }
}

impl<'ast> Visit<'ast> for ModuleVisitor<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if attributes(item).iter().any(is_test) {
            return;
        }
        match item {
            Item::Const(item) => self.define(&item.ident),
            Item::Enum(item) => self.define(&item.ident),
            Item::Fn(item) => self.define(&item.sig.ident),
            Item::Static(item) => self.define(&item.ident),
            Item::Struct(item) => self.define(&item.ident),
            Item::Trait(item) => self.define(&item.ident),
            Item::TraitAlias(item) => self.define(&item.ident),
            Item::Type(item) => self.define(&item.ident),
            Item::Union(item) => self.define(&item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        let name = item.ident.to_string();
        let Some((_, items)) = &item.content else {
            self.children.push((self.module, name));
            return;
        };
        let outer = self.module;
        self.module = self.tree.inline(outer, &name);
        items.iter().for_each(|item| self.visit_item(item));
        self.module = outer;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            let is_private = matches!(item.vis, Visibility::Inherited);
            let kind = if is_private { Kind::Path } else { Kind::Export };
            self.import(&item.tree, Vec::new(), kind);
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if let Some(name) = &item.ident {
            let file = self.tree.modules[self.module].file.clone();
            self.tree.macros.entry(name.to_string()).or_default().insert(file);
        }
        visit::visit_item_macro(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let is_left_out = match item {
            syn::ImplItem::Fn(item) => item.attrs.iter().any(is_test),
            _ => false,
        };
        if !is_left_out {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let path = item.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.mention(path, Kind::Macro);
        self.tokens(item.tokens.clone());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.mention(names, Kind::Path);
        }
        visit::visit_path(self, path);
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Is the item compiled for tests and models only?
fn is_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Meta>().is_ok_and(|condition| is_never(&condition))
}

/// Is a condition false in every build of the product?
fn is_never(condition: &syn::Meta) -> bool {
    use syn::{Meta, Token, punctuated::Punctuated};
    match condition {
        Meta::Path(path) => {
            ["test", "loom", "fuzzing", "doc"].iter().any(|name| path.is_ident(name))
        }
        Meta::NameValue(_) => false,
        Meta::List(list) => {
            let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
            let Ok(parts) = list.parse_args_with(parser) else { return false };
            (list.path.is_ident("all") && parts.iter().any(is_never))
                || (list.path.is_ident("any") && parts.iter().all(is_never))
        }
    }
}

//! The paths of what generated code has.

use std::collections::BTreeSet;

use protozero_codegen::OutputFile;
use quote::ToTokens;

/// What a program can name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Path {
    /// A type, a trait, a module, a constant of a module, or a value of an enum.
    Item(String),
    /// A constant of a type.
    Constant(String),
    /// A field of a struct.
    Field(String, String),
    /// The message of the schema that a type is.
    Message(String, String),
}

/// The paths of generated code, from its `mod.rs` on.
pub fn paths(files: &[OutputFile]) -> BTreeSet<Path> {
    let mut paths = Paths { files, found: BTreeSet::new() };
    paths.file("mod.rs", "");
    paths.found
}

struct Paths<'f> {
    files: &'f [OutputFile],
    found: BTreeSet<Path>,
}

impl Paths<'_> {
    fn file(&mut self, path: &str, module: &str) {
        let file = self.files.iter().find(|f| f.path == path).expect("it is included");
        self.items(&syn::parse_file(&file.text).expect("it parses").items, module);
    }

    fn add(&mut self, path: Path) {
        assert!(self.found.insert(path.clone()), "{path:?} is there twice");
    }

    fn add_item(&mut self, module: &str, name: impl ToString) {
        self.add(Path::Item(format!("{module}::{}", name.to_string())));
    }

    fn items(&mut self, items: &[syn::Item], module: &str) {
        for item in items {
            match item {
                syn::Item::Struct(x) => {
                    self.add_item(module, &x.ident);
                    for name in x.fields.iter().filter_map(|field| field.ident.as_ref()) {
                        self.add(Path::Field(format!("{module}::{}", x.ident), name.to_string()));
                    }
                }
                syn::Item::Enum(x) => {
                    self.add_item(module, &x.ident);
                    for variant in &x.variants {
                        self.add_item(&format!("{module}::{}", x.ident), &variant.ident);
                    }
                }
                syn::Item::Trait(x) => self.add_item(module, &x.ident),
                syn::Item::Const(x) => self.add_item(module, &x.ident),
                syn::Item::Impl(x) if x.trait_.is_none() => self.constants(x, module),
                syn::Item::Mod(x) => self.module(x, module),
                syn::Item::Macro(x) => self.call(x, module),
                _ => {}
            }
        }
    }

    fn constants(&mut self, x: &syn::ItemImpl, module: &str) {
        let of = x.self_ty.to_token_stream();
        for item in &x.items {
            if let syn::ImplItem::Const(x) = item {
                self.add(Path::Constant(format!("{module}::{of}::{}", x.ident)));
            }
        }
    }

    fn module(&mut self, x: &syn::ItemMod, module: &str) {
        let at_root = x.ident == "root_items";
        if !at_root {
            self.add_item(module, &x.ident);
        }
        let inside = if at_root { module.to_owned() } else { format!("{module}::{}", x.ident) };
        self.items(&x.content.as_ref().expect("no other files").1, &inside);
    }

    fn call(&mut self, x: &syn::ItemMacro, module: &str) {
        let text = x.mac.tokens.to_string();
        let names = |text: &str| -> Vec<String> {
            text.split([',', ';']).map(|name| name.trim().to_owned()).collect()
        };
        match x.mac.path.segments.last().expect("a name").ident.to_string().as_str() {
            "include" => self.file(text.trim_matches('"'), module),
            "writer" => self.add_item(module, &names(&text)[0]),
            "reader" => {
                let head = text.split_once(" : ").or(text.split_once(": ")).expect("names").1;
                names(head)[..3].iter().for_each(|name| self.add_item(module, name));
            }
            "describe" => {
                let (name, rest) = text.split_once(',').expect("a name");
                let full = rest.split('"').nth(1).expect("a full name").to_owned();
                self.add(Path::Message(format!("{module}::{}", name.trim()), full));
            }
            _ => {}
        }
    }
}

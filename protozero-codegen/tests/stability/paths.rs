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
    /// The type of a field of a struct. Paths in it begin at the root, which is `@`.
    Type(String, String, String),
    /// The type that a variant of an enum holds, in the same way.
    Variant(String, String, String),
    /// The message of the schema that a type is.
    Message(String, String),
}

#[allow(dead_code, reason = "the programs of `grown` do not need it")]
impl Path {
    /// Without the boxes of a type, which depend on the other messages unless all are boxed.
    pub fn without_boxes(self) -> Self {
        let unboxed = |ty: String| {
            let mut ty = ty;
            while let Some((before, rest)) = ty.split_once("Box<") {
                // No type has parameters inside the box, as it is a message.
                ty = format!("{before}{}", rest.replacen('>', "", 1));
            }
            ty
        };
        match self {
            Self::Type(of, field, ty) => Self::Type(of, field, unboxed(ty)),
            Self::Variant(of, variant, ty) => Self::Variant(of, variant, unboxed(ty)),
            other => other,
        }
    }
}

/// The paths of generated code, from its `mod.rs` on.
pub fn paths(files: &[OutputFile]) -> BTreeSet<Path> {
    let mut paths = Paths { files, found: BTreeSet::new() };
    paths.file("mod.rs", "");
    paths.found
}

/// Types that generated code uses without a path.
const PRELUDE: &[&str] =
    &["Box", "Option", "String", "Vec", "bool", "f32", "f64", "i32", "i64", "u32", "u64", "u8"];

/// A type that is written in `module`, with paths from the root.
fn absolute(ty: &syn::Type, module: &str) -> String {
    let syn::Type::Path(syn::TypePath { path, .. }) = ty else {
        return ty.to_token_stream().to_string();
    };
    let names: Vec<String> = path.segments.iter().map(|part| part.ident.to_string()).collect();
    // Generated code goes up to the root in each path.
    let rest: Vec<&str> =
        names.iter().map(String::as_str).skip_while(|name| *name == "super").collect();
    let name = match rest.as_slice() {
        [name] if names.len() == 1 && PRELUDE.contains(name) => (*name).to_owned(),
        ["rt", ..] => format!("::protozero::{}", rest.join("::")),
        ["protozero", ..] => format!("::{}", rest.join("::")),
        _ if rest.len() < names.len() => format!("@::{}", rest.join("::")),
        _ => format!("@{module}::{}", rest.join("::")),
    };
    let arguments = match &path.segments.last().expect("a name").arguments {
        syn::PathArguments::AngleBracketed(all) => &all.args,
        _ => return name,
    };
    let types = arguments.iter().filter_map(|argument| match argument {
        syn::GenericArgument::Type(ty) => Some(absolute(ty, module)),
        _ => None,
    });
    let types: Vec<_> = types.collect();
    if types.is_empty() { name } else { format!("{name}<{}>", types.join(", ")) }
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
                    let of = format!("{module}::{}", x.ident);
                    for field in &x.fields {
                        let Some(name) = &field.ident else { continue };
                        let ty = absolute(&field.ty, module);
                        self.add(Path::Field(of.clone(), name.to_string()));
                        self.add(Path::Type(of.clone(), name.to_string(), ty));
                    }
                }
                syn::Item::Enum(x) => {
                    self.add_item(module, &x.ident);
                    let of = format!("{module}::{}", x.ident);
                    for variant in &x.variants {
                        let name = variant.ident.to_string();
                        self.add_item(&of, &name);
                        let held = variant.fields.iter().map(|field| absolute(&field.ty, module));
                        held.for_each(|ty| {
                            self.add(Path::Variant(of.clone(), name.clone(), ty));
                        });
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

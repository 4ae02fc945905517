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
    /// A setter of a writer, its arguments, and the number and shape of the field that it writes.
    Setter(String, String, String, String),
    /// A method of a reader, and the tag of the field that it reads, or nothing for a oneof.
    Getter(String, String, String),
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
    let mut paths = Paths { files, found: BTreeSet::new(), methods: BTreeSet::new() };
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

/// Methods of every writer, its own and those of its traits.
const OF_WRITERS: &[&str] =
    &["append_field", "append_raw", "from_scope", "into", "scope_mut", "try_into"];
/// Methods of every reader, in the same way.
const OF_READERS: &[&str] = &[
    "bytes",
    "clone",
    "from_bytes",
    "into",
    "into_iter",
    "iter",
    "new",
    "table",
    "to_owned",
    "try_into",
    "unknown_fields",
];

struct Paths<'f> {
    files: &'f [OutputFile],
    found: BTreeSet<Path>,
    /// Types and names of methods.
    methods: BTreeSet<(String, String)>,
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

    /// Adds a method, whose name no other method of the type has.
    fn add_method(&mut self, path: Path) {
        if let Path::Setter(of, name, ..) | Path::Getter(of, name, _) = &path {
            let is_new = self.methods.insert((of.clone(), name.clone()));
            assert!(is_new, "{path:?} has the name of another method");
        }
        self.add(path);
    }

    fn add_methods(&mut self, of: &str, all: &[&str]) {
        self.methods.extend(all.iter().map(|name| (of.to_owned(), (*name).to_owned())));
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
                syn::Item::Impl(x) if x.trait_.is_none() => {
                    self.constants(x, module);
                    self.methods(x, module);
                }
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

    /// Setters of maps, which no macro makes.
    fn methods(&mut self, x: &syn::ItemImpl, module: &str) {
        let syn::Type::Path(ty) = &*x.self_ty else { return };
        let of = format!("{module}::{}", ty.path.segments.last().expect("a name").ident);
        for item in &x.items {
            let syn::ImplItem::Fn(syn::ImplItemFn { sig, block, .. }) = item else { continue };
            let body = block.to_token_stream().to_string().replace(' ', "");
            let writes = ["self.s.nested::<", "rt::message_raw::<"];
            let number =
                |start: &str| body.split_once(start)?.1.split_once('>').map(|found| found.0);
            let Some(number) = writes.into_iter().find_map(number) else { continue };
            let argument = |input: &syn::FnArg| match input {
                syn::FnArg::Receiver(_) => None,
                syn::FnArg::Typed(x) if matches!(*x.ty, syn::Type::ImplTrait(_)) => Some("|_| ()"),
                syn::FnArg::Typed(_) => Some("Default::default()"),
            };
            let arguments: Vec<_> = sig.inputs.iter().filter_map(argument).collect();
            let field = format!("map {number}");
            self.add_method(Path::Setter(
                of.clone(),
                sig.ident.to_string(),
                arguments.join(", "),
                field,
            ));
        }
    }

    /// The setters in a table of `rt::writer!`.
    fn setters(&mut self, table: &str, module: &str) {
        let (head, lines) = table.split_once(';').expect("a name");
        let of = format!("{module}::{}", head.split(',').next().expect("a name").trim());
        self.add(Path::Item(of.clone()));
        self.add_methods(&of, OF_WRITERS);
        for line in lines.split(';').filter(|line| !line.trim().is_empty()) {
            let (left, right) = line.split_once('=').expect("a number");
            let mut words = left.split([' ', '\n', '(']).filter(|word| !word.is_empty());
            let [shape, name] = [(); 2].map(|()| words.next().expect("a shape and a name"));
            let number =
                right.split([' ', '\n', ',']).find(|word| !word.is_empty()).expect("a number");
            let arguments = match shape {
                "packed" | "packed_enum" => "[]",
                "message" | "group" => "",
                _ => "Default::default()",
            };
            let mut add = |name: &str, arguments: &str, shape: &str| {
                let field = format!("{shape} {number}");
                self.add_method(Path::Setter(of.clone(), name.into(), arguments.into(), field));
            };
            add(name, arguments, shape);
            if let Some((_, other)) = right.split_once(',') {
                add(other.trim(), "&[]", &format!("other {shape}"));
            }
        }
    }

    /// The methods in the lines of `rt::reader!`, and what else has their names.
    fn getters(&mut self, lines: &str, module: &str, [reader, field, table]: &[String; 3]) {
        let [reader, field, table] = [reader, field, table].map(|name| format!("{module}::{name}"));
        self.add_methods(&reader, OF_READERS);
        let mut is_oneof = false;
        for line in lines.split(['{', '}', ';']).map(str::trim).filter(|line| !line.is_empty()) {
            let Some((left, right)) = line.split_once('=') else {
                let oneof = line.strip_prefix("oneof ");
                is_oneof = oneof.is_some();
                if let Some(name) = oneof {
                    self.add_method(Path::Getter(reader.clone(), name.to_owned(), String::new()));
                    self.add(Path::Field(table.clone(), name.to_owned()));
                }
                continue;
            };
            let variant = left.split([' ', '(']).next().expect("a variant");
            let name = left.split_whitespace().next_back().expect("a name");
            let tag = right.split(" as ").next().expect("a tag").trim();
            self.add(Path::Item(format!("{field}::{variant}")));
            self.add_method(Path::Getter(reader.clone(), name.to_owned(), tag.to_owned()));
            if !is_oneof {
                self.add(Path::Field(table.clone(), name.to_owned()));
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
            "writer" => self.setters(&text, module),
            "reader" => {
                let (head, lines) = text.split_once(';').expect("names");
                let head = head.split_once(" : ").or(head.split_once(": ")).expect("names").1;
                let three: [String; 3] = names(head).try_into().expect("three names");
                three.iter().for_each(|name| self.add_item(module, name));
                self.getters(lines, module, &three);
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

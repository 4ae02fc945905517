//! What a schema gains changes no name that it had: random schemas grow by random edits, and each path of the code
//! before an edit is there after it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use protozero_codegen::{ApiKinds, Config, OutputFile, Source, generate};
use quote::ToTokens;

/// Names that meet each other and those that are derived from them.
const NAMES: &[&str] = &[
    "A",
    "AB",
    "B",
    "A_B",
    "a",
    "b",
    "ab",
    "a_b",
    "AWriter",
    "AReader",
    "BReaderField",
    "Writer",
    "Reader",
    "ReaderField",
    "ReaderTable",
    "Oneof",
    "BOneof",
    "Field",
    "Table",
    "AField",
    "Option",
    "Vec",
    "String",
    "u32",
    "str",
    "rt",
    "protozero",
    "type",
    "self",
    "Self",
    "_A",
    "A_",
];
/// Names of packages, which meet those.
const PACKAGES: &[&str] =
    &["", "p", "p.a", "p.ab", "p.rt", "p.AWriter", "p.a_b", "p.a.b", "google.type", "core.std"];

#[derive(Clone, Default)]
struct Message {
    nested: BTreeMap<String, Message>,
    enums: BTreeSet<String>,
    oneofs: BTreeSet<String>,
    fields: u32,
}

#[derive(Clone, Default)]
struct File {
    package: String,
    messages: BTreeMap<String, Message>,
    enums: BTreeSet<String>,
    services: BTreeSet<String>,
}

type Schema = Vec<File>;

/// A change of a schema, made of random numbers.
type Edit = (u8, usize, usize, usize);

/// The message that the numbers select among all of the file, or none.
fn select(file: &mut File, at: usize) -> Option<&mut Message> {
    let count = file.messages.len();
    let mut message = file.messages.values_mut().nth(at % count.max(1))?;
    if at.is_multiple_of(3) && !message.nested.is_empty() {
        message = message.nested.values_mut().next()?;
    }
    Some(message)
}

fn apply(schema: &mut Schema, (what, file, at, name): Edit) -> Option<()> {
    let name = NAMES[name % NAMES.len()];
    if what % 8 == 0 || schema.is_empty() {
        let package = PACKAGES[at % PACKAGES.len()].to_owned();
        schema.push(File { package, ..File::default() });
    }
    let count = schema.len();
    let to = schema[file % count].clone();
    let file = &mut schema[file % count];
    match what % 8 {
        1 | 2 => drop(file.messages.entry(name.into()).or_default()),
        3 => drop(select(file, at)?.nested.entry(name.into()).or_default()),
        4 => drop(select(file, at)?.enums.insert(name.into())),
        // Two oneofs of one message must not differ in underscores and case alone.
        5 => drop(select(file, at)?.oneofs.insert(name.to_lowercase().replace('_', ""))),
        6 if at % 2 == 0 => drop(file.enums.insert(name.into())),
        6 => drop(file.services.insert(name.into())),
        7 => {
            select(file, at)?.fields += 1;
            // A message moves to another file of its package.
            let key = file.messages.keys().nth(at % file.messages.len())?.clone();
            let message = file.messages.remove(&key)?;
            let mut others = schema.iter_mut().filter(|f| f.package == to.package);
            others.next_back()?.messages.insert(key, message);
        }
        _ => {}
    }
    Some(())
}

fn print(out: &mut String, name: &str, message: &Message) {
    *out += &format!("message {name} {{\n");
    for (name, nested) in &message.nested {
        print(out, name, nested);
    }
    for name in &message.enums {
        // Values are beside their enum.
        *out += &format!("enum {name} {{ {name}_zero = 0; {name}_one_{name} = 1; }}\n");
    }
    for (at, name) in message.oneofs.iter().enumerate() {
        *out += &format!("oneof {name} {{ string in_{name} = {}; }}\n", at + 1_000);
    }
    for field in 1..=message.fields {
        *out += &format!("int32 f{field} = {field};\n");
    }
    *out += "}\n";
}

/// A file is called by its place, so the order of files changes when one is added.
fn sources(schema: &Schema) -> Vec<Source> {
    let source = |(at, file): (usize, &File)| {
        let mut text = String::from("syntax = \"proto3\";\n");
        if !file.package.is_empty() {
            text += &format!("package {};\n", file.package);
        }
        for (name, message) in &file.messages {
            print(&mut text, name, message);
        }
        for name in &file.enums {
            text += &format!("enum {name} {{ {name}_zero = 0; {name}_last = 1; }}\n");
        }
        for name in &file.services {
            text += &format!("service {name} {{}}\n");
        }
        Source { path: format!("f{}.proto", 100 - at), text }
    };
    let mut sources: Vec<Source> = schema.iter().enumerate().map(source).collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The paths of all that the generated code has.
struct Paths<'f> {
    files: &'f [OutputFile],
    found: BTreeSet<String>,
}

impl Paths<'_> {
    fn of(files: &[OutputFile]) -> BTreeSet<String> {
        let mut paths = Paths { files, found: BTreeSet::new() };
        paths.file("mod.rs", "");
        paths.found
    }

    fn file(&mut self, path: &str, module: &str) {
        let file = self.files.iter().find(|f| f.path == path).expect("it is included");
        self.items(&syn::parse_file(&file.text).expect("it parses").items, module);
    }

    fn add(&mut self, module: &str, name: impl ToString) {
        let path = format!("{module}::{}", name.to_string());
        assert!(self.found.insert(path.clone()), "{path} is there twice");
    }

    fn items(&mut self, items: &[syn::Item], module: &str) {
        for item in items {
            match item {
                syn::Item::Struct(x) => {
                    self.add(module, &x.ident);
                    for name in x.fields.iter().filter_map(|field| field.ident.as_ref()) {
                        self.add(&format!("{module}::{}", x.ident), name);
                    }
                }
                syn::Item::Enum(x) => {
                    self.add(module, &x.ident);
                    for variant in &x.variants {
                        self.add(&format!("{module}::{}", x.ident), &variant.ident);
                    }
                }
                syn::Item::Trait(x) => self.add(module, &x.ident),
                syn::Item::Const(x) => self.add(module, &x.ident),
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
                self.add(&format!("{module}::{of}"), &x.ident);
            }
        }
    }

    fn module(&mut self, x: &syn::ItemMod, module: &str) {
        let at_root = x.ident == "root_items";
        if !at_root {
            self.add(module, &x.ident);
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
            "writer" => self.add(module, &names(&text)[0]),
            "reader" => {
                let head = text.split_once(" : ").or(text.split_once(": ")).expect("names").1;
                names(head)[..3].iter().for_each(|name| self.add(module, name));
            }
            _ => {}
        }
    }
}

/// The paths of the code for a schema; none if the schema is invalid.
fn paths(schema: &Schema) -> Option<BTreeSet<String>> {
    let config = Config { sources: sources(schema), api_kinds: ApiKinds::ALL, ..Config::default() };
    match generate(&config) {
        Ok(files) => Some(Paths::of(&files)),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains("would both be") && !text.contains("does not parse"), "{text}");
            None
        }
    }
}

#[test]
fn no_edit_takes_a_name() {
    let edits = prop::collection::vec(any::<Edit>(), 1..60);
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..Default::default() };
    let done = std::cell::Cell::new(0);
    let outcome = TestRunner::new(config).run(&edits, |edits| {
        let mut schema = Schema::new();
        let mut before = BTreeSet::new();
        for edit in edits {
            let mut next = schema.clone();
            apply(&mut next, edit);
            // An edit that makes the schema invalid is not made.
            let Some(after) = paths(&next) else { continue };
            let lost: Vec<_> = before.difference(&after).collect();
            prop_assert!(lost.is_empty(), "{lost:?} of\n{:#?}", sources(&next));
            (schema, before) = (next, after);
            done.set(done.get() + 1);
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(done.get() > 300, "most edits were invalid: {} were made", done.get());
}

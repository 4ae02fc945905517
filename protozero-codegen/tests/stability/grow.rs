//! Random schemas, and random edits that a schema may get while its users go on.

use std::collections::{BTreeMap, BTreeSet};

use protozero_codegen::{ApiKinds, Config, OutputFile, Source, generate};

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
pub struct File {
    package: String,
    messages: BTreeMap<String, Message>,
    enums: BTreeSet<String>,
    services: BTreeSet<String>,
}

pub type Schema = Vec<File>;

/// A change of a schema, made of random numbers.
pub type Edit = (u8, usize, usize, usize);

/// The message that the numbers select among all of the file, or none.
fn select(file: &mut File, at: usize) -> Option<&mut Message> {
    let count = file.messages.len();
    let mut message = file.messages.values_mut().nth(at % count.max(1))?;
    if at.is_multiple_of(3) && !message.nested.is_empty() {
        message = message.nested.values_mut().next()?;
    }
    Some(message)
}

pub fn apply(schema: &mut Schema, (what, file, at, name): Edit) -> Option<()> {
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
pub fn sources(schema: &Schema) -> Vec<Source> {
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

/// The code for a schema, all of it; none if the schema is invalid.
///
/// # Panics
/// If names of the code clash, or it does not parse.
pub fn generated(schema: &Schema) -> Option<Vec<OutputFile>> {
    let config = Config { sources: sources(schema), api_kinds: ApiKinds::ALL, ..Config::default() };
    match generate(&config) {
        Ok(files) => Some(files),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains("would both be") && !text.contains("does not parse"), "{text}");
            None
        }
    }
}

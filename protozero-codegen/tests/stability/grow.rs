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

/// Names of fields that are those of methods.
pub const METHODS: &[&str] = &[
    "append",
    "append_raw",
    "append_field",
    "from_scope",
    "scope_mut",
    "bytes",
    "clone",
    "from_bytes",
    "iter",
    "into",
    "into_iter",
    "new",
    "to_owned",
    "try_into",
    "table",
    "unknown_fields",
    "encode",
    "merge",
    "self",
];

/// What a field holds.
#[derive(Clone)]
enum Kind {
    Number,
    Text,
    Bytes,
    /// A message or an enum, by its full name with a dot in front.
    Type(String),
}

/// How a field holds it.
#[derive(Clone, Copy)]
enum Shape {
    One,
    List,
    Map,
}

#[derive(Clone)]
struct Field {
    name: String,
    number: u32,
    shape: Shape,
    kind: Kind,
}

#[derive(Clone, Default)]
struct Message {
    nested: BTreeMap<String, Message>,
    /// With the number of their values.
    enums: BTreeMap<String, u32>,
    /// With their members.
    oneofs: BTreeMap<String, Vec<Field>>,
    fields: Vec<Field>,
    /// The number of the last field.
    last: u32,
}

#[derive(Clone, Default)]
pub struct File {
    package: String,
    messages: BTreeMap<String, Message>,
    enums: BTreeMap<String, u32>,
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

impl Message {
    fn next(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    fn add(&mut self, shape: Shape, kind: Kind, random: usize) {
        let number = self.next();
        let name = field_name(&self.fields, number, random);
        self.fields.push(Field { name, number, shape, kind });
    }
}

/// The name of a field: one of its own, that of a setter which a field beside it may have, or that of a method.
fn field_name(beside: &[Field], number: u32, random: usize) -> String {
    let end = match random / 16 % 8 {
        0 | 1 => "_raw",
        2 | 4 => "_gather",
        3 => return METHODS[random / 128 % METHODS.len()].to_owned(),
        _ => "",
    };
    match beside.get(random / 128 % beside.len().max(1)) {
        Some(field) if !end.is_empty() => format!("{}{end}", field.name),
        _ => format!("f{number}"),
    }
}

/// Full names of the messages and of the enums in `file`, with a dot in front.
fn types(file: &File) -> (Vec<String>, Vec<String>) {
    fn inside(scope: &str, message: &Message, messages: &mut Vec<String>, enums: &mut Vec<String>) {
        messages.push(scope.to_owned());
        enums.extend(message.enums.keys().map(|name| format!("{scope}.{name}")));
        for (name, nested) in &message.nested {
            inside(&format!("{scope}.{name}"), nested, messages, enums);
        }
    }
    let dot = if file.package.is_empty() { "" } else { "." };
    let scope = format!("{dot}{}", file.package);
    let mut messages = Vec::new();
    let mut enums: Vec<_> = file.enums.keys().map(|name| format!("{scope}.{name}")).collect();
    for (name, message) in &file.messages {
        inside(&format!("{scope}.{name}"), message, &mut messages, &mut enums);
    }
    (messages, enums)
}

/// The type that the number selects.
fn choose(all: &[String], at: usize) -> Option<Kind> {
    all.get(at % all.len().max(1)).cloned().map(Kind::Type)
}

pub fn apply(schema: &mut Schema, (what, file, at, random): Edit) -> Option<()> {
    let what = what % 14;
    let name = NAMES[random % NAMES.len()];
    if what == 0 || schema.is_empty() {
        let package = PACKAGES[at % PACKAGES.len()].to_owned();
        schema.push(File { package, ..File::default() });
    }
    let (mut messages, mut enums) = (Vec::new(), Vec::new());
    for (of, found) in schema.iter().map(types).enumerate() {
        // Half of the fields have a type of their own file, so that cycles occur.
        if of == file % schema.len() || random % 2 == 0 {
            messages.extend(found.0);
            enums.extend(found.1);
        }
    }
    let shape = [Shape::One, Shape::One, Shape::List, Shape::Map][random / 2 % 4];
    let count = schema.len();
    let to = schema[file % count].clone();
    let file = &mut schema[file % count];
    match what {
        1 | 2 => drop(file.messages.entry(name.into()).or_default()),
        3 => drop(select(file, at)?.nested.entry(name.into()).or_default()),
        4 => drop(select(file, at)?.enums.entry(name.into()).or_default()),
        5 => {
            let message = select(file, at)?;
            let number = message.next();
            let member = field_name(&message.fields, number, random);
            let member = Field { name: member, number, shape: Shape::One, kind: Kind::Text };
            // Two oneofs of one message must not differ in underscores and case alone.
            let name = name.to_lowercase().replace('_', "");
            message.oneofs.entry(name).or_default().push(member);
        }
        6 if at % 2 == 0 => drop(file.enums.entry(name.into()).or_default()),
        6 => drop(file.services.insert(name.into())),
        7 => {
            let kind = if random % 2 == 0 { Kind::Number } else { Kind::Bytes };
            select(file, at)?.add(Shape::One, kind, random);
            // A message moves to another file of its package.
            let key = file.messages.keys().nth(at % file.messages.len())?.clone();
            let message = file.messages.remove(&key)?;
            let mut others = schema.iter_mut().filter(|f| f.package == to.package);
            others.next_back()?.messages.insert(key, message);
        }
        8 | 9 => select(file, at)?.add(Shape::One, choose(&messages, random / 8)?, random),
        10 => select(file, at)?.add(shape, choose(&messages, random / 8)?, random),
        11 => select(file, at)?.add(shape, choose(&enums, random / 8)?, random),
        12 => {
            let message = select(file, at)?;
            let number = message.next();
            let kind = match random % 4 {
                0 => Kind::Number,
                3 => Kind::Bytes,
                1 => choose(&enums, random / 8)?,
                _ => choose(&messages, random / 8)?,
            };
            let name = field_name(&message.fields, number, random);
            let oneofs = message.oneofs.len().max(1);
            let oneof = message.oneofs.values_mut().nth(random / 8 % oneofs)?;
            oneof.push(Field { name, number, shape: Shape::One, kind });
        }
        13 if at % 2 == 0 => *file.enums.values_mut().next()? += 1,
        13 => *select(file, at)?.enums.values_mut().next()? += 1,
        _ => {}
    }
    Some(())
}

fn print_field(out: &mut String, field: &Field) {
    let ty = match &field.kind {
        Kind::Number => "int32",
        Kind::Text => "string",
        Kind::Bytes => "bytes",
        Kind::Type(full) => full,
    };
    let ty = match field.shape {
        Shape::One => ty.to_owned(),
        Shape::List => format!("repeated {ty}"),
        Shape::Map => format!("map<string, {ty}>"),
    };
    *out += &format!("{ty} {} = {};\n", field.name, field.number);
}

/// The values that an enum has gained.
fn print_values(name: &str, count: u32) -> String {
    (2..count + 2).map(|number| format!("{name}_more{number} = {number}; ")).collect()
}

fn print(out: &mut String, name: &str, message: &Message) {
    *out += &format!("message {name} {{\n");
    for (name, nested) in &message.nested {
        print(out, name, nested);
    }
    for (name, count) in &message.enums {
        let more = print_values(name, *count);
        // Values are beside their enum.
        *out += &format!("enum {name} {{ {name}_zero = 0; {name}_one_{name} = 1; {more}}}\n");
    }
    for (name, members) in &message.oneofs {
        *out += &format!("oneof {name} {{\n");
        members.iter().for_each(|member| print_field(out, member));
        *out += "}\n";
    }
    message.fields.iter().for_each(|field| print_field(out, field));
    *out += "}\n";
}

/// The types that a message and those inside it use.
fn uses(message: &Message) -> BTreeSet<&String> {
    let members = message.oneofs.values().flatten();
    let kinds = message.fields.iter().chain(members).map(|field| &field.kind);
    let own = kinds.filter_map(|kind| match kind {
        Kind::Type(full) => Some(full),
        _ => None,
    });
    own.chain(message.nested.values().flat_map(uses)).collect()
}

/// The path of a file. It has the place of the file, so the order of files changes when one is added.
fn path(at: usize) -> String {
    format!("f{}.proto", 100 - at)
}

pub fn sources(schema: &Schema) -> Vec<Source> {
    let mut places = BTreeMap::new();
    for (at, file) in schema.iter().enumerate() {
        let (messages, enums) = types(file);
        places.extend(messages.into_iter().chain(enums).map(|full| (full, at)));
    }
    let source = |(at, file): (usize, &File)| {
        let mut text = String::from("syntax = \"proto3\";\n");
        if !file.package.is_empty() {
            text += &format!("package {};\n", file.package);
        }
        let used = file.messages.values().flat_map(uses).filter_map(|full| places.get(full));
        let others: BTreeSet<_> = used.filter(|place| **place != at).collect();
        for place in others {
            text += &format!("import \"{}\";\n", path(*place));
        }
        for (name, message) in &file.messages {
            print(&mut text, name, message);
        }
        for (name, count) in &file.enums {
            let more = print_values(name, *count);
            text += &format!("enum {name} {{ {name}_zero = 0; {name}_last = 1; {more}}}\n");
        }
        for name in &file.services {
            text += &format!("service {name} {{}}\n");
        }
        Source { path: path(at), text }
    };
    let mut sources: Vec<Source> = schema.iter().enumerate().map(source).collect();
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

/// The code for a schema, all of it, with all messages in boxes or only those that must be; none if the schema is
/// invalid.
///
/// # Panics
/// If names of the code clash, or it does not parse.
pub fn generated(schema: &Schema, is_boxed: bool) -> Option<Vec<OutputFile>> {
    let boxed = if is_boxed { vec![".".into()] } else { Vec::new() };
    let (sources, api_kinds) = (sources(schema), ApiKinds::ALL);
    match generate(&Config { sources, api_kinds, boxed, ..Config::default() }) {
        Ok(files) => Some(files),
        Err(error) => {
            let text = error.to_string();
            assert!(!text.contains("would both be") && !text.contains("does not parse"), "{text}");
            None
        }
    }
}

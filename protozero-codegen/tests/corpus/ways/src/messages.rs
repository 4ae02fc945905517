//! The messages of a schema and the paths of their structs, by the rule of names for plain names.

use std::path::Path;

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorSet};

/// Keywords that are names of packages.
const KEYWORDS: &[&str] = &[
    "as", "async", "const", "dyn", "enum", "extern", "for", "if", "impl", "in", "loop", "match",
    "mod", "move", "priv", "pub", "ref", "static", "struct", "trait", "try", "type", "use",
    "where",
];
/// Names that generated code needs itself.
const TAKEN: &[&str] = &[
    "Arc",
    "Box",
    "Clone",
    "Debug",
    "Default",
    "Err",
    "Error",
    "Iterator",
    "None",
    "Ok",
    "Option",
    "PartialEq",
    "Result",
    "Some",
    "String",
    "Vec",
];
/// Ends of names that are derived from those of messages.
const ENDS: &[&str] = &["Writer", "Reader", "ReaderField", "ReaderTable", "Borrowed", "Oneof"];

/// Full name and path of each message in the descriptors at `set`, except those of `google.protobuf` and those whose
/// names the rule changes.
///
/// # Errors
/// They cannot be read.
pub fn messages(set: &Path) -> Result<Vec<(String, String)>, Box<dyn std::error::Error>> {
    let set = FileDescriptorSet::decode(std::fs::read(set)?.as_slice())?;
    let mut found = Vec::new();
    for file in set.file.iter().filter(|f| f.package() != "google.protobuf") {
        let raw =
            |part: &str| if KEYWORDS.contains(&part) { format!("r#{part}") } else { part.into() };
        let modules: Vec<String> = file.package().split('.').map(raw).collect();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if modules.iter().any(|m| m.ends_with('_') || !m.replace("r#", "").chars().all(plain)) {
            continue;
        }
        for message in &file.message_type {
            collect(message, file.package(), &modules.join("::"), "", &mut found);
        }
    }
    Ok(found)
}

fn collect(
    message: &DescriptorProto,
    scope: &str,
    modules: &str,
    outer: &str,
    found: &mut Vec<(String, String)>,
) {
    let name = message.name();
    let plain = name.starts_with(|c: char| c.is_ascii_uppercase())
        && !name.contains('_')
        && !ENDS.iter().any(|end| name.ends_with(end))
        && !TAKEN.contains(&name);
    if !plain || message.options.as_ref().is_some_and(|options| options.map_entry()) {
        return;
    }
    let rust = if outer.is_empty() { name.to_owned() } else { format!("{outer}_{name}") };
    let full = format!("{scope}.{name}");
    found.push((full.clone(), format!("{modules}::{rust}")));
    for inner in &message.nested_type {
        collect(inner, &full, modules, &rust, found);
    }
}

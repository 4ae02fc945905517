//! The names of types and modules that follow from a full name alone, and those of setters, methods of readers and
//! fields of structs, which follow from the name of a field.
//!
//! Two declarations of a schema have two names: each function here can be undone, and no result of one is a result of
//! another. So a declaration cannot change or take the name of another one. The schema language does its part: in one
//! scope, a package, a message, an enum, a service and an extension never have the same name.
//!
//! - An underscore of a type's name is doubled, so that a single one says "nested in". One that starts the name of a
//!   nested type would touch that single one; it becomes a zero, and no other name starts with a digit.
//! - A type whose name ends as a derived name does gets an underscore.
//! - Modules of packages are in lower case and have single underscores. So a type in lower case that has underscores
//!   gets another one: their number at its end is odd, and even at the end of a package's.
//! - A name that generated code needs itself gets an underscore. So does an enum with the name of a variable in there.
//! - A field whose name ends as that of a derived setter does (`_raw`, `_gather`) has a setter with an underscore.
//! - A field with the name of what every struct, writer or reader has gets an underscore, and so does one that has this
//!   name and underscores behind it.

use super::ident::{NEVER_RAW, camel};

/// The module of types that have no package, or a flat one. The root re-exports it.
pub(crate) const ROOT_ITEMS: &str = "root_items";

/// Names that generated code uses without a path; a declaration of such a name would shadow them.
const RESERVED: &[&str] = &[
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
    "Self",
    "Some",
    "String",
    "Vec",
    "bool",
    "crate",
    "d",
    "f32",
    "f64",
    "i32",
    "i64",
    "protozero",
    ROOT_ITEMS,
    "rt",
    "self",
    "str",
    "super",
    "u32",
    "u64",
    "u8",
];

/// Variables in generated code and in the macros that it calls, and a function that it calls. The constructor of an
/// enum's struct would be taken for them.
const VARIABLES: &[&str] = &[
    "body",
    "bytes",
    "context",
    "drop",
    "entry",
    "f",
    "field",
    "fields",
    "first",
    "key",
    "message",
    "name",
    "new",
    "number",
    "old",
    "out",
    "parts",
    "s",
    "slot",
    "tag",
    "text",
    "understood",
    "value",
    "values",
];

pub(super) const WRITER: &str = "Writer";
pub(super) const READER: &str = "Reader";
pub(super) const FIELD: &str = "ReaderField";
pub(super) const TABLE: &str = "ReaderTable";
pub(super) const VIEW: &str = "Borrowed";
const ONEOF: &str = "Oneof";

/// Methods that every writer has, besides `append_raw`. `into` and `try_into` take `self`: a call finds them
/// before a setter.
const OF_WRITERS: &[&str] = &["append_field", "from_scope", "into", "scope_mut", "try_into"];
/// The field whose derived setter would be `append_raw`, which every writer has.
const APPEND: &str = "append";
const RAW: &str = "_raw";
const GATHER: &str = "_gather";

/// The name of a message or a service, by its names from the package to itself.
pub(super) fn declared(parts: &[String]) -> String {
    let mut name = base(parts);
    let last = parts.last().map_or("", String::as_str);
    let derived = [WRITER, READER, FIELD, TABLE, VIEW, ONEOF];
    let derived = derived.iter().any(|end| last.len() > end.len() && last.ends_with(end));
    let like_package = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.contains('_');
    if derived || like_package {
        name.push('_');
    }
    free(name)
}

/// The name of an enum, which is also that of a constructor.
pub(super) fn enumeration(parts: &[String]) -> String {
    let mut name = declared(parts);
    // Only a name without underscores can be one of these: no other type or package has it with one behind it.
    if VARIABLES.contains(&name.as_str()) {
        name.push('_');
    }
    name
}

/// What the names derived from a message start with.
pub(super) fn base(parts: &[String]) -> String {
    let mut out = String::new();
    for part in parts {
        let rest = if out.is_empty() { part } else { part.trim_start_matches('_') };
        if !out.is_empty() {
            out.push('_');
            out.extend((rest.len()..part.len()).map(|_| '0'));
        }
        out.push_str(&rest.replace('_', "__"));
    }
    out
}

/// The name of the enum of a oneof. Those of two oneofs in one message may be equal if only case and underscores tell
/// the oneofs from each other.
pub(super) fn oneof(parts: &[String], name: &str) -> String {
    let name = camel(name);
    let rest = name.trim_start_matches('_');
    let zeros = "0".repeat(name.len() - rest.len());
    format!("{}_{zeros}{rest}{ONEOF}", base(parts))
}

/// The module of a package: one part of the package's name.
pub(super) fn module(part: &str) -> String {
    let lower = part.starts_with(|c: char| c.is_ascii_lowercase());
    if !lower || part.contains(|c: char| c.is_ascii_uppercase()) {
        return declared(&[part.to_owned()]);
    }
    let at_end = part.len() - part.trim_end_matches('_').len();
    free(format!("{part}{}", "_".repeat(at_end)))
}

/// A field or a oneof among members whose names are `reserved`. Keywords that cannot be a name are, too. No other field
/// of the message has this name.
pub(crate) fn member(mut field: String, reserved: &[&str]) -> String {
    let bare = field.trim_end_matches('_');
    if bare.is_empty() || NEVER_RAW.contains(&bare) || reserved.contains(&bare) {
        field.push('_');
    }
    field
}

/// The setter of a field. None has a name that another one derives, whatever is in the message.
pub(crate) fn setter(mut field: String) -> String {
    let bare = field.trim_end_matches('_');
    let derived = [RAW, GATHER].iter().any(|end| bare.len() > end.len() && bare.ends_with(end));
    if derived || OF_WRITERS.contains(&bare) {
        field.push('_');
    }
    field
}

/// The setter of an encoded message, besides the setter `plain`.
pub(crate) fn setter_raw(plain: &str) -> String {
    let mark = if plain.trim_end_matches('_') == APPEND { "_" } else { "" };
    format!("{plain}{mark}{RAW}")
}

/// The setter of bytes in several slices, besides the setter `plain`.
pub(crate) fn setter_gather(plain: &str) -> String {
    format!("{plain}{GATHER}")
}

/// Whether generated code needs that name itself.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

fn free(mut name: String) -> String {
    if RESERVED.contains(&name.trim_end_matches('_')) {
        name.push('_');
    }
    name
}

#[cfg(test)]
mod tests;

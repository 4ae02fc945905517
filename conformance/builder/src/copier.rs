//! Generates code that reads a message with its generated reader and writes each field with its generated writer.
//!
//! A program that filters or redacts has such code. It cannot be generic, so it is made from the generated files: the
//! lines of `rt::reader!` name variants, setters and kinds, and those of `rt::writer!`, or the signature of a map's
//! setter, tell the arguments.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// `pub fn copy_X(from: XReader, to: &mut XWriter)` for each message `X` in the generated `files`,
/// for a module beside them.
pub fn copiers(files: &[String]) -> String {
    let mut out = String::from("use super::*;\nuse protozero::ReadError;\nuse protozero::rt;\n\n");
    for file in files {
        let text = without_comments(file);
        let setters = setters(&text);
        for reader in blocks(&text, "rt::reader! {") {
            copier(&text, reader, &setters, &mut out);
        }
    }
    out
}

fn copier(text: &str, reader: &str, setters: &Setters, out: &mut String) {
    let Some((head, body)) = reader.split_once(';') else { return };
    let mut names = head.split([':', ',']).skip(1).map(str::trim);
    let (Some(name), Some(fields)) = (names.next(), names.next()) else { return };
    let message = name.trim_end_matches("Reader");
    // Map entries are read like messages, but written by the setter of the map.
    if !text.contains(&format!("rt::writer! {{ {message}Writer,")) {
        return;
    }
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "pub fn copy_{message}(from: {message}Reader<'_>, to: &mut {message}Writer<'_>) \
         -> Result<(), ReadError> {{\n    for field in from {{\n        match field? {{"
    );
    for line in body.split([';', '{', '}']) {
        // `Variant(Type) setter = tag as Kind`, and names of sections between them.
        let Some((left, _)) = line.split_once('=') else { continue };
        let Some((variant, left)) = left.split_once('(') else { continue };
        let Some((of, setter)) = left.rsplit_once(')') else { continue };
        let variant = variant.trim().rsplit([']', ' ', '\n']).next().unwrap_or_default();
        // A type of another file has its whole path. All functions are in one module.
        let of = of.trim().rsplit("::").next().unwrap_or_default().trim_end_matches("<'a>");
        let nested = of.strip_suffix("Reader").unwrap_or_default();
        let entry = fields_of(text, of).unwrap_or_default();
        // A reader has methods that a writer lacks; a field with such a name gets an underscore in the reader.
        let setter = setter.trim();
        let takes = |setter: &str| setters.get(&(message.to_owned(), setter.to_owned())).cloned();
        let setter = if takes(setter).is_some() { setter } else { setter.trim_end_matches('_') };
        let copy = match takes(setter) {
            Some(Takes::Value) => format!("drop(to.{setter}(v))"),
            Some(Takes::Nothing) => format!("copy_{nested}(v, &mut to.{setter}())?"),
            // Packed runs of one element: a reader must accept them like long ones.
            Some(Takes::Run) => format!("drop(to.{setter}([v]))"),
            Some(Takes::Entry) => format!(
                "drop(to.{setter}(v.key()?.unwrap_or_default(), v.value()?.unwrap_or_default()))"
            ),
            Some(Takes::EntryOf(value)) => format!(
                "{{\n                let mut done = Ok(());\n                \
                 to.{setter}(v.key()?.unwrap_or_default(), |to| for field in v {{\n                    \
                 done = done.and(match field {{\n                        \
                 Ok({entry}::Value(v)) => copy_{value}(v, to),\n                        \
                 Ok(_) => Ok(()),\n                        Err(error) => Err(error),\n                    \
                 }});\n                }});\n                done?;\n            }}"
            ),
            None => format!("compile_error!(\"no setter {setter} in {message}\")"),
        };
        let _ = writeln!(out, "            {fields}::{variant}(v) => {copy},");
    }
    let _ = writeln!(
        out,
        "            {fields}::Unknown(f) => rt::raw(rt::Writer::scope_mut(to), f.raw),\n        \
         }}\n    }}\n    Ok(())\n}}\n"
    );
}

/// The name of the enum with the fields that `reader` reads.
fn fields_of<'t>(text: &'t str, reader: &str) -> Option<&'t str> {
    let (_, names) = text.split_once(&format!(": {reader},"))?;
    names.split(',').next().map(str::trim)
}

/// Arguments of setters, by message and name.
type Setters = BTreeMap<(String, String), Takes>;

/// The argument of a setter.
#[derive(Clone)]
enum Takes {
    Value,
    /// The setter opens a message.
    Nothing,
    /// A packed run of values.
    Run,
    /// The key and the value of a map.
    Entry,
    /// The key, and a function that gets the writer of the value, which is this message.
    EntryOf(String),
}

fn setters(text: &str) -> Setters {
    let mut found = Setters::new();
    for writer in blocks(text, "rt::writer! {") {
        let mut lines = writer.split(';');
        let head = lines.next().and_then(|head| head.split(',').next()).unwrap_or_default();
        let message = head.trim().trim_end_matches("Writer");
        for line in lines {
            // `shape setter(Type) = number ...`; some shapes have no type.
            let left = line.split(['(', '=']).next().unwrap_or_default();
            let Some((shape, setter)) = left.trim().rsplit_once(' ') else { continue };
            let takes = match shape {
                "message" | "group" => Takes::Nothing,
                "packed" | "packed_enum" => Takes::Run,
                _ => Takes::Value,
            };
            found.insert((message.to_owned(), setter.to_owned()), takes);
        }
    }
    for (at, _) in text.match_indices("Writer<'_> {") {
        let message = text[..at].rsplit(' ').next().unwrap_or_default();
        let Some(body) = blocks(&text[at..], "{").into_iter().next() else { continue };
        for function in body.split("pub fn ").skip(1) {
            let Some((name, rest)) = function.split_once('(') else { continue };
            let signature = rest.split('{').next().unwrap_or_default();
            let takes = if let Some((_, value)) = signature.split_once("FnOnce(") {
                let value = value.trim_start().trim_start_matches("&mut ");
                let value = value.split("Writer").next().unwrap_or_default();
                Takes::EntryOf(value.rsplit("::").next().unwrap_or_default().to_owned())
            } else if signature.contains("key: ") {
                Takes::Entry
            } else {
                // `NAME_raw` of a map.
                continue;
            };
            found.insert((message.to_owned(), name.to_owned()), takes);
        }
    }
    found
}

/// The text in braces after each `start`, which ends with the opening brace.
fn blocks<'t>(text: &'t str, start: &str) -> Vec<&'t str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(start) {
        let body = &text[at + start.len()..];
        let mut depth = 1;
        let end = body.find(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            depth == 0
        });
        found.extend(end.map(|end| &body[..end]));
    }
    found
}

pub fn without_comments(text: &str) -> String {
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.fold(String::new(), |all, line| all + line + "\n")
}

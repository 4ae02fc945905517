//! Readers: a table with a line per field, which `rt::reader!` expands to the reader and the enum of its fields.

use std::fmt::Write as _;

use proc_macro2::TokenStream;

use super::context::{Context, first_sentence, spaceless};
use crate::model::{Field, Kind, Label, MessageId};
use crate::names::{Taken, raw, variants};

const PACKED: u32 = 2;
const BEGIN_GROUP: u32 = 3;

/// Methods of every reader and table, and of traits that every reader has.
const OF_READERS: &[&str] = &[
    "clone",
    "new",
    "bytes",
    "iter",
    "into_iter",
    "from_bytes",
    "table",
    "unknown_fields",
    "into",
    "try_into",
    "to_owned",
];

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    let names = cx.names.message(id);
    let variants =
        variants(message, &["Unknown"], cx.config.prost_names, |_| true).into_iter().flatten();
    let mut taken = Taken::new(OF_READERS);
    let method = |f: &Field| raw(&taken.take(cx.member_name(&f.name, OF_READERS)));
    let methods: Vec<_> = message.fields.iter().map(method).collect();
    let lines: Vec<_> = message
        .fields
        .iter()
        .zip(variants)
        .zip(&methods)
        .map(|((f, variant), method)| {
            let tag = f.number << 3 | if f.delimited { BEGIN_GROUP } else { f.kind.wire_type() };
            let run = match f.label {
                Label::Repeated if f.kind.packable() => {
                    format!(" | {}", f.number << 3 | PACKED)
                }
                _ => String::new(),
            };
            let (ty, kind) = (borrowed(cx, f), kind(f));
            (f, format!("{variant}({ty}) {method} = {tag}{run} as {kind};"))
        })
        .collect();
    let full = message.path.full();
    // Writing to a string cannot fail.
    let mut out = String::new();
    if let Some(feature) = &cx.config.reader_feature {
        let _ = writeln!(out, "#[cfg(feature = \"{feature}\")]");
    }
    let _ = writeln!(
        out,
        "rt::reader! {{\n    \"{full}\": {}, {}, {};",
        names.reader, names.field, names.table
    );
    let repeated = |f: &Field| f.label == Label::Repeated;
    section(cx, &mut out, "one", &lines, |f| !repeated(f) && f.oneof.is_none());
    section(cx, &mut out, "many", &lines, repeated);
    for (at, oneof) in message.oneofs.iter().enumerate() {
        let head = format!("oneof {}", raw(&taken.take(cx.member_name(&oneof.name, OF_READERS))));
        section(cx, &mut out, &head, &lines, |f| f.oneof == Some(at));
    }
    out.push('}');
    cx.verbatim(out)
}

/// The lines of the fields that `keep` selects, if there are any.
fn section(
    cx: &Context<'_>,
    out: &mut String,
    head: &str,
    lines: &[(&Field, String)],
    keep: impl Fn(&Field) -> bool,
) {
    let mut lines = lines.iter().filter(|(f, _)| keep(f)).peekable();
    if lines.peek().is_none() {
        return;
    }
    // Writing to a string cannot fail.
    let _ = writeln!(out, "    {head} {{");
    for (f, line) in lines {
        cx.row(out, "        ", first_sentence(&f.comment), cx.gate_feature(f), line);
    }
    out.push_str("    }\n");
}

/// The type in `protozero::rt::kind`.
fn kind(f: &Field) -> &'static str {
    match f.kind {
        Kind::Int32 => "Int32",
        Kind::Int64 => "Int64",
        Kind::Uint32 => "Uint32",
        Kind::Uint64 => "Uint64",
        Kind::Sint32 => "Sint32",
        Kind::Sint64 => "Sint64",
        Kind::Fixed32 => "Fixed32",
        Kind::Fixed64 => "Fixed64",
        Kind::Sfixed32 => "Sfixed32",
        Kind::Sfixed64 => "Sfixed64",
        Kind::Float => "Float",
        Kind::Double => "Double",
        Kind::Bool => "Bool",
        Kind::String => "String",
        Kind::Bytes => "Bytes",
        Kind::Enum(_) => "Enumeration",
        Kind::Message(_) if f.delimited => "Group",
        Kind::Message(_) => "Message",
    }
}

fn borrowed(cx: &Context<'_>, f: &Field) -> String {
    let tokens = match f.kind {
        Kind::String if cx.config.lazy_utf8 => return "rt::Text<'a>".into(),
        Kind::String => return "&'a str".into(),
        Kind::Bytes => return "&'a [u8]".into(),
        Kind::Message(id) => return format!("{}<'a>", spaceless(cx.reader(id))),
        kind => cx.scalar(kind),
    };
    spaceless(tokens)
}

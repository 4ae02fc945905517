//! What a message knows of itself: its name, and with descriptors its fields.

use std::fmt::Write as _;

use proc_macro2::TokenStream;
use quote::quote;

use super::context::{Context, ident, spaceless};
use crate::model::{Default, Field, Kind, Label, MessageId};
use crate::names::{camel, json};

/// The name alone.
pub(super) fn name(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    let described = cx.config.api_kinds.descriptor;
    // With a descriptor that is always there, the name is a part of it.
    if message.map_entry || described && cx.config.text_feature.is_none() {
        return TokenStream::new();
    }
    let feature = cx.config.text_feature.as_deref().filter(|_| described);
    let gate = feature.map(|feature| quote! { #[cfg(not(feature = #feature))] });
    let (name, full) = (ident(&cx.names.message(id).owned), message.path.full());
    quote! { #gate rt::named!(#name, #full); }
}

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    // The descriptor of a map field contains the types of its entries.
    if message.map_entry {
        return TokenStream::new();
    }
    let (name, full) = (&cx.names.message(id).owned, message.path.full());
    let mut out = String::new();
    if let Some(feature) = &cx.config.text_feature {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "#[cfg(feature = \"{feature}\")]");
    }
    let _ = write!(out, "d::describe! {{ {name}, d::message({full:?}, &[");
    let rows = message.fields.iter().map(|f| {
        let held = cx.schema.map_entry(f).map_or(f, |(_, value)| value);
        let oneof = f.oneof.map(|oneof| format!(".of({:?})", message.oneofs[oneof].name));
        (cx.gate_feature(held), field(cx, f, &f.name) + &oneof.unwrap_or_default())
    });
    list(cx, &mut out, rows);
    let extensions: Vec<_> = extensions(cx, id).collect();
    if !extensions.is_empty() {
        out.push_str(".extended(&[");
        list(cx, &mut out, extensions.into_iter());
    }
    if !message.reserved_names.is_empty() {
        let names: Vec<_> = message.reserved_names.iter().map(|n| format!("{n:?}")).collect();
        let _ = write!(out, ".reserved(&[{}])", names.join(", "));
    }
    out.push_str(if message.message_set { ".message_set() }" } else { " }" });
    cx.verbatim(out)
}

/// Appends one line for each row, and the end of the list.
fn list<'r>(
    cx: &Context<'_>,
    out: &mut String,
    rows: impl Iterator<Item = (Option<&'r str>, String)>,
) {
    for (at, (feature, row)) in rows.enumerate() {
        if at == 0 {
            out.push('\n');
        }
        cx.row(out, "    ", None, feature, &(row + ","));
    }
    out.push_str("])");
}

/// Extensions of the message, wherever they are declared.
fn extensions<'c>(
    cx: &'c Context<'_>,
    id: MessageId,
) -> impl Iterator<Item = (Option<&'c str>, String)> + 'c {
    let files = cx.schema.files.iter().filter(|file| file.emitted);
    let nested = |id: &MessageId| cx.schema.messages[id.0].extensions.iter();
    files
        .flat_map(move |file| file.extensions.iter().chain(file.messages.iter().flat_map(nested)))
        .filter(move |extension| extension.extendee == id)
        .map(move |extension| {
            let row = field(cx, &extension.field, &extension.path.full());
            (cx.gate_feature(&extension.field), row)
        })
}

/// The call that makes the descriptor of a field.
fn field(cx: &Context<'_>, f: &Field, name: &str) -> String {
    let number = f.number;
    let is_other = !f.json_name.is_empty() && f.json_name != json(&f.name);
    let json = if is_other { format!(".json({:?})", f.json_name) } else { String::new() };
    if let Some((key, value)) = cx.schema.map_entry(f) {
        let utf8 = if key.utf8 || value.utf8 { ".utf8()" } else { "" };
        let (key, value) = (kind(cx, key.kind), kind(cx, value.kind));
        return format!("d::map({name:?}, {number}, &[{key}, {value}]){utf8}{json}");
    }
    let presence = match f.label {
        Label::Implicit => ".implicit()",
        Label::Required => ".required()",
        Label::Optional | Label::Repeated => "",
    };
    let label = match f.label {
        Label::Repeated if f.packed => "packed",
        Label::Repeated => "repeated",
        _ => "optional",
    };
    let kind = kind(cx, f.kind);
    let delimited = if f.delimited { ".delimited()" } else { "" };
    let utf8 = if f.utf8 { ".utf8()" } else { "" };
    let default =
        f.default.as_ref().map(|default| format!(".default({:?})", text(f.kind, default)));
    let default = default.unwrap_or_default();
    format!("d::{label}({name:?}, {number}, {kind}){presence}{delimited}{utf8}{json}{default}")
}

/// A default as a descriptor has it.
fn text(kind: Kind, default: &Default) -> String {
    match default {
        Default::Int(number) => number.to_string(),
        // Not through more digits than a float has.
        Default::Float(number) if kind == Kind::Float => format!("{:?}", *number as f32),
        Default::Float(number) => format!("{number:?}"),
        Default::Bool(yes) => yes.to_string(),
        Default::Text(text) | Default::Enum(text) => text.clone(),
        Default::Bytes(bytes) => bytes.escape_ascii().to_string(),
    }
}

fn kind(cx: &Context<'_>, kind: Kind) -> String {
    match kind {
        Kind::Message(id) => format!("d::of!({})", spaceless(cx.owned(id))),
        Kind::Enum(id) => format!("d::enum_kind::<{}>()", spaceless(cx.enumeration(id))),
        kind => format!("d::Kind::{}", camel(kind.keyword())),
    }
}

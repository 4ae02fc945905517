//! Owned structs and oneof enums: plain Rust types, and a table with a line per field that `rt::owned!` expands. They
//! encode and decode as `#[derive(Message)]` does, without building the derive's parser.

use core::cmp::Reverse;

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt as _;

use super::context::{Context, docs, docs_or, ident, spaceless};
use super::{accessors, defaults, extension};
use crate::model::{Field, Kind, Label, Message, MessageId};
use crate::names::{Taken, camel, raw, variants};

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    if message.map_entry {
        // A map entry has no struct: the map is a field of the message that contains it.
        return TokenStream::new();
    }
    let (names, full) = (cx.names.message(id), message.path.full());
    let name = ident(&names.owned);
    let (doc, attributes) = (doc(cx, message, &full), cx.message_attributes(&full));
    let drops = cx.drops_unknown(message);
    let reserved: &[&str] = if drops { &[] } else { &["unknown_fields"] };
    let mut taken = Taken::new(reserved);
    let mut done = vec![false; message.oneofs.len()];
    // prost's oneofs are behind all other members; the order shows in JSON of serde.
    let (mut fields, mut last) = (TokenStream::new(), TokenStream::new());
    let (mut lines, mut held) = (Vec::new(), Vec::new());
    for f in &message.fields {
        match f.oneof {
            None => {
                let name = raw(&taken.take(cx.member_name(&f.name, reserved)));
                fields.extend(field(cx, message, f, &name));
                held.push((f, name.clone()));
                lines.push((f.number, line(cx, message, f, &name)));
            }
            Some(at) if !core::mem::replace(&mut done[at], true) => {
                let oneof = &message.oneofs[at];
                let name = raw(&taken.take(cx.member_name(&oneof.name, reserved)));
                let ty = ident(&names.oneofs[at]);
                lines.extend(oneof_lines(message, at, &name));
                let doc = docs_or(&oneof.comment, false, "At most one of these.");
                let attributes = cx.field_attributes(&format!("{full}.{}", oneof.name));
                let member = quote! { #doc #attributes pub #name: Option<#ty>, };
                if cx.config.prost_names { &mut last } else { &mut fields }.extend(member);
            }
            Some(_) => {}
        }
    }
    let oneofs = (0..message.oneofs.len()).map(|at| oneof(cx, message, at, &names.oneofs[at]));
    let getters = defaults::getters(cx, &held, &quote! { #name });
    let accessors = accessors::emit(cx, &held, &name);
    let methods = [getters, accessors, extension::nested(cx, message, &name)];
    let more = more_traits(cx, message, &name);
    // Fields are encoded in the order of their numbers, from the last to the first.
    lines.sort_by_key(|(number, _)| Reverse(*number));
    let lines: Vec<_> = lines.into_iter().map(|(_, line)| line).collect();
    // The table implements `Debug`, and that of a compact message `Clone`.
    let (flavour, clone) =
        if cx.is_compact(message) { ("compact", None) } else { ("owned", Some(quote! { Clone, })) };
    let hash = cx.hashable.message(id).then(|| quote! { Eq, Hash, });
    let without = if drops { " without unknown_fields" } else { "" };
    let table = table(cx, flavour, &format!("{}{without}", names.owned), &lines);
    let unknown = (!drops).then(|| unknown(cx, &full));
    let (serde, serde_default) = (cx.serde(), cx.serde_word("default"));
    quote! {
        #doc
        #[derive(#clone PartialEq, #hash Default)]
        #serde
        #serde_default
        #attributes
        pub struct #name {
            #fields
            #last
            #unknown
        }
        #table
        #more
        #(#oneofs)*
        #(#methods)*
    }
}

/// What the struct `name` implements besides what its table does.
fn more_traits(cx: &Context<'_>, message: &Message, name: &proc_macro2::Ident) -> TokenStream {
    let open = (!message.extension_ranges.is_empty()).then(|| quote! { rt::extendable!(#name); });
    // A compact message may have a field of this type, also in another crate.
    let inside = cx.config.compact && !cx.is_compact(message);
    let inside = inside.then(|| quote! { rt::inside_compact!(#name); });
    quote! { #open #inside }
}

/// The comment of a message. What loses data says so.
fn doc(cx: &Context<'_>, message: &Message, full: &str) -> TokenStream {
    let doc = docs_or(&message.comment, message.deprecated, &format!("`{full}`."));
    if !cx.drops_unknown(message) {
        return doc;
    }
    let is_closed = |f: &Field| matches!(f.kind, Kind::Enum(id) if cx.schema.enums[id.0].closed);
    let mut entries = message.fields.iter().filter_map(|f| cx.schema.map_entry(f));
    let text = match entries.any(|(_, value)| is_closed(value)) {
        true => {
            " Decoding drops unknown fields, numbers that a closed enum does not have, and entries of maps with one."
        }
        false => " Decoding drops unknown fields, and numbers that a closed enum does not have.",
    };
    quote! { #doc #[doc = ""] #[doc = #text] }
}

/// The sentence at a field whose plain type, that of `held`, has no place for unknown fields.
fn drops_inside(cx: &Context<'_>, held: &Field, comment: &[String]) -> TokenStream {
    let is_unit = matches!(held.kind, Kind::Message(id) if cx.is_unit(id));
    if !is_unit && cx.wrapped(held).is_none() {
        return TokenStream::new();
    }
    let blank = (!comment.is_empty()).then(|| quote! { #[doc = ""] });
    quote! { #blank #[doc = " Decoding drops unknown fields inside."] }
}

/// The field for unknown ones.
fn unknown(cx: &Context<'_>, full: &str) -> TokenStream {
    let attributes = cx.field_attributes(&format!("{full}.unknown_fields"));
    let serde_skip = cx.serde_word("skip");
    quote! {
        /// Fields this build does not know, verbatim.
        #serde_skip
        #attributes
        pub unknown_fields: protozero::UnknownFields,
    }
}

/// The feature that a line of a table needs, and the line.
pub(super) type Line<'a> = (Option<&'a str>, String);

/// The lines of a oneof, each with its lowest number: one, or one per range of numbers if numbers of other fields are
/// between those of its members.
pub(super) fn oneof_lines<'a>(
    message: &Message,
    oneof: usize,
    name: &proc_macro2::Ident,
) -> Vec<(u32, Line<'a>)> {
    let mut all: Vec<_> = message.fields.iter().map(|f| (f.number, f.oneof)).collect();
    all.sort_unstable();
    let runs: Vec<_> = all
        .chunk_by(|a, b| a.1 == b.1)
        .filter(|run| run[0].1 == Some(oneof))
        .map(|run| (run[0].0, run[run.len() - 1].0))
        .collect();
    if let [(first, _)] = runs[..] {
        let members = message.fields.iter().filter(|f| f.oneof == Some(oneof));
        let numbers: Vec<_> = members.map(|f| f.number.to_string()).collect();
        return vec![(first, (None, format!("oneof {name} = {};", numbers.join(" | "))))];
    }
    let shapes = core::iter::once("oneof_low").chain(core::iter::repeat("oneof_high"));
    let line =
        |(shape, (first, last))| (first, (None, format!("{shape} {name} = {first}..={last};")));
    shapes.zip(runs).map(line).collect()
}

/// `rt::NAME! { TYPE; lines }`.
pub(super) fn table(cx: &Context<'_>, name: &str, ty: &str, lines: &[Line<'_>]) -> TokenStream {
    let mut out = format!("rt::{name}! {{ {ty};\n");
    for (feature, line) in lines {
        cx.row(&mut out, "    ", None, *feature, line);
    }
    out.push('}');
    cx.verbatim(out)
}

fn field(cx: &Context<'_>, message: &Message, f: &Field, name: &proc_macro2::Ident) -> TokenStream {
    let doc = docs(&f.comment, f.deprecated);
    let drops = |held: &Field| drops_inside(cx, held, &f.comment);
    let full = format!("{}.{}", message.path.full(), f.name);
    let attributes = cx.field_attributes(&full);
    if let Some((key, value)) = cx.schema.map_entry(f) {
        let (gate, drops) = (cx.gate(value), drops(value));
        let (key, value) = (cx.scalar(key.kind), held(cx, message, f, value));
        let map = cx.map(message, &full);
        return quote! { #doc #drops #gate #attributes pub #name: #map<#key, #value>, };
    }
    let (gate, drops) = (cx.gate(f), drops(f));
    let scalar = held(cx, message, f, f);
    let ty = match f.label {
        Label::Repeated => quote! { Vec<#scalar> },
        _ if implicit(f) => quote! { #scalar },
        _ => match pointer(cx, message, f, f) {
            Some(pointer) => {
                let pointer = ident(pointer);
                quote! { Option<#pointer<#scalar>> }
            }
            None => quote! { Option<#scalar> },
        },
    };
    quote! { #doc #drops #gate #attributes pub #name: #ty, }
}

/// The type through which a message holds the one in a singular field; `member` as for [`held`].
fn pointer(cx: &Context<'_>, message: &Message, member: &Field, f: &Field) -> Option<&'static str> {
    let full = format!("{}.{}", message.path.full(), member.name);
    if cx.config.shared.contains(&full) {
        return Some("Arc");
    }
    cx.is_boxed(f).then_some("Box")
}

/// Rust type of one value of `f`. `member` is the field of `message` that has it: `f`, or the map field if `f` belongs
/// to a map entry.
fn held(cx: &Context<'_>, message: &Message, member: &Field, f: &Field) -> TokenStream {
    match f.kind {
        Kind::Bytes if cx.shares_bytes(message, member) => quote! { protozero::bytes::Bytes },
        Kind::String if cx.shares_text(message, member) => quote! { protozero::SharedStr },
        _ => cx.held(f),
    }
}

/// A message field always has presence.
pub(super) fn implicit(f: &Field) -> bool {
    f.label == Label::Implicit && !matches!(f.kind, Kind::Message(_))
}

/// The line of a field in `rt::owned!`.
fn line<'a>(
    cx: &'a Context<'_>,
    message: &Message,
    f: &Field,
    name: &proc_macro2::Ident,
) -> Line<'a> {
    let number = f.number;
    let end = schema_name(cx, message, &name.unraw().to_string(), &f.name);
    if let Some((by, value)) = cx.schema.map_entry(f) {
        let (key, of) = (key(cx, message, by), kind(cx, message, f, value));
        return (cx.gate_feature(value), format!("map {name} = {number} as {key}, {of}{end};"));
    }
    let (shape, keeper) = shape(cx, message, f);
    let text = format!("{shape} {name}{keeper} = {number} as {}{end};", kind(cx, message, f, f));
    (cx.gate_feature(f), text)
}

/// The end of a line of an owned message: see [`renamed`].
fn schema_name(cx: &Context<'_>, message: &Message, shown: &str, schema: &str) -> String {
    // A descriptor has all names, and the table of a compact message has none.
    let described = cx.config.api_kinds.descriptor && cx.config.text_feature.is_none();
    match described || cx.is_compact(message) {
        true => String::new(),
        false => renamed(shown, schema),
    }
}

/// The end of a line: the name in the schema, if errors would show another one.
pub(super) fn renamed(shown: &str, schema: &str) -> String {
    if shown == schema { String::new() } else { format!(", {schema:?}") }
}

/// The name that errors show for a variant of a oneof: with an underscore before each capital.
pub(super) fn shown(variant: &proc_macro2::Ident) -> String {
    let mut out = String::new();
    for (at, letter) in variant.unraw().to_string().char_indices() {
        if letter.is_ascii_uppercase() && at != 0 {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

/// The shape of a field that is no map, and what follows its name: the place of elements that are no values.
pub(super) fn shape(cx: &Context<'_>, message: &Message, f: &Field) -> (String, &'static str) {
    let enums = matches!(f.kind, Kind::Enum(_));
    let shape = match f.label {
        Label::Repeated if f.packed && enums => "packed_enums",
        Label::Repeated if enums => "unpacked_enums",
        Label::Repeated if f.packed => "packed",
        Label::Repeated if f.kind.packable() => "unpacked",
        Label::Repeated => "repeated",
        _ if implicit(f) => "implicit",
        _ => "optional",
    };
    let (dropping, keeper) = match shape.ends_with("enums") {
        true if cx.drops_unknown(message) => ("_dropping", ""),
        true => ("", " + unknown_fields"),
        false => ("", ""),
    };
    (format!("{shape}{dropping}"), keeper)
}

/// Whether text that is not UTF-8 is an error in a field of `message`. A message without unknown fields has no place
/// for such a text.
pub(super) fn is_checked(cx: &Context<'_>, message: &Message, f: &Field) -> bool {
    f.utf8 || cx.drops_unknown(message)
}

/// The type in `protozero::rt::owned`, with its parameter; `member` as for [`held`].
fn kind(cx: &Context<'_>, message: &Message, member: &Field, f: &Field) -> String {
    let of = || spaceless(cx.held(f));
    let shared = || spaceless(held(cx, message, member, f));
    if let Some(value) = cx.wrapped(f) {
        return format!("Wrapped(rt::owned::{})", key(cx, message, value));
    }
    match f.kind {
        Kind::String if cx.shares_text(message, member) => {
            let kind = if is_checked(cx, message, f) { "Utf8In" } else { "Text" };
            format!("{kind}({})", shared())
        }
        Kind::Bytes if cx.shares_bytes(message, member) => format!("Bytes({})", shared()),
        Kind::Enum(_) => format!("Enum({})", of()),
        Kind::Message(_) => {
            let kind = if f.delimited { "Group" } else { "Nested" };
            match pointer(cx, message, member, f) {
                Some(pointer) => format!("{kind}({pointer}<{}>)", of()),
                None => format!("{kind}({})", of()),
            }
        }
        _ => key(cx, message, f),
    }
}

/// The type in `protozero::rt::owned` of a number, or of a text that is a `String`, as keys of maps are.
fn key(cx: &Context<'_>, message: &Message, f: &Field) -> String {
    match f.kind {
        Kind::String if is_checked(cx, message, f) => "Utf8".to_owned(),
        Kind::String => "Text".to_owned(),
        scalar => camel(scalar.keyword()),
    }
}

fn oneof(cx: &Context<'_>, message: &Message, at: usize, name: &str) -> TokenStream {
    let oneof = &message.oneofs[at];
    let full = format!("{}.{}", message.path.full(), oneof.name);
    let doc = docs_or(&oneof.comment, false, &format!("`{full}`."));
    let attributes = cx.message_attributes(&full);
    let variants =
        variants(message, &[], cx.config.prost_names, |i| message.fields[i].oneof == Some(at));
    let members =
        message.fields.iter().zip(variants).filter_map(|(f, variant)| Some((f, variant?)));
    let mut lines = Vec::new();
    let variants: TokenStream = members
        .map(|(f, variant)| {
            let end = schema_name(cx, message, &shown(&variant), &f.name);
            let text = format!("{variant} = {} as {}{end};", f.number, kind(cx, message, f, f));
            lines.push((f.number, (cx.gate_feature(f), text)));
            let (doc, drops) = (docs(&f.comment, f.deprecated), drops_inside(cx, f, &f.comment));
            let scalar = held(cx, message, f, f);
            let ty = if cx.is_boxed(f) {
                quote! { Box<#scalar> }
            } else {
                scalar
            };
            let gate = cx.gate(f);
            let attributes = cx.member_attributes(message, f);
            quote! { #doc #drops #gate #attributes #variant(#ty), }
        })
        .collect();
    lines.sort();
    let lines: Vec<_> = lines.into_iter().map(|(_, line)| line).collect();
    let flavour = if cx.is_compact(message) { "compact_oneof" } else { "oneof" };
    let table = table(cx, flavour, name, &lines);
    let (name, serde) = (ident(name), cx.serde());
    let hash = cx.hashable.oneof(cx.config, cx.schema, message, at);
    let hash = hash.then(|| quote! { Eq, Hash, });
    quote! {
        #doc
        #[derive(Clone, PartialEq, #hash Debug)]
        #serde
        #attributes
        pub enum #name { #variants }
        #table
    }
}

//! Views: structs that borrow strings and bytes from the encoded message, and a table with a line per field that
//! `rt::view!` expands. They are the structs of `owned.rs` with other types in their fields.

use core::cmp::Reverse;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt as _;

use super::context::{Context, docs, docs_or, ident, spaceless};
use super::defaults;
use super::owned::{implicit, is_checked, oneof_lines, renamed, shape, shown, table};
use crate::model::{Field, Kind, Label, Message, MessageId};
use crate::names::{Taken, camel, raw, variants};
use crate::wellknown;

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    if message.map_entry {
        return TokenStream::new();
    }
    let names = cx.names.message(id);
    let name = ident(&names.view);
    let full = message.path.full();
    let doc = docs_or(&message.comment, message.deprecated, &format!("`{full}`."));
    let drops = cx.drops_unknown(message);
    let reserved: &[&str] = if drops { &[] } else { &["unknown_fields"] };
    let mut taken = Taken::new(reserved);
    let mut done = vec![false; message.oneofs.len()];
    let mut fields = TokenStream::new();
    let (mut lines, mut held) = (Vec::new(), Vec::new());
    for f in &message.fields {
        match f.oneof {
            None => {
                let name = raw(&taken.take(cx.member_name(&f.name, reserved)));
                fields.extend(field(cx, f, &name));
                held.push((f, name.clone()));
                lines.push((f.number, (None, line(cx, message, f, &name))));
            }
            Some(at) if !core::mem::replace(&mut done[at], true) => {
                let name = raw(&taken.take(cx.member_name(&message.oneofs[at].name, reserved)));
                let (ty, life) = (ident(&names.view_oneofs[at]), lifetime(cx, message, at));
                lines.extend(oneof_lines(message, at, &name));
                let doc = docs_or(&message.oneofs[at].comment, false, "At most one of these.");
                fields.extend(quote! { #doc pub #name: Option<#ty #life>, });
            }
            Some(_) => {}
        }
    }
    if !message.fields.iter().any(|f| is_text(cx, f)) {
        // The name has the lifetime in any case, so that a new field changes nothing for users of the struct. Messages
        // in it do not count: they may contain nothing but this one.
        let marker = raw(&taken.take("borrowed".into()));
        fields.extend(quote! { #[doc(hidden)] pub #marker: ::core::marker::PhantomData<&'a ()>, });
    }
    let oneofs = (0..message.oneofs.len()).map(|at| oneof(cx, message, at, &names.view_oneofs[at]));
    let defaults = defaults::getters(cx, &held, &quote! { #name<'_> });
    // Fields are encoded in the order of their numbers, from the last to the first.
    lines.sort_by_key(|(number, _)| Reverse(*number));
    let lines: Vec<_> = lines.into_iter().map(|(_, line)| line).collect();
    let without = if drops { " without unknown_fields" } else { "" };
    let table = table(cx, "view", &format!("{name}<'a>, \"{full}\"{without}"), &lines);
    let unknown = (!drops).then(|| {
        quote! {
            /// Fields this build does not know, copied.
            pub unknown_fields: protozero::UnknownFields,
        }
    });
    quote! {
        #doc
        #[derive(Clone, PartialEq, Default)]
        pub struct #name<'a> {
            #fields
            #unknown
        }
        #table
        #(#oneofs)*
        #defaults
    }
}

/// Whether the field itself borrows.
fn is_text(cx: &Context<'_>, f: &Field) -> bool {
    match cx.schema.map_entry(f) {
        Some((key, value)) => is_text(cx, key) || is_text(cx, value),
        None => matches!(f.kind, Kind::String | Kind::Bytes),
    }
}

/// Whether views hold the message as its owned struct: the crate of well-known types has no views, but conversions.
fn is_struct(cx: &Context<'_>, id: MessageId) -> bool {
    let file = &cx.schema.files[cx.schema.messages[id.0].file];
    file.package == wellknown::PACKAGE && file.extern_module.is_some()
}

/// The lifetime of a oneof's enum, if one of its members has it.
fn lifetime(cx: &Context<'_>, message: &Message, oneof: usize) -> Option<TokenStream> {
    let mut members = message.fields.iter().filter(|f| f.oneof == Some(oneof));
    let has_it = |f: &Field| match f.kind {
        Kind::String | Kind::Bytes => true,
        Kind::Message(id) => !is_struct(cx, id),
        _ => false,
    };
    members.any(has_it).then(|| quote! { <'a> })
}

/// Rust type of one value of `f`.
fn held(cx: &Context<'_>, f: &Field) -> TokenStream {
    match f.kind {
        Kind::String => quote! { &'a str },
        Kind::Bytes => quote! { &'a [u8] },
        Kind::Message(id) if !is_struct(cx, id) => {
            let view = cx.view(id);
            quote! { #view<'a> }
        }
        kind => cx.scalar(kind),
    }
}

fn field(cx: &Context<'_>, f: &Field, name: &Ident) -> TokenStream {
    let doc = docs(&f.comment, f.deprecated);
    if let Some((key, value)) = cx.schema.map_entry(f) {
        let (key, value) = (held(cx, key), held(cx, value));
        return quote! { #doc pub #name: rt::heap::BTreeMap<#key, #value>, };
    }
    let scalar = held(cx, f);
    let ty = match f.label {
        Label::Repeated => quote! { Vec<#scalar> },
        _ if implicit(f) => quote! { #scalar },
        _ if f.boxed => quote! { Option<Box<#scalar>> },
        _ => quote! { Option<#scalar> },
    };
    quote! { #doc pub #name: #ty, }
}

/// The line of a field in `rt::view!`.
fn line(cx: &Context<'_>, message: &Message, f: &Field, name: &Ident) -> String {
    let (number, end) = (f.number, renamed(&name.unraw().to_string(), &f.name));
    if let Some((key, value)) = cx.schema.map_entry(f) {
        return format!(
            "map {name} = {number} as {}, {}{end};",
            kind(cx, message, key),
            kind(cx, message, value)
        );
    }
    let (shape, keeper) = shape(cx, message, f);
    format!("{shape} {name}{keeper} = {number} as {}{end};", kind(cx, message, f))
}

/// The type in `protozero::rt::owned`, with its parameter.
fn kind(cx: &Context<'_>, message: &Message, f: &Field) -> String {
    let of = || spaceless(held(cx, f));
    match f.kind {
        Kind::String if is_checked(cx, message, f) => "Utf8View(&'a str)".to_owned(),
        Kind::String => "TextView(&'a str)".to_owned(),
        Kind::Bytes => "BytesView(&'a [u8])".to_owned(),
        Kind::Enum(_) => format!("Enum({})", of()),
        Kind::Message(_) => {
            let kind = if f.delimited { "Group" } else { "Nested" };
            if f.boxed { format!("{kind}(Box<{}>)", of()) } else { format!("{kind}({})", of()) }
        }
        scalar => camel(scalar.keyword()),
    }
}

fn oneof(cx: &Context<'_>, message: &Message, at: usize, name: &str) -> TokenStream {
    let oneof = &message.oneofs[at];
    let full = format!("{}.{}", message.path.full(), oneof.name);
    let doc = docs_or(&oneof.comment, false, &format!("`{full}`."));
    let names =
        variants(message, &[], cx.config.prost_names, |i| message.fields[i].oneof == Some(at));
    let members = message.fields.iter().zip(names).filter_map(|(f, name)| Some((f, name?)));
    let mut lines = Vec::new();
    let variants: TokenStream = members
        .map(|(f, variant)| {
            let end = renamed(&shown(&variant), &f.name);
            let line = format!("{variant} = {} as {}{end};", f.number, kind(cx, message, f));
            lines.push((f.number, (None, line)));
            let doc = docs(&f.comment, f.deprecated);
            let scalar = held(cx, f);
            let ty = if f.boxed {
                quote! { Box<#scalar> }
            } else {
                scalar
            };
            quote! { #doc #variant(#ty), }
        })
        .collect();
    lines.sort();
    let lines: Vec<_> = lines.into_iter().map(|(_, line)| line).collect();
    let life = lifetime(cx, message, at);
    let (macro_name, ty) = match life {
        Some(_) => ("view_oneof", format!("{name}<'a>")),
        None => ("oneof", name.to_owned()),
    };
    let table = table(cx, macro_name, &ty, &lines);
    let name = ident(name);
    quote! {
        #doc
        #[derive(Clone, PartialEq, Debug)]
        pub enum #name #life { #variants }
        #table
    }
}

//! Owned structs and oneof enums. All encoding and decoding is `protozero-derive`'s.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

use super::{Context, docs, docs_or, extension, ident, rt};
use crate::model::{Default, Field, Kind, Label, Message, MessageId};
use crate::names::{Taken, raw, variants};

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    if message.map_entry {
        // The map is a field of the message around it.
        return TokenStream::new();
    }
    let names = cx.names.message(id);
    let name = ident(&names.owned);
    let full = message.path.full();
    let doc = docs_or(&message.comment, message.deprecated, &format!("`{full}`."));
    let mut taken = Taken::new(&["unknown_fields"]);
    let mut done = vec![false; message.oneofs.len()];
    let mut fields = TokenStream::new();
    for f in &message.fields {
        match f.oneof {
            None => {
                let name = raw(&taken.take(f.name.clone()));
                fields.extend(field(cx, f, &name));
            }
            Some(at) if !core::mem::replace(&mut done[at], true) => {
                let oneof = &message.oneofs[at];
                let name = raw(&taken.take(oneof.name.clone()));
                let ty = ident(&names.oneofs[at]);
                let numbers = members(message, at).map(|f| Literal::u32_unsuffixed(f.number));
                let doc = docs_or(&oneof.comment, false, "At most one of these.");
                fields.extend(quote! { #doc #[pb(oneof, #(#numbers),*)] pub #name: Option<#ty>, });
            }
            Some(_) => {}
        }
    }
    let oneofs = (0..message.oneofs.len()).map(|at| oneof(cx, message, at, &names.oneofs[at]));
    let defaults = defaults(cx, message, &name);
    let open = (!message.extension_ranges.is_empty()).then(|| quote! { , extensions });
    let extensions = extension::nested(cx, message, &name);
    quote! {
        #doc
        #[derive(Clone, PartialEq, Debug, Default, protozero::Message)]
        pub struct #name {
            #fields
            /// Fields this build does not know, verbatim.
            #[pb(unknown #open)]
            pub unknown_fields: protozero::UnknownFields,
        }
        #(#oneofs)*
        #defaults
        #extensions
    }
}

fn members(message: &Message, oneof: usize) -> impl Iterator<Item = &Field> {
    message.fields.iter().filter(move |f| f.oneof == Some(oneof))
}

fn field(cx: &Context<'_>, f: &Field, name: &proc_macro2::Ident) -> TokenStream {
    let doc = docs(&f.comment, f.deprecated);
    let number = Literal::u32_unsuffixed(f.number);
    if let Some((key, value)) = cx.schema.map_entry(f) {
        let gate = cx.gate(value);
        let (key_kind, value_kind) = (rt(key.kind), rt(value.kind));
        let (key_type, value_type) = (cx.scalar(key.kind), cx.scalar(value.kind));
        let utf8 = (key.utf8 || value.utf8).then(|| quote! { , utf8 });
        let ty = quote! { std::collections::BTreeMap<#key_type, #value_type> };
        return quote! {
            #doc #gate #[pb(map(#key_kind, #value_kind), #number #utf8)] pub #name: #ty,
        };
    }
    let gate = cx.gate(f);
    let (kind, utf8) = kind(f);
    let scalar = cx.scalar(f.kind);
    let (flag, ty) = match f.label {
        Label::Repeated if f.packed => (quote! { , packed }, quote! { Vec<#scalar> }),
        Label::Repeated => (quote! { , repeated }, quote! { Vec<#scalar> }),
        // A message is there or it is not, whatever the schema's presence.
        Label::Implicit if !matches!(f.kind, Kind::Message(_)) => (quote! {}, quote! { #scalar }),
        _ if f.boxed => (quote! { , boxed }, quote! { Option<Box<#scalar>> }),
        _ => (quote! {}, quote! { Option<#scalar> }),
    };
    quote! { #doc #gate #[pb(#kind, #number #flag #utf8)] pub #name: #ty, }
}

/// The kind in `#[pb(...)]`, and the word that has its text checked.
fn kind(f: &Field) -> (proc_macro2::Ident, Option<TokenStream>) {
    let kind = if f.delimited { ident("group") } else { rt(f.kind) };
    (kind, (f.kind == Kind::String && f.utf8).then(|| quote! { , utf8 }))
}

fn oneof(cx: &Context<'_>, message: &Message, at: usize, name: &str) -> TokenStream {
    let name = ident(name);
    let oneof = &message.oneofs[at];
    let title = format!("`{}.{}`.", message.path.full(), oneof.name);
    let doc = docs_or(&oneof.comment, false, &title);
    let variants = variants(message, &[], |i| message.fields[i].oneof == Some(at));
    let variants = message.fields.iter().zip(variants).filter_map(|(f, variant)| {
        let variant = variant?;
        let doc = docs(&f.comment, f.deprecated);
        let ((kind, utf8), number) = (kind(f), Literal::u32_unsuffixed(f.number));
        let scalar = cx.scalar(f.kind);
        let (flag, ty) = match f.boxed {
            true => (quote! { , boxed }, quote! { Box<#scalar> }),
            false => (quote! {}, quote! { #scalar }),
        };
        let gate = cx.gate(f);
        Some(quote! { #doc #gate #[pb(#kind, #number #flag #utf8)] #variant(#ty), })
    });
    quote! {
        #doc
        #[derive(Clone, PartialEq, Debug, protozero::Oneof)]
        pub enum #name { #(#variants)* }
    }
}

/// Getters of fields with an explicit default.
fn defaults(cx: &Context<'_>, message: &Message, name: &proc_macro2::Ident) -> TokenStream {
    let mut getters = Vec::new();
    for f in message.fields.iter().filter(|f| f.oneof.is_none() && f.label != Label::Repeated) {
        let Some(default) = &f.default else { continue };
        let field = raw(&f.name);
        let getter = format_ident!("{}_or_default", f.name);
        let doc = format!(" `{}`, or the schema's default.", f.name);
        let scalar = cx.scalar(f.kind);
        let (ty, body) = match default {
            Default::Text(text) => {
                (quote! { &str }, quote! { self.#field.as_deref().unwrap_or(#text) })
            }
            Default::Bytes(bytes) => {
                let bytes = Literal::byte_string(bytes);
                (quote! { &[u8] }, quote! { self.#field.as_deref().unwrap_or(#bytes) })
            }
            other => {
                let value = value(f, &scalar, other);
                (scalar, quote! { self.#field.unwrap_or(#value) })
            }
        };
        let gate = cx.gate(f);
        getters.push(quote! {
            #gate
            #[doc = #doc]
            #[must_use]
            pub fn #getter(&self) -> #ty { #body }
        });
    }
    if getters.is_empty() {
        TokenStream::new()
    } else {
        quote! { impl #name { #(#getters)* } }
    }
}

fn value(f: &Field, ty: &TokenStream, default: &Default) -> TokenStream {
    match default {
        Default::Int(i) => {
            let literal: TokenStream = i.to_string().parse().unwrap_or_default();
            literal
        }
        Default::Float(x) if x.is_nan() => quote! { #ty::NAN },
        Default::Float(x) if x.is_infinite() && *x > 0.0 => quote! { #ty::INFINITY },
        Default::Float(x) if x.is_infinite() => quote! { #ty::NEG_INFINITY },
        Default::Float(x) => {
            let text = if matches!(f.kind, Kind::Float) {
                #[expect(clippy::cast_possible_truncation, reason = "a float's default is a float")]
                let narrow = *x as f32;
                format!("{narrow:?}")
            } else {
                format!("{x:?}")
            };
            text.parse().unwrap_or_default()
        }
        Default::Bool(b) => quote! { #b },
        Default::Enum(name) => {
            let name = raw(name);
            quote! { #ty::#name }
        }
        Default::Text(_) | Default::Bytes(_) => TokenStream::new(),
    }
}

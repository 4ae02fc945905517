//! The methods that prost has for fields: see [`Config::prost_names`](crate::Config::prost_names).
//!
//! | field | methods |
//! |---|---|
//! | enum `kind` | `kind()`: the value, or the default if its number has no name; `set_kind(value)` |
//! | repeated enum `kinds` | `kinds()`: the values that have a name; `push_kinds(value)` |
//! | map `kinds` of enums | `get_kinds(key)`: the value, if it has a name; `insert_kinds(key, value)` |
//! | any other optional field `note` that is no message | `note()`: the value, or the default |
//!
//! A method whose name another one has is left out, so that every schema still compiles. So is one with the name of a
//! method of the traits of messages: it would come before that one, and change what a program calls.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::ext::IdentExt as _;

use super::context::Context;
use super::defaults::{default_name, value, with_default};
use crate::model::{Field, Kind, Label};
use crate::names::raw;

/// Names of the functions of traits that messages have, also in views, with descriptors or with extensions, or that
/// `eq_and_hash` derives.
const OF_MESSAGES: &[&str] = &[
    "about",
    "assign",
    "assign_bytes",
    "clear",
    "clear_extension",
    "clone",
    "clone_from",
    "decode",
    "decode_buf",
    "decode_length_delimited",
    "decode_without_path",
    "default",
    "descriptor",
    "encode",
    "encode_fields",
    "encode_into",
    "encode_length_delimited",
    "encode_length_delimited_to_vec",
    "encode_to_slice",
    "encode_to_vec",
    "encoded_len",
    "eq",
    "extension",
    "fmt",
    "from",
    "has_extension",
    "hash",
    "into",
    "merge",
    "merge_buf",
    "merge_field",
    "merge_fields",
    "merge_length_delimited",
    "merge_within",
    "message_type",
    "ne",
    "put_direct",
    "set_extension",
    "to_bytes",
    "to_dynamic",
    "to_owned",
    "try_encode_to_vec",
    "try_from",
    "try_into",
    "type_url",
    "unknown_fields",
    "unknown_fields_mut",
];

/// The methods of the struct `name`. `held` are its fields that are in no oneof, with their names in Rust.
pub(super) fn emit(cx: &Context<'_>, held: &[(&Field, Ident)], name: &Ident) -> TokenStream {
    if !cx.config.prost_names {
        return TokenStream::new();
    }
    let defaults = held.iter().filter_map(|(f, _)| default_name(cx, f));
    let mut taken: BTreeSet<_> =
        OF_MESSAGES.iter().map(|&name| name.to_owned()).chain(defaults).collect();
    let mut methods = TokenStream::new();
    let readers = held.iter().filter_map(|(f, field)| reader(cx, f, field));
    let writers = held.iter().filter_map(|(f, field)| writer(cx, f, field));
    for (name, method) in readers.chain(writers) {
        if taken.insert(name) {
            methods.extend(method);
        }
    }
    if methods.is_empty() {
        return methods;
    }
    quote! { impl #name { #methods } }
}

/// The method that reads a field, and its name.
fn reader(cx: &Context<'_>, f: &Field, field: &Ident) -> Option<(String, TokenStream)> {
    if let Some((key, value)) = cx.schema.map_entry(f) {
        return map_reader(cx, (key, value), field);
    }
    let bare = field.unraw().to_string();
    let (doc, ty, body) = match (f.kind, f.label) {
        (Kind::Message(_), _) => return None,
        (Kind::Enum(_), Label::Repeated) => {
            let ty = cx.scalar(f.kind);
            let ty = quote! { impl Iterator<Item = #ty> + '_ };
            let body = quote! { self.#field.iter().copied().filter_map(rt::known) };
            (format!(" The values of `{bare}` whose numbers have a name."), ty, body)
        }
        (Kind::Enum(_), _) => {
            let ty = cx.scalar(f.kind);
            let held = match f.label {
                Label::Implicit => quote! { rt::known(self.#field) },
                _ => quote! { self.#field.and_then(rt::known) },
            };
            let default = f.default.as_ref().map(|default| value(cx, f, &ty, default));
            let body = match default {
                Some(default) => quote! { #held.unwrap_or(#default) },
                None => quote! { #held.unwrap_or_default() },
            };
            (format!(" `{bare}`, or the default if its number has no name."), ty, body)
        }
        (_, Label::Repeated | Label::Implicit) => return None,
        _ => {
            let (ty, body) = match (&f.default, f.kind) {
                (Some(default), _) => with_default(cx, f, field, default),
                (None, Kind::String) => {
                    (quote! { &str }, quote! { self.#field.as_deref().unwrap_or_default() })
                }
                (None, Kind::Bytes) => {
                    (quote! { &[u8] }, quote! { self.#field.as_deref().unwrap_or_default() })
                }
                (None, kind) => (cx.scalar(kind), quote! { self.#field.unwrap_or_default() }),
            };
            (format!(" `{bare}`, or the default if it is absent."), ty, body)
        }
    };
    let gate = cx.gate(f);
    let tokens = quote! {
        #gate
        #[doc = #doc]
        #[must_use]
        pub fn #field(&self) -> #ty { #body }
    };
    Some((bare, tokens))
}

/// The method that reads an entry of a map of enums, and its name.
fn map_reader(
    cx: &Context<'_>,
    (key, value): (&Field, &Field),
    field: &Ident,
) -> Option<(String, TokenStream)> {
    let Kind::Enum(_) = value.kind else { return None };
    let (gate, ty) = (cx.gate(value), cx.scalar(value.kind));
    let (key, borrowed) = match key.kind {
        Kind::String => (quote! { &str }, quote! { key }),
        kind => (cx.scalar(kind), quote! { &key }),
    };
    let bare = field.unraw();
    let name = format!("get_{bare}");
    let doc = format!(" The value for `key` in `{bare}`, if its number has a name.");
    let method = raw(&name);
    let tokens = quote! {
        #gate
        #[doc = #doc]
        #[must_use]
        pub fn #method(&self, key: #key) -> Option<#ty> {
            self.#field.get(#borrowed).copied().and_then(rt::known)
        }
    };
    Some((name, tokens))
}

/// The method that writes a field of an enum, and its name.
fn writer(cx: &Context<'_>, f: &Field, field: &Ident) -> Option<(String, TokenStream)> {
    let bare = field.unraw().to_string();
    if let Some((key, value)) = cx.schema.map_entry(f) {
        let Kind::Enum(_) = value.kind else { return None };
        let (gate, key, ty) = (cx.gate(value), cx.scalar(key.kind), cx.scalar(value.kind));
        let name = format!("insert_{bare}");
        let doc = format!(" Inserts an entry into `{bare}`, and returns the value that was there.");
        let method = raw(&name);
        let tokens = quote! {
            #gate
            #[doc = #doc]
            pub fn #method(&mut self, key: #key, value: #ty) -> Option<#ty> {
                self.#field.insert(key, value).and_then(rt::known)
            }
        };
        return Some((name, tokens));
    }
    let Kind::Enum(_) = f.kind else { return None };
    let (verb, doc, body) = match f.label {
        Label::Repeated => ("push", "Appends to", quote! { self.#field.push(value); }),
        Label::Implicit => ("set", "Sets", quote! { self.#field = value; }),
        _ => ("set", "Sets", quote! { self.#field = Some(value); }),
    };
    let (name, doc) = (format!("{verb}_{bare}"), format!(" {doc} `{bare}`."));
    let (gate, method, ty) = (cx.gate(f), raw(&name), cx.scalar(f.kind));
    let tokens = quote! {
        #gate
        #[doc = #doc]
        pub fn #method(&mut self, value: #ty) { #body }
    };
    Some((name, tokens))
}

#[cfg(test)]
mod tests;

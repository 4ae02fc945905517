//! Explicit defaults: their values in Rust, and the getters of fields that have one.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::context::{Context, ident};
use crate::model::{Default, Field, Kind, Label};
use crate::names::{Taken, raw};

/// Getters of fields with an explicit default, for the struct `name`.
pub(super) fn getters(
    cx: &Context<'_>,
    held: &[(&Field, Ident)],
    name: &TokenStream,
) -> TokenStream {
    let mut getters = Vec::new();
    let mut taken = Taken::new(&[]);
    for (f, field) in held {
        let (Some(default), Some(getter)) = (&f.default, default_name(cx, f)) else { continue };
        let getter = raw(&taken.take(getter));
        let doc = format!(" `{}`, or the schema's default.", f.name);
        let (ty, body) = with_default(cx, f, field, default);
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

/// The name of the getter of a field with an explicit default.
pub(super) fn default_name(cx: &Context<'_>, f: &Field) -> Option<String> {
    let has_getter = f.label != Label::Repeated && f.default.is_some();
    has_getter.then(|| format!("{}_or_default", cx.field_name(&f.name)))
}

/// The type and the value of a field, or of its explicit default.
pub(super) fn with_default(
    cx: &Context<'_>,
    f: &Field,
    field: &Ident,
    default: &Default,
) -> (TokenStream, TokenStream) {
    let scalar = cx.scalar(f.kind);
    match default {
        Default::Text(text) => {
            (quote! { &str }, quote! { self.#field.as_deref().unwrap_or(#text) })
        }
        Default::Bytes(bytes) => {
            let bytes = Literal::byte_string(bytes);
            (quote! { &[u8] }, quote! { self.#field.as_deref().unwrap_or(#bytes) })
        }
        other => {
            let value = value(cx, f, &scalar, other);
            (scalar, quote! { self.#field.unwrap_or(#value) })
        }
    }
}

/// An explicit default of the type `ty`.
pub(super) fn value(
    cx: &Context<'_>,
    f: &Field,
    ty: &TokenStream,
    default: &Default,
) -> TokenStream {
    match default {
        Default::Int(i) => {
            let literal: TokenStream = i.to_string().parse().unwrap_or_default();
            literal
        }
        Default::Float(x) => {
            #[expect(clippy::cast_possible_truncation, reason = "a float's default is a float")]
            let (x, text) = match f.kind {
                Kind::Float => (f64::from(*x as f32), format!("{:?}", *x as f32)),
                _ => (*x, format!("{x:?}")),
            };
            match x {
                _ if x.is_nan() => quote! { #ty::NAN },
                f64::INFINITY => quote! { #ty::INFINITY },
                f64::NEG_INFINITY => quote! { #ty::NEG_INFINITY },
                _ => text.parse().unwrap_or_default(),
            }
        }
        Default::Bool(b) => quote! { #b },
        Default::Enum(name) => {
            let Kind::Enum(id) = f.kind else { return TokenStream::new() };
            let e = &cx.schema.enums[id.0];
            let at = e.values.iter().position(|v| v.name == *name);
            let constant = at.and_then(|at| cx.names.constants(id).get(at)).map(|name| ident(name));
            quote! { #ty::#constant }
        }
        Default::Text(_) | Default::Bytes(_) => TokenStream::new(),
    }
}

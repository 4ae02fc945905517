//! Writing: fields in the order of declaration, then what was unknown.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};

use super::{literal, marker};
use crate::model::{self, Shape, What};

pub(super) fn message(message: &model::Message) -> TokenStream {
    let mut known = TokenStream::new();
    let mut unknown = TokenStream::new();
    for member in &message.members {
        let ident = &member.ident;
        let span = model::span_of(&member.ty);
        match &member.what {
            What::Field { kind, number, shape, inner } => {
                let marker = marker(*kind, inner);
                let number = literal(*number);
                let call = format_ident!(
                    "put_{}",
                    match shape {
                        Shape::Implicit => "implicit",
                        Shape::Optional => "optional",
                        Shape::Repeated => "repeated",
                        Shape::Packed => "packed",
                    }
                );
                known.extend(quote_spanned! {span=>
                    ::protozero::rt::owned::#call::<#number, #marker>(out, &self.#ident);
                });
            }
            What::Oneof { .. } => known.extend(quote_spanned! {span=>
                ::protozero::rt::owned::put_oneof(out, &self.#ident);
            }),
            What::Unknown => unknown.extend(quote_spanned! {span=>
                ::protozero::rt::owned::put_unknown(out, &self.#ident);
            }),
        }
    }
    if known.is_empty() && unknown.is_empty() {
        return quote!(let _ = out;);
    }
    quote!(#known #unknown)
}

pub(super) fn oneof(oneof: &model::Oneof) -> TokenStream {
    oneof
        .variants
        .iter()
        .map(|variant| {
            let ident = &variant.ident;
            let marker = marker(variant.kind, &variant.ty);
            let number = literal(variant.number);
            quote_spanned! {model::span_of(&variant.ty)=>
                Self::#ident(value) => ::protozero::rt::owned::put::<#number, #marker>(out, value),
            }
        })
        .collect()
}

//! Encoding, back to front: unknown fields, then the fields from the last declared to the first.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};

use super::parts::{each_variant, literal, marker};
use crate::model::{self, Shape, What, types::span_of};

pub(super) fn message(message: &model::Message) -> TokenStream {
    let mut calls = TokenStream::new();
    if let Some(model::Member { ident, ty, .. }) = message.unknown() {
        calls.extend(quote_spanned!(span_of(ty)=> __pb::put_unknown(out, &self.#ident);));
    }
    for member in message.members.iter().rev() {
        let ident = &member.ident;
        let span = span_of(&member.ty);
        calls.extend(match &member.what {
            What::Field { held, number, shape, .. } => {
                let (marker, number) = (marker(held), literal(*number));
                let call = format_ident!(
                    "{}",
                    match shape {
                        Shape::Implicit => "put_implicit",
                        Shape::Required => "put",
                        Shape::Optional => "put_optional",
                        Shape::Repeated => "put_repeated",
                        Shape::Packed => "put_packed",
                    }
                );
                quote_spanned!(span=> __pb::#call::<#marker>(out, #number, &self.#ident);)
            }
            What::Map { key, value, number } => {
                let (key, value, number) = (marker(key), marker(value), literal(*number));
                quote_spanned! {span=>
                    __pb::put_map::<#key, #value>(out, #number, &self.#ident);
                }
            }
            What::Oneof { .. } => quote_spanned!(span=> __pb::put_oneof(out, &self.#ident);),
            What::Unknown { .. } => TokenStream::new(),
        });
    }
    if calls.is_empty() {
        return quote!(let _ = out;);
    }
    quote!(use ::protozero::rt::owned as __pb; #calls)
}

pub(super) fn oneof(oneof: &model::Oneof) -> TokenStream {
    each_variant(oneof, |ident, marker, number, span| {
        quote_spanned! {span=>
            Self::#ident(value) => __pb::put::<#marker>(out, #number, value),
        }
    })
}

//! Reading: one `match` on the field number. Every arm answers whether the field was understood;
//! what was not (an unknown number, or a known one with a foreign wire type) is kept verbatim.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};

use super::{literal, marker};
use crate::model::{self, Shape, What};

pub(super) fn message(message: &model::Message) -> TokenStream {
    let mut arms = TokenStream::new();
    let mut keep = quote!(let _ = understood;);
    for member in &message.members {
        let ident = &member.ident;
        let span = model::span_of(&member.ty);
        match &member.what {
            What::Field { kind, number, shape, inner } => {
                let marker = marker(*kind, inner);
                let number = literal(*number);
                let call = format_ident!(
                    "merge_{}",
                    match shape {
                        Shape::Implicit => "implicit",
                        Shape::Optional => "optional",
                        Shape::Repeated if !kind.packable() => "repeated",
                        Shape::Repeated | Shape::Packed => "packed",
                    }
                );
                arms.extend(quote_spanned! {span=>
                    #number => ::protozero::rt::owned::#call::<#marker>(&mut self.#ident, &field, context)?,
                });
            }
            What::Oneof { numbers, inner } => {
                let numbers = numbers.iter().map(|&number| literal(number));
                arms.extend(quote_spanned! {span=>
                    #(#numbers)|* => <#inner as ::protozero::rt::owned::Oneof>::merge_field(
                        &mut self.#ident, &field, context,
                    )?,
                });
            }
            What::Unknown => {
                keep = quote_spanned! {span=>
                    if !understood {
                        ::protozero::rt::owned::keep_unknown(&mut self.#ident, &field);
                    }
                };
            }
        }
    }
    if arms.is_empty() {
        arms = quote!(_ => { let _ = context; false });
    } else {
        arms.extend(quote!(_ => false,));
    }
    quote! {
        let understood = match field.number { #arms };
        #keep
        ::core::result::Result::Ok(())
    }
}

pub(super) fn oneof(oneof: &model::Oneof) -> TokenStream {
    let mut arms: TokenStream = oneof
        .variants
        .iter()
        .map(|variant| {
            let ident = &variant.ident;
            let marker = marker(variant.kind, &variant.ty);
            let number = literal(variant.number);
            // The same member again: a message is merged into the old one; any other is replaced.
            // The closure finds out which it is.
            quote_spanned! {model::span_of(&variant.ty)=>
                #number => ::protozero::rt::owned::merge_variant::<#marker, Self>(
                    slot,
                    |old| match old {
                        Self::#ident(value) => ::core::option::Option::Some(value),
                        #[allow(unreachable_patterns)]
                        _ => ::core::option::Option::None,
                    },
                    Self::#ident,
                    field,
                    context,
                ),
            }
        })
        .collect();
    arms.extend(quote!(_ => ::core::result::Result::Ok(false),));
    arms
}

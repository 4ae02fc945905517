//! Decoding: one `match` on the field number. Each arm returns whether it could read the field. A field with an unknown
//! number, or with another wire type than its kind has, is kept verbatim.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};

use super::parts::{each_variant, literal, marker};
use crate::kind::Kind;
use crate::model::{self, Shape, What, types::span_of};

pub(super) fn message(message: &model::Message) -> TokenStream {
    let keeper = message.unknown();
    let unknown = keeper.map(|member| &member.ident);
    let mut arms = TokenStream::new();
    for member in &message.members {
        let ident = &member.ident;
        let span = span_of(&member.ty);
        arms.extend(match &member.what {
            What::Field { held, number, shape, .. } => {
                let number = literal(*number);
                let call = match shape {
                    Shape::Repeated | Shape::Packed if held.kind == Kind::Enumeration => {
                        enums(ident, &held.ty, unknown)
                    }
                    _ => {
                        let marker = marker(held);
                        let call = format_ident!("{}", function(*shape, held.kind));
                        quote_spanned! {span=>
                            __pb::#call::<#marker>(&mut self.#ident, &field, context)
                        }
                    }
                };
                quote_spanned!(span=> #number => #call,)
            }
            What::Map { key, value, number } => {
                let (key, value, number) = (marker(key), marker(value), literal(*number));
                quote_spanned! {span=>
                    #number => __pb::merge_map::<#key, #value>(
                        &mut self.#ident, &field, context,
                    ),
                }
            }
            What::Oneof { numbers, inner } => {
                let numbers = numbers.iter().map(|&number| literal(number));
                quote_spanned! {span=>
                    #(#numbers)|* => __pb::merge_oneof::<#inner>(&mut self.#ident, &field, context),
                }
            }
            What::Unknown { .. } => TokenStream::new(),
        });
    }
    let end = match keeper {
        Some(model::Member { ident, ty, .. }) => {
            quote_spanned!(span_of(ty)=> __pb::keep_unknown(
                understood, &mut self.#ident, &field, context,
            ))
        }
        None => quote!(__pb::drop_unknown(understood)),
    };
    quote! {
        use ::protozero::rt::owned as __pb;
        let _ = context;
        let understood = match field.number {
            #arms
            _ => __pb::Ok(false),
        };
        #end
    }
}

fn function(shape: Shape, kind: Kind) -> &'static str {
    match shape {
        Shape::Implicit | Shape::Required => "merge_single",
        Shape::Optional => "merge_optional",
        Shape::Repeated if !kind.packable() => "merge_repeated",
        Shape::Repeated | Shape::Packed => "merge_packed",
    }
}

/// Each unknown element of a closed enumeration becomes an unknown field.
fn enums(ident: &syn::Ident, ty: &syn::Type, unknown: Option<&syn::Ident>) -> TokenStream {
    let unknown = match unknown {
        Some(unknown) => quote!(__pb::Some(&mut self.#unknown)),
        None => quote!(__pb::None),
    };
    quote_spanned! {span_of(ty)=>
        __pb::merge_keeping_unknown::<__pb::Enum::<#ty>>(
            &mut self.#ident, #unknown, &field, context,
        )
    }
}

pub(super) fn oneof(oneof: &model::Oneof) -> TokenStream {
    let mut arms = each_variant(oneof, |ident, marker, number, span| {
        // If the same member occurs again, a message is merged into the old value; any other value is replaced.
        // The closure tells whether it is the same member.
        quote_spanned! {span=>
            #number => __pb::merge_variant::<#marker, Self>(
                slot,
                |old| match old {
                    Self::#ident(value) => __pb::Some(value),
                    #[allow(unreachable_patterns)]
                    _ => __pb::None,
                },
                Self::#ident,
                field,
                context,
            ),
        }
    });
    arms.extend(quote!(_ => __pb::Ok(false),));
    arms
}

//! The names that errors have: a table with a row for each field.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};

use super::parts::{literal, marker};
use crate::kind::Kind;
use crate::model::{self, Shape, What, types::span_of};

/// The rows of a message, and its function `about`.
pub(super) fn about(message: &model::Message) -> TokenStream {
    let mut rows = TokenStream::new();
    for member in &message.members {
        let name = &member.name.schema;
        let span = span_of(&member.ty);
        rows.extend(match &member.what {
            What::Field { held, number, shape, .. } => {
                let call = format_ident!("{}", function(*shape, held.kind));
                let (marker, number) = (marker(held), literal(*number));
                quote_spanned!(span=> __pb::#call::<#marker>(#number, #name),)
            }
            What::Map { key, value, number } => {
                let (key, value, number) = (marker(key), marker(value), literal(*number));
                quote_spanned!(span=> __pb::row_map::<#key, #value>(#number, #name),)
            }
            What::Oneof { inner, .. } => quote_spanned!(span=> __pb::row_oneof::<#inner>(),),
            What::Unknown { .. } => TokenStream::new(),
        });
    }
    let name = message.ident.to_string();
    quote! {
        const ROWS: &'static [::protozero::rt::owned::Row] = {
            #[allow(unused_imports)]
            use ::protozero::rt::owned as __pb;
            &[#rows]
        };
        fn about() -> ::protozero::rt::owned::About {
            use ::protozero::rt::owned as __pb;
            #[allow(unused_imports)]
            use ::protozero::rt::owned::Unnamed as _;
            __pb::About::new(#name, __pb::Named::<Self>::NAMES, <Self as ::protozero::rt::owned::Encode>::ROWS)
        }
    }
}

fn function(shape: Shape, kind: Kind) -> &'static str {
    match shape {
        Shape::Implicit | Shape::Required | Shape::Optional => "row_single",
        Shape::Repeated if !kind.packable() => "row_repeated",
        Shape::Repeated | Shape::Packed => "row_numbers",
    }
}

/// The rows of the members of a oneof.
pub(super) fn members(oneof: &model::Oneof) -> TokenStream {
    let rows = oneof.variants.iter().map(|variant| {
        let (marker, number) = (marker(&variant.held), literal(variant.number));
        let (name, span) = (&variant.name.schema, span_of(&variant.held.ty));
        quote_spanned!(span=> __pb::row_single::<#marker>(#number, #name),)
    });
    rows.collect()
}

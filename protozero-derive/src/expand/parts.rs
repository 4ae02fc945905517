//! Tokens that several implementations need: markers, numbers, arms.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};

use crate::kind::Kind;
use crate::model::{self, Held, types::span_of};

/// The marker type of a kind. It has a type parameter where the kind alone does not determine the Rust type.
pub(super) fn marker(held: &Held) -> TokenStream {
    let ty = &held.ty;
    let span = span_of(ty);
    let checked = if held.checked { quote!(, true) } else { TokenStream::new() };
    match (held.kind, held.borrows) {
        (Kind::Scalar { marker, .. }, _) => {
            let marker = format_ident!("{marker}");
            quote_spanned!(span=> __pb::#marker)
        }
        (Kind::String, false) => quote_spanned!(span=> __pb::Text::<#ty #checked>),
        (Kind::String, true) => quote_spanned!(span=> __pb::TextView::<#ty #checked>),
        (Kind::Bytes, false) => quote_spanned!(span=> __pb::Bytes::<#ty>),
        (Kind::Bytes, true) => quote_spanned!(span=> __pb::BytesView::<#ty>),
        (Kind::Enumeration, _) => quote_spanned!(span=> __pb::Enum::<#ty>),
        (Kind::Message, _) => quote_spanned!(span=> __pb::Nested::<#ty>),
        (Kind::Group, _) => quote_spanned!(span=> __pb::Group::<#ty>),
    }
}

/// The results of `arm` for name, marker, number and span of each variant.
pub(super) fn each_variant(
    oneof: &model::Oneof,
    arm: impl Fn(&syn::Ident, TokenStream, TokenStream, Span) -> TokenStream,
) -> TokenStream {
    let variants = oneof.variants.iter();
    let arms = variants.map(|variant| {
        let number = literal(variant.number).into_token_stream();
        arm(&variant.ident, marker(&variant.held), number, span_of(&variant.held.ty))
    });
    arms.collect()
}

/// Sorted numbers, for comparison in one pass.
pub(super) fn ascending(numbers: impl Iterator<Item = u32>) -> impl Iterator<Item = impl ToTokens> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.into_iter().map(literal)
}

/// Field numbers without a type suffix, which work in patterns and in arguments.
pub(super) fn literal(number: u32) -> impl ToTokens {
    proc_macro2::Literal::u32_unsuffixed(number)
}

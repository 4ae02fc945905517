//! Compile-time assertions that a struct lists all numbers of its oneofs. A macro sees either the struct or the enum,
//! so it cannot check this itself.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::GenericParam;

use super::parts::ascending;
use crate::model::{self, What, types::span_of};

/// The associated constant of `Encode` with the checks, and an item that evaluates it. With type parameters there is no
/// such item; `evaluation` evaluates the constant when they are known.
pub(super) fn checks(message: &model::Message) -> (TokenStream, TokenStream) {
    let calls: TokenStream = message
        .members
        .iter()
        .filter_map(|member| match &member.what {
            What::Oneof { numbers, inner } => {
                let numbers = ascending(numbers.iter().copied());
                let span = span_of(inner);
                Some(quote_spanned! {span=>
                    ::protozero::rt::owned::check_oneof::<#inner>(&[#(#numbers),*]);
                })
            }
            _ => None,
        })
        .collect();
    if calls.is_empty() {
        return Default::default();
    }
    let constant = quote!(const ONEOFS: () = { #calls };);
    if !only_lifetimes(message) {
        return (constant, TokenStream::new());
    }
    let ident = &message.ident;
    let lifetimes = message.generics.params.iter().map(|_| quote!('static));
    let item = quote! {
        const _: () = <#ident<#(#lifetimes),*> as ::protozero::rt::owned::Encode>::ONEOFS;
    };
    (constant, item)
}

/// The statement that evaluates the checks of a struct with type parameters where it is encoded or decoded.
pub(super) fn evaluation(message: &model::Message) -> TokenStream {
    let oneof = |member: &model::Member| matches!(member.what, What::Oneof { .. });
    if only_lifetimes(message) || !message.members.iter().any(oneof) {
        return TokenStream::new();
    }
    quote!(let () = <Self as ::protozero::rt::owned::Encode>::ONEOFS;)
}

fn only_lifetimes(message: &model::Message) -> bool {
    message.generics.params.iter().all(|param| matches!(param, GenericParam::Lifetime(_)))
}

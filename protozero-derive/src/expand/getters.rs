//! Getters of fields with an explicit default.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt;

use crate::kind::Kind;
use crate::model::{self, What};

pub(super) fn getters(message: &model::Message) -> TokenStream {
    let getters: Vec<_> = message.members.iter().filter_map(getter).collect();
    if getters.is_empty() {
        return TokenStream::new();
    }
    let ident = &message.ident;
    let (impl_generics, type_generics, where_clause) = message.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #ident #type_generics #where_clause { #(#getters)* }
    }
}

fn getter(member: &model::Member) -> Option<TokenStream> {
    let What::Field { held, default: Some(default), .. } = &member.what else { return None };
    let (ident, vis, ty) = (&member.ident, &member.vis, &held.ty);
    let name = format_ident!("{}_or_default", ident.unraw());
    let doc = format!(" `{}`, or the schema's default.", ident.unraw());
    let span = syn::spanned::Spanned::span(default);
    let (ty, body) = match held.kind {
        Kind::String => {
            (quote!(&str), quote_spanned!(span=> self.#ident.as_deref().unwrap_or(#default)))
        }
        Kind::Bytes => {
            (quote!(&[u8]), quote_spanned!(span=> self.#ident.as_deref().unwrap_or(#default)))
        }
        _ => (quote!(#ty), quote_spanned!(span=> self.#ident.unwrap_or(#default))),
    };
    Some(quote! {
        #[doc = #doc]
        #[must_use]
        #vis fn #name(&self) -> #ty { #body }
    })
}

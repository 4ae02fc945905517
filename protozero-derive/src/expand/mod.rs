//! The impls themselves. Every field is one call into `::protozero::rt::owned` in each direction,
//! generic over a marker of its kind: the work is compiled once a kind there, not once a field here.

mod decode;
mod encode;

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::Type;

use crate::attrs::Kind;
use crate::model;

/// The marker of a kind, as a type: it carries the Rust type where the kind alone does not.
fn marker(kind: Kind, inner: &Type) -> TokenStream {
    let span = model::span_of(inner);
    let owned = quote!(::protozero::rt::owned);
    match kind {
        Kind::Scalar { marker, .. } => {
            let marker = format_ident!("{marker}");
            quote_spanned!(span=> #owned::#marker)
        }
        Kind::String => quote_spanned!(span=> #owned::Text),
        Kind::Bytes => quote_spanned!(span=> #owned::Bytes),
        Kind::Enumeration => quote_spanned!(span=> #owned::Enum::<#inner>),
        Kind::Message => quote_spanned!(span=> #owned::Nested::<#inner>),
    }
}

/// `impl Message for ...`.
pub(crate) fn message(message: &model::Message) -> TokenStream {
    let ident = &message.ident;
    let (impl_generics, type_generics, where_clause) = message.generics.split_for_impl();
    let encode = encode::message(message);
    let merge = decode::message(message);
    quote! {
        #[automatically_derived]
        impl #impl_generics ::protozero::Message for #ident #type_generics #where_clause {
            fn encode_into(&self, out: &mut ::protozero::rt::Scope<'_>) {
                #encode
            }
            fn merge_field(
                &mut self,
                field: ::protozero::rt::Field<'_>,
                context: ::protozero::rt::DecodeContext<'_>,
            ) -> ::core::result::Result<(), ::protozero::rt::DecodeError> {
                #merge
            }
        }
    }
}

/// `impl Oneof for ...`.
pub(crate) fn oneof(oneof: &model::Oneof) -> TokenStream {
    let ident = &oneof.ident;
    let (impl_generics, type_generics, where_clause) = oneof.generics.split_for_impl();
    let encode = encode::oneof(oneof);
    let merge = decode::oneof(oneof);
    quote! {
        #[automatically_derived]
        impl #impl_generics ::protozero::rt::owned::Oneof for #ident #type_generics #where_clause {
            fn encode_into(&self, out: &mut ::protozero::rt::Scope<'_>) {
                match self { #encode }
            }
            fn merge_field(
                slot: &mut ::core::option::Option<Self>,
                field: &::protozero::rt::Field<'_>,
                context: ::protozero::rt::DecodeContext<'_>,
            ) -> ::core::result::Result<bool, ::protozero::rt::DecodeError> {
                match field.number { #merge }
            }
        }
    }
}

/// Field numbers without a type suffix: patterns and const arguments both take them.
fn literal(number: u32) -> impl ToTokens {
    proc_macro2::Literal::u32_unsuffixed(number)
}

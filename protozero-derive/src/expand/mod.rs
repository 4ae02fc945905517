//! The implementations. Every field is one call of `::protozero::rt::owned` in each direction. The called functions are
//! generic over a marker type of the kind, so the compiler handles them once per kind instead of once per field.

mod decode;
mod encode;
mod enumeration;
mod getters;
mod oneofs;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{Generics, Lifetime, parse_quote};

use crate::kind::Kind;
use crate::model::{self, Held, What, types::span_of};

pub(crate) use enumeration::enumeration;

/// The marker type of a kind. It has a type parameter where the kind alone does not determine the Rust type.
fn marker(held: &Held) -> TokenStream {
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

/// The lifetime of the input, and the generics of an `impl` with that lifetime.
fn input_lifetime(generics: &Generics, view: Option<&Lifetime>) -> (Lifetime, Generics) {
    let mut generics = generics.clone();
    if let Some(lifetime) = view {
        return (lifetime.clone(), generics);
    }
    let lifetime: Lifetime = parse_quote!('__input);
    generics.params.insert(0, parse_quote!('__input));
    (lifetime, generics)
}

/// The implementations that `Message` or `MessageView` needs, and the marker trait itself.
pub(crate) fn message(message: &model::Message) -> TokenStream {
    let ident = &message.ident;
    let (impl_generics, type_generics, where_clause) = message.generics.split_for_impl();
    let (input, merge_generics) = input_lifetime(&message.generics, message.lifetime.as_ref());
    let (merge_generics, _, _) = merge_generics.split_for_impl();
    let api_trait = match &message.lifetime {
        Some(lifetime) => quote!(MessageView<#lifetime>),
        None => quote!(Message),
    };
    let encode = encode::message(message);
    let merge = decode::message(message);
    let getters = getters::getters(message);
    let (oneofs, checked) = oneofs::checks(message);
    let evaluation = oneofs::evaluation(message);
    let extendable = extendable(message);
    quote! {
        #[automatically_derived]
        impl #impl_generics ::protozero::rt::owned::Encode for #ident #type_generics #where_clause {
            #oneofs
            #[inline]
            fn encode_fields(&self, out: &mut ::protozero::rt::owned::Encoder<'_>) {
                #evaluation
                #encode
            }
        }
        #[automatically_derived]
        impl #merge_generics ::protozero::rt::owned::Merge<#input> for #ident #type_generics
        #where_clause
        {
            #[inline]
            fn merge_field(
                &mut self,
                field: ::protozero::rt::Field<#input>,
                context: ::protozero::rt::DecodeContext<'_>,
            ) -> ::protozero::rt::owned::Merged {
                #evaluation
                #merge
            }
        }
        #[automatically_derived]
        impl #impl_generics ::protozero::#api_trait for #ident #type_generics #where_clause {}
        #checked
        #extendable
        #getters
    }
}

fn extendable(message: &model::Message) -> TokenStream {
    let open = |member: &&model::Member| matches!(member.what, What::Unknown { extensions: true });
    let Some(unknown) = message.members.iter().find(open).map(|member| &member.ident) else {
        return TokenStream::new();
    };
    let ident = &message.ident;
    let (impl_generics, type_generics, where_clause) = message.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics ::protozero::Extendable for #ident #type_generics #where_clause {
            #[inline]
            fn unknown_fields(&self) -> &::protozero::UnknownFields {
                &self.#unknown
            }
            #[inline]
            fn unknown_fields_mut(&mut self) -> &mut ::protozero::UnknownFields {
                &mut self.#unknown
            }
        }
    }
}

/// The implementations for a oneof.
pub(crate) fn oneof(oneof: &model::Oneof) -> TokenStream {
    let ident = &oneof.ident;
    let (impl_generics, type_generics, where_clause) = oneof.generics.split_for_impl();
    let (input, merge_generics) = input_lifetime(&oneof.generics, oneof.lifetime.as_ref());
    let (merge_generics, _, _) = merge_generics.split_for_impl();
    let numbers = ascending(oneof.variants.iter().map(|variant| variant.number));
    let encode = encode::oneof(oneof);
    let merge = decode::oneof(oneof);
    quote! {
        #[automatically_derived]
        impl #impl_generics ::protozero::rt::owned::Oneof for #ident #type_generics #where_clause {
            const NUMBERS: &'static [::core::primitive::u32] = &[#(#numbers),*];

            #[inline]
            fn encode_member(&self, out: &mut ::protozero::rt::owned::Encoder<'_>) {
                use ::protozero::rt::owned as __pb;
                match self { #encode }
            }
        }
        #[automatically_derived]
        impl #merge_generics ::protozero::rt::owned::MergeOneof<#input> for #ident #type_generics
        #where_clause
        {
            #[inline]
            fn merge_member(
                slot: &mut ::core::option::Option<Self>,
                field: &::protozero::rt::Field<#input>,
                context: ::protozero::rt::DecodeContext<'_>,
            ) -> ::protozero::rt::owned::Understood {
                use ::protozero::rt::owned as __pb;
                match field.number { #merge }
            }
        }
    }
}

/// The results of `arm` for name, marker, number and span of each variant.
fn each_variant(
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
fn ascending(numbers: impl Iterator<Item = u32>) -> impl Iterator<Item = impl ToTokens> {
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.into_iter().map(literal)
}

/// Field numbers without a type suffix, which work in patterns and in arguments.
fn literal(number: u32) -> impl ToTokens {
    proc_macro2::Literal::u32_unsuffixed(number)
}

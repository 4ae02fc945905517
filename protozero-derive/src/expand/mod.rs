//! The implementations. Every field is one call of `::protozero::rt::owned` in each direction. The called functions are
//! generic over a marker type of the kind, so the compiler handles them once per kind instead of once per field.

mod decode;
mod describe;
mod encode;
mod enumeration;
mod getters;
mod names;
mod oneofs;
mod parts;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Generics, Lifetime, parse_quote};

use self::parts::ascending;
use crate::model::{self, What};

pub(crate) use enumeration::enumeration;

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
    let about = names::about(message);
    let descriptor = describe::message(message);
    quote! {
        #[automatically_derived]
        impl #impl_generics ::protozero::rt::owned::Encode for #ident #type_generics #where_clause {
            #oneofs
            #about
            #[inline]
            fn encode_fields<__Out: ::protozero::rt::owned::Output>(&self, out: &mut __Out) {
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
        #descriptor
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
    let number = encode::number(oneof);
    let encode = encode::oneof(oneof);
    let merge = decode::oneof(oneof);
    let rows = names::members(oneof);
    let fields = describe::members(oneof);
    quote! {
        #[automatically_derived]
        impl #impl_generics ::protozero::rt::owned::Oneof for #ident #type_generics #where_clause {
            const NUMBERS: &'static [::core::primitive::u32] = &[#(#numbers),*];
            const ROWS: &'static [::protozero::rt::owned::Row] = {
                use ::protozero::rt::owned as __pb;
                &[#rows]
            };
            #fields

            #[inline]
            fn number(&self) -> ::core::primitive::u32 {
                match self { #number }
            }

            #[inline]
            fn encode_member<__Out: ::protozero::rt::owned::Output>(&self, out: &mut __Out) {
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

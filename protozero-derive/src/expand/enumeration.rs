//! The impl of an enumeration.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use crate::model::{Enumeration, Values, Variant};

/// `impl Enumeration for ...`, the constants of an open one, and the conversions of both.
pub(crate) fn enumeration(input: &Enumeration) -> TokenStream {
    let (ident, name) = (&input.ident, &input.name);
    let (beside, body) = match &input.values {
        Values::Closed(variants) => {
            let idents: Vec<_> = variants.iter().map(|variant| &variant.ident).collect();
            let names = variants.iter().map(|variant| &variant.name);
            let evaluated = variants.iter().filter(|variant| !variant.known);
            let checks = evaluated.map(|Variant { ident: value, .. }| {
                let message = format!("{ident}::{value} is no number of 32 bits");
                quote_spanned! {value.span()=>
                    const _: () = ::core::assert!(
                        #ident::#value as i128 == (#ident::#value as i32) as i128, #message,
                    );
                }
            });
            let checks = quote!(#(#checks)*);
            let body = quote! {
                const VALUES: &'static [(&'static str, i32)] =
                    &[#((#names, Self::#idents as i32)),*];
                const CLOSED: bool = true;
                fn from_i32(number: i32) -> Self {
                    Self::try_from_i32(number).unwrap_or_default()
                }
                fn try_from_i32(number: i32) -> ::core::option::Option<Self> {
                    [#(Self::#idents),*].into_iter().find(|&value| value as i32 == number)
                }
                fn to_i32(self) -> i32 {
                    self as i32
                }
            };
            (checks, body)
        }
        Values::Open(values) => {
            let idents: Vec<_> = values.iter().map(|value| &value.0).collect();
            let numbers: Vec<_> = values.iter().map(|value| &value.1).collect();
            let names = idents.iter().map(|ident| ident.to_string());
            let docs = names.clone().map(|name| format!(" `{name}`."));
            let constants = quote! {
                #[automatically_derived]
                impl #ident {
                    #(#[doc = #docs] pub const #idents: Self = Self(#numbers);)*
                }
            };
            let body = quote! {
                const VALUES: &'static [(&'static str, i32)] = &[#((#names, #numbers)),*];
                fn from_i32(number: i32) -> Self {
                    Self(number)
                }
                fn to_i32(self) -> i32 {
                    self.0
                }
            };
            (constants, body)
        }
    };
    quote! {
        #beside
        #[automatically_derived]
        impl ::protozero::Enumeration for #ident {
            const NAME: &'static str = #name;
            #body
        }
        ::protozero::rt::enumeration_text!(#ident);
    }
}

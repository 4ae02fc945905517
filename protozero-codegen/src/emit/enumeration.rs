//! Enums: a newtype over the number, so that an open enum keeps values that this build does not know.

use proc_macro2::TokenStream;
use quote::quote;

use super::context::{Context, docs, docs_or, ident};
use crate::model::EnumId;

pub(super) fn emit(cx: &Context<'_>, id: EnumId) -> TokenStream {
    let e = &cx.schema.enums[id.0];
    let name = ident(cx.names.enumeration(id));
    let full = e.path.full();
    let doc = docs_or(&e.comment, e.deprecated, &format!("`{full}`."));
    let (serde, attributes) = (cx.serde(), cx.enum_attributes(&full));
    let constants = e.values.iter().zip(cx.names.constants(id)).map(|(v, name)| {
        let (doc, name) = (docs(&v.comment, v.deprecated), ident(name));
        let number = proc_macro2::Literal::i32_unsuffixed(v.number);
        quote! { #doc pub const #name: Self = Self(#number); }
    });
    let pairs = e.values.iter().map(|v| {
        let (name, number) = (&v.name, proc_macro2::Literal::i32_unsuffixed(v.number));
        quote! { (#name, #number) }
    });
    let closed = e.closed.then(|| quote! { const CLOSED: bool = true; });
    quote! {
        #doc
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #serde
        #attributes
        pub struct #name(pub i32);
        impl #name { #(#constants)* }
        impl protozero::Enumeration for #name {
            const NAME: &'static str = #full;
            const VALUES: &'static [(&'static str, i32)] = &[#(#pairs),*];
            #closed
            #[inline]
            fn from_i32(value: i32) -> Self { Self(value) }
            #[inline]
            fn to_i32(self) -> i32 { self.0 }
        }
        protozero::rt::enumeration!(#name);
    }
}

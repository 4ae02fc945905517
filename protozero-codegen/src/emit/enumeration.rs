//! Open enums: a newtype over the number, so a value this build does not know survives.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Context, docs, docs_or, ident};
use crate::model::EnumId;
use crate::names::{Taken, raw};

pub(super) fn emit(cx: &Context<'_>, id: EnumId) -> TokenStream {
    let e = &cx.schema.enums[id.0];
    let name = ident(cx.names.enumeration(id));
    let full = e.path.full();
    let doc = docs_or(&e.comment, e.deprecated, &format!("`{full}`."));
    // The names an associated constant could hide: those of the impl below.
    let mut taken = Taken::new(&["NAME", "VALUES"]);
    let constants = e.values.iter().map(|v| {
        let doc = docs(&v.comment, v.deprecated);
        let name = raw(&taken.take(v.name.clone()));
        let number = proc_macro2::Literal::i32_unsuffixed(v.number);
        quote! { #doc pub const #name: Self = Self(#number); }
    });
    let pairs = e.values.iter().map(|v| {
        let (name, number) = (&v.name, proc_macro2::Literal::i32_unsuffixed(v.number));
        quote! { (#name, #number) }
    });
    let first = proc_macro2::Literal::i32_unsuffixed(e.values.first().map_or(0, |v| v.number));
    quote! {
        #doc
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct #name(pub i32);
        impl #name {
            #(#constants)*
            /// Name of the value in the schema; none if this build does not know it.
            #[inline]
            #[must_use]
            pub fn name(self) -> Option<&'static str> {
                protozero::Enumeration::name(self)
            }
        }
        impl protozero::Enumeration for #name {
            const NAME: &'static str = #full;
            const VALUES: &'static [(&'static str, i32)] = &[#(#pairs),*];
            #[inline]
            fn from_i32(value: i32) -> Self { Self(value) }
            #[inline]
            fn to_i32(self) -> i32 { self.0 }
        }
        impl Default for #name {
            fn default() -> Self { Self(#first) }
        }
        impl core::fmt::Debug for #name {
            #[inline]
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                protozero::rt::debug_enum(*self, f)
            }
        }
    }
}

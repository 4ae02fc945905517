//! Readers: a lazy pass over a message's fields, matched by whole tag.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Context, field_fallback, ident, rt, summary};
use crate::model::{Field, Kind, Label, MessageId};
use crate::names::variants;

const PACKED: u32 = 2;

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    let names = cx.names.message(id);
    let (reader, field) = (ident(&names.reader), ident(&names.field));
    let variants: Vec<_> =
        variants(message, &["Unknown"], |_| true).into_iter().flatten().collect();
    let declared = message.fields.iter().zip(&variants).map(|(f, variant)| {
        let doc = summary(&f.comment, &field_fallback(f));
        let ty = borrowed(cx, f);
        quote! { #[doc = #doc] #variant(#ty), }
    });
    let arms = message.fields.iter().zip(&variants).map(|(f, variant)| {
        let tag = Literal::u32_unsuffixed(f.number << 3 | f.kind.wire_type());
        let read = rt(f.kind);
        let value = match f.kind {
            Kind::Enum(id) => {
                let ty = cx.enumeration(id);
                quote! { #ty(f.enumeration()?) }
            }
            Kind::Message(id) => {
                let reader = cx.reader(id);
                quote! { #reader::new(f.bytes()?) }
            }
            _ => quote! { f.#read()? },
        };
        let run = (f.label == Label::Repeated && f.kind.packable()).then(|| {
            let run = Literal::u32_unsuffixed(f.number << 3 | PACKED);
            quote! { #run => { f.begin_run(#tag)?; continue; } }
        });
        quote! { #tag => #field::#variant(#value), #run }
    });
    let full = message.path.full();
    let reader_doc = format!(" Reads a `{full}` where it lies, field by field.");
    let field_doc = format!(" A field of a `{full}`.");
    let has_runs = message.fields.iter().any(|f| f.label == Label::Repeated && f.kind.packable());
    let value = quote! {
        Ok(Some(match tag {
            #(#arms)*
            _ => #field::Unknown(f.unknown(tag)?),
        }))
    };
    let next = quote! { let Some(tag) = f.next_tag()? else { return Ok(None) }; };
    let body = if message.fields.is_empty() {
        quote! { #next Ok(Some(#field::Unknown(f.unknown(tag)?))) }
    } else if has_runs {
        quote! { loop { #next return #value; } }
    } else {
        quote! { #next #value }
    };
    quote! {
        #[doc = #field_doc]
        #[derive(Clone, Copy, Debug)]
        pub enum #field<'a> {
            #(#declared)*
            /// A field this build does not know, or one of a foreign wire type.
            Unknown(rt::Field<'a>),
        }
        #[doc = #reader_doc]
        #[derive(Clone, Copy, Debug)]
        pub struct #reader<'a> {
            fields: rt::Fields<'a>,
        }
        impl<'a> #reader<'a> {
            /// Reads the message encoded in `bytes`.
            #[inline]
            #[must_use]
            pub const fn new(bytes: &'a [u8]) -> Self {
                Self { fields: rt::Fields::new(bytes) }
            }
            #[inline(always)]
            fn field(&mut self) -> Result<Option<#field<'a>>, rt::DecodeError> {
                let f = &mut self.fields;
                #body
            }
        }
        impl<'a> Iterator for #reader<'a> {
            type Item = Result<#field<'a>, rt::DecodeError>;
            #[inline]
            fn next(&mut self) -> Option<Self::Item> { self.field().transpose() }
        }
    }
}

fn borrowed(cx: &Context<'_>, f: &Field) -> TokenStream {
    match f.kind {
        Kind::String => quote! { &'a str },
        Kind::Bytes => quote! { &'a [u8] },
        Kind::Message(id) => {
            let reader = cx.reader(id);
            quote! { #reader<'a> }
        }
        kind => cx.scalar(kind),
    }
}

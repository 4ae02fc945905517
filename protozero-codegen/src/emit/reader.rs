//! Readers: a lazy pass over a message's fields, matched by whole tag.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Context, ident, rt, summary};
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
        let doc = summary(&f.comment);
        let ty = borrowed(cx, f);
        let gate = cx.gate(f);
        quote! { #doc #gate #variant(#ty), }
    });
    let arms = message.fields.iter().zip(&variants).map(|(f, variant)| {
        let tag = Literal::u32_unsuffixed(f.number << 3 | f.kind.wire_type());
        let read = rt(f.kind);
        let gate = cx.gate(f);
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
            quote! { #gate #run => return rt::run(f, #tag), }
        });
        quote! { #gate #tag => Self::#variant(#value), #run }
    });
    let full = message.path.full();
    let reader_doc = format!(" Reads a `{full}` where it lies, field by field.");
    let field_doc = format!(" A field of a `{full}`.");
    quote! {
        #[doc = #reader_doc]
        pub type #reader<'a> = rt::TypedReader<'a, #field<'a>>;
        #[doc = #field_doc]
        #[derive(Clone, Copy, Debug)]
        pub enum #field<'a> {
            #(#declared)*
            /// A field this build does not know, or one of a foreign wire type.
            Unknown(rt::Field<'a>),
        }
        impl<'a> rt::TypedField<'a> for #field<'a> {
            #[inline(always)]
            fn read(f: &mut rt::Fields<'a>, tag: u32) -> Result<Option<Self>, rt::Malformed> {
                let field = match tag {
                    #(#arms)*
                    _ => Self::Unknown(f.unknown(tag)?),
                };
                Ok(Some(field))
            }
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

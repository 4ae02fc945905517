//! Static descriptors: what the text format knows of a message.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Context, ident};
use crate::model::{Kind, Label, MessageId};
use crate::names::camel;

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    let name = ident(&cx.names.message(id).owned);
    let full = message.path.full();
    let cfg = cx.cfg_text();
    let fields = message.fields.iter().map(|f| {
        let (name, number) = (&f.name, Literal::u32_unsuffixed(f.number));
        let label = match f.label {
            Label::Repeated if f.packed => ident("packed"),
            Label::Repeated => ident("repeated"),
            _ => ident("optional"),
        };
        let kind = match f.kind {
            Kind::Message(id) => {
                let ty = cx.owned(id);
                quote! { d::of!(#ty) }
            }
            Kind::Enum(id) => {
                let ty = cx.enumeration(id);
                quote! { d::enum_kind::<#ty>() }
            }
            kind => {
                let variant = ident(&camel(kind.keyword()));
                quote! { d::Kind::#variant }
            }
        };
        let gate = cx.gate(f);
        quote! { #gate d::#label(#name, #number, #kind) }
    });
    quote! {
        #cfg
        impl #name {
            /// What the text format knows of this message.
            pub const DESCRIPTOR: &'static d::MessageDescriptor = &d::message(#full, &[#(#fields),*]);
        }
    }
}

//! Writers: a thin guard around an open message, one call into `protozero::rt` per field.
//!
//! Setters carry the name of their field. A message field also has `NAME_raw`, for a body that is
//! encoded already, and a bytes field `NAME_gather`, for several slices that become one value.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Context, ident, rt, rt_packed, summary};
use crate::model::{Field, Kind, Label, MessageId};
use crate::names::{Taken, raw};

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    let names = cx.names.message(id);
    let writer = ident(&names.writer);
    let full = message.path.full();
    let doc = if cx.config.faces.owned {
        format!(" Writes a [`{}`]; dropping it closes the message.", names.owned)
    } else {
        format!(" Writes a `{full}`; dropping it closes the message.")
    };
    let mut taken = Taken::new(&["append_raw"]);
    let plain: Vec<_> = message.fields.iter().map(|f| taken.take(f.name.clone())).collect();
    let setters =
        message.fields.iter().zip(plain).map(|(f, name)| setter(cx, f, &name, &mut taken));
    quote! {
        #[doc = #doc]
        pub struct #writer<'w> {
            s: rt::Scope<'w>,
        }
        impl<'w> rt::Writer<'w> for #writer<'w> {
            const NAME: &'static str = #full;
            #[inline]
            fn from_scope(s: rt::Scope<'w>) -> Self { Self { s } }
        }
        impl #writer<'_> {
            #(#setters)*
            /// Appends already encoded fields, verbatim.
            #[inline]
            pub fn append_raw(&mut self, fields: &[u8]) -> &mut Self {
                rt::raw(&mut self.s, fields);
                self
            }
        }
    }
}

fn setter(cx: &Context<'_>, f: &Field, plain: &str, taken: &mut Taken) -> TokenStream {
    let (doc, gate) = (summary(&f.comment), cx.gate(f));
    let head = quote! { #doc #gate #[inline] };
    let name = raw(plain);
    let number = Literal::u32_unsuffixed(f.number);
    let call = rt(f.kind);
    match f.kind {
        Kind::Message(id) => {
            let writer = cx.writer(id);
            let pre = raw(&taken.take(format!("{plain}_raw")));
            return quote! {
                #head
                pub fn #name(&mut self) -> #writer<'_> {
                    rt::message::<#number, _>(&mut self.s)
                }
                #[inline]
                pub fn #pre(&mut self, body: &[u8]) -> &mut Self {
                    rt::message_raw::<#number>(&mut self.s, body);
                    self
                }
            };
        }
        Kind::Bytes => {
            let gather = raw(&taken.take(format!("{plain}_gather")));
            return quote! {
                #head
                pub fn #name(&mut self, value: &[u8]) -> &mut Self {
                    rt::bytes::<#number>(&mut self.s, value);
                    self
                }
                #[inline]
                pub fn #gather(&mut self, parts: &[&[u8]]) -> &mut Self {
                    rt::bytes_gather::<#number>(&mut self.s, parts);
                    self
                }
            };
        }
        _ => {}
    }
    let ty = cx.scalar(f.kind);
    if f.packed && f.label == Label::Repeated {
        let call = rt_packed(f.kind);
        let values = match f.kind {
            Kind::Enum(_) => quote! { values.into_iter().map(|v| v.0) },
            _ => quote! { values },
        };
        return quote! {
            #head
            pub fn #name(&mut self, values: impl IntoIterator<Item = #ty>) -> &mut Self {
                rt::#call::<#number>(&mut self.s, #values);
                self
            }
        };
    }
    let (ty, value) = match f.kind {
        Kind::String => (quote! { &str }, quote! { value }),
        Kind::Enum(_) => (ty, quote! { value.0 }),
        _ => (ty, quote! { value }),
    };
    quote! {
        #head
        pub fn #name(&mut self, value: #ty) -> &mut Self {
            rt::#call::<#number>(&mut self.s, #value);
            self
        }
    }
}

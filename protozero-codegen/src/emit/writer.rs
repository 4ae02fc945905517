//! Writers: a thin guard around an open message, one call into `protozero::rt` per field.
//!
//! Setters carry the name of their field. A message field also has `NAME_raw`, for a body that is
//! encoded already, and a bytes field `NAME_gather`, for several slices that become one value. A map
//! field takes key and value, the latter as a function that fills it if it is a message; `NAME_raw`
//! takes a whole entry.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;

use super::{Context, ident, rt, rt_packed, summary};
use crate::model::{Field, Kind, Label, MessageId};
use crate::names::{Taken, raw};

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    if message.map_entry {
        // The setter of the map field writes it.
        return TokenStream::new();
    }
    let names = cx.names.message(id);
    let writer = ident(&names.writer);
    let full = message.path.full();
    let mut taken = Taken::new(&["append_raw", "from_scope", "scope_mut"]);
    let plain: Vec<_> = message.fields.iter().map(|f| taken.take(f.name.clone())).collect();
    let setters =
        message.fields.iter().zip(plain).map(|(f, name)| setter(cx, f, &name, &mut taken));
    // The struct, its trait and `append_raw`.
    let frame = cx.verbatim(format!("rt::writer!({writer}, \"{full}\");\n"));
    quote! {
        #frame
        impl #writer<'_> {
            #(#setters)*
        }
    }
}

fn setter(cx: &Context<'_>, f: &Field, plain: &str, taken: &mut Taken) -> TokenStream {
    let (doc, gate) = (summary(&f.comment), cx.gate(f));
    let head = quote! { #doc #gate #[inline] };
    let name = raw(plain);
    let number = Literal::u32_unsuffixed(f.number);
    let call = rt(f.kind);
    if let Some((key, value)) = cx.schema.map_entry(f) {
        let pre = raw(&taken.take(format!("{plain}_raw")));
        let entry = entry(cx, &number, key, value);
        return quote! {
            #head
            pub fn #name #entry
            #[inline]
            pub fn #pre(&mut self, entry: &[u8]) -> &mut Self {
                rt::message_raw::<#number>(&mut self.s, entry);
                self
            }
        };
    }
    match f.kind {
        Kind::Message(id) => {
            let pre = raw(&taken.take(format!("{plain}_raw")));
            return message(cx, f, id, &head, &name, &pre);
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
    let (ty, value) = argument(cx, f.kind, "value");
    quote! {
        #head
        pub fn #name(&mut self, value: #ty) -> &mut Self {
            rt::#call::<#number>(&mut self.s, #value);
            self
        }
    }
}

/// Setters of a message field: to write it, and for a body that is encoded already.
fn message(
    cx: &Context<'_>,
    f: &Field,
    id: MessageId,
    head: &TokenStream,
    name: &Ident,
    pre: &Ident,
) -> TokenStream {
    let number = Literal::u32_unsuffixed(f.number);
    let writer = cx.writer(id);
    let (open, closed) = match f.delimited {
        true => (ident("group"), ident("group_raw")),
        false => (ident("message"), ident("message_raw")),
    };
    quote! {
        #head
        pub fn #name(&mut self) -> #writer<'_> {
            rt::#open::<#number, _>(&mut self.s)
        }
        #[inline]
        pub fn #pre(&mut self, body: &[u8]) -> &mut Self {
            rt::#closed::<#number>(&mut self.s, body);
            self
        }
    }
}

/// Type of a setter's argument called `name`, and what `rt` gets of it.
fn argument(cx: &Context<'_>, kind: Kind, name: &str) -> (TokenStream, TokenStream) {
    let name = ident(name);
    match kind {
        Kind::String => (quote! { &str }, quote! { #name }),
        Kind::Bytes => (quote! { &[u8] }, quote! { #name }),
        Kind::Enum(_) => (cx.scalar(kind), quote! { #name.0 }),
        _ => (cx.scalar(kind), quote! { #name }),
    }
}

/// Arguments and body of the setter of a map field.
fn entry(cx: &Context<'_>, number: &Literal, key: &Field, value: &Field) -> TokenStream {
    let (key_ty, key_value) = argument(cx, key.kind, "key");
    let key_call = rt(key.kind);
    let (ty, put) = match value.kind {
        Kind::Message(id) => {
            let writer = cx.writer(id);
            let ty = quote! { impl FnOnce(&mut #writer<'_>) };
            (ty, quote! { value(&mut rt::message::<2, _>(&mut entry)); })
        }
        kind => {
            let (ty, value) = argument(cx, kind, "value");
            let call = rt(kind);
            (ty, quote! { rt::#call::<2>(&mut entry, #value); })
        }
    };
    quote! {
        (&mut self, key: #key_ty, value: #ty) -> &mut Self {
            let mut entry = self.s.nested::<#number>();
            rt::#key_call::<1>(&mut entry, #key_value);
            #put
            drop(entry);
            self
        }
    }
}

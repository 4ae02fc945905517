//! Writers: a guard around an open message, and a table that `rt::writer!` expands to one setter per line. Each setter
//! is one call of `protozero::rt`.
//!
//! A setter has the name of its field. A message field also has `NAME_raw` for an encoded body, and a bytes field has
//! `NAME_gather` for a value in several slices. The setter of a map field takes key and value; a value that is a
//! message is filled by a function. `NAME_raw` of a map takes a whole entry. A field with a name that another setter
//! may have gets an underscore: see [`setter`].

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::context::{Context, first_sentence, ident, rt, spaceless, summary};
use crate::model::{Field, Kind, Label, MessageId};
use crate::names::{Taken, raw, setter, setter_gather, setter_raw};

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    if message.map_entry {
        // The setter of the map field writes it.
        return TokenStream::new();
    }
    let names = cx.names.message(id);
    // With the names of prost, those of two fields may be equal.
    let mut taken = Taken::new(&[]);
    let name = |f: &Field| taken.take(setter(cx.member_name(&f.name, &[])));
    let plain: Vec<_> = message.fields.iter().map(name).collect();
    let mut table = format!("rt::writer! {{ {}, \"{}\";\n", names.writer, message.path.full());
    let mut maps = TokenStream::new();
    for (f, name) in message.fields.iter().zip(plain) {
        match cx.schema.map_entry(f) {
            Some((key, value)) => maps.extend(map(cx, f, (key, value), &name, &mut taken)),
            None => {
                let line = line(cx, f, &name, &mut taken);
                cx.row(&mut table, "    ", first_sentence(&f.comment), cx.gate_feature(f), &line);
            }
        }
    }
    table.push('}');
    let table = cx.verbatim(table);
    if maps.is_empty() {
        return table;
    }
    let writer = ident(&names.writer);
    quote! {
        #table
        impl #writer<'_> { #maps }
    }
}

/// The line of a field in `rt::writer!`.
fn line(cx: &Context<'_>, f: &Field, plain: &str, taken: &mut Taken) -> String {
    let (name, number, call) = (raw(plain), f.number, f.kind.keyword());
    let packed = f.packed && f.label == Label::Repeated;
    match f.kind {
        Kind::Message(id) => {
            let shape = if f.delimited { "group" } else { "message" };
            let (writer, pre) = (spaceless(cx.writer(id)), raw(&taken.take(setter_raw(plain))));
            format!("{shape} {name}({writer}<'_>) = {number}, {pre};")
        }
        Kind::Bytes => {
            let gather = raw(&taken.take(setter_gather(plain)));
            format!("bytes {name} = {number}, {gather};")
        }
        Kind::String => format!("value {name}(&str) = {number} as string;"),
        kind => {
            let ty = spaceless(cx.scalar(kind));
            match (kind, packed) {
                (Kind::Enum(_), true) => format!("packed_enum {name}({ty}) = {number};"),
                (Kind::Enum(_), false) => format!("enumeration {name}({ty}) = {number};"),
                (_, true) => format!("packed {name}({ty}) = {number} as packed_{call};"),
                (_, false) => format!("value {name}({ty}) = {number} as {call};"),
            }
        }
    }
}

/// Setters of a map field.
fn map(
    cx: &Context<'_>,
    f: &Field,
    (key, value): (&Field, &Field),
    plain: &str,
    taken: &mut Taken,
) -> TokenStream {
    let (doc, gate) = (summary(&f.comment), cx.gate(value));
    let (name, pre) = (raw(plain), raw(&taken.take(setter_raw(plain))));
    let number = Literal::u32_unsuffixed(f.number);
    let entry = entry(cx, &number, key, value);
    quote! {
        #doc #gate #[inline]
        pub fn #name #entry
        #[inline]
        pub fn #pre(&mut self, entry: &[u8]) -> &mut Self {
            rt::message_raw::<#number>(&mut self.s, entry);
            self
        }
    }
}

/// Type of a setter's argument called `name`, and the expression that is passed to `rt`.
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
            let ty = quote! { impl ::core::ops::FnOnce(&mut #writer<'_>) };
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

//! Extensions: a constant each, where it is declared: beside the messages of the file, or on the
//! struct of the message it stands in. Those of messages no code is made for (options of the schema
//! language, mostly) are left out.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Context, docs_or, ident};
use crate::model::{EnumId, Extension, Field, File, Kind, Label, Message};
use crate::names::{Taken, raw, snake};

/// Those at file scope. Their names are unique among all files, which are re-exported together.
pub(super) fn file(cx: &Context<'_>, file: &File) -> TokenStream {
    // An enum is a function too: its newtype's constructor.
    let enums: Vec<&str> =
        (0..cx.schema.enums.len()).map(|at| cx.names.enumeration(EnumId(at))).collect();
    let mut taken = Taken::new(&enums);
    let mut out = TokenStream::new();
    for other in &cx.schema.files {
        for extension in &other.extensions {
            let name = taken.take(constant(&extension.field.name));
            if core::ptr::eq(other, file) {
                out.extend(emit(cx, extension, &name));
            }
        }
    }
    out
}

/// Those declared inside `message`, whose struct is `name`.
pub(super) fn nested(
    cx: &Context<'_>,
    message: &Message,
    name: &proc_macro2::Ident,
) -> TokenStream {
    // `DESCRIPTOR` is a constant of every struct.
    let mut taken = Taken::new(&["DESCRIPTOR"]);
    let constants: TokenStream = message
        .extensions
        .iter()
        .filter_map(|extension| emit(cx, extension, &taken.take(constant(&extension.field.name))))
        .collect();
    if constants.is_empty() {
        return constants;
    }
    quote! { impl #name { #constants } }
}

fn constant(name: &str) -> String {
    snake(name).to_uppercase()
}

fn emit(cx: &Context<'_>, extension: &Extension, name: &str) -> Option<TokenStream> {
    let Extension { path, extendee, field } = extension;
    let extended = &cx.schema.messages[extendee.0];
    // Of a message set: no field can have this number, and only dynamic messages need none.
    let beyond = field.number > 0x1FFF_FFFF;
    if beyond || !cx.schema.files[extended.file].has_code() {
        return None;
    }
    let full = path.full();
    let doc = docs_or(&field.comment, field.deprecated, &format!("`{full}`."));
    let (gate, area) = (cx.gate(field), cx.gate_file(extended.file));
    let name = raw(name);
    let (extendee, kind) = (cx.owned(*extendee), kind(cx, field));
    let shape = ident(match field.label {
        Label::Repeated if field.packed => "Packed",
        Label::Repeated if field.kind.packable() => "Unpacked",
        Label::Repeated => "Repeated",
        _ => "Single",
    });
    let number = Literal::u32_unsuffixed(field.number);
    Some(quote! {
        #doc #gate #area
        pub const #name: protozero::Extension<#extendee, protozero::extension::#shape<#kind>> =
            protozero::Extension::new(#full, #number);
    })
}

fn kind(cx: &Context<'_>, field: &Field) -> TokenStream {
    let ty = cx.scalar(field.kind);
    let of = quote! { protozero::extension };
    match field.kind {
        Kind::String if field.utf8 => quote! { #of::Text<String, true> },
        Kind::String => quote! { #of::Text },
        Kind::Bytes => quote! { #of::Bytes },
        Kind::Enum(_) => quote! { #of::Enum<#ty> },
        Kind::Message(_) if field.delimited => quote! { #of::Group<#ty> },
        Kind::Message(_) => quote! { #of::Nested<#ty> },
        scalar => {
            let marker = ident(&crate::names::camel(scalar.keyword()));
            quote! { #of::#marker }
        }
    }
}

//! Extensions: one constant for each, beside the messages of the file or on the struct of the message that declares it.
//! Extensions of messages without generated code, usually options of the schema language, are left out, and so are
//! those of message sets, which have an encoding of their own.

use std::collections::BTreeMap;

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::context::{Context, docs_or, ident};
use crate::model::{EnumId, Extension, Field, File, Kind, Label, Message};
use crate::names::{Taken, raw, snake};

/// Extensions at file scope. Their names are unique in their module.
pub(super) fn file(cx: &Context<'_>, file: &File) -> TokenStream {
    // The constructor of an enum's newtype is a function, so its name is taken as well.
    let beside = |file: usize| cx.is_beside(file);
    let enums = cx.schema.enums.iter().zip(0..).filter(|(e, _)| beside(e.file));
    let enums: Vec<&str> = enums.map(|(_, at)| cx.names.enumeration(EnumId(at))).collect();
    let mut taken = Taken::new(&enums);
    let files = cx.schema.files.iter().zip(0..).filter(|(_, at)| beside(*at));
    let mut all: Vec<&Extension> = files.flat_map(|(file, _)| &file.extensions).collect();
    // Those that are in lower case get their names first, in whichever file they are.
    all.sort_by_key(|x| core::cmp::Reverse((&x.field.name, &x.path.package)));
    let names: BTreeMap<String, String> =
        all.iter().map(|x| (x.path.full(), taken.take(constant(&x.field.name)))).collect();
    let emit = |x: &Extension| emit(cx, x, names.get(&x.path.full())?);
    file.extensions.iter().filter_map(emit).collect()
}

/// Extensions declared inside `message`, whose struct is `name`.
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
    if extended.message_set || !cx.schema.files[extended.file].has_code() {
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

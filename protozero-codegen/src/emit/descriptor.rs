//! Static descriptors: what the text format knows of a message.

use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::context::{Context, ident};
use crate::model::{Field, Kind, Label, MessageId};
use crate::names::{camel, json};

pub(super) fn emit(cx: &Context<'_>, id: MessageId) -> TokenStream {
    let message = &cx.schema.messages[id.0];
    // The descriptor of a map field contains the types of its entries.
    if message.map_entry {
        return quote! {};
    }
    let name = ident(&cx.names.message(id).owned);
    let full = message.path.full();
    let cfg = cx.cfg_text();
    let fields = message.fields.iter().map(|f| {
        let held = cx.schema.map_entry(f).map_or(f, |(_, value)| value);
        let (gate, field) = (cx.gate(held), field(cx, f, &f.name));
        let oneof = f.oneof.map(|oneof| {
            let name = &message.oneofs[oneof].name;
            quote! { .of(#name) }
        });
        quote! { #gate #field #oneof }
    });
    let extensions: Vec<TokenStream> = extensions(cx, id).collect();
    let extended = (!extensions.is_empty()).then(|| quote! { .extended(&[#(#extensions),*]) });
    let reserved = &message.reserved_names;
    let reserved = (!reserved.is_empty()).then(|| quote! { .reserved(&[#(#reserved),*]) });
    let set = message.message_set.then(|| quote! { .message_set() });
    quote! {
        #cfg
        impl #name {
            /// What the text format knows of this message.
            pub const DESCRIPTOR: &'static d::MessageDescriptor =
                &d::message(#full, &[#(#fields),*])#extended #reserved #set;
        }
    }
}

/// Extensions of the message, wherever they are declared.
fn extensions<'c>(cx: &'c Context<'_>, id: MessageId) -> impl Iterator<Item = TokenStream> + 'c {
    let files = cx.schema.files.iter().filter(|file| file.emitted);
    let nested = |id: &MessageId| cx.schema.messages[id.0].extensions.iter();
    files
        .flat_map(move |file| file.extensions.iter().chain(file.messages.iter().flat_map(nested)))
        .filter(move |extension| extension.extendee == id)
        .map(move |extension| {
            let gate = cx.gate(&extension.field);
            let field = field(cx, &extension.field, &extension.path.full());
            quote! { #gate #field }
        })
}

fn field(cx: &Context<'_>, f: &Field, name: &str) -> TokenStream {
    let number = Literal::u32_unsuffixed(f.number);
    let presence = match f.label {
        Label::Implicit => quote! { .implicit() },
        Label::Required => quote! { .required() },
        Label::Optional | Label::Repeated => quote! {},
    };
    let is_other = !f.json_name.is_empty() && f.json_name != json(&f.name);
    let json = is_other.then_some(&f.json_name).map(|name| quote! { .json(#name) });
    if let Some((key, value)) = cx.schema.map_entry(f) {
        let utf8 = (key.utf8 || value.utf8).then(|| quote! { .utf8() });
        let (key, value) = (kind(cx, key.kind), kind(cx, value.kind));
        return quote! { d::map(#name, #number, &[#key, #value]) #utf8 #json };
    }
    let label = match f.label {
        Label::Repeated if f.packed => ident("packed"),
        Label::Repeated => ident("repeated"),
        _ => ident("optional"),
    };
    let kind = kind(cx, f.kind);
    let delimited = f.delimited.then(|| quote! { .delimited() });
    let utf8 = f.utf8.then(|| quote! { .utf8() });
    quote! { d::#label(#name, #number, #kind) #presence #delimited #utf8 #json }
}

fn kind(cx: &Context<'_>, kind: Kind) -> TokenStream {
    match kind {
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
    }
}

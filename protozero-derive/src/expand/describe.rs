//! The descriptor of a struct with a name, and the descriptors that a oneof adds to it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::{Expr, Lit, UnOp};

use super::parts::literal;
use crate::kind::Kind;
use crate::model::{self, FieldName, Held, Member, Shape, What, types::span_of};

/// `Named`, and the constant `DESCRIPTOR`, which generated messages have, too.
pub(super) fn message(message: &model::Message) -> TokenStream {
    let Some(full) = &message.name else { return TokenStream::new() };
    let (ident, vis) = (&message.ident, &message.vis);
    let (impl_generics, type_generics, where_clause) = message.generics.split_for_impl();
    let count: usize = message.members.iter().map(count).sum();
    let parts = message.members.iter().filter_map(part);
    // The parameters are lifetimes.
    let lifetimes = message.generics.params.iter().map(|_| quote!('static));
    quote! {
        #[automatically_derived]
        impl #impl_generics ::protozero::rt::described::Described<#count> for #ident #type_generics
        #where_clause
        {
            const PARTS: &'static [::protozero::rt::described::Part] = {
                #[allow(unused_imports)]
                use ::protozero::{descriptor as __d, rt::described::Part as __Part};
                &[#(#parts,)*]
            };
        }
        #[automatically_derived]
        impl #impl_generics #ident #type_generics #where_clause {
            /// What the schema says of this message.
            #vis const DESCRIPTOR: &'static ::protozero::descriptor::MessageDescriptor =
                &::protozero::descriptor::MessageDescriptor::new(
                    #full,
                    <Self as ::protozero::rt::described::Described<#count>>::FIELDS,
                );
        }
        #[automatically_derived]
        impl #impl_generics ::protozero::Named for #ident #type_generics #where_clause {
            const FULL_NAME: &'static ::core::primitive::str = #full;
            const SCHEMA: ::core::option::Option<
                &'static ::protozero::descriptor::MessageDescriptor,
            > = ::core::option::Option::Some(Self::DESCRIPTOR);
        }
        // So that a mistake is an error here, and not where the descriptor is used.
        const _: &::protozero::descriptor::MessageDescriptor = <#ident<#(#lifetimes),*>>::DESCRIPTOR;
    }
}

/// The number of fields of a member at most.
fn count(member: &Member) -> usize {
    match &member.what {
        What::Field { .. } | What::Map { .. } => 1,
        What::Oneof { numbers, .. } => numbers.len(),
        What::Unknown { .. } => 0,
    }
}

fn part(member: &Member) -> Option<TokenStream> {
    let Member { name, ty, what, .. } = member;
    let (schema, span) = (&name.schema, span_of(ty));
    let field = match what {
        What::Field { held, number, shape, default } => {
            let kind = kind(held);
            let default = default.as_ref().and_then(text).map(|text| quote!(.default(#text)));
            let field = field(name, held, *number, *shape, &kind);
            quote!(#field #default)
        }
        What::Map { key, value, number } => {
            let (of_key, of_value, number) = (kind(key), kind(value), literal(*number));
            let is_text = [key, value].iter().any(|held| held.kind == Kind::String && held.checked);
            let (utf8, json) = (utf8(is_text), json(name));
            quote_spanned! {span=>
                __d::FieldDescriptor::map(#schema, #number, &[#of_key, #of_value]) #utf8 #json
            }
        }
        What::Oneof { inner, .. } => {
            return Some(quote_spanned!(span=> __Part::oneof::<#inner>(#schema)));
        }
        What::Unknown { .. } => return None,
    };
    Some(quote_spanned!(span=> __Part::Field(#field)))
}

/// A field that is no map.
fn field(
    name: &FieldName,
    held: &Held,
    number: u32,
    shape: Shape,
    kind: &TokenStream,
) -> TokenStream {
    let (schema, number) = (&name.schema, literal(number));
    let (label, presence) = match shape {
        Shape::Implicit => (quote!(optional), quote!(.implicit())),
        Shape::Required => (quote!(optional), quote!(.required())),
        Shape::Optional => (quote!(optional), quote!()),
        Shape::Repeated => (quote!(repeated), quote!()),
        Shape::Packed => (quote!(packed), quote!()),
    };
    let delimited = delimited(held);
    let (utf8, json) = (utf8(held.kind == Kind::String && held.checked), json(name));
    quote_spanned! {span_of(&held.ty)=>
        __d::FieldDescriptor::#label(#schema, #number, #kind) #presence #delimited #utf8 #json
    }
}

/// A default that is a literal, as descriptors have it. None: any other expression, whose value a macro does not know.
fn text(default: &Expr) -> Option<String> {
    match default {
        Expr::Group(group) => text(&group.expr),
        Expr::Paren(inner) => text(&inner.expr),
        Expr::Unary(minus) if matches!(minus.op, UnOp::Neg(_)) => {
            Some(format!("-{}", text(&minus.expr)?))
        }
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => Some(number.base10_digits().to_owned()),
            Lit::Float(number) => Some(number.base10_digits().to_owned()),
            Lit::Bool(yes) => Some(yes.value.to_string()),
            Lit::Str(text) => Some(text.value()),
            Lit::ByteStr(bytes) => Some(bytes.value().escape_ascii().to_string()),
            _ => None,
        },
        _ => None,
    }
}

fn delimited(held: &Held) -> Option<TokenStream> {
    (held.kind == Kind::Group).then(|| quote!(.delimited()))
}

fn utf8(is_checked: bool) -> Option<TokenStream> {
    is_checked.then(|| quote!(.utf8()))
}

fn json(name: &FieldName) -> Option<TokenStream> {
    name.json.as_ref().map(|json| quote!(.json(#json)))
}

fn kind(held: &Held) -> TokenStream {
    let ty = &held.ty;
    let span = span_of(ty);
    match held.kind {
        Kind::Scalar { marker, .. } => {
            let marker = format_ident!("{marker}");
            quote_spanned!(span=> __d::Kind::#marker)
        }
        Kind::String => quote_spanned!(span=> __d::Kind::String),
        Kind::Bytes => quote_spanned!(span=> __d::Kind::Bytes),
        Kind::Enumeration => quote_spanned!(span=> __d::Kind::of_enum::<#ty>()),
        Kind::Message | Kind::Group => quote_spanned!(span=> __d::Kind::of_message::<#ty>()),
    }
}

/// The members of a oneof. A message that does not know its name is an error only if a struct with a name has the oneof.
pub(super) fn members(oneof: &model::Oneof) -> TokenStream {
    let members = oneof.variants.iter().map(|variant| {
        let (held, ty) = (&variant.held, &variant.held.ty);
        if !held.kind.nested() {
            let kind = kind(held);
            return field(&variant.name, held, variant.number, Shape::Optional, &kind);
        }
        let (name, number) = (&variant.name.schema, literal(variant.number));
        let (delimited, json) = (delimited(held), json(&variant.name));
        quote_spanned! {span_of(ty)=>
            __member(#name, #number, __pb::Named::<#ty>::KIND) #delimited #json
        }
    });
    quote! {
        const FIELDS: &'static [::protozero::descriptor::FieldDescriptor] = {
            #[allow(unused_imports)]
            use ::protozero::{
                descriptor as __d,
                rt::described::member as __member,
                rt::owned::{self as __pb, Unnamed as _},
            };
            &[#(#members),*]
        };
    }
}

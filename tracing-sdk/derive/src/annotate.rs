//! `#[derive(Annotate)]`.

use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::ext::IdentExt as _;
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Error, Field, Fields, GenericArgument, Ident, Index,
    PathArguments, Result, Type, TypePath, WherePredicate,
};

/// Where an option would mean nothing it is an error: a user would rely on a `skip` that is ignored.
const ON_TYPE: &str = "`annotate` is for fields and variants: here it means nothing";
const ON_VARIANT: &str =
    "a variant takes `rename` alone: `skip`, `debug` and `display` are for its fields";
const ON_UNNAMED: &str = "a field without a name takes no `rename`: it is shown without one";

fn is_ours(attribute: &&Attribute) -> bool {
    attribute.path().is_ident("annotate")
}

/// The attributes of a field or variant.
#[derive(Default)]
struct Options {
    skip: bool,
    form: Form,
    rename: Option<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Form {
    #[default]
    Annotate,
    Debug,
    Display,
}

impl Options {
    fn parse(attributes: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        for attribute in attributes.iter().filter(is_ours) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("skip") {
                    options.skip = true;
                } else if meta.path.is_ident("debug") {
                    options.form = Form::Debug;
                } else if meta.path.is_ident("display") {
                    options.form = Form::Display;
                } else if meta.path.is_ident("rename") {
                    options.rename = Some(meta.value()?.parse::<syn::LitStr>()?.value());
                } else {
                    return Err(meta.error(
                        "`annotate` takes `skip`, `debug`, `display` or `rename = \"name\"`",
                    ));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }

    /// The value of a field, of which `reference` is a reference.
    fn value(&self, reference: &TokenStream) -> TokenStream {
        match self.form {
            Form::Annotate => reference.clone(),
            Form::Debug => quote!(&::tracing_sdk::__private::ByDebug(#reference)),
            Form::Display => quote!(&::tracing_sdk::__private::ByDisplay(#reference)),
        }
    }
}

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(attribute) = input.attrs.iter().find(is_ours) {
        return Err(Error::new_spanned(attribute, ON_TYPE));
    }
    let mut is_absent = None;
    let body = match &input.data {
        Data::Struct(data) => {
            let name = input.ident.unraw().to_string();
            let fields = data.fields.iter().enumerate().map(|(at, field)| match &field.ident {
                Some(name) => quote!(&self.#name),
                None => {
                    let at = Index::from(at);
                    quote!(&self.#at)
                }
            });
            let fields: Vec<_> = fields.collect();
            is_absent = only_field(&data.fields, &fields)?.map(|field| {
                quote! {
                    fn is_absent(&self) -> bool {
                        ::tracing_sdk::Annotate::is_absent(#field)
                    }
                }
            });
            write_fields(&name, &data.fields, &fields, &quote!(value))?
        }
        Data::Enum(data) => write_variants(data)?,
        Data::Union(_) => {
            return Err(Error::new_spanned(
                &input.ident,
                "nothing tells which field of a union is valid: implement `Annotate` by hand",
            ));
        }
    };
    let name = &input.ident;
    let mut generics = input.generics.clone();
    let bounds = bounds(input)?;
    generics.make_where_clause().predicates.extend(bounds);
    let (implementation, types, clause) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #implementation ::tracing_sdk::Annotate for #name #types #clause {
            fn annotate(&self, value: ::tracing_sdk::Value<'_, '_>) {
                #body
            }

            #is_absent
        }
    })
}

/// Writes the variant that an enum has.
fn write_variants(data: &DataEnum) -> Result<TokenStream> {
    if data.variants.is_empty() {
        return Ok(quote!({
            let _ = value;
            match *self {}
        }));
    }
    let arms = data.variants.iter().map(|variant| {
        let ident = &variant.ident;
        let options = Options::parse(&variant.attrs)?;
        if options.skip || options.form != Form::Annotate {
            return Err(Error::new_spanned(variant, ON_VARIANT));
        }
        let name = options.rename.unwrap_or_else(|| ident.unraw().to_string());
        let bound = bindings(&variant.fields);
        let pattern = match &variant.fields {
            Fields::Named(fields) => {
                let names = fields.named.iter().map(|field| &field.ident);
                quote!(Self::#ident { #(#names: #bound),* })
            }
            Fields::Unnamed(_) => quote!(Self::#ident(#(#bound),*)),
            Fields::Unit => quote!(Self::#ident),
        };
        let fields: Vec<_> = bound.iter().map(|name| quote!(#name)).collect();
        let body = match variant.fields {
            Fields::Unit => quote!(value.str(#name)),
            _ => {
                let inner = write_fields(&name, &variant.fields, &fields, &quote!(value))?;
                quote! {
                    value.map(|map| {
                        map.entry_with(#name, |value| #inner);
                    })
                }
            }
        };
        Ok(quote!(#pattern => { #(let _ = #bound;)* #body }))
    });
    let arms = arms.collect::<Result<Vec<_>>>()?;
    Ok(quote!(match self { #(#arms)* }))
}

/// The value of the field that a struct is shown as, if that is so.
fn only_field(fields: &Fields, references: &[TokenStream]) -> Result<Option<TokenStream>> {
    let Fields::Unnamed(fields) = fields else { return Ok(None) };
    let mut fields = fields.unnamed.iter();
    let (Some(field), None, [reference]) = (fields.next(), fields.next(), references) else {
        return Ok(None);
    };
    let options = Options::parse(&field.attrs)?;
    Ok((!options.skip).then(|| options.value(reference)))
}

/// What the fields that are shown ask of type parameters, each by the form in which it is shown.
fn bounds(input: &DeriveInput) -> Result<Vec<WherePredicate>> {
    let fields: Vec<&Field> = match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Union(_) => Vec::new(),
    };
    let parameters: Vec<&Ident> = input.generics.type_params().map(|it| &it.ident).collect();
    let mut used: Vec<(String, TokenStream, Form)> = Vec::new();
    for field in fields {
        let options = Options::parse(&field.attrs)?;
        if options.skip {
            continue;
        }
        let mut types = Vec::new();
        shown_types(&field.ty, &parameters, &mut types);
        for shown in types {
            let text = shown.to_string();
            if !used.iter().any(|(known, _, form)| *known == text && *form == options.form) {
                used.push((text, shown, options.form));
            }
        }
    }
    let bound = |(_, shown, form)| match form {
        Form::Annotate => syn::parse_quote!(#shown: ::tracing_sdk::Annotate),
        Form::Debug => syn::parse_quote!(#shown: ::core::fmt::Debug),
        Form::Display => syn::parse_quote!(#shown: ::core::fmt::Display),
    };
    Ok(used.into_iter().map(bound).collect())
}

/// The type parameters in `shown`, and types that belong to one, such as `I::Item`: these ask nothing of `I` itself.
fn shown_types(shown: &Type, parameters: &[&Ident], out: &mut Vec<TokenStream>) {
    match shown {
        Type::Array(shown) => shown_types(&shown.elem, parameters, out),
        Type::Group(shown) => shown_types(&shown.elem, parameters, out),
        Type::Paren(shown) => shown_types(&shown.elem, parameters, out),
        Type::Reference(shown) => shown_types(&shown.elem, parameters, out),
        Type::Slice(shown) => shown_types(&shown.elem, parameters, out),
        Type::Tuple(shown) => {
            shown.elems.iter().for_each(|shown| shown_types(shown, parameters, out));
        }
        Type::Path(shown) => shown_types_of_path(shown, parameters, out),
        other => mentioned(other, parameters, out),
    }
}

fn shown_types_of_path(shown: &TypePath, parameters: &[&Ident], out: &mut Vec<TokenStream>) {
    let begins = shown.path.segments.first().is_some_and(|it| parameters.contains(&&it.ident));
    let belongs = match &shown.qself {
        Some(own) => parameters.iter().any(|name| mentions(own.ty.to_token_stream(), name)),
        None => begins && shown.path.leading_colon.is_none(),
    };
    if belongs {
        return out.push(shown.to_token_stream());
    }
    for segment in &shown.path.segments {
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
            mentioned(&segment.arguments, parameters, out);
            continue;
        };
        for argument in &arguments.args {
            match argument {
                GenericArgument::Type(shown) => shown_types(shown, parameters, out),
                other => mentioned(other, parameters, out),
            }
        }
    }
}

fn mentioned(tokens: &impl ToTokens, parameters: &[&Ident], out: &mut Vec<TokenStream>) {
    let names = parameters.iter().filter(|name| mentions(tokens.to_token_stream(), name));
    out.extend(names.map(|name| name.to_token_stream()));
}

fn mentions(tokens: TokenStream, name: &Ident) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == *name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

fn bindings(fields: &Fields) -> Vec<Ident> {
    (0..fields.len()).map(|at| format_ident!("field_{at}")).collect()
}

/// Writes fields, of which `references` are references, into the value called `value`.
fn write_fields(
    name: &str,
    fields: &Fields,
    references: &[TokenStream],
    value: &TokenStream,
) -> Result<TokenStream> {
    let mut shown: Vec<(&Field, Options, &TokenStream)> = Vec::new();
    for (field, reference) in fields.iter().zip(references) {
        let options = Options::parse(&field.attrs)?;
        if options.rename.is_some() && field.ident.is_none() {
            return Err(Error::new_spanned(field, ON_UNNAMED));
        }
        if !options.skip {
            shown.push((field, options, reference));
        }
    }
    Ok(match fields {
        Fields::Unit => quote!(#value.str(#name)),
        Fields::Named(_) => {
            let entries = shown.iter().map(|(field, options, reference)| {
                let name =
                    field.ident.as_ref().map(|name| name.unraw().to_string()).unwrap_or_default();
                let name = options.rename.as_ref().unwrap_or(&name);
                let reference = options.value(reference);
                quote!(map.entry(#name, #reference);)
            });
            quote!(#value.map(|map| { let _ = &map; #(#entries)* }))
        }
        Fields::Unnamed(all) => match (&shown[..], all.unnamed.len()) {
            ([(_, options, reference)], 1) => {
                let reference = options.value(reference);
                quote!(::tracing_sdk::Annotate::annotate(#reference, #value))
            }
            _ => {
                let items = shown.iter().map(|(_, options, reference)| {
                    let reference = options.value(reference);
                    quote!(list.item(#reference);)
                });
                quote!(#value.list(|list| { let _ = &list; #(#items)* }))
            }
        },
    })
}

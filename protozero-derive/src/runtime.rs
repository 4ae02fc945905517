//! `#[pb(crate = my_sdk::protozero)]`: where an expansion finds the crate, if it has another name or
//! is re-exported by another crate.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Attribute, DeriveInput, Meta, Path, Token};

/// What `expand` makes of the input without that attribute, with `::protozero` replaced as it says.
pub(crate) fn around(
    input: TokenStream,
    expand: impl FnOnce(DeriveInput) -> syn::Result<TokenStream>,
) -> syn::Result<TokenStream> {
    let mut input: DeriveInput = syn::parse2(input)?;
    let mut found: Option<Path> = None;
    let mut rest = Vec::new();
    for mut attribute in input.attrs.drain(..) {
        match path(&attribute)? {
            Some(_) if found.is_some() => {
                return Err(syn::Error::new_spanned(attribute, "the crate is named twice"));
            }
            Some((path, more)) => {
                found = Some(path);
                if let (Meta::List(list), false) = (&mut attribute.meta, more.is_empty()) {
                    list.tokens = more;
                    rest.push(attribute);
                }
            }
            None => rest.push(attribute),
        }
    }
    input.attrs = rest;
    let made = expand(input)?;
    Ok(match found {
        Some(path) => replace(made, &path.to_token_stream()),
        None => made,
    })
}

/// The path of `#[pb(crate = PATH, ...)]`, and what stands behind it; none of any other attribute.
fn path(attribute: &Attribute) -> syn::Result<Option<(Path, TokenStream)>> {
    let named = attribute.path().is_ident("pb");
    if !named || attribute.meta.require_list().is_err() {
        return Ok(None);
    }
    let meta = attribute.parse_args_with(|input: syn::parse::ParseStream<'_>| {
        if !input.peek(Token![crate]) {
            // Somebody else's to read.
            input.parse::<TokenStream>()?;
            return Ok(None);
        }
        input.parse::<Token![crate]>()?;
        input.parse::<Token![=]>()?;
        let path = input.call(Path::parse_mod_style)?;
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        Ok(Some((path, input.parse()?)))
    })?;
    Ok(meta)
}

/// `tokens` with `::protozero` replaced by `path`, at any depth.
fn replace(tokens: TokenStream, path: &TokenStream) -> TokenStream {
    let mut out: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), replace(group.stream(), path));
                inner.set_span(group.span());
                out.push(inner.into());
            }
            TokenTree::Ident(name) if name == "protozero" && after_colons(&out) => {
                out.truncate(out.len() - 2);
                out.extend(path.clone());
            }
            other => out.push(other),
        }
    }
    out.into_iter().collect()
}

/// Whether what stands there ends in a `::` that begins a path.
fn after_colons(out: &[TokenTree]) -> bool {
    let colon = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ':');
    match out {
        [.., before, a, b] => {
            let path = matches!(before, TokenTree::Ident(name) if !is_keyword(&name.to_string()));
            colon(a) && colon(b) && !path
        }
        [a, b] => colon(a) && colon(b),
        _ => false,
    }
}

/// Words of ours that a path may stand behind.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "impl"
            | "for"
            | "use"
            | "as"
            | "dyn"
            | "mut"
            | "const"
            | "in"
            | "return"
            | "where"
            // The lifetime.
            | "static"
    )
}

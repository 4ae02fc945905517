//! Attributes that somebody wants on generated types and fields: see [`Config::message_attributes`].

use proc_macro2::TokenStream;
use quote::quote;
use syn::Attribute;
use syn::parse::Parser as _;

use crate::{Config, Error};

/// Attributes as one writes them: `#[a] #[b(c)]`.
pub(crate) fn parse(text: &str) -> syn::Result<Vec<Attribute>> {
    let found = Attribute::parse_outer.parse_str(text)?;
    if found.is_empty() {
        return Err(syn::Error::new(proc_macro2::Span::call_site(), "no attribute"));
    }
    Ok(found)
}

/// # Errors
/// What of a configuration is no attribute, with its text as the file.
pub(crate) fn check(config: &Config) -> Result<(), Error> {
    let types = config.message_attributes.iter().chain(&config.enum_attributes);
    for (_, text) in types.chain(&config.field_attributes) {
        parse(text).map_err(|error| Error {
            file: text.clone(),
            line: 0,
            column: 0,
            message: format!("not attributes: {error}"),
        })?;
    }
    Ok(())
}

/// Those in `list` of whatever has the name `full`, in the order they were given.
pub(crate) fn of(list: &[(String, String)], full: &str) -> TokenStream {
    let inside = |name: &str| {
        let name = name.trim_start_matches('.');
        let rest = full.strip_prefix(name);
        name.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let here = list.iter().filter(|(name, _)| inside(name));
    let found = here.flat_map(|(_, text)| parse(text).unwrap_or_default());
    found.map(|attribute| quote! { #attribute }).collect()
}

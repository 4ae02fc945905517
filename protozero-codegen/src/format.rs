//! Tokens to text: a syntax check, one formatter, one header.

use proc_macro2::TokenStream;

use crate::error::Error;

/// `header` is the first line, without its `//`.
///
/// # Errors
/// When the tokens are no Rust file: a bug of an emitter, reported against the source it worked on.
pub(crate) fn format(header: &str, source: &str, tokens: TokenStream) -> Result<String, Error> {
    let file: syn::File = syn::parse2(tokens).map_err(|e| Error {
        file: source.to_owned(),
        line: 0,
        column: 0,
        message: format!("generated code does not parse: {e}"),
    })?;
    let body = prettyplease::unparse(&file);
    Ok(format!("// {header}\n\n{body}"))
}

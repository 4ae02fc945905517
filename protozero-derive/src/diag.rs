//! Mistakes are collected, not returned one by one: a struct with three wrong fields is mended in
//! one compile.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// All mistakes found so far, in source order.
#[derive(Default)]
pub(crate) struct Diagnostics {
    first: Option<syn::Error>,
}

impl Diagnostics {
    /// Notes one mistake at `tokens`.
    pub(crate) fn at(&mut self, tokens: &impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Notes one mistake at `span`.
    pub(crate) fn at_span(&mut self, span: Span, message: impl std::fmt::Display) {
        self.push(syn::Error::new(span, message));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.first {
            Some(first) => first.combine(error),
            None => self.first = Some(error),
        }
    }

    /// Takes the value out of a result, or notes why there is none.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// `value` if nothing went wrong.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        match self.first {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }
}

/// The expansion, or one `compile_error!` a mistake.
pub(crate) fn tokens(result: syn::Result<TokenStream>) -> TokenStream {
    result.unwrap_or_else(|error| error.into_compile_error())
}

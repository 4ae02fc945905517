//! Collects errors, so that one compilation reports all of them.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// All errors found so far, in source order.
#[derive(Default)]
pub(crate) struct Diagnostics {
    first: Option<syn::Error>,
}

impl Diagnostics {
    /// Adds an error at `tokens`.
    pub(crate) fn at(&mut self, tokens: &impl ToTokens, message: impl std::fmt::Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Adds an error at `span`.
    pub(crate) fn at_span(&mut self, span: Span, message: impl std::fmt::Display) {
        self.push(syn::Error::new(span, message));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.first {
            Some(first) => first.combine(error),
            None => self.first = Some(error),
        }
    }

    /// Returns the value of a result, or adds its error.
    pub(crate) fn take<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// Whether there was no error.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// `value`, if there were no errors.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        match self.first {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }
}

/// The expansion, or one `compile_error!` for each error.
pub(crate) fn tokens(result: syn::Result<TokenStream>) -> TokenStream {
    result.unwrap_or_else(|error| error.into_compile_error())
}

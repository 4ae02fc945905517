//! `#[derive(Message)]` and `#[derive(Oneof)]`: owned protobuf messages from plain Rust structs.
//!
//! ```text
//!  tokens ──attrs──▶ #[pb(...)] of one field ──model──▶ a struct that makes sense ──expand──▶ impl
//!            │                                  │
//!            └──────────── diag ◀───────────────┘   every mistake of the input, each at its span
//! ```
//!
//! # Grammar
//!
//! ```text
//! #[pb(KIND, NUMBER)]            Option<T>: written when present;  T: written unless it is the default
//! #[pb(KIND, NUMBER, repeated)]  Vec<T>: one field an element
//! #[pb(KIND, NUMBER, packed)]    Vec<T>: one field for all; numbers, bools and enumerations only
//! #[pb(message, NUMBER, boxed)]  Option<Box<T>>: for messages that contain themselves
//! #[pb(oneof, NUMBER, ...)]      Option<E> where E derives Oneof and has exactly these numbers
//! #[pb(unknown)]                 protozero::UnknownFields: what the struct does not know, verbatim
//!
//! KIND = int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64
//!        float double bool string bytes enumeration message
//! ```
//!
//! Each variant of a oneof holds one value and carries `#[pb(KIND, NUMBER)]`, with `boxed` where
//! the value is a `Box`. Presence is read off the written type: its last path segment must be
//! called `Option`, `Vec` or `Box`, a macro cannot look through an alias.
//!
//! The expansion is safe code that names nothing but `::protozero::rt` and `::core`; one call a
//! field in each direction. Fields are written in the order of declaration, unknown ones last.

#![forbid(unsafe_code)]

mod attrs;
mod diag;
mod expand;
mod model;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Implements `protozero::Message` for a struct with named fields; see the crate's own page.
#[proc_macro_derive(Message, attributes(pb))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    diag::tokens(message(input.into())).into()
}

/// Implements `protozero::rt::Oneof` for an enum whose variants hold one value each.
#[proc_macro_derive(Oneof, attributes(pb))]
pub fn derive_oneof(input: TokenStream) -> TokenStream {
    diag::tokens(oneof(input.into())).into()
}

fn message(input: proc_macro2::TokenStream) -> syn::Result<proc_macro2::TokenStream> {
    Ok(expand::message(&model::Message::new(syn::parse2(input)?)?))
}

fn oneof(input: proc_macro2::TokenStream) -> syn::Result<proc_macro2::TokenStream> {
    Ok(expand::oneof(&model::Oneof::new(syn::parse2(input)?)?))
}

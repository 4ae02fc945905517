//! `#[derive(Message)]`, `MessageView`, `Oneof` and `Enumeration`: protobuf messages from plain Rust.
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
//! #[pb(KIND, NUMBER, required)]  T: always written; absent, it reads as the default
//! #[pb(KIND, NUMBER, repeated)]  Vec<T>: one field an element
//! #[pb(KIND, NUMBER, packed)]    Vec<T>: one field for all; numbers, bools and enumerations only
//! #[pb(KIND, NUMBER, default = EXPR)]  Option<T>, and a getter `field_or_default`
//! #[pb(string, NUMBER, utf8)]    what is not UTF-8 is an error; else it is unknown
//! #[pb(message, NUMBER, boxed)]  Option<Box<T>>: for messages that contain themselves
//! #[pb(group, NUMBER)]           a message between two tags instead of behind a length
//! #[pb(map(KIND, KIND), NUMBER)] BTreeMap<K, V> or HashMap<K, V>
//! #[pb(oneof, NUMBER, ...)]      Option<E> where E derives Oneof and has no other numbers
//! #[pb(unknown)]                 protozero::UnknownFields: what the struct does not know, verbatim
//! #[pb(unknown, extensions)]     the same, of a message that is open to extensions
//!
//! KIND = int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64
//!        float double bool string bytes enumeration message group
//! ```
//!
//! A `string` is held by `String`, `Cow<str>` or `Box<str>`, `bytes` by `Vec<u8>`, `Cow<[u8]>`,
//! `Box<[u8]>` or `bytes::Bytes`. A struct with a lifetime that derives `MessageView` may hold `&str`,
//! `&[u8]` and `Cow`s that borrow from the bytes it is decoded from.
//!
//! Unknown is what has a number the struct does not list or a wire type its kind does not have, a
//! number that a closed enumeration lacks, a string that is not UTF-8 unless it says `utf8`, and an
//! entry of a map that holds one of these. It is no error. The field `#[pb(unknown)]` keeps it and it
//! is encoded again; **a struct without that field drops it silently**, and a field whose value it
//! was reads as if it had not been sent. To have text checked as prost does, say `utf8` at each string.
//!
//! Each variant of a oneof holds one value and carries `#[pb(KIND, NUMBER)]`, with `boxed` where
//! the value is a `Box`. Presence is read off the written type: its last path segment must be
//! called `Option`, `Vec`, `Box` and so on, a macro cannot look through an alias.
//!
//! The numbers at a oneof field are checked against its enum when the crate is compiled (with type
//! parameters, when code is made for the struct): a variant that the field does not list does not
//! compile. A listed number without a variant is allowed, for variants behind a `cfg`; what comes
//! in under it is unknown.
//!
//! A Rust enum that derives `Enumeration` is closed, a struct around an `i32` is open:
//!
//! ```text
//! #[pb(name = "pkg.Mode")]                 NAME in the schema, else that of the type
//! enum Mode { Off = 0, #[pb(name = "M_ON")] On = 1 }       values OFF and M_ON, and no others
//! #[pb(values(OFF = 0, ON = 1))]
//! struct Mode(i32);                        Mode::OFF, Mode::ON, and any other number
//! ```
//!
//! A type that finds the crate elsewhere, renamed or re-exported by another, says where:
//!
//! ```text
//! #[derive(my_sdk::protozero::Message)]
//! #[pb(crate = my_sdk::protozero)]         before other words, if any: crate = .., values(..)
//! struct Order { ... }
//! ```
//!
//! The expansion is safe code that names nothing but `::protozero` and `::core`; one call a field in
//! each direction. Fields stand in the encoding in the order of declaration, unknown ones last.

#![forbid(unsafe_code)]

mod attrs;
mod diag;
mod expand;
mod kind;
mod model;
mod runtime;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Implements `protozero::Message` for a struct with named fields; see the crate's own page.
#[proc_macro_derive(Message, attributes(pb))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    diag::tokens(message(input.into(), false)).into()
}

/// Implements `protozero::MessageView` for a struct with named fields and one lifetime; see the
/// crate's own page.
#[proc_macro_derive(MessageView, attributes(pb))]
pub fn derive_message_view(input: TokenStream) -> TokenStream {
    diag::tokens(message(input.into(), true)).into()
}

/// Makes an enum whose variants hold one value each the type of a `#[pb(oneof, ...)]` field.
#[proc_macro_derive(Oneof, attributes(pb))]
pub fn derive_oneof(input: TokenStream) -> TokenStream {
    diag::tokens(oneof(input.into())).into()
}

/// Implements `protozero::Enumeration` for an enum without data or a struct around an `i32`.
#[proc_macro_derive(Enumeration, attributes(pb))]
pub fn derive_enumeration(input: TokenStream) -> TokenStream {
    diag::tokens(enumeration(input.into())).into()
}

type Tokens = proc_macro2::TokenStream;

fn message(input: Tokens, view: bool) -> syn::Result<Tokens> {
    runtime::around(input, |input| Ok(expand::message(&model::Message::new(input, view)?)))
}

fn oneof(input: Tokens) -> syn::Result<Tokens> {
    runtime::around(input, |input| Ok(expand::oneof(&model::Oneof::new(input)?)))
}

fn enumeration(input: Tokens) -> syn::Result<Tokens> {
    runtime::around(input, |input| Ok(expand::enumeration(&model::Enumeration::new(input)?)))
}

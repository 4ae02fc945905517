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
//! #[pb(KIND, NUMBER)]            Option<T>: written when present;  T: written unless zero or empty (see enumerations)
//! #[pb(KIND, NUMBER, required)]  T: always written; absent, it reads as the default
//! #[pb(KIND, NUMBER, repeated)]  Vec<T>: one field an element
//! #[pb(KIND, NUMBER, packed)]    Vec<T>: one field for all; numbers, bools and enumerations only
//! #[pb(KIND, NUMBER, default = EXPR)]  Option<T>, and a getter `field_or_default`
//! #[pb(string, NUMBER, or_unknown)]  what is not UTF-8 is an unknown field; else it is an error
//! #[pb(message, NUMBER, boxed)]  Option<Box<T>>: for messages that contain themselves
//! #[pb(group, NUMBER)]           a message between two tags instead of behind a length
//! #[pb(map(KIND, KIND), NUMBER)] BTreeMap<K, V> or HashMap<K, V>
//! #[pb(oneof, NUMBER, ...)]      Option<E> where E derives Oneof and has no other numbers
//! #[pb(unknown)]                 protozero::UnknownFields: what the struct does not know, verbatim
//! #[pb(unknown, extensions)]     the same, of a message that is open to extensions
//! #[pb(skip_unknown)]            above a struct without that field: what it does not know is dropped
//! #[pb(name = "shop.Order")]     above a struct: it has that name in the schema, and a descriptor
//! #[pb(KIND, NUMBER, name = "..")]  the name of a field in the schema, if it is not that in Rust
//! #[pb(KIND, NUMBER, json = "..")]  the name of a field in JSON, if it is not made of that in the schema
//!
//! KIND = int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64
//!        float double bool string bytes enumeration message group
//! ```
//!
//! The type of a `string` is `String`, `Cow<str>`, `Box<str>` or `protozero::SharedStr`; that of `bytes` is `Vec<u8>`,
//! `Cow<[u8]>`, `Box<[u8]>` or `bytes::Bytes`. A struct with a lifetime that derives `MessageView` may also use `&str`,
//! `&[u8]`, and `Cow`s that borrow from the input.
//!
//! A field is unknown if the struct does not list its number, if its wire type is not that of its kind, if a closed
//! enumeration lacks its number, if it is a string that is not UTF-8 and says `or_unknown`, or if it is a map entry
//! with one of these. An unknown field is not an error. The field it was meant for reads as absent.
//!
//! Nothing is lost unless the struct says so. The field `#[pb(unknown)]` keeps unknown fields, and they are encoded
//! again. A struct without it has `#[pb(skip_unknown)]` above, and drops them; one with neither does not compile. A
//! string that is not UTF-8 is an error, as in prost; `or_unknown` is for proto2, where C++ does not check strings.
//!
//! Each variant of a oneof holds one value and has an attribute `#[pb(KIND, NUMBER)]`, with `boxed` if the value is a
//! `Box`. The macro takes presence from the type as written: its last path segment must be `Option`, `Vec`, `Box` and
//! so on. A macro cannot resolve an alias.
//!
//! The numbers of a oneof field are checked against its enum at compile time (with type parameters, when the struct is
//! used): a variant whose number the field does not list is an error. A listed number without a variant is allowed, for
//! variants with a `cfg`; a field with that number is unknown.
//!
//! A Rust enum that derives `Enumeration` is closed: another number is an unknown field, which `skip_unknown` drops. A
//! struct around an `i32` is open, as the enums of proto3 are, and keeps every number. Where such a field is no
//! `Option`, the value 0 should be the `Default`: to others, a field that is absent is 0. With another `Default` the
//! bytes always have the field, and the text format and `DynamicMessage` lose a 0, as does the JSON of an open one.
//!
//! ```text
//! #[pb(name = "pkg.Mode")]                 NAME in the schema, else that of the type
//! enum Mode { Off = 0, #[pb(name = "M_ON")] On = 1 }       values OFF and M_ON, and no others
//! #[pb(values(OFF = 0, ON = 1))]
//! struct Mode(i32);                        Mode::OFF, Mode::ON, and any other number
//! ```
//!
//! A struct with a name, `#[pb(name = "shop.Order")]`, implements `protozero::Named`: its descriptor is made of the
//! attributes. So `protozero::json::to_string(&order)` and `json::from_str::<Order>(text)` work, and the text format
//! and reflection have `Order::DESCRIPTOR`, as for generated messages:
//!
//! - the messages in its fields, and those in its oneofs, need a name and a descriptor, too; generated ones have both
//!   with the API kind `descriptor`;
//! - a field and a oneof have the name that they have in Rust, without `r#`, and a variant of a oneof has its name in
//!   snake case. No two fields may have the same name, also in JSON, where it is in `lowerCamelCase`;
//! - a struct that derives `MessageView` has the name and the descriptor, and no JSON of its own: print it by
//!   `json::print_bytes(&<View<'_> as Named>::descriptor(), &view.encode_to_vec(), &options)`;
//! - a `default` that is a literal is part of it; the value of another expression is not, and reads as zero there;
//! - extensions are not part of it, and a struct with type parameters has no name, as it would be that of several
//!   messages. What shall have a name and no descriptor implements `Named` by hand.
//!
//! If the crate is renamed, or re-exported by another crate, an attribute gives its path:
//!
//! ```text
//! #[derive(my_sdk::protozero::Message)]
//! #[pb(crate = my_sdk::protozero)]         before other words, if any: crate = .., name = "..", skip_unknown
//! struct Order { ... }
//! ```
//!
//! The expansion is safe code that only uses `::protozero` and `::core`, with one call per field in each direction.
//! Fields are encoded in the order of their numbers, whatever the order of declaration, and unknown ones last.

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

/// Implements `protozero::Message` for a struct with named fields; see the crate's documentation.
#[proc_macro_derive(Message, attributes(pb))]
pub fn derive_message(input: TokenStream) -> TokenStream {
    diag::tokens(message(input.into(), false)).into()
}

/// Implements `protozero::MessageView` for a struct with named fields and one lifetime; see the crate's documentation.
#[proc_macro_derive(MessageView, attributes(pb))]
pub fn derive_message_view(input: TokenStream) -> TokenStream {
    diag::tokens(message(input.into(), true)).into()
}

/// Implements a oneof for an enum whose variants hold one value each: the type of a `#[pb(oneof, ...)]` field.
#[proc_macro_derive(Oneof, attributes(pb))]
pub fn derive_oneof(input: TokenStream) -> TokenStream {
    diag::tokens(oneof(input.into())).into()
}

/// Implements `protozero::Enumeration` for an enum without data or a struct around an `i32`; and `Display`, `FromStr`,
/// `TryFrom<i32>`, and `From` of it for `i32`, as generated enums have them.
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

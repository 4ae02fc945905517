//! Protobuf TextFormat: text to wire bytes, over static descriptors.
//!
//! ```text
//!  text ──lexer──▶ tokens ──parser──▶ fields ──literal──▶ values ──▶ wire bytes
//!                             │                    │
//!                             └──────▶ errors ◀────┘   file:line:col, the line, a caret
//! ```
//!
//! The language is the one of protobuf's own parsers, widened by what Perfetto's reader takes
//! (`text_to_proto.cc`), so that a config written for either works:
//!
//! - `name: value`, `name { ... }`, `name < ... >`, a colon before any of them or before none;
//! - `;` or `,` after a field, `[a, b]` for repeated ones, `#` comments everywhere;
//! - integers in decimal, hex and octal, floats with exponents, `inf`, `nan`, a trailing `f`;
//! - strings in either kind of quotes, over several lines, adjacent ones joined;
//! - enumerations by name or number, `true`, `false`, `t`, `f`, `1`, `0`.
//!
//! Where Perfetto's reader silently changes what was written, this one refuses: integers out of
//! range (it wraps them), fractions for integers (it cuts them), text that is not UTF-8 in a
//! `string`. A leading zero means octal, as in protobuf; Perfetto's reader takes it as decimal.
//! A singular field given twice is an error in both. Extensions are not known to descriptors and
//! are treated as unknown fields.

mod error;
mod lexer;
mod literal;
mod parser;
#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

pub use error::{TextError, TextErrors};

use crate::descriptor::MessageDescriptor;

/// How to read.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// What to call the text in errors.
    pub file: &'a str,
    /// Leave out unknown fields, extensions and enumeration names instead of refusing them. A known
    /// field of the wrong type is an error all the same.
    pub lossy: bool,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { file: "<text>", lossy: false }
    }
}

/// Reads one message of the type `descriptor` and returns its encoding, fields in the order of the
/// text, repeated numbers unpacked.
///
/// # Errors
/// All mistakes of meaning found (at most 20), and the first of syntax, after which nothing can be
/// made out any more.
pub fn parse(
    descriptor: &'static MessageDescriptor,
    text: &[u8],
    options: &Options<'_>,
) -> Result<Vec<u8>, TextErrors> {
    parser::parse(descriptor, text, options)
}

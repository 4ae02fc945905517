//! Protobuf's text format: parses and prints messages, with generated or dynamic descriptors.
//!
//! ```text
//!  text ──lexer──▶ tokens ──parser──▶ fields ──scalar──▶ values ──▶ DynamicMessage ──print──▶ text
//!                             │                   │
//!                             └──────▶ errors ◀───┘   file:line:col, the line, a caret
//! ```
//!
//! The language is that of protobuf's own parsers:
//!
//! - `name: value`, `name { ... }`, `name < ... >`, the colon before a message is optional;
//! - `;` or `,` after a field, `[a, b]` for repeated fields, `#` comments;
//! - integers in decimal, hex and octal, floats with exponents, `inf`, `nan`, `f` at the end;
//! - strings in single or double quotes; adjacent strings are joined;
//! - enums by name or number, `true`, `false`, `t`, `f`, `1`, `0`;
//! - maps as lists of entries, groups by the name of their type or field;
//! - extensions as `[pkg.name]`, and the content of an `Any` as `[host/pkg.Message] { ... }`.
//!
//! [`parse`] also accepts what Perfetto's parser accepts (`text_to_proto.cc`), so that configs for
//! both work: strings over several lines, and no colon before a value. Perfetto's parser silently
//! changes some values; this one refuses them: integers out of range (it wraps them), fractions for
//! integers (it truncates them), and a `string` that is not UTF-8. A leading zero means octal, as
//! in protobuf; Perfetto's parser reads it as decimal. Both refuse a second value for a singular
//! field. This parser also refuses two members of a oneof.

pub(crate) mod any;
pub(crate) mod error;
mod lexer;
pub(crate) mod literal;
mod options;
mod parser;
mod place;
mod print;
#[cfg(test)]
mod props;
mod scalar;
#[cfg(test)]
mod tests;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use error::{TextError, TextErrors};
pub use options::Options;
pub use print::{PrintOptions, print, print_bytes, write};

use crate::descriptor;
use crate::dynamic::{DynamicMessage, MessageDescriptor};

/// Parses a message of type `descriptor` and returns it encoded: fields in the order of their
/// numbers, numbers packed if the schema says so.
///
/// # Errors
/// All errors in values (at most 20), and the first syntax error, which ends the parser.
pub fn parse(
    descriptor: &'static descriptor::MessageDescriptor,
    text: &[u8],
    options: &Options<'_>,
) -> Result<Vec<u8>, TextErrors> {
    let message = parse_message(&MessageDescriptor::from(descriptor), text, options)?;
    message.try_encode().map_err(|error| {
        let error = TextError::new(text, 0..0, error.to_string());
        TextErrors::new(options.file, [error].into())
    })
}

/// [`parse`] for an existing type. `parse` creates a pool of its descriptor for each call, which
/// takes longer than parsing a short text.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_message(
    descriptor: &MessageDescriptor,
    text: &[u8],
    options: &Options<'_>,
) -> Result<DynamicMessage, TextErrors> {
    parser::parse(descriptor.clone(), text, options, parser::Dialect::Perfetto)
}

impl DynamicMessage {
    /// Parses a message of type `descriptor`.
    ///
    /// # Errors
    /// Those of [`parse`].
    pub fn from_text(
        descriptor: MessageDescriptor,
        text: impl AsRef<[u8]>,
    ) -> Result<Self, TextErrors> {
        Self::from_text_with(descriptor, text, &Options::default())
    }

    /// Parses a message of type `descriptor`, with options.
    ///
    /// # Errors
    /// Those of [`parse`].
    pub fn from_text_with(
        descriptor: MessageDescriptor,
        text: impl AsRef<[u8]>,
        options: &Options<'_>,
    ) -> Result<Self, TextErrors> {
        parser::parse(descriptor, text.as_ref(), options, parser::Dialect::Protobuf)
    }

    /// Prints this message as text that [`DynamicMessage::from_text`] can parse. Unknown fields are
    /// left out; messages beyond the [maximum depth](DynamicMessage) are printed as `...`.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_text_with(&PrintOptions::default())
    }

    /// Prints this message as text, with options.
    #[must_use]
    pub fn to_text_with(&self, options: &PrintOptions) -> String {
        print(self, options)
    }
}

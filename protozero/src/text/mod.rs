//! Protobuf TextFormat: text to messages and back, over generated descriptors or dynamic ones.
//!
//! ```text
//!  text ──lexer──▶ tokens ──parser──▶ fields ──scalar──▶ values ──▶ DynamicMessage ──print──▶ text
//!                             │                   │
//!                             └──────▶ errors ◀───┘   file:line:col, the line, a caret
//! ```
//!
//! The language is the one of protobuf's own parsers:
//!
//! - `name: value`, `name { ... }`, `name < ... >`, with or without a colon before a message;
//! - `;` or `,` after a field, `[a, b]` for repeated ones, `#` comments everywhere;
//! - integers in decimal, hex and octal, floats with exponents, `inf`, `nan`, a trailing `f`;
//! - strings in either kind of quotes, adjacent ones joined;
//! - enums by name or number, `true`, `false`, `t`, `f`, `1`, `0`;
//! - maps as lists of entries, groups by the name of their type or their field;
//! - extensions as `[pkg.name]`, and in an `Any` its content as `[host/pkg.Message] { ... }`.
//!
//! [`parse`] widens it by what Perfetto's reader takes (`text_to_proto.cc`), so that a config
//! written for either works: strings over several lines, no colon before a value. Where that reader
//! silently changes what was written, this one refuses: integers out of range (it wraps them),
//! fractions for integers (it cuts them), text that is not UTF-8 in a `string`. A leading zero means
//! octal, as in protobuf; Perfetto's reader takes it as decimal. A singular field given twice is an
//! error in both, and so are two members of a oneof here.

mod error;
mod lexer;
pub(crate) mod literal;
mod parser;
mod print;
#[cfg(test)]
mod props;
mod scalar;
#[cfg(test)]
mod tests;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use error::{TextError, TextErrors};
pub use print::{PrintOptions, print, print_bytes, write};

use crate::descriptor;
use crate::dynamic::{DynamicMessage, MessageDescriptor};

/// The message whose content text can show.
const ANY: &str = "google.protobuf.Any";

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

/// Reads one message of the type `descriptor` and returns its encoding: fields by number, repeated
/// numbers packed where the schema says so.
///
/// # Errors
/// All mistakes of meaning found (at most 20), and the first of syntax, after which nothing can be
/// made out any more.
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

/// The same language, for a type that is at hand: [`parse`] makes a pool of its descriptor each
/// time, which takes longer than reading a short text.
///
/// # Errors
/// As [`parse`].
pub fn parse_message(
    descriptor: &MessageDescriptor,
    text: &[u8],
    options: &Options<'_>,
) -> Result<DynamicMessage, TextErrors> {
    parser::parse(descriptor.clone(), text, options, parser::Dialect::Perfetto)
}

impl DynamicMessage {
    /// Reads a message of the type `descriptor` from `text`.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn from_text(
        descriptor: MessageDescriptor,
        text: impl AsRef<[u8]>,
    ) -> Result<Self, TextErrors> {
        Self::from_text_with(descriptor, text, &Options::default())
    }

    /// The same, with options.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn from_text_with(
        descriptor: MessageDescriptor,
        text: impl AsRef<[u8]>,
        options: &Options<'_>,
    ) -> Result<Self, TextErrors> {
        parser::parse(descriptor, text.as_ref(), options, parser::Dialect::Protobuf)
    }

    /// This message as text that [`DynamicMessage::from_text`] reads. Unknown fields are left out,
    /// and [more levels](DynamicMessage) than it reads are shown as `...`.
    #[must_use]
    pub fn to_text(&self) -> String {
        self.to_text_with(&PrintOptions::default())
    }

    /// This message as text.
    #[must_use]
    pub fn to_text_with(&self, options: &PrintOptions) -> String {
        print(self, options)
    }
}

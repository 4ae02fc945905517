//! Protobuf's JSON format: prints and parses messages, with generated or dynamic descriptors.
//!
//! ```text
//!  struct ─────print──▶ JSON           straight from the fields, and back
//!  JSON ───────parse──▶ struct
//!
//!  wire bytes ──print──▶ JSON          the fields in the order of the bytes
//!  JSON ──lexer──▶ tokens ──parse──▶ wire bytes
//!                             └────▶ error: file:line:col, the line, a caret
//! ```
//!
//! A generated message, and a derived one that says its name, [prints](to_string) and [parses](from_str) itself in one
//! call, with the descriptor that its type knows ([`Named`](crate::Named)). The functions that take a descriptor are
//! for messages without a Rust type.
//!
//! Both directions convert without a tree of values in between. A generated or derived struct becomes text, and text
//! a struct, without bytes of protobuf in between. By way of bytes go: messages of `rt::compact!`, what has unknown
//! fields or is printed with [`PrintOptions`] or to a writer, a text with a `google.protobuf.Any`, a `FieldMask`, an
//! extension or an unknown name, and each text that is wrong, so that an error is the same in both ways.
//! Only bytes that no encoder writes (a field that occurs twice) are decoded to a [`DynamicMessage`] first.
//!
//! The format is that of protobuf's documentation ("ProtoJSON"):
//!
//! - names in `lowerCamelCase`, or `json_name`; the parser also takes the names of the schema; extensions as
//!   `[pkg.name]`;
//! - integers of 64 bits as strings, `bytes` in base64, enums by name, `NaN` and `Infinity` as strings;
//! - `google.protobuf.Timestamp`, `Duration`, `FieldMask`, `Struct`, `Value`, `ListValue`, the wrappers and `Any` in
//!   their own forms;
//! - `null` is a field that is not set, except for `google.protobuf.Value` and `NullValue`. A `Value` without a kind
//!   cannot be printed, as in Go; C++ leaves it out.
//!
//! The parser refuses what the format does not have: a field, a oneof or a key of a map that is set twice, numbers out
//! of range or with a fraction for an integer, single surrogates, comments, commas at the end. Messages have at most
//! 100 levels in both directions, as in all our decoders, and an entry of a map is one. So a list in a `Value` takes
//! two levels, and an object three.

mod base64;
mod error;
#[cfg(feature = "std")]
mod generated;
mod known;
mod lexer;
mod options;
mod output;
mod parse;
mod place;
mod print;
mod scan;
mod table;
#[cfg(all(test, feature = "dynamic"))]
mod tests;
mod time;

use alloc::string::String;
use alloc::vec::Vec;

pub use error::PrintError;
#[cfg(feature = "std")]
pub use generated::{
    from_slice, from_slice_with, from_str, from_str_with, to_string, to_string_with, to_vec,
    to_writer, to_writer_with,
};
pub use options::{ParseOptions, PrintOptions};
#[cfg(feature = "std")]
#[doc(hidden)]
pub use print::Direct;
pub(crate) use table::{Table, prepare};

use crate::dynamic::{DynamicMessage, MessageDescriptor};
use crate::text::TextErrors;

/// Prints the encoded message of type `descriptor`.
///
/// # Errors
/// [`PrintError`] if `bytes` is not a valid message, or has a value that JSON cannot express.
pub fn print_bytes(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    options: &PrintOptions,
) -> Result<String, PrintError> {
    print::to_string(descriptor, bytes, options)
}

/// Prints the encoded message of type `descriptor` to `out`, in pieces of some kilobytes.
///
/// # Errors
/// Those of [`print_bytes`] and those of `out`.
#[cfg(feature = "std")]
pub fn write_bytes(
    descriptor: &MessageDescriptor,
    bytes: &[u8],
    options: &PrintOptions,
    out: &mut dyn std::io::Write,
) -> Result<(), PrintError> {
    print::to_writer(descriptor, bytes, options, out)
}

/// Parses a message of type `descriptor` and returns it encoded, in the [order](crate::message#order) of all messages.
///
/// # Errors
/// The first error.
pub fn parse(
    descriptor: &MessageDescriptor,
    text: &[u8],
    options: &ParseOptions<'_>,
) -> Result<Vec<u8>, TextErrors> {
    parse::parse(descriptor, text, options)
}

impl DynamicMessage {
    /// Parses a message of type `descriptor` from JSON.
    ///
    /// # Errors
    /// The first error.
    pub fn from_json(
        descriptor: MessageDescriptor,
        text: impl AsRef<[u8]>,
    ) -> Result<Self, TextErrors> {
        Self::from_json_with(descriptor, text, &ParseOptions::default())
    }

    /// Parses a message of type `descriptor` from JSON, with options.
    ///
    /// # Errors
    /// The first error.
    pub fn from_json_with(
        descriptor: MessageDescriptor,
        text: impl AsRef<[u8]>,
        options: &ParseOptions<'_>,
    ) -> Result<Self, TextErrors> {
        parse::message(descriptor, text.as_ref(), options)
    }

    /// Prints this message as JSON.
    ///
    /// # Errors
    /// [`PrintError`] if it has a value that JSON cannot express.
    pub fn to_json(&self) -> Result<String, PrintError> {
        self.to_json_with(&PrintOptions::default())
    }

    /// Prints this message as JSON, with options.
    ///
    /// # Errors
    /// [`PrintError`] if it has a value that JSON cannot express.
    pub fn to_json_with(&self, options: &PrintOptions) -> Result<String, PrintError> {
        let bytes = self.try_encode().map_err(error::PrintError::encode)?;
        print_bytes(self.descriptor(), &bytes, options)
    }
}

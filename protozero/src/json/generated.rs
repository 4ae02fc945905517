//! JSON of messages that know their descriptor: the type is all that a caller names.

use alloc::string::String;
use alloc::vec::Vec;

use super::{ParseOptions, PrintError, PrintOptions, parse, print, print_bytes, write_bytes};
use crate::message::Message;
use crate::named::Named;
use crate::options::DecodeOptions;
use crate::reflect::Reflect;
use crate::text::TextErrors;

/// Prints `message` as JSON: a generated message, a `&dyn Reflect` or a dynamic message.
///
/// # Errors
/// [`PrintError`] if the message has a value that JSON cannot express, or cannot be encoded.
pub fn to_string(message: &(impl Reflect + ?Sized)) -> Result<String, PrintError> {
    to_string_with(message, &PrintOptions::default())
}

/// [`to_string`] with options.
///
/// # Errors
/// Those of [`to_string`].
pub fn to_string_with(
    message: &(impl Reflect + ?Sized),
    options: &PrintOptions,
) -> Result<String, PrintError> {
    let descriptor = message.message_type();
    let PrintOptions { original_names, defaults, enums_as_numbers, pretty } = *options;
    if !(original_names || defaults || enums_as_numbers || pretty)
        && let Some(text) = print::direct(&descriptor, |out| message.put_direct(out))
    {
        return Ok(text);
    }
    let bytes = message.to_bytes().map_err(PrintError::encode)?;
    print_bytes(&descriptor, &bytes, options)
}

/// [`to_string`], as bytes.
///
/// # Errors
/// Those of [`to_string`].
pub fn to_vec(message: &(impl Reflect + ?Sized)) -> Result<Vec<u8>, PrintError> {
    to_string(message).map(String::into_bytes)
}

/// Prints `message` to `output`, in pieces of some kilobytes. The message is encoded first, so this takes the memory of
/// its bytes, and not that of the text.
///
/// # Errors
/// Those of [`to_string`], and [`PrintError::Write`].
pub fn to_writer(
    output: &mut dyn std::io::Write,
    message: &(impl Reflect + ?Sized),
) -> Result<(), PrintError> {
    to_writer_with(output, message, &PrintOptions::default())
}

/// [`to_writer`] with options.
///
/// # Errors
/// Those of [`to_writer`].
pub fn to_writer_with(
    output: &mut dyn std::io::Write,
    message: &(impl Reflect + ?Sized),
    options: &PrintOptions,
) -> Result<(), PrintError> {
    let bytes = message.to_bytes().map_err(PrintError::encode)?;
    write_bytes(&message.message_type(), &bytes, options, output)
}

/// Parses a message.
///
/// # Errors
/// The first error, with its place in the text.
pub fn from_str<M: Message + Named + 'static>(text: &str) -> Result<M, TextErrors> {
    from_str_with(text, &ParseOptions::default())
}

/// [`from_str`] with options.
///
/// # Errors
/// Those of [`from_str`].
pub fn from_str_with<M: Message + Named + 'static>(
    text: &str,
    options: &ParseOptions<'_>,
) -> Result<M, TextErrors> {
    let descriptor = M::descriptor();
    if let Some(message) = parse::direct(&descriptor, text, options.memory_max) {
        return Ok(message);
    }
    let bytes = parse::parse_text(&descriptor, text, options)?;
    decode(&bytes, text.as_bytes(), options)
}

/// Decodes what `text` became.
fn decode<M: Message>(
    bytes: &[u8],
    text: &[u8],
    options: &ParseOptions<'_>,
) -> Result<M, TextErrors> {
    let limits = DecodeOptions::new();
    let limits = options.memory_max.map_or(limits, |bytes| limits.memory_max(bytes));
    limits.decode(bytes).map_err(|error| parse::not_decoded(&error, text, options))
}

/// [`from_str`] for bytes.
///
/// # Errors
/// Those of [`from_str`], also if `text` is not UTF-8.
pub fn from_slice<M: Message + Named + 'static>(text: &[u8]) -> Result<M, TextErrors> {
    from_slice_with(text, &ParseOptions::default())
}

/// [`from_slice`] with options.
///
/// # Errors
/// Those of [`from_slice`].
pub fn from_slice_with<M: Message + Named + 'static>(
    text: &[u8],
    options: &ParseOptions<'_>,
) -> Result<M, TextErrors> {
    if let Ok(text) = core::str::from_utf8(text) {
        return from_str_with(text, options);
    }
    // The parser of bytes makes the error, with its place.
    let bytes = parse::parse(&M::descriptor(), text, options)?;
    decode(&bytes, text, options)
}

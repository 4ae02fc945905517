//! The alphabet: varints, tags, zig-zag, and the functions that read and write them by hand.
//!
//! Most code never comes here: generated writers and readers, [`field`](crate::field) and
//! [`Reader`](crate::Reader) do it all. This module is for code that frames messages, checks them or
//! cuts them: a length in front of a packet, a tag in front of a file's next field.
//!
//! # Which function to use
//!
//! | you have | use |
//! |---|---|
//! | bytes that somebody else may have written | [`hostile`]: each function checks everything and says what is wrong |
//! | such bytes in pieces, one byte at a time | [`hostile::SplitVarint`] |
//! | bytes that usually have the form our own writers produce | [`trusted`] first, [`hostile`] if it says `None` |
//! | a value to append to a vector | `write::append_varint`, `append_tag`, `append_head` |
//! | a value to store into a slice | [`write::varint`]; [`write::fill`] if the width is given |
//! | a few fields in front of something longer | [`write::Prefix`], an array with a length |
//! | a value, and only its width is wanted | [`varint::len`] |
//! | a tag of one byte, as a constant | [`tag::one_byte`] |
//! | a length of four bytes, known later | [`varint::padded`], and [`trusted::padded`] to read it |
//!
//! `core` only; what appends to a vector needs the feature `alloc`. Nothing here panics but where it
//! says so.
//!
#![cfg_attr(feature = "alloc", doc = "```")]
#![cfg_attr(not(feature = "alloc"), doc = "```text")]
//! use protozero::wire::{hostile, tag, write};
//!
//! let mut file = Vec::new();
//! write::append_head(&mut file, 1, 2); // field 1, two bytes
//! file.extend(b"hi");
//!
//! let (tag, rest) = hostile::tag(&file)?;
//! assert_eq!(tag, tag::tag(1, tag::LEN));
//! assert_eq!(hostile::delimited(rest)?, (&b"hi"[..], &b""[..]));
//! # Ok::<(), protozero::DecodeErrorKind>(())
//! ```

pub mod hostile;
pub mod tag;
pub mod trusted;
pub mod varint;
pub mod write;
pub mod zigzag;

#[cfg(all(test, feature = "alloc"))]
mod props;
#[cfg(test)]
mod tests;

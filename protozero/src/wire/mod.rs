//! The elements of the encoding: varints, tags, zig-zag, and functions that read and write them.
//!
//! Most code uses generated writers and readers, [`field`](crate::field) and
//! [`Reader`](crate::Reader) instead. This module is for code that adds, checks or removes a few
//! bytes around messages, such as the length before a packet, or the tag of the next field of a
//! file.
//!
//! # Which function to use
//!
//! | you have | use |
//! |---|---|
//! | untrusted bytes | [`hostile`]: each function checks everything |
//! | untrusted bytes in several slices | [`hostile::SplitVarint`] |
//! | bytes that usually come from our own writers | [`trusted`], and [`hostile`] if it returns `None` |
//! | a value, for the end of a vector | `write::append_varint`, `append_tag`, `append_head` |
//! | a value, for a slice | [`write::varint`]; [`write::fill`] for a given number of bytes |
//! | a few fields before a longer part | [`write::Prefix`], an array with a length |
//! | a value of which you need only the encoded length | [`varint::len`] |
//! | a tag of one byte, as a constant | [`tag::one_byte`] |
//! | a length of four bytes that is known later | [`varint::padded`], and [`trusted::padded`] to read it |
//!
//! Functions that append to a vector need the feature `alloc`. Functions panic only where their
//! documentation says so.
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

//! Owned messages: plain structs that can be encoded and decoded.
//!
//! ```text
//!            decode, merge                         encode_*
//!  &[u8] ──▶ Reader ──Field──▶ merge_field ──▶ struct ──▶ bytes, back to front ──▶ any output
//!                                 │                ▲
//!                                 └─ UnknownFields ┘  unchanged, after the known fields
//! ```
//!
//! `#[derive(protozero::Message)]` implements the two functions that are specific to a struct;
//! generated code uses the macro `rt::owned!` with one line per field. Decoding follows the rules
//! of protobuf: a repeated occurrence of a singular number replaces the old value, of a singular
//! message is merged into the old one, repeated fields grow, packed and unpacked elements are
//! equivalent, the last member of a oneof wins, and so does the last value of a map key.
//!
//! Where protobuf leaves a choice, a field that does not fit is unknown and not an error: a known
//! number with another wire type, a number without a value in a closed enumeration, a `string` that
//! is not UTF-8 in proto2 (the C++ tools never check those), and a whole map entry that contains one
//! of these. A struct with a field `#[pb(unknown)]`, which generated structs have, keeps unknown
//! fields there and writes them again. A struct without it must say `#[pb(skip_unknown)]`, and drops
//! them. A string that is not UTF-8 is an error
//! ([`DecodeErrorKind::Utf8`](crate::DecodeErrorKind::Utf8)) in generated code for proto3, and in
//! derived structs where the field does not say `or_unknown`.
//!
//! # Order
//!
//! Encoding is deterministic: equal values have equal bytes, on every machine and in every version
//! with the same schema. (Rust takes `0.0` and `-0.0` for equal; they are two values here.) All of
//! these write the same bytes for the same value: generated and derived structs, dynamic messages,
//! and the text and JSON parsers.
//!
//! - Fields have the order of their numbers, the member of a oneof included. The order of
//!   declaration makes no difference.
//! - Elements of a list keep their order. Entries of a map have the order of their keys: numbers by
//!   value, `false` before `true`, text by its bytes. Each key occurs once; an entry always has its
//!   key and its value, even a zero.
//! - A field without presence is left out if it is zero (`-0.0` is not); a field with presence is
//!   written if it is set.
//! - Lengths and varints are in their shortest form; a list is packed if the schema says so.
//! - Unknown fields come last in their message, unchanged, in the order in which they were decoded. Of a
//!   list of a closed enum, a number that the enum lacks becomes a field of its own, in its shortest form;
//!   a dynamic message leaves the bytes of one that was not packed as they are.
//!   Extensions in a struct are unknown fields. A dynamic message with a schema of the extensions
//!   sorts them among the other fields.
//!
//! C++ writes this order, too, when asked for deterministic output. prost differs where members of a
//! oneof have numbers on both sides of another field (it takes the place of the lowest one), in maps
//! (no order in a `HashMap`, and no zeros in entries), and drops unknown fields.
//!
//! Not promised: writers write in the order of the calls. Two programs with different schemas of one
//! message may write it differently, because fields that only one of them knows come last in the
//! other. So a signature should cover the bytes that were sent, not those of a decoded message.
//!
//! # Sharing the input
//!
//! A `bytes` field can have the type `Bytes` of the crate `bytes`, and a `string` field the type `SharedStr` (feature
//! `bytes`): in a derived struct, and in a generated one with the options `bytes` and `strings`. [`Message::decode`]
//! copies them. [`Message::decode_buf`] takes a `Buf`, such as a `Bytes`, a `BytesMut`, or a chain of them, and these
//! fields share the memory of that:
//!
//! ```text
//!  input     | chunk          | chunk    | chunk        |
//!  fields    [ a  ][ b  ][    c    ][ d ][ e  ][   f    ]
//!              shared      copied    shared
//! ```
//!
//! - `Buf::copy_to_bytes` takes the fields that lie in one chunk out of the input, as many as there are at once. It
//!   copies nothing where the chunk is a `Bytes` or a `BytesMut`.
//! - A field of the outermost message that lies in several chunks is copied once, with all that is in it. Its fields
//!   share the copy. So besides the input there is never more memory than for a copy of it, and a length is checked
//!   before anything is allocated for it.
//! - A field that shares a chunk keeps all of it in memory. `Bytes::copy_from_slice` gives it memory of its own.
//! - Unknown fields and extensions are copied, and so are fields of type `Vec<u8>` and `String`.
//!
//! The result is that of [`Message::decode`] for the same bytes in one slice, and so is the error. Only its path has no
//! index for an element of a list in the outermost message, if an earlier part of the input was decoded already.
//!
//! # Depth
//!
//! Encoding and decoding refuse messages with more than
//! [`DEPTH_MAX`](crate::decode::limits::DEPTH_MAX) levels, so neither overflows the stack, and
//! every encoded message can be decoded. prost and C++ have this limit only for decoding.
//! [`Message::try_encode_to_vec`] reports a deeper value, and [`Message::encode_to_vec`] panics. Input becomes
//! such a value only if [`DecodeOptions::depth_max`](crate::DecodeOptions::depth_max) is more than that.
//!
//! The derived `Drop`, `Clone`, `PartialEq` and `Debug` recurse as deep as the value does. Code that builds a value
//! of thousands of levels must drop it in a loop.

use alloc::boxed::Box;
#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

#[cfg(feature = "bytes")]
use crate::decode::limits;
pub(crate) use crate::decode::limits::{GROWTH_FREE, GROWTH_MAX, growth};
use crate::decode::{DecodeContext, DecodeMemory};
use crate::encode::{Scope, Sink, StreamOf};
pub use crate::enumeration::{Enumeration, debug_enum};
use crate::error::{DecodeError, ReadError, WriteError};
#[cfg(feature = "bytes")]
use crate::owned::merge_buf;
use crate::owned::{Encode, Merge, count, encoded, split_delimited, to_front, to_vec};
use crate::path::path_of;

/// An output to which encoded messages are appended: a vector, a stream, or with feature `bytes`
/// every `bytes::BufMut`.
#[diagnostic::on_unimplemented(
    message = "encoded messages cannot be appended to a `{Self}`",
    note = "`Vec<u8>`, a stream and, with the feature `bytes`, every `BufMut` grow; for a slice there is \
            `encode_to_slice`"
)]
pub trait Append {
    /// Appends one encoded message.
    ///
    /// # Errors
    /// [`WriteError`] if the output has no space; nothing is appended then.
    fn append_message(&mut self, message: &[u8]) -> Result<(), WriteError>;
}

#[cfg(not(feature = "bytes"))]
impl Append for Vec<u8> {
    fn append_message(&mut self, message: &[u8]) -> Result<(), WriteError> {
        self.extend_from_slice(message);
        Ok(())
    }
}

#[cfg(feature = "bytes")]
impl<B: bytes::BufMut> Append for B {
    fn append_message(&mut self, message: &[u8]) -> Result<(), WriteError> {
        let capacity = self.remaining_mut();
        if capacity < message.len() {
            return Err(WriteError::Full { capacity });
        }
        self.put_slice(message);
        Ok(())
    }
}

/// Each message becomes a root message of the stream.
impl<S: Sink> Append for StreamOf<S> {
    fn append_message(&mut self, message: &[u8]) -> Result<(), WriteError> {
        self.root().raw(message);
        self.error().map_or(Ok(()), Err)
    }
}

/// The methods that [`Message`] and [`MessageView`] have in common.
macro_rules! encoding {
    () => {
        /// Length of the encoded message in bytes. Levels that are too deep to be encoded do not count.
        #[must_use]
        fn encoded_len(&self) -> usize {
            count(self)
        }

        /// Encodes this message.
        ///
        /// # Errors
        /// [`WriteError::TooLong`] if it has more than 2^31-1 bytes, [`WriteError::TooDeep`] if it
        /// has more levels than decoders accept.
        fn try_encode_to_vec(&self) -> Result<Vec<u8>, WriteError> {
            to_vec(self, false)
        }

        /// Encodes this message.
        ///
        /// # Panics
        /// If [`try_encode_to_vec`](Self::try_encode_to_vec) returns an error: no decoder would
        /// accept a message of this size or depth.
        #[must_use]
        fn encode_to_vec(&self) -> Vec<u8> {
            self.try_encode_to_vec().unwrap_or_else(|error| refused(error))
        }

        /// Appends the encoded message to a vector, a stream or another [output](Append).
        ///
        /// # Errors
        /// Those of [`try_encode_to_vec`](Self::try_encode_to_vec) and of the output; nothing is
        /// appended then.
        fn encode(&self, output: &mut impl Append) -> Result<(), WriteError> {
            encoded(self, false, |bytes| output.append_message(bytes))
        }

        /// Writes the encoded message to the start of `buffer` and returns its length in bytes.
        ///
        /// # Errors
        /// Those of [`try_encode_to_vec`](Self::try_encode_to_vec), and [`WriteError::Full`] if
        /// `buffer` is too short. The content of `buffer` is unspecified then.
        fn encode_to_slice(&self, buffer: &mut [u8]) -> Result<usize, WriteError> {
            to_front(self, buffer)
        }

        /// Writes all fields into the open message `scope`.
        ///
        /// # Errors
        /// Those of [`try_encode_to_vec`](Self::try_encode_to_vec); nothing is written then. The
        /// stream reports its own errors.
        fn encode_into(&self, scope: &mut Scope<'_>) -> Result<(), WriteError> {
            encoded(self, false, |bytes| {
                scope.raw(bytes);
                Ok(())
            })
        }

        /// Appends the length of this message, as a varint, and the message.
        ///
        /// # Errors
        /// As [`encode`](Self::encode).
        fn encode_length_delimited(&self, output: &mut impl Append) -> Result<(), WriteError> {
            encoded(self, true, |bytes| output.append_message(bytes))
        }

        /// Encodes the length of this message as a varint, and then the message.
        ///
        /// # Panics
        /// As [`encode_to_vec`](Self::encode_to_vec).
        #[must_use]
        fn encode_length_delimited_to_vec(&self) -> Vec<u8> {
            to_vec(self, true).unwrap_or_else(|error| refused(error))
        }

        /// Removes all fields.
        fn clear(&mut self) {
            *self = Self::default();
        }
    };
}

/// A struct that represents a protobuf message and owns its content.
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```text")]
/// use protozero::Message;
///
/// #[derive(Clone, PartialEq, Debug, Default, Message)]
/// #[pb(skip_unknown)]
/// struct Point {
///     #[pb(sint32, 1)]
///     x: i32,
///     #[pb(sint32, 2)]
///     y: i32,
///     #[pb(string, 3)]
///     name: Option<String>,
/// }
///
/// let point = Point { x: -1, y: 0, name: Some("p".into()) };
/// let bytes = point.encode_to_vec();
/// assert_eq!(bytes, b"\x08\x01\x1a\x01p");
/// assert_eq!(Point::decode(&bytes)?, point);
/// # Ok::<(), protozero::DecodeError>(())
/// ```
pub trait Message: Encode + for<'a> Merge<'a> + Default + Clone + PartialEq + Debug {
    /// Decodes the message in `bytes`.
    ///
    /// Structs of nested messages, and the blocks for their unknown fields, may take 32 MiB plus 512 bytes
    /// for each byte of input, but at most 512 MiB, or four bytes for each byte of input if that is more:
    /// an empty message has two bytes on the wire, and its struct may have thousands.
    /// [`DecodeOptions`](crate::DecodeOptions) has other limits, and says what counts.
    ///
    /// # Errors
    /// [`DecodeError`] if `bytes` is not a message, has too many levels, or needs more memory
    /// ([`DecodeErrorKind::TooMuchMemory`](crate::DecodeErrorKind::TooMuchMemory)).
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        message.merge(bytes)?;
        Ok(message)
    }

    /// As [`decode`](Self::decode), with an error that has no path. It is for bytes of a peer that nobody corrects: to
    /// find the path, the bytes before the error are read again, and the names of all fields are in the program.
    ///
    /// # Errors
    /// As [`decode`](Self::decode).
    fn decode_without_path(bytes: &[u8]) -> Result<Self, ReadError> {
        let growth = DecodeMemory::new(growth(bytes));
        let mut message = Self::default();
        message.merge_fields(bytes, DecodeContext::new().with_growth(&growth))?;
        Ok(message)
    }

    /// Merges all fields of `bytes` into `self`, as if the encoded `self` came before them.
    ///
    /// # Errors
    /// Those of [`Message::decode`]; the fields before the error are merged.
    fn merge(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let growth = DecodeMemory::new(growth(bytes));
        self.merge_within(bytes, DecodeContext::new().with_growth(&growth))
    }

    /// Decodes the message in `input`, in one or several chunks. Fields of type `Bytes` and `SharedStr`
    /// [share](crate::message#sharing-the-input) its memory.
    ///
    /// # Errors
    /// Those of [`Message::decode`].
    ///
    /// # Panics
    /// If `input` does not behave as `Buf` says.
    #[cfg(feature = "bytes")]
    fn decode_buf(input: impl bytes::Buf) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        message.merge_buf(input)?;
        Ok(message)
    }

    /// Merges all fields of `input` into `self`: see [`Message::decode_buf`].
    ///
    /// # Errors
    /// Those of [`Message::merge`]. What is left of `input` is unspecified then.
    ///
    /// # Panics
    /// As [`Message::decode_buf`].
    #[cfg(feature = "bytes")]
    fn merge_buf(&mut self, mut input: impl bytes::Buf) -> Result<(), DecodeError> {
        merge_buf(self, &mut input, limits::DEPTH_MAX, None)
    }

    /// Merges all fields of `bytes` into `self`, within the limits of `context`.
    ///
    /// # Errors
    /// Those of [`Message::merge`].
    fn merge_within(
        &mut self,
        bytes: &[u8],
        context: DecodeContext<'_>,
    ) -> Result<(), DecodeError> {
        self.merge_fields(bytes, context).map_err(|error| failed::<Self>(error, bytes))
    }

    /// Reads a length (a varint) and a message of that length from the start of `bytes`, and
    /// advances `bytes` behind them.
    ///
    /// # Errors
    /// Those of [`Message::decode`]; `bytes` does not change then.
    fn decode_length_delimited(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        message.merge_length_delimited(bytes)?;
        Ok(message)
    }

    /// Reads a length and merges the message of that length from the start of `bytes`, and advances
    /// `bytes` behind them.
    ///
    /// # Errors
    /// Those of [`Message::merge`]; `bytes` does not change then.
    fn merge_length_delimited(&mut self, bytes: &mut &[u8]) -> Result<(), DecodeError> {
        let (body, rest) = split_delimited(bytes)?;
        let start = bytes.len() - rest.len() - body.len();
        self.merge(body).map_err(|error| error.after(start))?;
        *bytes = rest;
        Ok(())
    }

    encoding!();
}

impl<M: Message> Message for Box<M> {}

/// `google.protobuf.Empty`, for code that was written for prost: see `plain_types` of the generator. Decoding drops all
/// fields.
impl Message for () {}

#[cfg(target_has_atomic = "ptr")]
impl<M: Message + Clone> Message for Arc<M> {}

/// A struct that represents a protobuf message and borrows its strings and bytes from the encoded
/// message.
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```text")]
/// use protozero::MessageView;
///
/// #[derive(Clone, PartialEq, Debug, Default, MessageView)]
/// #[pb(skip_unknown)]
/// struct Line<'a> {
///     #[pb(string, 1)]
///     text: &'a str,
///     #[pb(string, 2, repeated)]
///     tags: Vec<&'a str>,
/// }
///
/// let bytes = b"\x0a\x02hi\x12\x01a\x12\x01b";
/// let line = Line::decode(bytes)?;
/// assert_eq!(line, Line { text: "hi", tags: vec!["a", "b"] });
/// assert_eq!(line.encode_to_vec(), bytes);
/// # Ok::<(), protozero::DecodeError>(())
/// ```
pub trait MessageView<'a>: Encode + Merge<'a> + Default + Clone + PartialEq + Debug {
    /// Decodes the message in `bytes`. It may take as much memory as an owned message.
    /// [`DecodeOptions::decode_view`](crate::DecodeOptions::decode_view) has other limits.
    ///
    /// # Errors
    /// Those of [`Message::decode`].
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        message.merge(bytes)?;
        Ok(message)
    }

    /// Merges all fields of `bytes` into `self`, as if the encoded `self` came before them.
    ///
    /// # Errors
    /// Those of [`Message::merge`].
    fn merge(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let growth = DecodeMemory::new(growth(bytes));
        self.merge_within(bytes, DecodeContext::new().with_growth(&growth))
    }

    /// Merges all fields of `bytes` into `self`, within the limits of `context`.
    ///
    /// # Errors
    /// Those of [`Message::merge`].
    #[inline]
    fn merge_within(
        &mut self,
        bytes: &'a [u8],
        context: DecodeContext<'_>,
    ) -> Result<(), DecodeError> {
        self.merge_fields(bytes, context).map_err(|error| failed::<Self>(error, bytes))
    }

    encoding!();
}

/// Adds the path to an error in `bytes`, a message of type `M`.
#[cold]
#[inline(never)]
fn failed<M: Encode>(error: ReadError, bytes: &[u8]) -> DecodeError {
    DecodeError::new(error, path_of(M::about(), bytes, error.offset))
}

/// Panics, because no decoder would accept the message.
#[cold]
#[inline(never)]
fn refused(error: WriteError) -> ! {
    panic!("{error}")
}

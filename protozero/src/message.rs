//! Owned messages: plain structs that know how to become bytes and back.
//!
//! ```text
//!            decode, merge                         encode_*
//!  &[u8] ──▶ Reader ──Field──▶ merge_field ──▶ struct ──▶ bytes, back to front ──▶ any output
//!                                 │                ▲
//!                                 └─ UnknownFields ┘  verbatim, behind the known ones
//! ```
//!
//! `#[derive(protozero::Message)]` writes the two functions that differ from struct to struct, in
//! generated code the macro `rt::owned!` out of a line per field. What
//! protobuf asks of a parser holds: a singular number met again replaces the old value, a message
//! met again is merged into the old one, repeated fields grow, packed and unpacked runs are the same
//! thing, of a oneof the last member wins, and of a key the last value.
//!
//! Where protobuf leaves a choice, what does not fit is no error but unknown: a field of a known
//! number with a foreign wire type, a number that a closed enumeration has not, a `string` that is not
//! UTF-8 (the C++ tools never check those of proto2), and the whole entry of a map that holds one.
//! A struct with a field `#[pb(unknown)]`, as generated ones have, keeps them there and writes them
//! again; one without it drops them, as it drops unknown fields, and nobody is told. A string
//! declared `utf8` is an error instead ([`DecodeErrorKind::Utf8`](crate::DecodeErrorKind::Utf8)).
//!
//! The same value gives the same bytes: fields in the order of their declaration, entries of a map in
//! the order of their keys, lengths in their shortest form.
//!
//! # Depth
//!
//! Both directions refuse messages nested deeper than [`DEPTH_MAX`](crate::decode::limits::DEPTH_MAX)
//! levels, so neither overflows the stack, and what is encoded can be decoded. What the compiler
//! derives (`Drop`, `Clone`, `PartialEq`, `Debug`) recurses as deep as the value goes: a chain of a
//! hundred thousand boxes, which only code can build and no input, is to be taken apart in a loop.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt::Debug;

use crate::decode::DecodeContext;
use crate::encode::{Scope, Sink, StreamOf};
pub use crate::enumeration::{Enumeration, debug_enum};
use crate::error::{DecodeError, WriteError};
use crate::owned::{Encode, Merge, count, encoded, frame, merge_all, to_front, to_vec};

/// What decoding may allocate for the structs of nested messages, in bytes per byte of input.
///
/// An empty nested message takes two bytes on the wire and a whole struct in memory; without a
/// bound a small request could ask for gigabytes.
pub(crate) const GROWTH_MAX: usize = 512;

/// What decoding may allocate for nested messages whatever the size of the input, in bytes: thousands of
/// honest messages of hundreds of fields, few of which are set.
pub(crate) const GROWTH_FREE: usize = 32 << 20;

/// A place to append encoded messages to: a vector, a stream, and with the feature `bytes` every
/// `bytes::BufMut`.
pub trait Append {
    /// Appends one encoded message.
    ///
    /// # Errors
    /// [`WriteError`] if it has no room; nothing is appended then.
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

/// Each message is a root message of the stream.
impl<S: Sink> Append for StreamOf<S> {
    fn append_message(&mut self, message: &[u8]) -> Result<(), WriteError> {
        self.root().raw(message);
        self.error().map_or(Ok(()), Err)
    }
}

/// The methods that owned messages and views have in common, given to both under the same names.
macro_rules! encoding {
    () => {
        /// Bytes of the encoding of this message, if it has one.
        #[must_use]
        fn encoded_len(&self) -> usize {
            count(self)
        }

        /// The encoding of this message.
        ///
        /// # Errors
        /// [`WriteError::TooLong`] if it has more than 2^31-1 bytes, [`WriteError::TooDeep`] if it
        /// is nested deeper than readers go.
        fn try_encode_to_vec(&self) -> Result<Vec<u8>, WriteError> {
            to_vec(self, false)
        }

        /// The encoding of this message.
        ///
        /// # Panics
        /// Where [`try_encode_to_vec`](Self::try_encode_to_vec) has an error: if no reader would
        /// accept the message, for its size or its depth.
        #[must_use]
        fn encode_to_vec(&self) -> Vec<u8> {
            match self.try_encode_to_vec() {
                Ok(bytes) => bytes,
                Err(error) => panic!("{error}"),
            }
        }

        /// Appends the encoding of this message to a vector, a stream or another [place](Append).
        ///
        /// # Errors
        /// As [`try_encode_to_vec`](Self::try_encode_to_vec), and those of the output; nothing is
        /// appended then.
        fn encode(&self, output: &mut impl Append) -> Result<(), WriteError> {
            encoded(self, false, |bytes| output.append_message(bytes))
        }

        /// Writes the encoding of this message to the front of `buffer`; its length in bytes.
        ///
        /// # Errors
        /// As [`try_encode_to_vec`](Self::try_encode_to_vec), and [`WriteError::Full`] if `buffer` is
        /// too short; what it holds then is unspecified.
        fn encode_to_slice(&self, buffer: &mut [u8]) -> Result<usize, WriteError> {
            to_front(self, buffer)
        }

        /// Writes all fields into the open message `scope`.
        ///
        /// # Errors
        /// As [`try_encode_to_vec`](Self::try_encode_to_vec); nothing is written then. Errors of the
        /// stream are reported by the stream.
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

        /// The length of this message, as a varint, and the message.
        ///
        /// # Panics
        /// As [`encode_to_vec`](Self::encode_to_vec).
        #[must_use]
        fn encode_length_delimited_to_vec(&self) -> Vec<u8> {
            match to_vec(self, true) {
                Ok(bytes) => bytes,
                Err(error) => panic!("{error}"),
            }
        }

        /// Back to a message without fields.
        fn clear(&mut self) {
            *self = Self::default();
        }
    };
}

/// A struct that stands for a protobuf message and owns all of it.
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```text")]
/// use protozero::Message;
///
/// #[derive(Clone, PartialEq, Debug, Default, Message)]
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
    /// The message encoded in `bytes`.
    ///
    /// Structs of nested messages may take 32 MiB and 512 bytes for each byte of input, since an empty message
    /// has two bytes and its struct may have thousands. For input that is trusted to ask for more, begin with
    /// `default()` and [`merge_within`](Self::merge_within) a [`DecodeContext::new()`], which has no such bound.
    ///
    /// # Errors
    /// [`DecodeError`] if `bytes` is no message, is nested too deeply, or asks for more memory
    /// ([`DecodeErrorKind::TooMuchMemory`](crate::DecodeErrorKind::TooMuchMemory)).
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        message.merge(bytes)?;
        Ok(message)
    }

    /// Takes over all fields of `bytes`, as if the encoding of `self` stood before them.
    ///
    /// # Errors
    /// As [`Message::decode`]; the fields before the error are merged then.
    fn merge(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let growth = Cell::new(growth(bytes));
        self.merge_within(bytes, DecodeContext::new().with_growth(&growth))
    }

    /// Takes over all fields of `bytes` within the budget of `context`.
    ///
    /// # Errors
    /// As [`Message::merge`].
    fn merge_within(
        &mut self,
        bytes: &[u8],
        context: DecodeContext<'_>,
    ) -> Result<(), DecodeError> {
        merge_all(self, bytes, context)
    }

    /// The message behind a length (a varint) at the front of `bytes`, which then begin after it.
    ///
    /// # Errors
    /// As [`Message::decode`]; `bytes` stay as they are then.
    fn decode_length_delimited(bytes: &mut &[u8]) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        message.merge_length_delimited(bytes)?;
        Ok(message)
    }

    /// Takes over the message behind a length at the front of `bytes`, which then begin after it.
    ///
    /// # Errors
    /// As [`Message::merge`]; `bytes` stay as they are then.
    fn merge_length_delimited(&mut self, bytes: &mut &[u8]) -> Result<(), DecodeError> {
        let (body, rest) = frame(bytes)?;
        let start = bytes.len() - rest.len() - body.len();
        self.merge(body).map_err(|error| error.kind.at(start + error.offset))?;
        *bytes = rest;
        Ok(())
    }

    encoding!();
}

impl<M: Message> Message for Box<M> {}

/// A struct that stands for a protobuf message and borrows strings and bytes from its encoding.
///
#[cfg_attr(feature = "derive", doc = "```")]
#[cfg_attr(not(feature = "derive"), doc = "```text")]
/// use protozero::MessageView;
///
/// #[derive(Clone, PartialEq, Debug, Default, MessageView)]
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
    /// The message encoded in `bytes`.
    ///
    /// # Errors
    /// As [`Message::decode`].
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        message.merge(bytes)?;
        Ok(message)
    }

    /// Takes over all fields of `bytes`, as if the encoding of `self` stood before them.
    ///
    /// # Errors
    /// As [`Message::merge`].
    fn merge(&mut self, bytes: &'a [u8]) -> Result<(), DecodeError> {
        let growth = Cell::new(growth(bytes));
        merge_all(self, bytes, DecodeContext::new().with_growth(&growth))
    }

    encoding!();
}

/// Bytes of memory that decoding `bytes` may take for structs.
pub(crate) fn growth(bytes: &[u8]) -> usize {
    bytes.len().saturating_mul(GROWTH_MAX).saturating_add(GROWTH_FREE)
}

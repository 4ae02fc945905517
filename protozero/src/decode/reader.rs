//! Reads the fields of a message one by one.
//!
//! ```text
//! | field | field | tag . value | field ...
//!                 ^ position() between fields
//! ```

use super::field::{Field, Value};
use super::group::group;
use super::take;
use crate::error::{DecodeErrorKind, ReadError};
use crate::wire::tag;

/// Reads the fields of one message.
///
/// After an error, every call returns `None`, so that a loop that ignores errors ends.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Length of the message.
    len: usize,
}

impl<'a> Reader<'a> {
    /// Reads the message encoded in `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    /// The unread bytes.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> &'a [u8] {
        self.rest
    }

    /// True if all bytes are read, or after an error.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Number of bytes that were read.
    #[inline]
    #[must_use]
    pub const fn position(&self) -> usize {
        self.len - self.rest.len()
    }

    /// The next field, or `None` at the end.
    ///
    /// # Errors
    /// [`ReadError`] with the offset of the malformed field: it is incomplete, has an unknown
    /// wire type, has a field number of 0 or above 2^29-1, or is a group with a malformed field, a
    /// wrong end tag or too many levels.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, ReadError> {
        self.advance()
    }

    /// The inlined [`Reader::next_field`], for loops that use the members of the field immediately:
    /// the compiler keeps them in registers.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> Result<Option<Field<'a>>, ReadError> {
        let start = self.rest;
        if start.is_empty() {
            return Ok(None);
        }
        match take::tag(start).and_then(|(tag, rest)| field(start, tag, rest)) {
            Ok((field, rest)) => {
                self.rest = rest;
                Ok(Some(field))
            }
            Err(kind) => {
                self.rest = &[];
                Err(kind.at(self.len - start.len()))
            }
        }
    }
}

/// Reads the field at `start`, after its `tag`; `rest` follows the tag. Returns the field and the
/// bytes after it.
#[inline(always)]
pub(super) fn field<'a>(start: &'a [u8], tag: u32, rest: &'a [u8]) -> take::Taken<'a, Field<'a>> {
    let (value, rest) = match tag & 7 {
        tag::VARINT => take::varint(rest).map(|(v, rest)| (Value::Varint(v), rest))?,
        tag::FIXED64 => {
            take::array(rest).map(|(v, rest)| (Value::Fixed64(u64::from_le_bytes(v)), rest))?
        }
        tag::LEN => take::bytes(rest).map(|(v, rest)| (Value::Len(v), rest))?,
        tag::FIXED32 => {
            take::array(rest).map(|(v, rest)| (Value::Fixed32(u32::from_le_bytes(v)), rest))?
        }
        tag::BEGIN_GROUP => group(rest, tag >> 3).map(|(v, rest)| (Value::Group(v), rest))?,
        tag::END_GROUP => return Err(DecodeErrorKind::EndGroup),
        _ => return Err(DecodeErrorKind::WireType),
    };
    let raw = start.get(..start.len() - rest.len()).unwrap_or_default();
    Ok((Field { number: tag >> 3, value, raw }, rest))
}

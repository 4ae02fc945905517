//! The cursor over a message's bytes.
//!
//! ```text
//! | field | field | tag . value | field ...
//!                 ^ position() between fields
//! ```

use super::field::{Field, Value};
use super::group::group;
use super::take;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::wire::tag;

/// Walks the fields of one message.
///
/// After an error every further call says there are no more fields, so that a loop that passes over
/// errors ends, too.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Bytes the reader was made from.
    len: usize,
}

impl<'a> Reader<'a> {
    /// A reader of the message encoded in `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, len: bytes.len() }
    }

    /// Bytes not read yet.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> &'a [u8] {
        self.rest
    }

    /// True if all was read, or an error ended the message.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Bytes read so far.
    #[inline]
    #[must_use]
    pub const fn position(&self) -> usize {
        self.len - self.rest.len()
    }

    /// The next field, or `None` at the end.
    ///
    /// # Errors
    /// [`DecodeError`] with the offset of the field that is malformed: cut short, an
    /// unknown wire type, a field number of 0 or above 2^29-1, a group that holds such a field,
    /// has another one's end or is nested too deeply.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, DecodeError> {
        self.advance()
    }

    /// [`Reader::next_field`] for loops that take fields to pieces at once: as part of them it keeps
    /// the pieces in registers.
    #[inline(always)]
    pub(crate) fn advance(&mut self) -> Result<Option<Field<'a>>, DecodeError> {
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

/// The field that begins at `start`, of which `tag` was read and `rest` follows it; and the bytes
/// after the field.
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

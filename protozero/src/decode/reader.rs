//! The cursor over a message's bytes.
//!
//! ```text
//! | field | field | tag . value | field ...
//!                 ^ position() between fields
//! ```
//!
//! The hot functions take a whole tag and a whole varint at a time: one branch for the one-byte
//! form, else one eight-byte load in which the first clear top bit tells where the varint ends.

use super::field::{Field, Value, utf8};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::wire::{tag, varint};

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

    /// A reader of `run`, the bytes just read, that counts positions as this one does.
    #[inline(always)]
    pub(super) const fn part(&self, run: &'a [u8]) -> Self {
        Self { rest: run, len: self.position() }
    }

    /// The next field, or `None` at the end.
    ///
    /// # Errors
    /// [`DecodeError`] with the offset of the field that is malformed: cut short, a group, an
    /// unknown wire type, a field number of 0 or above 2^29-1.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let start = *self;
        let tag = self.tag()?;
        self.field(start, tag).map(Some)
    }

    /// The rest of the field that began at `start` with `tag`.
    ///
    /// # Errors
    /// As [`Reader::next_field`].
    #[inline]
    pub fn field(&mut self, start: Self, tag: u32) -> Result<Field<'a>, DecodeError> {
        let value = match tag & 7 {
            tag::VARINT => Value::Varint(self.value(start, Self::take_varint)?),
            tag::FIXED64 => Value::Fixed64(self.value(start, Self::take_fixed64)?),
            tag::LEN => Value::Len(self.value(start, Self::take_len)?),
            tag::FIXED32 => Value::Fixed32(self.value(start, Self::take_fixed32)?),
            other => return Err(self.error(start, DecodeErrorKind::WireType(other as u8))),
        };
        let raw = start.rest.split_at(start.rest.len() - self.rest.len()).0;
        Ok(Field { number: tag >> 3, value, raw })
    }

    #[inline(always)]
    fn value<T>(
        &mut self,
        start: Self,
        take: impl FnOnce(&mut Self) -> Result<T, DecodeErrorKind>,
    ) -> Result<T, DecodeError> {
        match take(self) {
            Ok(value) => Ok(value),
            Err(kind) => Err(self.error(start, kind)),
        }
    }

    /// Ends the message with an error about what began at `start`.
    #[cold]
    #[inline(never)]
    fn error(&mut self, start: Self, kind: DecodeErrorKind) -> DecodeError {
        self.rest = &[];
        kind.at(start.position())
    }

    /// Reads a tag: field number and wire type as one number.
    ///
    /// # Errors
    /// [`DecodeErrorKind::FieldNumber`] and the errors of [`Reader::varint`].
    #[inline(always)]
    pub fn tag(&mut self) -> Result<u32, DecodeError> {
        match *self.rest {
            // Numbers 1 to 15, and 16 to 2047: nearly all there are.
            [a @ 8..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u32::from(a))
            }
            [a @ 0x80..=0xff, b @ 1..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(u32::from(a & 0x7f) | u32::from(b) << 7)
            }
            _ => self.tag_slow(),
        }
    }

    #[cold]
    #[inline(never)]
    fn tag_slow(&mut self) -> Result<u32, DecodeError> {
        let start = *self;
        let tag = self.value(start, Self::take_varint)?;
        match u32::try_from(tag) {
            Ok(tag) if tag >> 3 != 0 => Ok(tag),
            _ => Err(self.error(start, DecodeErrorKind::FieldNumber)),
        }
    }

    /// Reads a varint. Of a tenth byte only the lowest bit counts, as in every implementation.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Truncated`] or [`DecodeErrorKind::VarintTooLong`].
    #[inline(always)]
    pub fn varint(&mut self) -> Result<u64, DecodeError> {
        let start = *self;
        self.value(start, Self::take_varint)
    }

    /// Reads an eight-byte number.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Truncated`].
    #[inline(always)]
    pub fn fixed64(&mut self) -> Result<u64, DecodeError> {
        let start = *self;
        self.value(start, Self::take_fixed64)
    }

    /// Reads a four-byte number.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Truncated`].
    #[inline(always)]
    pub fn fixed32(&mut self) -> Result<u32, DecodeError> {
        let start = *self;
        self.value(start, Self::take_fixed32)
    }

    /// Reads a length and as many bytes.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Truncated`] or [`DecodeErrorKind::VarintTooLong`].
    #[inline(always)]
    pub fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let start = *self;
        self.value(start, Self::take_len)
    }

    /// Reads a length and as many bytes of text. The message goes on after a string that is not
    /// UTF-8.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Utf8`] and those of [`Reader::bytes`].
    #[inline(always)]
    pub fn string(&mut self) -> Result<&'a str, DecodeError> {
        let offset = self.position();
        utf8(self.bytes()?).map_err(|kind| kind.at(offset))
    }

    #[inline(always)]
    fn take_varint(&mut self) -> Result<u64, DecodeErrorKind> {
        if let [byte @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*byte));
        }
        if let Some(bytes) = self.rest.first_chunk::<8>() {
            let word = u64::from_le_bytes(*bytes);
            let stops = !word & 0x8080_8080_8080_8080;
            if stops != 0 {
                // All bits up to and including the stop bit of the last byte.
                let mask = stops ^ (stops - 1);
                let len = (stops.trailing_zeros() / 8 + 1) as usize;
                self.rest = &self.rest[len..];
                return Ok(varint::gather(word & mask));
            }
        }
        self.take_varint_slow()
    }

    /// Near the end of the input, and nine or ten bytes.
    #[inline(never)]
    fn take_varint_slow(&mut self) -> Result<u64, DecodeErrorKind> {
        let mut value = 0;
        for (i, &byte) in self.rest.iter().enumerate().take(varint::LEN_MAX) {
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() < varint::LEN_MAX {
            DecodeErrorKind::Truncated
        } else {
            DecodeErrorKind::VarintTooLong
        })
    }

    #[inline(always)]
    fn take_fixed64(&mut self) -> Result<u64, DecodeErrorKind> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(DecodeErrorKind::Truncated)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    #[inline(always)]
    fn take_fixed32(&mut self) -> Result<u32, DecodeErrorKind> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(DecodeErrorKind::Truncated)?;
        self.rest = rest;
        Ok(u32::from_le_bytes(*bytes))
    }

    #[inline(always)]
    fn take_len(&mut self) -> Result<&'a [u8], DecodeErrorKind> {
        let len = self.take_varint()?;
        // A length past the end must not be cut to fit: on 32 bit it would wrap.
        let len = usize::try_from(len).map_err(|_| DecodeErrorKind::Truncated)?;
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(DecodeErrorKind::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }
}

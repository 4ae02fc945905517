//! The base of generated readers: a [`Reader`](super::Reader) with typed reads, which returns the
//! elements of packed fields one by one, as if they were unpacked.
//!
//! A generated reader matches on the whole tag:
//!
//! ```text
//! match tag {
//!     8  => Timestamp(fields.uint64()?),
//!     24 => CategoryIids(fields.uint64()?),
//!     26 => { fields.begin_run(24)?; return Ok(None) }    the same field, packed: next_tag returns 24
//!     _  => Unknown(fields.unknown(tag)?),                until the end of the packed field
//! }
//! ```

use super::field::Field;
use super::group::group;
use super::reader::field;
use super::take::{self, Taken};
use super::utf8::utf8;
use crate::error::{DecodeErrorKind, ReadError};
use crate::wire::tag::{self, VARINT};
use crate::wire::zigzag;

/// The current field is malformed. [`Fields::fail`] finds the reason and the offset.
///
/// Empty on purpose: the optimizer would have to keep an error with content beside every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Typed access to the fields of a message; see the module.
///
/// After [`Malformed`], call [`Fields::fail`] before the next read. No fields follow, except after
/// a string that is not UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
    /// Unread input at the start of the current field.
    start: &'a [u8],
    /// Input after the current packed field.
    after: &'a [u8],
    /// Length of the message.
    len: usize,
    /// Tag of an unpacked element of the current packed field; 0 outside of packed fields.
    element: u32,
}

impl<'a> Fields<'a> {
    /// The fields of the message encoded in `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, start: bytes, after: &[], len: bytes.len(), element: 0 }
    }

    /// The tag of the next field or element; `None` at the end.
    ///
    /// # Errors
    /// [`Malformed`] if the tag is invalid.
    #[inline(always)]
    pub fn next_tag(&mut self) -> Result<Option<u32>, Malformed> {
        if self.element != 0 {
            if !self.rest.is_empty() {
                return Ok(Some(self.element));
            }
            self.element = 0;
            self.rest = self.after;
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.start = self.rest;
        self.take(take::tag).map(Some)
    }

    /// Enters a packed field. `element` is the tag of an unpacked element.
    ///
    /// # Errors
    /// [`Malformed`] if the input ends before the packed field does.
    #[inline(always)]
    pub fn begin_run(&mut self, element: u32) -> Result<(), Malformed> {
        let run = self.take(take::bytes)?;
        self.after = self.rest;
        self.rest = run;
        self.element = element;
        Ok(())
    }

    /// Reads the field after `tag`, which was just read, without a type.
    ///
    /// # Errors
    /// [`Malformed`] in the cases in which [`Reader::next_field`](super::Reader::next_field) has an
    /// error.
    #[inline(always)]
    pub fn unknown(&mut self, tag: u32) -> Result<Field<'a>, Malformed> {
        #[cold]
        #[inline(never)]
        fn unknown<'a>(start: &'a [u8], tag: u32, rest: &'a [u8]) -> Taken<'a, Field<'a>> {
            field(start, tag, rest)
        }
        let start = self.start;
        self.take(|rest| unknown(start, tag, rest))
    }

    /// Skips the field after `tag`, which was just read.
    ///
    /// # Errors
    /// Those of [`Fields::unknown`].
    #[inline(always)]
    pub fn skip(&mut self, tag: u32) -> Result<(), Malformed> {
        match tag & 7 {
            tag::VARINT => self.take(take::varint).map(drop),
            tag::FIXED64 => self.take(take::array::<8>).map(drop),
            tag::LEN => self.take(take::bytes).map(drop),
            tag::FIXED32 => self.take(take::array::<4>).map(drop),
            _ => self.unknown(tag).map(drop),
        }
    }

    /// Reads the body of the group after `tag`, which was just read, and skips its end tag.
    ///
    /// # Errors
    /// [`Malformed`] if the group has no end or contains an invalid field.
    #[inline(always)]
    pub fn group(&mut self, tag: u32) -> Result<&'a [u8], Malformed> {
        self.take(|rest| group(rest, tag >> 3))
    }

    /// Call this after [`Malformed`]: returns the reason, and the offset of the field. No fields
    /// follow, unless the reason is a string that is not UTF-8.
    #[inline(always)]
    pub fn fail(&mut self) -> ReadError {
        let kind = diagnose(self.start, self.rest, self.element);
        if kind != DecodeErrorKind::Utf8 {
            self.rest = &[];
            self.after = &[];
        }
        kind.at(self.len - self.start.len())
    }

    #[inline(always)]
    fn take<T>(&mut self, take: impl FnOnce(&'a [u8]) -> Taken<'a, T>) -> Result<T, Malformed> {
        match take(self.rest) {
            Ok((value, rest)) => {
                self.rest = rest;
                Ok(value)
            }
            Err(_) => Err(Malformed),
        }
    }
}

/// A part of a message, from the first to the last field of interest.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span<'a> {
    /// The message from the first of these fields on.
    from: &'a [u8],
    /// Length of the message after the last of these fields.
    left: usize,
    /// Length of the whole message.
    len: usize,
}

impl<'a> Span<'a> {
    /// A whole message.
    #[inline]
    pub(super) const fn all(bytes: &'a [u8]) -> Self {
        Self { from: bytes, left: 0, len: bytes.len() }
    }

    /// The fields of the span. Offsets of errors count from the start of the message.
    #[inline]
    pub(super) fn fields(&self) -> Fields<'a> {
        let len = self.from.len().saturating_sub(self.left);
        let part = self.from.get(..len).unwrap_or_default();
        Fields { len: self.len - self.left, ..Fields::new(part) }
    }

    /// Skips the field after `tag`, which was just read, and extends the span to its end.
    #[inline(always)]
    pub(super) fn extend(&mut self, fields: &mut Fields<'a>, tag: u32) -> Result<(), Malformed> {
        fields.skip(tag)?;
        self.extend_to(fields);
        Ok(())
    }

    /// Extends the span to the end of the field that was just read.
    #[inline(always)]
    pub(super) fn extend_to(&mut self, fields: &Fields<'a>) {
        if self.from.is_empty() {
            self.from = fields.start;
            self.len = fields.len;
        }
        self.left = fields.rest.len();
    }
}

/// The reason why the field at `start`, or the packed `element` at `rest`, is malformed. Decodes it
/// again with the slow functions.
#[cold]
#[inline(never)]
fn diagnose(start: &[u8], rest: &[u8], element: u32) -> DecodeErrorKind {
    if element & 7 != VARINT {
        return DecodeErrorKind::PackedLength;
    }
    let read = if element != 0 {
        take::varint(rest).map(|_| ())
    } else {
        take::tag(start).and_then(|(tag, rest)| field(start, tag, rest)).map(|_| ())
    };
    // If the field itself is valid, only its UTF-8 check can have failed.
    read.err().unwrap_or(DecodeErrorKind::Utf8)
}

/// Little-endian numbers of four or eight bytes.
macro_rules! fixed {
    ($name:ident, $type:ty) => {
        #[inline(always)]
        fn $name(from: &[u8]) -> Taken<'_, $type> {
            take::array(from).map(|(bytes, rest)| (<$type>::from_le_bytes(bytes), rest))
        }
    };
}
fixed!(fixed32, u32);
fixed!(fixed64, u64);

macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident -> $type:ty = $wire:path, |$v:ident| $convert:expr;)*) => {
        impl<'a> Fields<'a> {
            $($(#[$doc])*
            ///
            /// # Errors
            /// [`Malformed`] if the input ends before the value does, or the varint is too long.
            #[inline(always)]
            pub fn $name(&mut self) -> Result<$type, Malformed> {
                self.take($wire).map(|$v| $convert)
            })*
        }
    };
}

reads! {
    /// Reads a `uint64`.
    uint64 -> u64 = take::varint, |v| v;
    /// Reads a `uint32`.
    uint32 -> u32 = take::varint, |v| v as u32;
    /// Reads an `int64`.
    int64 -> i64 = take::varint, |v| v as i64;
    /// Reads an `int32`.
    int32 -> i32 = take::varint, |v| v as i32;
    /// Reads an enum.
    enumeration -> i32 = take::varint, |v| v as i32;
    /// Reads a `sint64`.
    sint64 -> i64 = take::varint, |v| zigzag::decode64(v);
    /// Reads a `sint32`.
    sint32 -> i32 = take::varint, |v| zigzag::decode32(v as u32);
    /// Reads a `bool`.
    bool -> bool = take::varint, |v| v != 0;
    /// Reads a `fixed32`.
    fixed32 -> u32 = fixed32, |v| v;
    /// Reads a `sfixed32`.
    sfixed32 -> i32 = fixed32, |v| v as i32;
    /// Reads a `float`.
    float -> f32 = fixed32, |v| f32::from_bits(v);
    /// Reads a `fixed64`.
    fixed64 -> u64 = fixed64, |v| v;
    /// Reads a `sfixed64`.
    sfixed64 -> i64 = fixed64, |v| v as i64;
    /// Reads a `double`.
    double -> f64 = fixed64, |v| f64::from_bits(v);
    /// Reads `bytes`, or the body of a message.
    bytes -> &'a [u8] = take::bytes, |v| v;
}

impl<'a> Fields<'a> {
    /// Reads a `string`.
    ///
    /// # Errors
    /// Those of [`Fields::bytes`]; and if the value is not UTF-8, after which reading can continue.
    #[inline(always)]
    pub fn string(&mut self) -> Result<&'a str, Malformed> {
        utf8(self.bytes()?).map_err(|_| Malformed)
    }
}

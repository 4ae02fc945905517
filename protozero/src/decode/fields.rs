//! What generated readers are made of: [`Reader`](super::Reader) with typed reads, whose packed runs look like
//! elements that stand alone.
//!
//! A generated reader matches on whole tags:
//!
//! ```text
//! match tag {
//!     8  => Timestamp(fields.uint64()?),
//!     24 => CategoryIids(fields.uint64()?),
//!     26 => { fields.begin_run(24)?; return Ok(None) }    the same field, packed: from here on
//!     _  => Unknown(fields.unknown(tag)?),                next_tag says 24 until the run is over
//! }
//! ```

use super::field::Field;
use super::group::group;
use super::reader::field;
use super::take::{self, Taken};
use super::utf8::utf8;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::wire::tag::{self, VARINT};
use crate::wire::zigzag;

/// Something is wrong with the field being read; what and where, [`Fields::fail`] finds out.
///
/// Without content on purpose: an error passed through the code that reads a field would have to be
/// kept beside every value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// See the module. Whoever meets [`Malformed`] calls [`Fields::fail`] before going on; after it (but
/// for bad UTF-8) there are no more fields.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
    /// What was left where the field being read begins.
    start: &'a [u8],
    /// Where to go on after the run.
    after: &'a [u8],
    /// Bytes of the message.
    len: usize,
    /// Tag of the elements of the packed run being read; 0 outside of runs.
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
    /// [`Malformed`] if it is no tag.
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

    /// Enters a packed run whose elements, if they stood alone, would have the tag `element`.
    ///
    /// # Errors
    /// [`Malformed`] if the input ends before the run does.
    #[inline(always)]
    pub fn begin_run(&mut self, element: u32) -> Result<(), Malformed> {
        let run = self.take(take::bytes)?;
        self.after = self.rest;
        self.rest = run;
        self.element = element;
        Ok(())
    }

    /// The field whose tag was just read, whatever it is.
    ///
    /// # Errors
    /// [`Malformed`] as [`Reader::next_field`](super::Reader::next_field) has errors.
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

    /// Passes over the field whose tag was just read, whatever it is.
    ///
    /// # Errors
    /// As [`Fields::unknown`].
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

    /// Reads the body of the group whose tag was just read, and passes over its end tag.
    ///
    /// # Errors
    /// [`Malformed`] if the group does not end, or holds what is no field.
    #[inline(always)]
    pub fn group(&mut self, tag: u32) -> Result<&'a [u8], Malformed> {
        self.take(|rest| group(rest, tag >> 3))
    }

    /// After [`Malformed`]: what is wrong, and the offset of the field. It is final, but for a string
    /// that is not UTF-8: that was read, and the next field comes after it.
    #[inline(always)]
    pub fn fail(&mut self) -> DecodeError {
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

/// A part of a message: from the first field of interest to the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span<'a> {
    /// From the first field to the end of the message.
    from: &'a [u8],
    /// Bytes of the message after the last field.
    left: usize,
    /// Bytes of the message.
    len: usize,
}

impl<'a> Span<'a> {
    /// All of a message.
    #[inline]
    pub(super) const fn all(bytes: &'a [u8]) -> Self {
        Self { from: bytes, left: 0, len: bytes.len() }
    }

    /// The fields in it; offsets of errors count from the beginning of the message.
    #[inline]
    pub(super) fn fields(&self) -> Fields<'a> {
        let len = self.from.len().saturating_sub(self.left);
        let part = self.from.get(..len).unwrap_or_default();
        Fields { len: self.len - self.left, ..Fields::new(part) }
    }

    /// Passes over the field whose tag was just read, and takes it in.
    #[inline(always)]
    pub(super) fn extend(&mut self, fields: &mut Fields<'a>, tag: u32) -> Result<(), Malformed> {
        fields.skip(tag)?;
        self.note(fields);
        Ok(())
    }

    /// Takes in the field that was just read.
    #[inline(always)]
    pub(super) fn note(&mut self, fields: &Fields<'a>) {
        if self.from.is_empty() {
            self.from = fields.start;
            self.len = fields.len;
        }
        self.left = fields.rest.len();
    }
}

/// What is wrong with the field that begins at `start`, or with the `element` at `rest` of its run.
/// Reads it once more, slowly.
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
    // A field in order can only be a string that is none.
    read.err().unwrap_or(DecodeErrorKind::Utf8)
}

/// Little-endian numbers of either width.
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
    /// As [`Fields::bytes`]; and if it is not UTF-8, after which reading goes on.
    #[inline(always)]
    pub fn string(&mut self) -> Result<&'a str, Malformed> {
        utf8(self.bytes()?).map_err(|_| Malformed)
    }
}

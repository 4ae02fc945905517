//! What generated readers are made of: [`Reader`] with typed reads, whose packed runs look like
//! elements that stand alone.
//!
//! A generated reader matches on whole tags:
//!
//! ```text
//! loop {
//!     let Some(tag) = fields.next_tag()? else { return Ok(None) };
//!     return Ok(Some(match tag {
//!         8  => Timestamp(fields.uint64()?),
//!         24 => CategoryIids(fields.uint64()?),
//!         26 => { fields.begin_run(24)?; continue }    the same field, packed: from here on
//!         _  => Unknown(fields.unknown(tag)?),         next_tag says 24 until the run is over
//!     }));
//! }
//! ```

use super::field::{Field, utf8};
use super::reader::field;
use super::take::{self, Taken};
use crate::error::{DecodeError, DecodeErrorKind};
use crate::wire::zigzag;

/// See the module. After an error (but for one about UTF-8) there are no more fields.
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
    /// [`DecodeError`] with the offset of the field that is malformed.
    #[inline(always)]
    pub fn next_tag(&mut self) -> Result<Option<u32>, DecodeError> {
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
    /// [`DecodeError`] if the input ends before the run does.
    #[inline(always)]
    pub fn begin_run(&mut self, element: u32) -> Result<(), DecodeError> {
        let run = self.take(take::bytes)?;
        self.after = self.rest;
        self.rest = run;
        self.element = element;
        Ok(())
    }

    /// The field whose tag was just read, whatever it is.
    ///
    /// # Errors
    /// As [`Reader::next_field`](super::Reader::next_field).
    #[inline(always)]
    pub fn unknown(&mut self, tag: u32) -> Result<Field<'a>, DecodeError> {
        #[cold]
        #[inline(never)]
        fn unknown<'a>(start: &'a [u8], tag: u32, rest: &'a [u8]) -> Taken<'a, Field<'a>> {
            field(start, tag, rest)
        }
        let start = self.start;
        self.take(|rest| unknown(start, tag, rest))
    }

    #[inline(always)]
    fn take<T>(&mut self, take: impl FnOnce(&'a [u8]) -> Taken<'a, T>) -> Result<T, DecodeError> {
        match take(self.rest) {
            Ok((value, rest)) => {
                self.rest = rest;
                Ok(value)
            }
            Err(kind) => {
                // An error is final, also one inside a run.
                self.rest = &[];
                self.after = &[];
                Err(self.error(kind))
            }
        }
    }

    #[inline(always)]
    fn error(&self, kind: DecodeErrorKind) -> DecodeError {
        kind.at(self.len - self.start.len())
    }
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
            /// [`DecodeError`] if the input ends before the value does, or the varint is too long.
            #[inline(always)]
            pub fn $name(&mut self) -> Result<$type, DecodeError> {
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
    pub fn string(&mut self) -> Result<&'a str, DecodeError> {
        utf8(self.bytes()?).map_err(|kind| self.error(kind))
    }
}

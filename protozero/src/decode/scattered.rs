//! Reads a message in several slices, such as a packet in several chunks.
//!
//! ```text
//!  slices   08 05 1a | 03 61 | 62 63 10 80 | 01
//!           └─ 1 ─┘ └────── 3 ──────┘ └─── 2 ───┘
//!             whole      in pieces         a number, copied to the stack
//! ```
//!
//! Nothing is copied to the heap. A field within one slice is borrowed from it, as with
//! [`Reader`](super::Reader); a field in several slices is a [`Pieces`], which another reader can
//! read. Fields, errors and offsets are the same as for these bytes in one slice.

use super::field::Value;
use super::group::{self, Source as _};
use super::pieces::Pieces;
use super::reader::field;
use super::take;
use crate::error::{DecodeErrorKind, ReadError};
use crate::wire::tag;

/// A field of a message in several slices.
#[derive(Clone, Copy, Debug)]
pub struct ScatteredField<'s, 'a> {
    /// Field number, 1 to 2^29-1.
    pub number: u32,
    /// The value, by wire type.
    pub value: ScatteredValue<'s, 'a>,
    /// Encoded tag and value.
    pub raw: Pieces<'s, 'a>,
}

/// An undecoded value, in one or several slices.
#[derive(Clone, Copy, Debug)]
pub enum ScatteredValue<'s, 'a> {
    /// A number, or bytes that lie in one slice.
    Whole(Value<'a>),
    /// A message, string, bytes or packed field that lies in several slices.
    Len(Pieces<'s, 'a>),
    /// The body of a group that lies in several slices.
    Group(Pieces<'s, 'a>),
}

impl<'s, 'a> ScatteredValue<'s, 'a> {
    /// The value, if it is a number or lies in one slice.
    #[inline]
    #[must_use]
    pub const fn whole(self) -> Option<Value<'a>> {
        match self {
            Self::Whole(value) => Some(value),
            _ => None,
        }
    }

    /// As `bytes`, `string` or the body of a message with a length.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value has no length.
    #[inline]
    pub const fn bytes(self) -> Result<Pieces<'s, 'a>, DecodeErrorKind> {
        match self {
            Self::Whole(Value::Len(bytes)) => Ok(Pieces::one(bytes)),
            Self::Len(pieces) => Ok(pieces),
            _ => Err(DecodeErrorKind::WireTypeMismatch),
        }
    }

    /// As a message, with a length or as a group.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value is neither.
    #[inline]
    pub const fn message(self) -> Result<ScatteredReader<'s, 'a>, DecodeErrorKind> {
        match self {
            Self::Whole(Value::Len(body) | Value::Group(body)) => {
                Ok(ScatteredReader::within(Pieces::one(body)))
            }
            Self::Len(body) | Self::Group(body) => Ok(ScatteredReader::within(body)),
            Self::Whole(_) => Err(DecodeErrorKind::WireTypeMismatch),
        }
    }

    /// The elements of a repeated varint field: all elements of a packed field, or the one unpacked
    /// element.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value is neither.
    #[inline]
    pub const fn varints(self) -> Result<ScatteredVarints<'s, 'a>, DecodeErrorKind> {
        let (one, run) = match self {
            Self::Whole(Value::Varint(one)) => (Some(one), Pieces::one(&[])),
            Self::Whole(Value::Len(run)) => (None, Pieces::one(run)),
            Self::Len(run) => (None, run),
            _ => return Err(DecodeErrorKind::WireTypeMismatch),
        };
        Ok(ScatteredVarints { one, run, len: run.len() })
    }
}

/// Reads the fields of a message in several slices.
///
/// After an error, every call returns `None`.
#[derive(Clone, Copy, Debug)]
pub struct ScatteredReader<'s, 'a> {
    rest: Pieces<'s, 'a>,
    /// Length of the message.
    len: usize,
}

impl<'s, 'a> ScatteredReader<'s, 'a> {
    /// Reads the message in `slices`, one after another.
    #[inline]
    #[must_use]
    pub fn new(slices: &'s [&'a [u8]]) -> Self {
        Self::within(Pieces::new(slices))
    }

    /// Reads the message in `pieces`.
    #[inline]
    #[must_use]
    pub const fn within(pieces: Pieces<'s, 'a>) -> Self {
        Self { rest: pieces, len: pieces.len() }
    }

    /// The unread bytes.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> Pieces<'s, 'a> {
        self.rest
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
    /// Those of [`Reader::next_field`](super::Reader::next_field) for the same bytes.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<ScatteredField<'s, 'a>>, ReadError> {
        let start = self.rest.head();
        if start.is_empty() {
            return Ok(None);
        }
        // A field that is complete in the first slice needs no other slices.
        if let Ok((field, rest)) = take::tag(start).and_then(|(tag, rest)| field(start, tag, rest))
        {
            self.rest = self.rest.without_first(start.len() - rest.len());
            let value = ScatteredValue::Whole(field.value);
            let raw = Pieces::one(field.raw);
            return Ok(Some(ScatteredField { number: field.number, value, raw }));
        }
        match split_field(&mut self.rest) {
            Ok(field) => Ok(Some(field)),
            Err(kind) => {
                let offset = self.position();
                self.rest = Pieces::one(&[]);
                Err(kind.at(offset))
            }
        }
    }
}

/// Reads the field at the start of `rest`, which may lie in several slices. An error leaves `rest`
/// unchanged.
#[inline(never)]
fn split_field<'s, 'a>(
    rest: &mut Pieces<'s, 'a>,
) -> Result<ScatteredField<'s, 'a>, DecodeErrorKind> {
    let mut at = *rest;
    let tag = at.tag()?;
    let value = match tag & 7 {
        tag::VARINT => ScatteredValue::Whole(Value::Varint(at.varint()?)),
        tag::FIXED64 => ScatteredValue::Whole(Value::Fixed64(u64::from_le_bytes(at.array()?))),
        tag::LEN => {
            let body = at.bytes()?;
            match body.as_slice() {
                Some(body) => ScatteredValue::Whole(Value::Len(body)),
                None => ScatteredValue::Len(body),
            }
        }
        tag::BEGIN_GROUP => {
            let mut body = at;
            let left = group::skip_group(&mut at, tag >> 3)?;
            let body = body.take(body.len().saturating_sub(left));
            let body = body.ok_or(DecodeErrorKind::Truncated)?;
            match body.as_slice() {
                Some(body) => ScatteredValue::Whole(Value::Group(body)),
                None => ScatteredValue::Group(body),
            }
        }
        tag::END_GROUP => return Err(DecodeErrorKind::EndGroup),
        tag::FIXED32 => ScatteredValue::Whole(Value::Fixed32(u32::from_le_bytes(at.array()?))),
        _ => return Err(DecodeErrorKind::WireType),
    };
    let len = rest.len().saturating_sub(at.len());
    let raw = rest.take(len).ok_or(DecodeErrorKind::Truncated)?;
    Ok(ScatteredField { number: tag >> 3, value, raw })
}

/// The varints of a packed field in several slices, without a type. Ends after its first error,
/// whose offset counts from the start of the packed elements.
#[derive(Clone, Debug)]
pub struct ScatteredVarints<'s, 'a> {
    one: Option<u64>,
    run: Pieces<'s, 'a>,
    /// Length of `run` at the beginning.
    len: usize,
}

impl Iterator for ScatteredVarints<'_, '_> {
    type Item = Result<u64, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(one) = self.one.take() {
            return Some(Ok(one));
        }
        if self.run.is_empty() {
            return None;
        }
        let offset = self.len - self.run.len();
        Some(self.run.varint().map_err(|kind| {
            self.run = Pieces::one(&[]);
            kind.at(offset)
        }))
    }
}

impl core::iter::FusedIterator for ScatteredVarints<'_, '_> {}

//! The reader of a message that lies in several slices: a packet in the chunks it was written to.
//!
//! ```text
//!  slices   08 05 1a | 03 61 | 62 63 10 80 | 01
//!           └─ 1 ─┘ └────── 3 ──────┘ └─── 2 ───┘
//!             whole        cut             a number, put together on the stack
//! ```
//!
//! Nothing is glued. A field within one slice is borrowed from it as [`Reader`](super::Reader) would
//! do; one that is cut is given as the [`Pieces`] it lies in, which may be read in turn. Fields,
//! errors and offsets are those of the same bytes in one slice.

use super::field::Value;
use super::group::{self, Source as _};
use super::pieces::Pieces;
use super::reader::field;
use super::take;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::wire::tag;

/// A field of a message in several slices.
#[derive(Clone, Copy, Debug)]
pub struct ScatteredField<'s, 'a> {
    /// Field number, 1 to 2^29-1.
    pub number: u32,
    /// The value, by wire type.
    pub value: ScatteredValue<'s, 'a>,
    /// Tag and value, verbatim.
    pub raw: Pieces<'s, 'a>,
}

/// A value as the wire has it, and as the slices have it.
#[derive(Clone, Copy, Debug)]
pub enum ScatteredValue<'s, 'a> {
    /// A number, or bytes that lie in one slice.
    Whole(Value<'a>),
    /// A message, string, bytes or packed run that lies in several slices.
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
    /// [`DecodeErrorKind::WireTypeMismatch`] if it has no length.
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
    /// [`DecodeErrorKind::WireTypeMismatch`] if it is neither.
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

    /// The elements of a repeated varint field: of a packed run, or the one that stands alone.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if it is neither.
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

/// Walks the fields of a message in several slices.
///
/// After an error every further call says there are no more fields.
#[derive(Clone, Copy, Debug)]
pub struct ScatteredReader<'s, 'a> {
    rest: Pieces<'s, 'a>,
    /// Bytes the reader was made from.
    len: usize,
}

impl<'s, 'a> ScatteredReader<'s, 'a> {
    /// A reader of the message that `slices` are, one after another.
    #[inline]
    #[must_use]
    pub fn new(slices: &'s [&'a [u8]]) -> Self {
        Self::within(Pieces::new(slices))
    }

    /// A reader of the message in `pieces`.
    #[inline]
    #[must_use]
    pub const fn within(pieces: Pieces<'s, 'a>) -> Self {
        Self { rest: pieces, len: pieces.len() }
    }

    /// Bytes not read yet.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> Pieces<'s, 'a> {
        self.rest
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
    /// As [`Reader::next_field`](super::Reader::next_field): the same for the same bytes.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<ScatteredField<'s, 'a>>, DecodeError> {
        let start = self.rest.head();
        if start.is_empty() {
            return Ok(None);
        }
        // A field that can be read from the first slice alone is what it is in all of them.
        if let Ok((field, rest)) = take::tag(start).and_then(|(tag, rest)| field(start, tag, rest))
        {
            self.rest = self.rest.without(start.len() - rest.len());
            let value = ScatteredValue::Whole(field.value);
            let raw = Pieces::one(field.raw);
            return Ok(Some(ScatteredField { number: field.number, value, raw }));
        }
        match cut(&mut self.rest) {
            Ok(field) => Ok(Some(field)),
            Err(kind) => {
                let offset = self.position();
                self.rest = Pieces::one(&[]);
                Err(kind.at(offset))
            }
        }
    }
}

/// The field at the front of `rest`, which may lie in several slices. After an error all is as it was.
#[inline(never)]
fn cut<'s, 'a>(rest: &mut Pieces<'s, 'a>) -> Result<ScatteredField<'s, 'a>, DecodeErrorKind> {
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
            let left = group::pass(&mut at, tag >> 3)?;
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

/// The varints of a packed run in several slices, still untyped. Ends after its first error, whose
/// offset counts from the beginning of the run.
#[derive(Clone, Debug)]
pub struct ScatteredVarints<'s, 'a> {
    one: Option<u64>,
    run: Pieces<'s, 'a>,
    /// Bytes of the run.
    len: usize,
}

impl Iterator for ScatteredVarints<'_, '_> {
    type Item = Result<u64, DecodeError>;

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

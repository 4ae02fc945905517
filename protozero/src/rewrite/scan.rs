//! The fast part of the rewriter: finds how many bytes of a chunk are complete fields that are
//! copied unchanged.

use crate::error::DecodeErrorKind;
use crate::wire::hostile::{delimited, varint};
use crate::wire::tag;

/// What follows the fields that are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// An incomplete field, or a length-delimited field that the rewriter must inspect.
    Incomplete,
    /// A malformed field.
    Malformed(DecodeErrorKind),
    /// The begin tag of a group.
    Begin { number: u32, tag_len: usize },
    /// The end tag of a group.
    End { number: u32, tag_len: usize },
    /// The tag of a length-delimited field.
    Len { number: u32 },
    /// The tag of a number.
    Scalar { wire_type: u32 },
}

impl Next {
    /// Length of a begin or end tag; 0 otherwise.
    pub(super) fn tag_len(self) -> usize {
        match self {
            Self::Begin { tag_len, .. } | Self::End { tag_len, .. } => tag_len,
            _ => 0,
        }
    }
}

/// Classifies the tag `value`, which has `tag_len` bytes.
pub(super) fn classify(value: u64, tag_len: usize) -> Next {
    let Ok(value) = u32::try_from(value) else {
        return Next::Malformed(DecodeErrorKind::FieldNumber);
    };
    let (number, wire_type) = (value >> 3, value & 7);
    match wire_type {
        _ if number == 0 => Next::Malformed(DecodeErrorKind::FieldNumber),
        tag::BEGIN_GROUP => Next::Begin { number, tag_len },
        tag::END_GROUP => Next::End { number, tag_len },
        tag::LEN => Next::Len { number },
        tag::VARINT | tag::FIXED32 | tag::FIXED64 => Next::Scalar { wire_type },
        _ => Next::Malformed(DecodeErrorKind::WireType),
    }
}

/// Finds the longest prefix of `bytes` that consists of complete fields to copy; returns its length
/// and what follows it. Stops at length-delimited fields if `stop_at_len`.
pub(super) fn copyable(bytes: &[u8], stop_at_len: bool) -> (usize, Next) {
    let mut rest = bytes;
    loop {
        match after_field(rest, stop_at_len) {
            Ok(after) => rest = after,
            Err(next) => return (bytes.len() - rest.len(), next),
        }
    }
}

/// The bytes after the first field of `bytes`, if that field is complete and is copied.
#[inline]
fn after_field(bytes: &[u8], stop_at_len: bool) -> Result<&[u8], Next> {
    let (value, rest) = varint(bytes)?;
    let after = match classify(value, bytes.len() - rest.len()) {
        Next::Scalar { wire_type: tag::FIXED32 } => rest.get(4..),
        Next::Scalar { wire_type: tag::FIXED64 } => rest.get(8..),
        Next::Scalar { .. } => Some(varint(rest)?.1),
        Next::Len { .. } if stop_at_len => None,
        Next::Len { .. } => Some(delimited(rest)?.1),
        next => return Err(next),
    };
    after.ok_or(Next::Incomplete)
}

impl From<DecodeErrorKind> for Next {
    fn from(kind: DecodeErrorKind) -> Self {
        match kind {
            DecodeErrorKind::Truncated => Self::Incomplete,
            kind => Self::Malformed(kind),
        }
    }
}

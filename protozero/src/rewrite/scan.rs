//! The fast part of the rewriter: finds how many bytes of a chunk are complete fields that are
//! copied unchanged.

use crate::error::DecodeErrorKind;
use crate::wire::{tag, varint};

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
        let run = bytes.len() - rest.len();
        let (value, after) = match varint(rest) {
            ScannedVarint::Complete(value, after) => (value, after),
            ScannedVarint::Incomplete => return (run, Next::Incomplete),
            ScannedVarint::TooLong => {
                return (run, Next::Malformed(DecodeErrorKind::VarintTooLong));
            }
        };
        let after = match classify(value, rest.len() - after.len()) {
            Next::Scalar { wire_type: tag::FIXED32 } => after.get(4..),
            Next::Scalar { wire_type: tag::FIXED64 } => after.get(8..),
            Next::Scalar { .. } => match varint(after) {
                ScannedVarint::Complete(_, after) => Some(after),
                ScannedVarint::Incomplete => None,
                ScannedVarint::TooLong => {
                    return (run, Next::Malformed(DecodeErrorKind::VarintTooLong));
                }
            },
            Next::Len { .. } if stop_at_len => return (run, Next::Incomplete),
            Next::Len { .. } => match varint(after) {
                ScannedVarint::Complete(len, after) => {
                    usize::try_from(len).ok().and_then(|len| after.get(len..))
                }
                ScannedVarint::Incomplete => None,
                ScannedVarint::TooLong => {
                    return (run, Next::Malformed(DecodeErrorKind::VarintTooLong));
                }
            },
            next => return (run, next),
        };
        match after {
            Some(after) => rest = after,
            None => return (run, Next::Incomplete),
        }
    }
}

enum ScannedVarint<'a> {
    Complete(u64, &'a [u8]),
    Incomplete,
    TooLong,
}

#[inline]
fn varint(bytes: &[u8]) -> ScannedVarint<'_> {
    if let [byte @ ..0x80, rest @ ..] = bytes {
        return ScannedVarint::Complete(u64::from(*byte), rest);
    }
    let mut value = 0;
    for (group, byte) in bytes.iter().take(varint::LEN_MAX).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * group);
        if *byte < 0x80 {
            return ScannedVarint::Complete(value, bytes.get(group + 1..).unwrap_or_default());
        }
    }
    if bytes.len() < varint::LEN_MAX { ScannedVarint::Incomplete } else { ScannedVarint::TooLong }
}

//! The fast part: how many of the bytes at hand are whole fields that are copied as they are.

use crate::error::DecodeErrorKind;
use crate::wire::{tag, varint};

/// What ends a run of fields that are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The bytes end, perhaps in the middle of a field; or a length-delimited one is to be looked at.
    Cut,
    /// What follows is no field.
    Bad(DecodeErrorKind),
    /// A tag that begins a group.
    Begin { number: u32, tag_len: usize },
    /// A tag that ends one.
    End { number: u32, tag_len: usize },
    /// The tag of a length-delimited field.
    Len { number: u32 },
    /// The tag of a number.
    Scalar { wire_type: u32 },
}

impl Stop {
    /// Bytes of the tag, where there is one.
    pub(super) fn tag_len(self) -> usize {
        match self {
            Self::Begin { tag_len, .. } | Self::End { tag_len, .. } => tag_len,
            _ => 0,
        }
    }
}

/// What the tag `value` of `tag_len` bytes begins.
pub(super) fn stop(value: u64, tag_len: usize) -> Stop {
    let Ok(value) = u32::try_from(value) else { return Stop::Bad(DecodeErrorKind::FieldNumber) };
    let (number, wire_type) = (value >> 3, value & 7);
    match wire_type {
        _ if number == 0 => Stop::Bad(DecodeErrorKind::FieldNumber),
        tag::BEGIN_GROUP => Stop::Begin { number, tag_len },
        tag::END_GROUP => Stop::End { number, tag_len },
        tag::LEN => Stop::Len { number },
        tag::VARINT | tag::FIXED32 | tag::FIXED64 => Stop::Scalar { wire_type },
        _ => Stop::Bad(DecodeErrorKind::WireType),
    }
}

/// Length of the longest front of `bytes` that is whole fields to be copied, and what follows it.
/// Length-delimited fields are copied, too, unless `stop_at_len`.
pub(super) fn run(bytes: &[u8], stop_at_len: bool) -> (usize, Stop) {
    let mut rest = bytes;
    loop {
        let run = bytes.len() - rest.len();
        let (value, after) = match varint(rest) {
            Taken::Whole(value, after) => (value, after),
            Taken::Cut => return (run, Stop::Cut),
            Taken::TooLong => return (run, Stop::Bad(DecodeErrorKind::VarintTooLong)),
        };
        let after = match stop(value, rest.len() - after.len()) {
            Stop::Scalar { wire_type: tag::FIXED32 } => after.get(4..),
            Stop::Scalar { wire_type: tag::FIXED64 } => after.get(8..),
            Stop::Scalar { .. } => match varint(after) {
                Taken::Whole(_, after) => Some(after),
                Taken::Cut => None,
                Taken::TooLong => return (run, Stop::Bad(DecodeErrorKind::VarintTooLong)),
            },
            Stop::Len { .. } if stop_at_len => return (run, Stop::Cut),
            Stop::Len { .. } => match varint(after) {
                Taken::Whole(len, after) => {
                    usize::try_from(len).ok().and_then(|len| after.get(len..))
                }
                Taken::Cut => None,
                Taken::TooLong => return (run, Stop::Bad(DecodeErrorKind::VarintTooLong)),
            },
            stop => return (run, stop),
        };
        match after {
            Some(after) => rest = after,
            None => return (run, Stop::Cut),
        }
    }
}

enum Taken<'a> {
    Whole(u64, &'a [u8]),
    Cut,
    TooLong,
}

#[inline]
fn varint(bytes: &[u8]) -> Taken<'_> {
    if let [byte @ ..0x80, rest @ ..] = bytes {
        return Taken::Whole(u64::from(*byte), rest);
    }
    let mut value = 0;
    for (group, byte) in bytes.iter().take(varint::LEN_MAX).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * group);
        if *byte < 0x80 {
            return Taken::Whole(value, bytes.get(group + 1..).unwrap_or_default());
        }
    }
    if bytes.len() < varint::LEN_MAX { Taken::Cut } else { Taken::TooLong }
}

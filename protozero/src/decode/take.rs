//! Reads numbers and bytes from the start of a slice: [`wire::hostile`](crate::wire::hostile), and a
//! function that only the readers of fields need.

use crate::error::DecodeErrorKind;
pub(super) use crate::wire::hostile::{Taken, delimited as bytes, exactly, tag, varint};

/// Reads `LEN` bytes.
#[inline(always)]
pub(super) fn array<const LEN: usize>(from: &[u8]) -> Taken<'_, [u8; LEN]> {
    match from.split_first_chunk() {
        Some((bytes, rest)) => Ok((*bytes, rest)),
        None => Err(DecodeErrorKind::Truncated),
    }
}

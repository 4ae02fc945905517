//! Bytes as text. Names and labels are short and ASCII, and for those the call of a function that is
//! made for megabytes costs more than the check itself.
#![allow(unsafe_code, reason = "listed in SAFETY.md")]

use crate::error::DecodeErrorKind;

/// The top bit of each byte: clear in ASCII.
const HIGH16: u128 = 0x8080_8080_8080_8080_8080_8080_8080_8080;

/// Longest text that is looked at in place.
const SHORT_MAX: usize = 32;

/// `bytes` as text.
#[inline(always)]
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, DecodeErrorKind> {
    if bytes.len() <= SHORT_MAX && is_ascii(bytes) {
        // SAFETY:
        // - `is_ascii` has seen every byte, and all of them are below 0x80: one of those is a character
        //   of UTF-8 by itself, and so is any row of them.
        return Ok(unsafe { core::str::from_utf8_unchecked(bytes) });
    }
    other(bytes)
}

/// Whether all bytes are below 0x80, with as few branches as there are sorts of lengths: the loads
/// overlap.
#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        return (u128::from_le_bytes(*first) | u128::from_le_bytes(*last)) & HIGH16 == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // The word after the first one and that before the last one; of a short text the same ones.
        let (second, third) = (len.min(8) - 4, len.max(8) - 8);
        let inner =
            |at: usize| bytes.get(at..at + 4)?.first_chunk().map(|w| u32::from_le_bytes(*w));
        let inner = inner(second).unwrap_or(u32::MAX) | inner(third).unwrap_or(u32::MAX);
        let outer = u32::from_le_bytes(*first) | u32::from_le_bytes(*last);
        return (inner | outer) & HIGH16 as u32 == 0;
    }
    bytes.iter().fold(0, |high, byte| high | byte) < 0x80
}

#[inline(never)]
fn other(bytes: &[u8]) -> Result<&str, DecodeErrorKind> {
    core::str::from_utf8(bytes).map_err(|_| DecodeErrorKind::Utf8)
}

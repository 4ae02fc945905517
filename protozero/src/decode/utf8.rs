//! Bytes as text. Names and labels are short and ASCII, and for those the call of a function that is
//! made for megabytes costs more than the check itself.
#![allow(unsafe_code, reason = "listed in SAFETY.md")]

use crate::error::DecodeErrorKind;

/// The top bit of each byte: clear in ASCII.
const HIGH: u64 = 0x8080_8080_8080_8080;

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

/// Whether all bytes are below 0x80, with as few loads as there are words: the last one overlaps.
#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    if let Some(last) = bytes.last_chunk::<8>() {
        let words = bytes.as_chunks::<8>().0.iter();
        let high = words.fold(u64::from_le_bytes(*last), |high, w| high | u64::from_le_bytes(*w));
        return high & HIGH == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first) | u32::from_le_bytes(*last)) & HIGH == 0;
    }
    bytes.iter().fold(0, |high, byte| high | byte) < 0x80
}

#[inline(never)]
fn other(bytes: &[u8]) -> Result<&str, DecodeErrorKind> {
    core::str::from_utf8(bytes).map_err(|_| DecodeErrorKind::Utf8)
}

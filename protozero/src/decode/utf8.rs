//! UTF-8 checks. Names and labels are short and ASCII: for these, calling the function of the
//! standard library costs more than the check itself.
#![allow(unsafe_code, reason = "listed in SAFETY.md")]

use crate::error::DecodeErrorKind;

/// The top bit of each byte, which is 0 in ASCII.
const HIGH16: u128 = 0x8080_8080_8080_8080_8080_8080_8080_8080;

/// Maximum length of a text that is checked inline.
const SHORT_MAX: usize = 32;

/// Checks that `bytes` are UTF-8.
#[inline(always)]
pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, DecodeErrorKind> {
    if bytes.len() <= SHORT_MAX && is_ascii(bytes) {
        // SAFETY:
        // - `is_ascii` has checked that every byte is below 0x80. Each such byte is a UTF-8
        //   character, and so is every sequence of them.
        return Ok(unsafe { core::str::from_utf8_unchecked(bytes) });
    }
    std_utf8(bytes)
}

/// Whether all bytes are below 0x80. Overlapping loads keep the number of branches small.
#[inline(always)]
fn is_ascii(bytes: &[u8]) -> bool {
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk::<16>(), bytes.last_chunk::<16>()) {
        return (u128::from_le_bytes(*first) | u128::from_le_bytes(*last)) & HIGH16 == 0;
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        // The second and the second to last word of four bytes. In a text of four to eight bytes
        // they overlap.
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
fn std_utf8(bytes: &[u8]) -> Result<&str, DecodeErrorKind> {
    core::str::from_utf8(bytes).map_err(|_| DecodeErrorKind::Utf8)
}

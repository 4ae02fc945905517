//! UTF-8 checks. Names and labels are short and ASCII: for these, calling the function of the
//! standard library costs more than the check itself. Shared bytes that were checked stay so.
#![allow(unsafe_code, reason = "listed in SAFETY.md")]

#[cfg(feature = "bytes")]
use alloc::string::String;
#[cfg(feature = "bytes")]
use bytes::Bytes;

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

/// Bytes in memory that others may share.
///
/// C1. They are UTF-8: each function that makes a value takes them from a text, or checks them.
/// C2. Nobody changes them: no function here gives access to the field, and the bytes of a `Bytes` are never written
///     while it exists.
#[cfg(feature = "bytes")]
#[derive(Clone, Default)]
pub(crate) struct CheckedBytes(Bytes);

#[cfg(feature = "bytes")]
impl CheckedBytes {
    /// Checks `bytes`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Utf8`].
    pub(crate) fn new(bytes: Bytes) -> Result<Self, DecodeErrorKind> {
        utf8(&bytes)?;
        Ok(Self(bytes))
    }

    /// The bytes of `text`.
    pub(crate) const fn from_static(text: &'static str) -> Self {
        Self(Bytes::from_static(text.as_bytes()))
    }

    /// The memory of `text`, if `share` returns that.
    #[inline]
    pub(crate) fn share(text: &str, share: impl FnOnce(&[u8]) -> Option<Bytes>) -> Option<Self> {
        let bytes = share(text.as_bytes())?;
        // The same address and length: the same bytes, so C1 holds.
        core::ptr::eq(&*bytes, text.as_bytes()).then_some(Self(bytes))
    }

    /// The text.
    #[inline]
    pub(crate) fn as_str(&self) -> &str {
        // SAFETY:
        // - C1 and C2: the bytes were UTF-8, and are the same.
        unsafe { core::str::from_utf8_unchecked(&self.0) }
    }

    /// The bytes.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.0
    }
}

#[cfg(feature = "bytes")]
impl From<String> for CheckedBytes {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

#[inline(never)]
fn std_utf8(bytes: &[u8]) -> Result<&str, DecodeErrorKind> {
    core::str::from_utf8(bytes).map_err(|_| DecodeErrorKind::Utf8)
}

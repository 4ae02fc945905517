//! A string without a UTF-8 check.

use core::fmt;

use super::utf8::utf8;
use crate::error::DecodeErrorKind;

/// A `string` whose UTF-8 is not checked. For programs that pass strings on, or read few of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// Wraps `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes.
    #[inline]
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Checks the bytes and returns them as text.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Utf8`] if they are not UTF-8.
    #[inline]
    pub fn to_str(self) -> Result<&'a str, DecodeErrorKind> {
        utf8(self.0)
    }

    /// The text, with U+FFFD in place of invalid bytes.
    #[cfg(feature = "alloc")]
    #[must_use]
    pub fn to_str_lossy(self) -> alloc::borrow::Cow<'a, str> {
        alloc::string::String::from_utf8_lossy(self.0)
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

/// Writes U+FFFD in place of invalid bytes.
impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_str("\u{fffd}")?;
            }
        }
        Ok(())
    }
}

/// Writes an escaped byte string.
impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

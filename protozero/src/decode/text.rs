//! A string whose bytes nobody has checked yet.

use core::fmt;

use super::utf8::utf8;
use crate::error::DecodeErrorKind;

/// A `string` as it came: UTF-8 if its writer was honest. For who passes strings on, or looks at one
/// in a thousand.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// A text of these bytes.
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

    /// The text, checked now.
    ///
    /// # Errors
    /// [`DecodeErrorKind::Utf8`] if it is none.
    #[inline]
    pub fn to_str(self) -> Result<&'a str, DecodeErrorKind> {
        utf8(self.0)
    }

    /// The text, with U+FFFD for what is none.
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

/// With U+FFFD for what is no text.
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

/// As a byte string.
impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

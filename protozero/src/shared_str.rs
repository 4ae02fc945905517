//! Text in memory that others may share: the type of `string` fields that do not copy from their input.

use alloc::string::String;
use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

use bytes::Bytes;

use crate::decode::{CheckedBytes, DecodeContext};
use crate::error::DecodeErrorKind;
use crate::owned::TextValue;

/// Text whose memory is shared: a clone has the same memory, and so has a `string` field of this type with the
/// [input](crate::message#sharing-the-input) of `Message::decode_buf`. It is a `str` wherever one is needed.
///
/// ```
/// use protozero::SharedStr;
/// use protozero::bytes::Bytes;
///
/// let input = Bytes::from_static(b"name=Ada");
/// let name = SharedStr::try_from(input.slice(5..))?;
/// assert_eq!((name.len(), name.as_ptr()), (3, input[5..].as_ptr()));
/// assert_eq!(name, "Ada");
/// assert!(SharedStr::try_from(Bytes::from_static(b"\xff")).is_err());
/// # Ok::<(), protozero::DecodeErrorKind>(())
/// ```
#[derive(Clone, Default)]
pub struct SharedStr(CheckedBytes);

impl SharedStr {
    /// Text in static memory.
    #[must_use]
    pub const fn from_static(text: &'static str) -> Self {
        Self(CheckedBytes::from_static(text))
    }

    /// The text.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The bytes of the text, in the same memory.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        self.0.into_bytes()
    }
}

impl TextValue for SharedStr {
    #[inline]
    fn set_text(&mut self, text: &str) {
        *self = Self::from(text);
    }

    #[inline]
    fn set_text_within(&mut self, text: &str, context: DecodeContext<'_>) {
        match CheckedBytes::share(text, |part| context.share(part)) {
            Some(shared) => self.0 = shared,
            None => self.set_text(text),
        }
    }
}

impl Deref for SharedStr {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for SharedStr {
    #[inline]
    fn as_ref(&self) -> &str {
        self
    }
}

/// Equal, ordered and hashed as `str`.
impl Borrow<str> for SharedStr {
    #[inline]
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for SharedStr {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for SharedStr {}

impl PartialEq<str> for SharedStr {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for SharedStr {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialOrd for SharedStr {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SharedStr {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for SharedStr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for SharedStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for SharedStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

/// Copies the text.
impl From<&str> for SharedStr {
    fn from(text: &str) -> Self {
        Self::from(String::from(text))
    }
}

/// Keeps the memory of the text.
impl From<String> for SharedStr {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// Keeps the memory of the bytes.
impl TryFrom<Bytes> for SharedStr {
    type Error = DecodeErrorKind;

    /// # Errors
    /// [`DecodeErrorKind::Utf8`].
    fn try_from(bytes: Bytes) -> Result<Self, DecodeErrorKind> {
        CheckedBytes::new(bytes).map(Self)
    }
}

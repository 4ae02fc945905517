//! A reader with limits, for untrusted messages.
//!
//! The cost of reading is limited by the input. The cost of a caller's work per field may not be: a
//! tree that it builds, or a recursion. All readers of one message and its nested messages
//! therefore share a budget.

use core::cell::Cell;

use super::field::{Field, Value};
use super::limits::{BYTES_MAX, DEPTH_MAX};
use super::reader::Reader;
use crate::error::{DecodeErrorKind, ReadError};

/// Limits for reading a message and the messages in it.
///
/// ```
/// use protozero::decode::Limits;
///
/// let limits = Limits { fields_max: 2, ..Limits::default() };
/// let budget = limits.budget();
/// let mut reader = budget.reader(b"\x0a\x04\x08\x01\x08\x02")?;
/// let message = reader.next_field()?.unwrap();
/// let mut inner = reader.nested(&message)?;
/// assert!(inner.next_field().is_ok());
/// assert_eq!(inner.next_field().unwrap_err().to_string(), "too many elements at byte 4");
/// # Ok::<(), protozero::DecodeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of the outermost message.
    pub bytes_max: usize,
    /// Maximum levels of messages and groups below the outermost message.
    pub depth_max: u32,
    /// Maximum number of fields of all messages together.
    pub fields_max: usize,
}

/// The usual limits of protobuf implementations, and any number of fields.
impl Default for Limits {
    fn default() -> Self {
        Self { bytes_max: BYTES_MAX, depth_max: DEPTH_MAX, fields_max: usize::MAX }
    }
}

impl Limits {
    /// A budget of this size, for one outermost message.
    #[must_use]
    pub const fn budget(self) -> Budget {
        Budget { limits: self, fields_left: Cell::new(self.fields_max) }
    }
}

/// The unused part of [`Limits`].
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    fields_left: Cell<usize>,
}

impl Budget {
    /// Reads `bytes` as the outermost message.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooLarge`].
    pub fn reader<'a>(&self, bytes: &'a [u8]) -> Result<LimitedReader<'a, '_>, ReadError> {
        if bytes.len() > self.limits.bytes_max {
            return Err(DecodeErrorKind::TooLarge.at(0));
        }
        let reader = Reader::new(bytes);
        Ok(LimitedReader { reader, offset: 0, depth_left: self.limits.depth_max, budget: self })
    }
}

/// A [`Reader`] within a [`Budget`].
#[derive(Clone, Copy, Debug)]
pub struct LimitedReader<'a, 'b> {
    reader: Reader<'a>,
    /// Offset of this message in the outermost message.
    offset: usize,
    depth_left: u32,
    budget: &'b Budget,
}

impl<'a, 'b> LimitedReader<'a, 'b> {
    /// The next field, or `None` at the end.
    ///
    /// # Errors
    /// Those of [`Reader::next_field`], and [`DecodeErrorKind::TooManyElements`]. Offsets count
    /// from the start of the outermost message.
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, ReadError> {
        if self.reader.is_empty() {
            return Ok(None);
        }
        let Some(left) = self.budget.fields_left.get().checked_sub(1) else {
            return Err(DecodeErrorKind::TooManyElements.at(self.position()));
        };
        self.budget.fields_left.set(left);
        let offset = self.offset;
        self.reader.next_field().map_err(|e| e.kind.at(offset.wrapping_add(e.offset)))
    }

    /// A reader of the nested message or group in `field`, which is a field of this message.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooDeep`] or [`DecodeErrorKind::WireTypeMismatch`], at the current
    /// position.
    pub fn nested(&self, field: &Field<'a>) -> Result<Self, ReadError> {
        let (Value::Len(body) | Value::Group(body)) = field.value else {
            return Err(DecodeErrorKind::WireTypeMismatch.at(self.position()));
        };
        let Some(depth_left) = self.depth_left.checked_sub(1) else {
            return Err(DecodeErrorKind::TooDeep.at(self.position()));
        };
        // Both slices are parts of the same message.
        let rest = self.reader.remaining().as_ptr().addr();
        let back = rest.wrapping_sub(body.as_ptr().addr());
        let offset = self.position().wrapping_sub(back);
        Ok(Self { reader: Reader::new(body), offset, depth_left, ..*self })
    }

    /// Current position, counted from the start of the outermost message.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.offset.wrapping_add(self.reader.position())
    }
}

//! A reader that pays for what it reads, for walks over messages that nobody vouches for.
//!
//! Reading itself is bounded by the input. What a caller does with each field may not be: a tree that
//! it builds, a stack that it descends on. So all readers of one walk share a budget.

use core::cell::Cell;

use super::field::{Field, Value};
use super::limits::{BYTES_MAX, DEPTH_MAX};
use super::reader::Reader;
use crate::error::{DecodeError, DecodeErrorKind};

/// What a walk over a message, and the messages in it, may cost.
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
    /// Bytes of the outermost message.
    pub bytes_max: usize,
    /// Levels of messages and groups below it.
    pub depth_max: u32,
    /// Fields of all messages together.
    pub fields_max: usize,
}

/// What protobuf implementations agree on, and any number of fields.
impl Default for Limits {
    fn default() -> Self {
        Self { bytes_max: BYTES_MAX, depth_max: DEPTH_MAX, fields_max: usize::MAX }
    }
}

impl Limits {
    /// The budget of one walk.
    #[must_use]
    pub const fn budget(self) -> Budget {
        Budget { limits: self, fields_left: Cell::new(self.fields_max) }
    }
}

/// What is left of [`Limits`].
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    fields_left: Cell<usize>,
}

impl Budget {
    /// A reader of the message encoded in `bytes`, as the outermost one.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooLarge`].
    pub fn reader<'a>(&self, bytes: &'a [u8]) -> Result<LimitedReader<'a, '_>, DecodeError> {
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
    /// Bytes of the outermost message before this one.
    offset: usize,
    depth_left: u32,
    budget: &'b Budget,
}

impl<'a, 'b> LimitedReader<'a, 'b> {
    /// The next field, or `None` at the end.
    ///
    /// # Errors
    /// As [`Reader::next_field`], and [`DecodeErrorKind::TooManyElements`]; offsets count from the
    /// beginning of the outermost message.
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, DecodeError> {
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

    /// A reader of the message that `field` of this one is, with a length or as a group.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooDeep`] or [`DecodeErrorKind::WireTypeMismatch`], at the end of what was
    /// read.
    pub fn nested(&self, field: &Field<'a>) -> Result<Self, DecodeError> {
        let (Value::Len(body) | Value::Group(body)) = field.value else {
            return Err(DecodeErrorKind::WireTypeMismatch.at(self.position()));
        };
        let Some(depth_left) = self.depth_left.checked_sub(1) else {
            return Err(DecodeErrorKind::TooDeep.at(self.position()));
        };
        // Both are parts of the same message.
        let rest = self.reader.remaining().as_ptr().addr();
        let back = rest.wrapping_sub(body.as_ptr().addr());
        let offset = self.position().wrapping_sub(back);
        Ok(Self { reader: Reader::new(body), offset, depth_left, ..*self })
    }

    /// Bytes read so far, counted from the beginning of the outermost message.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.offset.wrapping_add(self.reader.position())
    }
}

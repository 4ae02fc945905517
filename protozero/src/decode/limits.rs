//! What owned decoding may cost. Readers need none of this: they neither recurse nor allocate; for
//! those who do while they read there is [`Limits`](super::Limits).

use core::cell::Cell;

use crate::error::DecodeErrorKind;

/// Levels of nesting an owned message may have; protobuf implementations agree on this number.
///
/// Decoding this deep takes about 128 KiB of stack, and in a build without optimization up to four times as
/// much, whatever the size of the message: values are made where they belong. `clone`, which is
/// derived, has each of them in its frame once or twice on the way: a message of ten kilobytes that
/// repeats itself a hundred levels deep takes more than a thread's usual 2 MiB.
pub const DEPTH_MAX: u32 = 100;

/// Bytes one owned message may be decoded from: 2 GiB less one, protobuf's own limit.
pub const BYTES_MAX: usize = i32::MAX as usize;

/// What is left of the budget of one decode, handed down level by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeContext<'b> {
    depth_left: u32,
    /// Bytes that may still be allocated for nested messages; shared by all levels.
    growth_left: Option<&'b Cell<usize>>,
}

impl<'b> DecodeContext<'b> {
    /// The budget of an outermost message.
    #[must_use]
    pub const fn new() -> Self {
        Self { depth_left: DEPTH_MAX, growth_left: None }
    }

    /// A budget of `depth` levels below the outermost message.
    #[must_use]
    pub const fn with_depth(depth: u32) -> Self {
        Self { depth_left: depth, growth_left: None }
    }

    /// The budget one level further down.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooDeep`] when none is left.
    #[inline]
    pub const fn enter(self) -> Result<Self, DecodeErrorKind> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Self { depth_left, ..self }),
            None => Err(DecodeErrorKind::TooDeep),
        }
    }

    /// The same budget, with `left` bytes for the structs of nested messages.
    #[must_use]
    pub const fn with_growth(self, left: &'b Cell<usize>) -> Self {
        Self { growth_left: Some(left), ..self }
    }

    /// Charges `bytes` of memory that the input did not pay for by its size.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooMuchMemory`] when the budget has less left.
    #[inline]
    pub fn grow(self, bytes: usize) -> Result<(), DecodeErrorKind> {
        let Some(left) = self.growth_left else { return Ok(()) };
        left.set(left.get().checked_sub(bytes).ok_or(DecodeErrorKind::TooMuchMemory)?);
        Ok(())
    }
}

impl Default for DecodeContext<'_> {
    fn default() -> Self {
        Self::new()
    }
}

//! What owned decoding may cost. Readers need none of this: they neither recurse nor allocate.

use crate::error::DecodeErrorKind;

/// Levels of nesting an owned message may have; protobuf implementations agree on this number.
pub const DEPTH_MAX: u32 = 100;

/// Bytes one owned message may be decoded from: 2 GiB less one, protobuf's own limit.
pub const BYTES_MAX: usize = i32::MAX as usize;

/// What is left of the budget of one decode, handed down level by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeContext {
    depth_left: u32,
}

impl DecodeContext {
    /// The budget of an outermost message.
    #[must_use]
    pub const fn new() -> Self {
        Self { depth_left: DEPTH_MAX }
    }

    /// A budget of `depth` levels below the outermost message.
    #[must_use]
    pub const fn with_depth(depth: u32) -> Self {
        Self { depth_left: depth }
    }

    /// The budget one level further down.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooDeep`] when none is left.
    #[inline]
    pub const fn enter(self) -> Result<Self, DecodeErrorKind> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Self { depth_left }),
            None => Err(DecodeErrorKind::TooDeep),
        }
    }
}

impl Default for DecodeContext {
    fn default() -> Self {
        Self::new()
    }
}

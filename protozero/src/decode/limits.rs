//! Limits for decoding owned messages. Readers do not need them, because they neither recurse nor
//! allocate; a caller that does so while reading uses [`Limits`](super::Limits).

use core::cell::Cell;

use crate::error::DecodeErrorKind;

/// Maximum levels of nested messages in an owned message. Protobuf implementations agree on this
/// number.
///
/// Decoding this depth takes about 128 KiB of stack, up to four times as much without optimization,
/// and does not depend on the size of the structs, because values are created in place. The derived
/// `clone` has each struct in its stack frame once or twice: cloning a struct of ten kilobytes that
/// is nested a hundred levels deep needs more than the usual 2 MiB stack of a thread.
pub const DEPTH_MAX: u32 = 100;

/// Maximum length of an encoded owned message: 2 GiB minus one byte, the limit of protobuf.
pub const BYTES_MAX: usize = i32::MAX as usize;

/// Memory that decoding may allocate for structs of nested messages, in bytes per byte of input.
///
/// An empty nested message has two bytes on the wire and a whole struct in memory: without a limit,
/// a small request could allocate gigabytes.
#[cfg(feature = "alloc")]
pub(crate) const GROWTH_MAX: usize = 512;

/// Bytes that decoding may allocate for nested messages of any input. Thousands of regular messages
/// with hundreds of mostly unset fields fit.
#[cfg(feature = "alloc")]
pub(crate) const GROWTH_FREE: usize = 32 << 20;

/// Bytes that decoding may allocate for nested messages of a large input.
#[cfg(feature = "alloc")]
const GROWTH_TOTAL: usize = 512 << 20;

/// The same in bytes per byte of input, if that is more.
#[cfg(feature = "alloc")]
const GROWTH_LARGE: usize = 4;

/// Bytes of memory that decoding `bytes` may allocate for structs.
#[cfg(feature = "alloc")]
pub(crate) fn growth(bytes: &[u8]) -> usize {
    growth_of(bytes.len())
}

#[cfg(feature = "alloc")]
pub(super) fn growth_of(len: usize) -> usize {
    let large = len.saturating_mul(GROWTH_LARGE).max(GROWTH_TOTAL);
    len.saturating_mul(GROWTH_MAX).saturating_add(GROWTH_FREE).min(large)
}

/// The unused budget of one decoding. Each level gets a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeContext<'b> {
    depth_left: u32,
    /// Bytes that may still be allocated for nested messages. All levels share this counter.
    growth_left: Option<&'b Cell<usize>>,
}

impl<'b> DecodeContext<'b> {
    /// The default budget for an outermost message.
    #[must_use]
    pub const fn new() -> Self {
        Self { depth_left: DEPTH_MAX, growth_left: None }
    }

    /// A budget with `depth` levels below the outermost message.
    #[must_use]
    pub const fn with_depth(depth: u32) -> Self {
        Self { depth_left: depth, growth_left: None }
    }

    /// The budget for one level below.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooDeep`] if no level is left.
    #[inline]
    pub const fn enter(self) -> Result<Self, DecodeErrorKind> {
        match self.depth_left.checked_sub(1) {
            Some(depth_left) => Ok(Self { depth_left, ..self }),
            None => Err(DecodeErrorKind::TooDeep),
        }
    }

    /// The same budget, with `left` bytes for structs of nested messages.
    #[must_use]
    pub const fn with_growth(self, left: &'b Cell<usize>) -> Self {
        Self { growth_left: Some(left), ..self }
    }

    /// Subtracts `bytes` of allocated memory from the budget.
    ///
    /// # Errors
    /// [`DecodeErrorKind::TooMuchMemory`] if the budget has less left.
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

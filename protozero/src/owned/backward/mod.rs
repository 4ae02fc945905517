//! Memory that an [`Encoder`](super::Encoder) fills from its end to its start. Its bytes need no values before: to
//! clear a buffer on the stack would take longer than to write a short message.
//!
//! ```text
//!   start                len             capacity
//!     |  free: any content |  filled  . . . .  |
//! ```
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

/// How many bytes of a caller's buffer are asked for in advance, if the message is short. One that is as long as the
/// buffer on the stack needs [`Scratch::LEN`].
const SHORT_BYTES: usize = 256;
/// Length of a line of the cache.
const LINE_BYTES: usize = 64;

/// A buffer on the stack.
pub(super) struct Scratch([MaybeUninit<u8>; Self::LEN]);

impl Scratch {
    /// Its length.
    pub(super) const LEN: usize = 512;

    #[inline(always)]
    pub(super) const fn new() -> Self {
        Self([MaybeUninit::uninit(); Self::LEN])
    }

    #[inline(always)]
    pub(super) fn memory(&mut self) -> Backward<'_> {
        Backward::of_any(&mut self.0)
    }
}

/// See the [module](self).
///
/// - **B1** the `capacity` bytes from `start` on may be read and written, by this value alone, for `'b`.
/// - **B2** `len <= capacity`, and the bytes from `len` on have values.
/// - **B3** only bytes with values are written, so memory that had some everywhere still has.
pub(super) struct Backward<'b> {
    start: NonNull<u8>,
    /// Number of free bytes.
    len: usize,
    capacity: usize,
    memory: PhantomData<&'b mut [MaybeUninit<u8>]>,
}

impl<'b> Backward<'b> {
    /// Memory of length 0.
    pub(super) const EMPTY: Self =
        Self { start: NonNull::dangling(), len: 0, capacity: 0, memory: PhantomData };

    #[inline(always)]
    pub(super) fn of(buffer: &'b mut [u8]) -> Self {
        let (start, len) = (NonNull::from(&mut *buffer).cast(), buffer.len());
        Self { start, len, capacity: len, memory: PhantomData }
    }

    /// Of bytes that need not have values.
    #[inline(always)]
    pub(super) fn of_any(buffer: &'b mut [MaybeUninit<u8>]) -> Self {
        let (start, len) = (NonNull::from(&mut *buffer).cast(), buffer.len());
        Self { start, len, capacity: len, memory: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of free bytes.
    #[inline(always)]
    pub(super) const fn free(&self) -> usize {
        self.len
    }

    /// Number of filled bytes.
    #[inline(always)]
    pub(super) const fn filled_len(&self) -> usize {
        self.capacity - self.len
    }

    /// The address of a byte.
    #[inline(always)]
    const fn at(&self, index: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(index)
    }

    /// The filled bytes.
    #[inline]
    pub(super) fn filled(&self) -> &[u8] {
        // SAFETY:
        // - these bytes have values (B2) and can be read (B1)
        // - the result borrows `self`, so nothing writes to them meanwhile
        unsafe { core::slice::from_raw_parts(self.at(self.len), self.filled_len()) }
    }

    /// Writes bytes before the filled ones. False if they do not fit.
    #[inline(always)]
    #[must_use]
    pub(super) fn put(&mut self, bytes: &[u8]) -> bool {
        let Some(at) = self.len.checked_sub(bytes.len()) else { return false };
        // SAFETY:
        // - `at + bytes.len()` is `len`, so this is memory of ours (B1, B2)
        // - a reference to `bytes` exists, and nobody else has one to our memory (B1), so they do not overlap
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.at(at), bytes.len()) };
        self.len = at;
        true
    }

    /// Writes `bytes` before the filled ones; of these the last `count` count, and the others stay free. False if all
    /// of them do not fit, or are too few.
    #[inline(always)]
    #[must_use]
    pub(super) fn put_last<const N: usize>(&mut self, bytes: [u8; N], count: usize) -> bool {
        if self.len < N || count > N {
            return false;
        }
        // SAFETY: as `len` is at least `N`, these `N` bytes are memory of ours (B1, B2). An array of bytes may lie
        // anywhere.
        unsafe { self.at(self.len - N).cast::<[u8; N]>().write(bytes) };
        self.len -= count;
        true
    }

    /// Moves the filled bytes to the start, and writes `tail` behind them. `None` if that is too long.
    pub(super) fn move_to_front(self, tail: &[u8]) -> Option<usize> {
        let head = self.filled_len();
        let all = head.checked_add(tail.len()).filter(|all| *all <= self.capacity)?;
        if head > 0 {
            // SAFETY: both are memory of ours, which may overlap; what is moved has values (B1, B2).
            unsafe { ptr::copy(self.at(self.len), self.at(0), head) };
        }
        // SAFETY:
        // - `head + tail.len()` is at most `capacity`, so this is memory of ours (B1)
        // - a reference to `tail` exists, and nobody else has one to our memory (B1), so they do not overlap
        unsafe { ptr::copy_nonoverlapping(tail.as_ptr(), self.at(head), tail.len()) };
        Some(all)
    }

    /// Asks for the first bytes of the memory, which may not be in the cache when the message is moved there.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        self.prefetch_range(0, SHORT_BYTES);
    }

    /// Asks for the bytes behind those that [`prefetch`](Self::prefetch) asks for.
    #[inline(always)]
    pub(super) fn prefetch_more(&self) {
        self.prefetch_range(SHORT_BYTES, Scratch::LEN);
    }

    #[inline(always)]
    fn prefetch_range(&self, from: usize, to: usize) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        for at in (from..self.capacity.min(to)).step_by(LINE_BYTES) {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: it is memory of ours (B1), and whatever an address is, this only is a hint.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.at(at).cast()) };
        }
    }
}

#[cfg(test)]
mod tests;

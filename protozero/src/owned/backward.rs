//! Memory that an [`Encoder`](super::Encoder) fills from its end to its start. Its bytes need no values before: to clear
//! a buffer on the stack would take longer than to write a short message.
//!
//! ```text
//!   start                len             capacity
//!     |  free: any content |  filled  . . . .  |
//! ```
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

/// How many bytes of a caller's buffer are asked for in advance.
const PREFETCHED_BYTES: usize = 256;
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

    /// The filled bytes.
    #[inline]
    pub(super) fn filled(&self) -> &[u8] {
        // SAFETY: the result is inside of the memory or at its end (B2), which is in one piece (B1).
        let from = unsafe { self.start.add(self.len) };
        // SAFETY:
        // - these bytes have values (B2) and can be read (B1)
        // - the result borrows `self`, so nothing writes to them meanwhile
        unsafe { core::slice::from_raw_parts(from.as_ptr(), self.filled_len()) }
    }

    /// Writes bytes before the filled ones. False if they do not fit.
    #[inline(always)]
    #[must_use]
    pub(super) fn put(&mut self, bytes: &[u8]) -> bool {
        let Some(at) = self.len.checked_sub(bytes.len()) else { return false };
        // SAFETY:
        // - `at + bytes.len()` is `len`, so this is memory of ours (B1, B2)
        // - a reference to `bytes` exists, and nobody else has one to our memory (B1), so they do not overlap
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr().add(at), bytes.len())
        };
        self.len = at;
        true
    }

    /// Writes `bytes` before the filled ones; of these the last `count` count, and the others stay free. False if all of
    /// them do not fit, or are too few.
    #[inline(always)]
    #[must_use]
    pub(super) fn put_last<const N: usize>(&mut self, bytes: [u8; N], count: usize) -> bool {
        if self.len < N || count > N {
            return false;
        }
        // SAFETY: as `len` is at least `N`, these `N` bytes are memory of ours (B1, B2).
        let into = unsafe { self.start.as_ptr().add(self.len - N) };
        // SAFETY: as above. An array of bytes has no alignment.
        unsafe { into.cast::<[u8; N]>().write(bytes) };
        self.len -= count;
        true
    }

    /// Moves the filled bytes to the start, and writes `tail` behind them. `None` if that is too long.
    pub(super) fn move_to_front(self, tail: &[u8]) -> Option<usize> {
        let head = self.filled_len();
        let all = head.checked_add(tail.len()).filter(|all| *all <= self.capacity)?;
        let start = self.start.as_ptr();
        if head > 0 {
            // SAFETY: both are memory of ours, which may overlap; what is moved has values (B1, B2).
            unsafe { ptr::copy(start.add(self.len), start, head) };
        }
        // SAFETY:
        // - `head + tail.len()` is at most `capacity`, so this is memory of ours (B1)
        // - a reference to `tail` exists, and nobody else has one to our memory (B1), so they do not overlap
        unsafe { ptr::copy_nonoverlapping(tail.as_ptr(), start.add(head), tail.len()) };
        Some(all)
    }

    /// Asks for the first bytes of the memory, which may not be in the cache when the message is moved there.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        for at in (0..self.capacity.min(PREFETCHED_BYTES)).step_by(LINE_BYTES) {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: it is memory of ours (B1), and whatever an address is, this only is a hint.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.start.as_ptr().add(at).cast()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_filled_from_its_end() {
        let mut bytes = [7; 10];
        let mut memory = Backward::of(&mut bytes);
        memory.prefetch();
        assert_eq!((memory.free(), memory.capacity(), memory.filled()), (10, 10, &[][..]));
        assert!(memory.put(&[1, 2]) && memory.put(&[]));
        assert!(memory.put_last([0, 0, 3, 4], 2));
        assert_eq!((memory.free(), memory.filled()), (6, &[3, 4, 1, 2][..]));
        // Too long, and more than there is.
        assert!(!memory.put(&[9; 7]) && !memory.put_last([9; 7], 1) && !memory.put_last([9; 4], 5));
        assert_eq!(memory.filled(), [3, 4, 1, 2]);
        assert!(memory.put_last([8; 6], 6) && memory.free() == 0);
        assert!(!memory.put(&[9]) && memory.put(&[]) && memory.put_last([], 0));
        assert_eq!(bytes, [8, 8, 8, 8, 8, 8, 3, 4, 1, 2]);
    }

    #[test]
    fn it_moves_to_the_front() {
        for filled in 0..=4 {
            for tail in 0..=4_usize {
                let mut bytes = [0; 6];
                let mut memory = Backward::of(&mut bytes);
                assert!(memory.put(&[1, 2, 3, 4][..filled]));
                let len = memory.move_to_front(&[5, 6, 7, 8][..tail]);
                let fits = filled + tail <= 6;
                assert_eq!(len, fits.then_some(filled + tail));
                let all = [&[1, 2, 3, 4][..filled], &[5, 6, 7, 8][..tail]].concat();
                assert!(!fits || bytes.starts_with(&all), "{filled} {tail}: {bytes:?}");
            }
        }
        assert_eq!(Backward::EMPTY.move_to_front(&[]), Some(0));
        assert_eq!(Backward::EMPTY.move_to_front(&[1]), None);
    }

    #[test]
    fn bytes_without_values_stay_out() {
        let mut scratch = Scratch::new();
        let mut memory = scratch.memory();
        assert_eq!((memory.free(), memory.filled()), (Scratch::LEN, &[][..]));
        assert!(memory.put_last([1, 2, 3, 4, 5, 6, 7, 8], 3));
        assert_eq!(memory.filled(), [6, 7, 8]);
    }
}

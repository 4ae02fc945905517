//! A custom sink with two ranges: each message gets both halves of a buffer.

use core::marker::PhantomData;
use core::ptr::NonNull;

use protozero::encode::SwapSink;
use protozero::{OpenSlots, Range, Sink, Slot, WriteError};

/// The part of a message that does not fit the first half goes to the second.
pub struct Halves<'b> {
    ranges: [(NonNull<u8>, usize); 2],
    in_second: bool,
    /// Number of open lengths when the first half was full.
    pub open: usize,
    memory: PhantomData<&'b mut [u8]>,
}

impl<'b> Halves<'b> {
    /// A sink of the two halves of `memory`.
    pub fn new(memory: &'b mut [u8]) -> Self {
        let half = memory.len() / 2;
        let (first, second) = memory.split_at_mut_checked(half).unwrap_or_default();
        let ranges = [first, second].map(|half| (NonNull::from(&mut *half).cast(), half.len()));
        Self { ranges, in_second: false, open: 0, memory: PhantomData }
    }
}

// SAFETY:
// - valid and unshared: both ranges are disjoint parts of a buffer that is borrowed mutably for
//   `'b`, and no reference to it is kept;
// - within a message the second range is handed out once; each message gets the first again, after
//   the stream has left both;
// - thread: not `Send`.
unsafe impl Sink for Halves<'_> {
    fn next_range(&mut self, _: usize, open: &mut OpenSlots<'_>) -> Result<Range, WriteError> {
        if !open.is_empty() {
            self.open += open.count();
        }
        let (ptr, len) = self.ranges[1];
        match core::mem::replace(&mut self.in_second, true) {
            true => Err(WriteError::Exhausted),
            false => Ok(Range::from_raw(ptr, len)),
        }
    }

    fn fill(&mut self, slot: Slot, length: [u8; 4]) {
        self.open ^= (slot.offset as usize).wrapping_add(usize::from(length[0]));
    }

    fn begin_root(&mut self, _: usize) -> Result<Option<Range>, WriteError> {
        self.in_second = false;
        let (ptr, len) = self.ranges[0];
        Ok(Some(Range::from_raw(ptr, len).after(1)))
    }
}

// SAFETY:
// - each root begins with a new range, and the sink does not read the bytes of the stream.
unsafe impl SwapSink for Halves<'_> {}

//! Growing slabs, for messages whose size nobody knows beforehand.
#![allow(unsafe_code)]

use alloc::vec;
use alloc::vec::Vec;
use core::ptr::NonNull;

use crate::encode::{OpenSlots, Range, Sink, Slot, StreamOf};
use crate::error::WriteError;

/// Bytes of the first slab unless asked otherwise; each next one doubles.
const SLAB_MIN: usize = 256;

/// Bytes of the largest slabs (`scattered_heap_buffer.h` stops there too).
const SLAB_MAX: usize = 128 * 1024;

/// Writes into slabs of its own, which never move: what was written stays where it is.
#[derive(Debug)]
pub struct HeapSink {
    /// Range `n` of the stream is slab `n`. All but the last are cut to what they hold.
    slabs: Vec<Vec<u8>>,
    next_len: usize,
}

impl HeapSink {
    /// A stream into slabs of 256 bytes, 512, and so on up to 128 KiB.
    #[must_use]
    pub fn stream() -> StreamOf<Self> {
        Self::stream_with_capacity(SLAB_MIN)
    }

    /// A stream whose first slab has `capacity` bytes (at least 16).
    #[must_use]
    pub fn stream_with_capacity(capacity: usize) -> StreamOf<Self> {
        StreamOf::new(Self { slabs: Vec::new(), next_len: capacity.max(16) })
    }
}

// SAFETY:
// - valid and unshared: each range is a fresh heap buffer, initialised, owned by a `Vec` that is
//   neither read, grown nor dropped while it is the current range (`fill` writes earlier ones);
// - thread: heap memory belongs to no thread.
unsafe impl Sink for HeapSink {
    fn next_range(&mut self, used: usize, _open: &mut OpenSlots<'_>) -> Result<Range, WriteError> {
        if let Some(last) = self.slabs.last_mut() {
            last.truncate(used);
        }
        let len = self.next_len;
        self.next_len = len.saturating_mul(2).min(SLAB_MAX.max(len));
        let mut slab = vec![0; len];
        let ptr = NonNull::from(slab.as_mut_slice()).cast();
        self.slabs.push(slab);
        Ok(Range::from_raw(ptr, len))
    }

    fn fill(&mut self, slot: Slot, length: [u8; 4]) {
        let at = slot.offset as usize;
        if let Some(bytes) =
            self.slabs.get_mut(slot.range as usize).and_then(|slab| slab.get_mut(at..at + 4))
        {
            bytes.copy_from_slice(&length);
        }
    }
}

impl StreamOf<HeapSink> {
    /// All that was written, in one piece.
    ///
    /// # Errors
    /// The first [`WriteError`]: a message or string too long for its length field.
    pub fn finish(self) -> Result<Vec<u8>, WriteError> {
        if let Some(error) = self.first_error() {
            return Err(error);
        }
        let used = self.used();
        let mut slabs = self.into_sink().slabs;
        if let Some(last) = slabs.last_mut() {
            last.truncate(used);
        }
        Ok(if slabs.len() == 1 { slabs.remove(0) } else { slabs.concat() })
    }
}

//! Growing blocks of memory, for messages of unknown size.
#![allow(unsafe_code)]

use alloc::vec;
use alloc::vec::Vec;
use core::ptr::NonNull;

use crate::encode::{OpenSlots, Range, Sink, Slot, StreamOf};
use crate::error::WriteError;

/// Default length of the first block. Each further block is twice as long.
const BLOCK_MIN: usize = 256;

/// Maximum length of a block (the same as in `scattered_heap_buffer.h`).
const BLOCK_MAX: usize = 128 * 1024;

/// Writes into its own blocks, which never move.
#[derive(Debug)]
pub struct HeapSink {
    /// Range `n` of the stream is block `n`. All except the last are truncated to their content.
    blocks: Vec<Vec<u8>>,
    next_len: usize,
}

impl HeapSink {
    /// A stream into blocks of 256 bytes, 512 bytes, and so on, up to 128 KiB.
    #[must_use]
    pub fn stream() -> StreamOf<Self> {
        Self::stream_with_capacity(BLOCK_MIN)
    }

    /// A stream whose first block has `capacity` bytes (at least 16).
    #[must_use]
    pub fn stream_with_capacity(capacity: usize) -> StreamOf<Self> {
        StreamOf::new(Self { blocks: Vec::new(), next_len: capacity.max(16) })
    }
}

// SAFETY:
// - valid and unshared: each range is a new initialized heap buffer, owned by a `Vec` that is not
//   read, grown or dropped while it is the current range (`fill` writes earlier ones);
// - thread: heap memory belongs to no thread.
unsafe impl Sink for HeapSink {
    fn next_range(&mut self, used: usize, _open: &mut OpenSlots<'_>) -> Result<Range, WriteError> {
        if let Some(last) = self.blocks.last_mut() {
            last.truncate(used);
        }
        let len = self.next_len;
        self.next_len = len.saturating_mul(2).min(BLOCK_MAX.max(len));
        let mut block = vec![0; len];
        let ptr = NonNull::from(block.as_mut_slice()).cast();
        self.blocks.push(block);
        Ok(Range::from_raw(ptr, len))
    }

    fn fill(&mut self, slot: Slot, length: [u8; 4]) {
        let at = slot.offset as usize;
        if let Some(bytes) =
            self.blocks.get_mut(slot.range as usize).and_then(|block| block.get_mut(at..at + 4))
        {
            bytes.copy_from_slice(&length);
        }
    }
}

impl StreamOf<HeapSink> {
    /// All written bytes in one vector.
    ///
    /// # Errors
    /// The first [`WriteError`]: a message or string is too long for its length field.
    pub fn finish(self) -> Result<Vec<u8>, WriteError> {
        if let Some(error) = self.first_error() {
            return Err(error);
        }
        let used = self.used();
        let mut blocks = self.into_sink().blocks;
        if let Some(last) = blocks.last_mut() {
            last.truncate(used);
        }
        Ok(if blocks.len() == 1 { blocks.remove(0) } else { blocks.concat() })
    }
}

//! How large the index of a buffer may become.
//!
//! A producer chooses the sizes, ids and writers of its chunks, so it could make the index much larger than the
//! buffer: by chunks without a byte, each of another writer. Beyond a limit the oldest chunks are evicted, as if the
//! buffer were full. The size is counted in entries, of some eight bytes: a chunk is one, and one that is far from the
//! others of its sequence, or a sequence that has chunks, is more.

use super::chunks::Chunks;
use crate::limits::{
    BYTES_PER_INDEX_ENTRY, ENTRIES_PER_SEQUENCE, INDEX_ENTRIES_MAX, INDEX_ENTRIES_MIN,
};
use abi::ids::ChunkId;

/// Entries of an index. What is added is removed at most once, so the number does not wrap around.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IndexEntries(usize);

impl IndexEntries {
    /// As many as a buffer of `bytes` may have.
    pub(super) fn max(bytes: usize) -> Self {
        let entries = bytes / BYTES_PER_INDEX_ENTRY;
        Self(entries.clamp(INDEX_ENTRIES_MIN, INDEX_ENTRIES_MAX))
    }

    #[cfg(test)]
    pub(super) fn new(entries: usize) -> Self {
        Self(entries)
    }

    /// Sequences that have as many.
    pub(super) fn sequences(self) -> usize {
        self.0 / ENTRIES_PER_SEQUENCE
    }

    /// Adds a chunk to those of a sequence, and says whether it is the only one.
    #[inline]
    pub(super) fn insert(&mut self, chunks: &mut Chunks, id: ChunkId, off: u32) -> bool {
        let was_empty = chunks.is_empty();
        chunks.insert(id, off, &mut self.0);
        if was_empty {
            self.0 = self.0.wrapping_add(ENTRIES_PER_SEQUENCE);
        }
        was_empty
    }

    /// Removes a chunk from those of a sequence, and says whether it was the only one. None if it is not there.
    #[inline]
    pub(super) fn remove(&mut self, chunks: &mut Chunks, id: ChunkId) -> Option<bool> {
        chunks.remove(id, &mut self.0)?;
        let is_empty = chunks.is_empty();
        if is_empty {
            self.0 = self.0.wrapping_sub(ENTRIES_PER_SEQUENCE);
        }
        Some(is_empty)
    }

    /// Whether there are more than `max`.
    #[inline]
    pub(super) fn exceed(self, max: Self) -> bool {
        self.0 > max.0
    }
}

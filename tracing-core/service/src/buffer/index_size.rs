//! How large the index of a buffer may become.
//!
//! A producer chooses the sizes, ids and writers of its chunks, so it could make the index much larger than the
//! buffer: by chunks without a byte, each of another writer. Beyond a limit the oldest chunks are evicted, as if the
//! buffer were full. The size is counted in entries of [`ENTRY_BYTES`]: a chunk is one, and one that is far from the
//! others of its sequence, or a sequence that has chunks, is more.
//!
//! ```text
//!   entries   chunks, holes, sequences with chunks   <= one for each 32 bytes of the buffer  ─┐
//!   empty     sequences without chunks               <= a number                              ├─> bytes_max: what a
//!   places    of sequences, those forgotten included <= as many as there were at a time      ─┘   user is charged
//! ```

use super::chunks::{Chunks, ENTRY_BYTES};
use super::slot_cache::SlotCache;
use crate::limits::{
    BYTES_PER_INDEX_ENTRY, EMPTY_SEQUENCES_PER_BUFFER_MAX, EMPTY_SEQUENCES_V2_MAX,
    EMPTY_SEQUENCES_V2_PART, ENTRIES_PER_SEQUENCE, INDEX_ENTRIES_MAX, INDEX_ENTRIES_MIN,
};
use abi::ids::ChunkId;

/// Memory of a place for a sequence, bytes: a pointer and a number, and a quarter more for the next ones.
const PLACE_BYTES: usize = 16;
/// What else an index has, bytes: what is allocated for the first sequences.
const OTHER_BYTES: usize = 1024;
/// Sequences of a moment: one that is added before others are forgotten.
const SEQUENCES_MORE: usize = 4;

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

    /// Sequences that have as many, with a chunk each.
    fn sequences(self) -> usize {
        self.0 / (ENTRIES_PER_SEQUENCE + 1)
    }

    /// How many sequences without chunks a buffer of version 1 remembers: `max`, and not more than a quarter of those
    /// that it may have with chunks.
    pub(super) fn empty_max(self, max: usize) -> usize {
        max.min(self.sequences() / 4)
    }

    /// What an index without its cache takes at most that has as many, and beside them so many sequences without
    /// chunks, and so many places for sequences.
    pub(super) fn bytes(self, empty: usize, places: usize) -> usize {
        let entries = self.0.saturating_add(empty.saturating_mul(ENTRIES_PER_SEQUENCE));
        let bytes = entries.saturating_mul(ENTRY_BYTES).saturating_add(OTHER_BYTES);
        bytes.saturating_add(places.saturating_mul(PLACE_BYTES))
    }

    /// What an index takes at most that may have as many.
    fn bytes_max(self) -> usize {
        let of_v1 = self.empty_max(EMPTY_SEQUENCES_PER_BUFFER_MAX);
        let of_v2 =
            EMPTY_SEQUENCES_V2_MAX.saturating_add(self.sequences() / EMPTY_SEQUENCES_V2_PART);
        let empty = of_v1.max(of_v2).saturating_add(SEQUENCES_MORE);
        let own = self.bytes(empty, self.sequences().saturating_add(empty));
        own.saturating_add(SlotCache::BYTES_MAX)
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

/// What the index of a buffer of `bytes` takes at most, bytes.
pub(super) fn bytes_max(bytes: usize) -> usize {
    IndexEntries::max(bytes).bytes_max()
}

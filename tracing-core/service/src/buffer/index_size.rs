//! How large the index of a buffer may become.
//!
//! A producer chooses the sizes, ids and writers of its chunks, so it could make the index much larger than the
//! buffer: by chunks without a byte, each of another writer. Beyond a limit the oldest chunks are evicted, as if the
//! buffer were full.

use super::chunks::Chunks;
use crate::limits::{
    BYTES_PER_SEQUENCE, OUTLIERS_PER_SEQUENCE, SEQUENCES_PER_BUFFER_MAX, SEQUENCES_PER_BUFFER_MIN,
};
use abi::ids::ChunkId;

/// What is in an index, beside its sequences.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IndexCount {
    chunks: usize,
    /// Those that are in a map, which takes more memory.
    outliers: usize,
}

impl IndexCount {
    /// Adds a chunk to those of a sequence.
    #[inline]
    pub(super) fn insert(&mut self, chunks: &mut Chunks, id: ChunkId, off: u32) {
        let before = chunks.outliers();
        chunks.insert(id, off);
        let more = chunks.outliers().saturating_sub(before);
        self.outliers = self.outliers.saturating_add(more);
        self.chunks = self.chunks.saturating_add(1);
    }

    /// Removes a chunk from those of a sequence. None if it is not there.
    #[inline]
    pub(super) fn remove(&mut self, chunks: &mut Chunks, id: ChunkId) -> Option<u32> {
        let before = chunks.outliers();
        let off = chunks.remove(id)?;
        let fewer = before.saturating_sub(chunks.outliers());
        self.outliers = self.outliers.saturating_sub(fewer);
        self.chunks = self.chunks.saturating_sub(1);
        Some(off)
    }
}

/// How much may be in an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexMax {
    sequences: usize,
    chunks: usize,
}

impl IndexMax {
    /// For a buffer of `bytes`.
    pub(super) fn of_buffer(bytes: usize, chunks: usize) -> Self {
        let sequences = bytes / BYTES_PER_SEQUENCE;
        let sequences = sequences.clamp(SEQUENCES_PER_BUFFER_MIN, SEQUENCES_PER_BUFFER_MAX);
        Self { sequences, chunks }
    }

    /// Sequences, with or without chunks.
    pub(super) fn sequences(&self) -> usize {
        self.sequences
    }

    /// Whether an index with so many sequences that have chunks is larger.
    #[inline]
    pub(super) fn is_exceeded(&self, sequences: usize, count: &IndexCount) -> bool {
        sequences.saturating_add(count.outliers / OUTLIERS_PER_SEQUENCE) > self.sequences
            || count.chunks > self.chunks
    }
}

//! The buffer that services use by default (`trace_buffer_v1.cc`).
//!
//! Chunks are kept whole, in the order they came ([`record`]); an [`index`] finds them
//! by sequence and id. Writing ([`write`](self)) evicts the oldest chunks. Reading
//! ([`read`](self)) removes nothing: a chunk knows how many of its fragments were read, and stays
//! until it is overwritten.
//!
//! What follows for readers of traces:
//!
//! - sequences come one after the other, by producer and writer, not in order of time;
//! - a missing chunk stops its sequence until it comes, or until all before it were evicted;
//! - a chunk that waits for patches hides the chunks after it;
//! - the first packet of a sequence always reports a loss before it, and so does the first packet after the
//!   chunks before it were read and evicted.

mod cursor;
mod index;
mod read;
mod record;
mod write;

use self::cursor::{Cursor, Found};
use self::index::Index;
pub(super) use self::index::Sequence;
use self::read::Span;
use super::memory::{HEADER, Memory};
use super::ring::{Common, Ring, add};
use super::scan_budget::ScanBudget;
use super::{
    BufferLimits, ChunkMeta, ChunkPatches, PacketRef, Policy, Remains, SequenceKey, TakePacket,
    remains,
};
use abi::ids::ChunkId;
use abi::shm::{ChunkFlags, store_patch};

/// One buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    /// The write position is always before the end of the memory.
    common: Common,
    index: Index,
    cursor: Cursor,
    /// The packet found last, if it lies in several chunks.
    parts: Vec<Span>,
}

impl Buffer {
    pub(super) fn new(bytes: usize, policy: Policy, limits: BufferLimits) -> Option<Self> {
        let size = bytes.checked_next_multiple_of(HEADER)?;
        if bytes == 0 || u32::try_from(size).is_err() {
            return None;
        }
        let stats_bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Some(Self::of(Common::new(size, stats_bytes, policy, limits)?, Index::default()))
    }

    fn of(common: Common, index: Index) -> Self {
        Self { common, index, cursor: Cursor::Idle, parts: Vec::new() }
    }
}

impl Ring for Buffer {
    type Found = Found;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn index_bytes(&self) -> usize {
        self.index.memory_bytes()
    }

    fn index_bytes_max(&self) -> usize {
        self.index.memory_bytes_max()
    }

    fn places(&self) -> usize {
        self.index.places()
    }

    fn into_remains(mut self) -> Remains {
        let bytes = self.common.memory.take_bytes();
        Remains { bytes, sequences: remains::Sequences::V1(self.index.take_slots()) }
    }

    fn clone_with(&self, memory: Memory) -> Self {
        Self::of(self.common.clone_with(memory), self.index.without_histograms())
    }

    fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        self.cursor = Cursor::Idle;
        self.take_chunk(meta, payload);
    }

    #[inline]
    fn try_patch(&mut self, patches: &ChunkPatches<'_>) -> Option<()> {
        let memory = &mut self.common.memory;
        let off = self.index.chunk_to_patch(patches)?;
        let mut chunk = memory.record_at(off)?;
        self.cursor = Cursor::Idle;
        let payload = memory.payload_mut(off, &chunk)?;
        for patch in patches.patches {
            store_patch(payload, patch.offset, patch.data)?;
        }
        if !patches.more {
            chunk.flags = chunk.flags.without(ChunkFlags::NEEDS_PATCHING);
            memory.put_chunk(off, chunk);
        }
        Some(())
    }

    fn last_chunk(&mut self, sequence: SequenceKey) -> Option<ChunkId> {
        self.index.of(sequence).filter(|s| !s.chunks.is_empty()).map(|s| s.last)
    }

    fn chunk_flags(&mut self, sequence: SequenceKey, id: ChunkId) -> Option<ChunkFlags> {
        let off = self.index.of(sequence)?.chunks.get(id)?;
        self.common.memory.record_at(off).map(|chunk| chunk.flags)
    }

    fn begin_read(&mut self) {
        self.cursor = Cursor::NextSequence(None);
    }

    fn find_packet(&mut self, budget: &mut ScanBudget) -> Option<Found> {
        self.find_in_sequences(budget)
    }

    fn packet(&mut self, found: Found) -> Option<PacketRef<'_>> {
        self.packet_at(found)
    }

    #[inline]
    fn read_run(&mut self, take: &mut impl TakePacket) -> bool {
        self.read_chunk_run(take)
    }
}

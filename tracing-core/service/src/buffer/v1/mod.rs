//! The ring that every service has by default (`trace_buffer_v1.cc`).
//!
//! Chunks are kept whole, as they came, in the order they came ([`record`]); an [`index`] finds them
//! by sequence and id. Writing ([`write`](self)) evicts what is in its way, reading
//! ([`read`](self)) takes nothing out: a chunk knows how many of its fragments were read, and goes
//! when its place is needed.
//!
//! What follows from it, for readers of traces:
//!
//! - sequences come one after the other, by producer and writer, not in order of time;
//! - a missing chunk stops its sequence until it comes, or until all before it were evicted;
//! - a chunk that waits for patches hides what comes behind it;
//! - the first packet of a sequence always says that something was lost before it, and so does
//!   the first after its read predecessors were evicted.

mod index;
mod read;
mod record;
mod write;

use self::index::Index;
use self::read::Cursor;
use super::memory::{HEADER, Memory};
use super::stats::Histograms;
use super::{FaultIn, Patch, Policy, Stats, WriterStats};
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

/// One buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Memory,
    /// Where the next record goes; before the end.
    at: usize,
    index: Index,
    policy: Policy,
    /// A discarding buffer that had to refuse a chunk refuses all others for ever.
    discarding: bool,
    has_data: bool,
    cursor: Cursor,
    /// Where the pieces of the packet found last lie, if it has several.
    pieces: Vec<read::Piece>,
    stats: Stats,
    histograms: Histograms,
}

impl Buffer {
    pub(super) fn new(bytes: usize, policy: Policy) -> Option<Self> {
        let size = bytes.checked_next_multiple_of(HEADER)?;
        if bytes == 0 || u32::try_from(size).is_err() {
            return None;
        }
        let memory = Memory::new(size)?;
        let stats =
            Stats { buffer_size: u64::try_from(bytes).unwrap_or(u64::MAX), ..Stats::default() };
        Some(Self {
            memory,
            at: 0,
            index: Index::default(),
            policy,
            discarding: false,
            has_data: false,
            cursor: Cursor::Idle,
            pieces: Vec::new(),
            stats,
            histograms: Histograms::default(),
        })
    }

    pub(super) fn set_fault_in(&mut self, fault_in: FaultIn) {
        self.memory.set_fault_in(fault_in);
    }

    /// A copy to be read, without histograms. Only what was written takes memory.
    pub(super) fn try_clone(&self) -> Option<Self> {
        Some(self.copy_with(self.memory.try_clone()?))
    }

    /// The same, but that its bytes are yet to come; and the number of the snapshot they are.
    pub(super) fn begin_clone(&mut self) -> Option<(Self, u64)> {
        let (number, memory) = self.memory.begin_snapshot()?;
        Some((self.copy_with(memory), number))
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(super) fn memory_mut(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// All that a copy has beside its bytes.
    fn copy_with(&self, memory: Memory) -> Self {
        Self {
            memory,
            at: self.at,
            index: self.index.without_histograms(),
            policy: self.policy,
            discarding: self.discarding,
            has_data: false,
            cursor: Cursor::Idle,
            pieces: Vec::new(),
            stats: self.stats.of_clone(),
            histograms: Histograms::default(),
        }
    }

    pub(super) fn patch(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        chunk: ChunkId,
        patches: &[Patch],
        more: bool,
    ) -> bool {
        self.cursor = Cursor::Idle;
        let done = self.try_patch(producer, writer, chunk, patches, more).is_some();
        if done {
            let count = u64::try_from(patches.len()).unwrap_or(u64::MAX);
            self.stats.patches_succeeded = self.stats.patches_succeeded.wrapping_add(count);
        } else {
            self.stats.patches_failed = self.stats.patches_failed.wrapping_add(1);
        }
        done
    }

    fn try_patch(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        id: ChunkId,
        patches: &[Patch],
        more: bool,
    ) -> Option<()> {
        let slot = self.index.find(producer, writer)?;
        let off = self.index.sequence(slot)?.chunks.get(id)?;
        let mut chunk = self.memory.record_at(off)?;
        let payload = self.memory.payload_mut(off, &chunk)?;
        for patch in patches {
            let start = usize::try_from(patch.offset).ok()?;
            let place = payload.get_mut(start..start.checked_add(patch.data.len())?)?;
            place.copy_from_slice(&patch.data);
        }
        if !more {
            chunk.flags = chunk.flags.without(ChunkFlags::NEEDS_PATCHING);
            self.memory.put_chunk(off, chunk);
        }
        Some(())
    }

    pub(super) fn stats(&self) -> &Stats {
        &self.stats
    }

    pub(super) fn writer_stats(&self) -> &[WriterStats] {
        self.histograms.all()
    }

    pub(super) fn policy(&self) -> Policy {
        self.policy
    }

    pub(super) fn has_data(&self) -> bool {
        self.has_data
    }

    pub(super) fn used_bytes(&self) -> usize {
        self.memory.used()
    }

    pub(super) fn index_bytes(&self) -> usize {
        self.index.memory_bytes()
    }
}

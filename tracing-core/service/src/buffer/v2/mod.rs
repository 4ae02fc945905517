//! The ring that gives space back as it is read (`trace_buffer_v2.cc`).
//!
//! Of each chunk only its fragments are kept, in the order chunks came ([`record`]). The sequences
//! ([`sequences`]) know their chunks by id. Writing ([`write`](self)) and reading ([`read`]) share one
//! way of going over a sequence: who needs the place of a chunk reads its sequence up to there and
//! throws the packets away, so that what their loss means is found out by reading, too.
//!
//! What follows from it, for readers of traces:
//!
//! - packets come in nearly the order in which chunks came, and in order within a sequence;
//! - a missing chunk stops nothing: reading goes on behind it, the next packet says so, and if the chunk
//!   comes after all it is late and dropped;
//! - a packet that waits for its patches or its end stops its sequence, and that only there;
//! - each loss is told once, with its reason.

mod fragment;
mod read;
mod record;
mod sequences;
mod write;

use self::read::{Piece, Reading};
use self::sequences::Sequences;
use super::memory::Memory;
use super::stats::Histograms;
use super::{FaultIn, Patch, Policy, Stats, WriterStats};
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::shm::ChunkFlags;

/// What the size of a buffer is rounded up to, bytes.
const SIZE_UNIT: usize = 4096;

/// One buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Memory,
    /// Where the next record goes; may be the very end.
    at: usize,
    sequences: Sequences,
    policy: Policy,
    /// A discarding buffer that had to refuse a chunk refuses all others for ever.
    discarding: bool,
    has_data: bool,
    /// Counts the walks over the memory, each of which tries every sequence once.
    generation: u64,
    /// None: there was none since the buffer changed.
    walk: Option<Reading>,
    /// The packet found last, if it has several pieces: chunk, piece, and bytes it takes there.
    pieces: Vec<(u32, Piece, usize)>,
    stats: Stats,
    histograms: Histograms,
}

fn add(counter: &mut u64, by: impl TryInto<u64>) {
    *counter = counter.wrapping_add(by.try_into().unwrap_or(0));
}

impl Buffer {
    pub(super) fn new(bytes: usize, policy: Policy) -> Option<Self> {
        let bytes = bytes.checked_next_multiple_of(SIZE_UNIT)?.max(SIZE_UNIT);
        let buffer_size = u64::from(u32::try_from(bytes).ok()?);
        Some(Self {
            memory: Memory::new(bytes)?,
            at: 0,
            sequences: Sequences::default(),
            policy,
            discarding: false,
            has_data: false,
            generation: 0,
            walk: None,
            pieces: Vec::new(),
            stats: Stats { buffer_size, ..Stats::default() },
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
            sequences: self.sequences.clone(),
            policy: self.policy,
            discarding: self.discarding,
            has_data: false,
            generation: self.generation,
            walk: None,
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
        self.walk = None;
        let done = self.try_patch(producer, writer, chunk, patches, more).is_some();
        if done {
            add(&mut self.stats.patches_succeeded, patches.len());
        } else {
            add(&mut self.stats.patches_failed, 1);
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
        let slot = self.sequences.find(producer, writer)?;
        let off = self.sequences.slot(slot)?.chunks.get(id)?;
        let mut record = self.memory.chunk(off)?;
        // A patch may lie on the length of a fragment.
        record.changed = true;
        self.memory.put_record(off, record);
        let fragments = self.memory.fragments_mut(off, &record)?;
        for patch in patches {
            let start = usize::try_from(patch.offset).ok()?;
            let place = fragments.get_mut(start..start.checked_add(patch.data.len())?)?;
            place.copy_from_slice(&patch.data);
        }
        if !more {
            record.flags = record.flags.without(ChunkFlags::NEEDS_PATCHING);
            self.memory.put_record(off, record);
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
        self.sequences.memory_bytes()
    }
}

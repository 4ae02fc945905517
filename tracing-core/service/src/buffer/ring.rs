//! What both versions of a buffer have in common: their state beside the sequences, and their operations.

use super::index_size::IndexEntries;
use super::memory::Memory;
use super::scan_budget::ScanBudget;
use super::stats::Histograms;
use super::types::END_CHUNKS;
use super::{
    BufferLimits, ChunkMeta, ChunkPatches, PacketRef, Policy, Remains, SequenceEnd, SequenceKey,
    Stats, TakePacket,
};
use abi::ids::ChunkId;
use abi::shm::ChunkFlags;

/// The state that does not depend on the version.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) memory: Memory,
    /// Offset of the next record.
    pub(super) write_off: usize,
    pub(super) policy: Policy,
    /// A [`Policy::Discard`] buffer that refused one chunk refuses all later ones.
    pub(super) discarding: bool,
    pub(super) has_data: bool,
    pub(super) stats: Stats,
    pub(super) histograms: Histograms,
    pub(super) limits: BufferLimits,
    pub(super) index_max: IndexEntries,
    /// Sequences without chunks that a buffer of version 1 remembers.
    pub(super) empty_max: usize,
    /// Records that were removed to make space, padding included; and sequences that were looked at to forget some.
    pub(super) evicted: u64,
    /// Bytes that had been written when a quarter of the ring was last full.
    quarter_at: u64,
    /// Bytes behind the write position, around the end of the memory, in which there is no chunk: they were evicted
    /// because the index was too large.
    cleared: usize,
}

impl Common {
    /// An empty buffer of `bytes`, a multiple of 16. `stats_bytes` is the size that the counters report.
    pub(super) fn new(
        bytes: usize,
        stats_bytes: u64,
        policy: Policy,
        limits: BufferLimits,
    ) -> Option<Self> {
        let index_max = IndexEntries::max(bytes);
        Some(Self {
            memory: Memory::new(bytes)?,
            write_off: 0,
            policy,
            discarding: false,
            has_data: false,
            stats: Stats { buffer_size: stats_bytes, ..Stats::default() },
            histograms: Histograms::of_buffer(bytes),
            limits,
            index_max,
            empty_max: index_max.empty_max(limits.empty_sequences_per_buffer_max),
            evicted: 0,
            quarter_at: 0,
            cleared: 0,
        })
    }

    /// The same state for a clone, whose bytes are in `memory`.
    pub(super) fn clone_with(&self, memory: Memory) -> Self {
        Self {
            memory,
            write_off: self.write_off,
            policy: self.policy,
            discarding: self.discarding,
            has_data: false,
            stats: self.stats.of_clone(),
            histograms: self.histograms.emptied(),
            limits: self.limits,
            index_max: self.index_max,
            empty_max: self.empty_max,
            evicted: 0,
            quarter_at: 0,
            cleared: 0,
        }
    }

    /// Whether [`take_quarters`](Self::take_quarters) would return some.
    #[inline]
    pub(super) fn has_quarters(&self) -> bool {
        let written = self.stats.bytes_written.saturating_sub(self.quarter_at);
        self.policy == Policy::Ring && written >= (self.stats.buffer_size / 4).max(1)
    }

    /// How many quarters of a ring were written since this last returned some.
    pub(super) fn take_quarters(&mut self) -> u64 {
        if !self.has_quarters() {
            return 0;
        }
        let written = self.stats.bytes_written.saturating_sub(self.quarter_at);
        self.quarter_at = self.stats.bytes_written;
        written.checked_div(self.stats.buffer_size / 4).unwrap_or(0)
    }

    /// The write position moves on by `len` bytes, or as many to the begin of the memory.
    #[inline]
    pub(super) fn note_written(&mut self, len: usize) {
        if self.cleared > 0 {
            self.cleared = self.cleared.saturating_sub(len);
        }
    }

    /// Where the oldest record is that may be a chunk. None: there is no chunk.
    pub(super) fn oldest(&mut self) -> Option<usize> {
        let size = self.memory.size();
        let at = self.write_off.saturating_add(self.cleared);
        if at >= self.memory.used() && at < size {
            // Nothing was ever written behind.
            self.cleared = size.saturating_sub(self.write_off);
        }
        let at = self.write_off.saturating_add(self.cleared);
        (self.cleared < size).then(|| at.checked_sub(size).unwrap_or(at))
    }

    /// The oldest record, of `len` bytes, is no chunk any more.
    pub(super) fn note_cleared(&mut self, len: usize) {
        self.cleared = self.cleared.saturating_add(len);
    }
}

/// One version of the buffer.
pub(super) trait Ring: Sized {
    /// A packet that was found, by its place in the memory.
    type Found;

    fn common(&self) -> &Common;
    fn common_mut(&mut self) -> &mut Common;
    /// Memory of the index, bytes.
    fn index_bytes(&self) -> usize;
    /// At least as much, without a look at each sequence.
    fn index_bytes_max(&self) -> usize;
    /// Places for sequences in the index.
    fn places(&self) -> usize;
    /// What is to be freed in pieces, without the rest.
    fn into_remains(self) -> Remains;
    /// A read-only clone, whose bytes are in `memory`.
    fn clone_with(&self, memory: Memory) -> Self;

    /// As [`TraceBuffer::copy_chunk`](super::TraceBuffer::copy_chunk).
    fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]);
    /// Applies patches. None: the chunk is not here, or a patch does not lie within it.
    fn try_patch(&mut self, patches: &ChunkPatches<'_>) -> Option<()>;

    /// As [`TraceBuffer::sequence_end`](super::TraceBuffer::sequence_end).
    fn sequence_end(&mut self, sequence: SequenceKey) -> SequenceEnd {
        let Some(last) = self.last_chunk(sequence) else { return SequenceEnd::Whole };
        let mut id = last;
        for _ in 0..END_CHUNKS {
            let Some(flags) = self.chunk_flags(sequence, id) else { break };
            if flags.contains(ChunkFlags::NEEDS_PATCHING) {
                return SequenceEnd::Unpatched;
            }
            id = ChunkId::new(id.get().wrapping_sub(1));
        }
        match self.chunk_flags(sequence, last) {
            Some(flags) if flags.contains(ChunkFlags::CONTINUES_ON_NEXT) => {
                SequenceEnd::Open { next: last.next() }
            }
            _ => SequenceEnd::Whole,
        }
    }
    /// The highest id of the chunks of a sequence, if there is one.
    fn last_chunk(&mut self, sequence: SequenceKey) -> Option<ChunkId>;
    /// The flags of a chunk that is here.
    fn chunk_flags(&mut self, sequence: SequenceKey, id: ChunkId) -> Option<ChunkFlags>;

    /// As [`TraceBuffer::begin_read`](super::TraceBuffer::begin_read).
    fn begin_read(&mut self);
    /// Finds the next packet and consumes it. None: there is none, or `budget` is used up.
    fn find_packet(&mut self, budget: &mut ScanBudget) -> Option<Self::Found>;
    /// The packet that was found last.
    fn packet(&mut self, found: Self::Found) -> Option<PacketRef<'_>>;
    /// Gives the packets that follow in the same chunk (or chunks) to `take`, as long as each is a single fragment.
    /// Everything else is left to [`find_packet`](Self::find_packet). Returns false if `take` wants no more.
    fn read_run(&mut self, take: &mut impl TakePacket) -> bool;

    /// As [`TraceBuffer::patch`](super::TraceBuffer::patch).
    fn patch(&mut self, patches: &ChunkPatches<'_>) -> bool {
        let done = self.try_patch(patches).is_some();
        let stats = &mut self.common_mut().stats;
        if done {
            add(&mut stats.patches_succeeded, patches.patches.len());
        } else {
            add(&mut stats.patches_failed, 1);
        }
        done
    }

    /// As [`TraceBuffer::note_violation`](super::TraceBuffer::note_violation).
    fn note_violation(&mut self) {
        add(&mut self.common_mut().stats.abi_violations, 1);
    }

    /// As [`TraceBuffer::next_packet`](super::TraceBuffer::next_packet).
    fn next_packet(&mut self) -> Option<PacketRef<'_>> {
        let mut budget = ScanBudget::new(self.common().limits.empty_fragments_max);
        loop {
            match self.find_packet(&mut budget) {
                None if budget.renew() => {}
                found => return self.packet(found?),
            }
        }
    }

    /// As [`TraceBuffer::read_while`](super::TraceBuffer::read_while).
    #[inline]
    fn read_while(&mut self, take: &mut impl TakePacket) {
        let max = self.common().limits.empty_fragments_max;
        let mut budget = ScanBudget::new(max);
        loop {
            let more = match self.find_packet(&mut budget).and_then(|found| self.packet(found)) {
                Some(packet) => take.take(packet) && self.read_run(take),
                None => budget.renew() && take.skipped_fragments(max),
            };
            if !more {
                return;
            }
        }
    }
}

/// Adds to a counter. A counter wraps around: it is part of a report, and must not stop the service.
#[inline]
pub(super) fn add(counter: &mut u64, by: impl TryInto<u64>) {
    *counter = counter.wrapping_add(by.try_into().unwrap_or(0));
}

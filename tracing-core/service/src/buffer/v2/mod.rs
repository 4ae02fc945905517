//! The buffer that gives space back as it is read (`trace_buffer_v2.cc`).
//!
//! Only the fragments of a chunk are kept, in the order in which the chunks came ([`record`]). The sequences
//! ([`sequences`]) know their chunks by id. Reading ([`read`]) and eviction ([`write`](self)) go along a sequence in
//! the same steps ([`step`], [`consume`]): to evict a chunk, the buffer reads its sequence up to there and drops the
//! packets. Only reading tells what the loss of a chunk means for the chunks that stay.
//!
//! What follows for readers of traces:
//!
//! - packets come in nearly the order in which chunks came, and in order within a sequence;
//! - a missing chunk stops nothing: reading goes on behind it, the next packet reports the gap, and if the chunk
//!   comes later it is dropped;
//! - a packet that waits for its patches or its last fragment stops its sequence, at that packet;
//! - each loss is reported once, with its reason.

mod consume;
mod fragment;
mod read;
mod record;
mod scan;
mod sequences;
mod step;
mod write;

use self::scan::{BufferScan, Found};
pub(super) use self::sequences::Sequence;
use self::sequences::Sequences;
use self::step::Part;
use super::memory::Memory;
use super::ring::{Common, Ring, add};
use super::scan_budget::ScanBudget;
use super::{
    BufferLimits, ChunkMeta, ChunkPatches, PacketRef, Policy, Remains, SequenceKey, TakePacket,
    remains,
};
use abi::ids::ChunkId;
use abi::shm::ChunkFlags;

/// What the size of a buffer is rounded up to, bytes.
const SIZE_UNIT: usize = 4096;

/// One buffer.
#[derive(Debug)]
pub(super) struct Buffer {
    /// The write position may be the very end of the memory.
    common: Common,
    sequences: Sequences,
    /// Counts the scans over the memory, each of which tries every sequence once.
    generation: u64,
    /// None: there was no scan since the buffer changed.
    scan: Option<BufferScan>,
    /// The packet found last, if it lies in several chunks.
    parts: Vec<Part>,
}

impl Buffer {
    pub(super) fn new(bytes: usize, policy: Policy, limits: BufferLimits) -> Option<Self> {
        let bytes = bytes.checked_next_multiple_of(SIZE_UNIT)?.max(SIZE_UNIT);
        let stats_bytes = u64::from(u32::try_from(bytes).ok()?);
        Some(Self::of(Common::new(bytes, stats_bytes, policy, limits)?, Sequences::default(), 0))
    }

    fn of(common: Common, sequences: Sequences, generation: u64) -> Self {
        Self { common, sequences, generation, scan: None, parts: Vec::new() }
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
        self.sequences.memory_bytes()
    }

    fn index_bytes_max(&self) -> usize {
        self.sequences.memory_bytes_max()
    }

    fn places(&self) -> usize {
        self.sequences.places()
    }

    fn into_remains(mut self) -> Remains {
        let bytes = self.common.memory.take_bytes();
        Remains { bytes, sequences: remains::Sequences::V2(self.sequences.take_slots()) }
    }

    fn clone_with(&self, memory: Memory) -> Self {
        Self::of(self.common.clone_with(memory), self.sequences.clone(), self.generation)
    }

    fn copy_chunk(&mut self, meta: &ChunkMeta, payload: &[u8]) {
        self.scan = None;
        self.take_chunk(meta, payload);
    }

    #[inline]
    fn try_patch(&mut self, patches: &ChunkPatches<'_>) -> Option<()> {
        let off = self.sequences.chunk_to_patch(patches)?;
        self.scan = None;
        self.common.memory.patch_chunk(off, patches)
    }

    fn last_chunk(&mut self, sequence: SequenceKey) -> Option<ChunkId> {
        self.sequences.of(sequence).filter(|s| !s.chunks.is_empty()).map(|s| s.last)
    }

    fn chunk_flags(&mut self, sequence: SequenceKey, id: ChunkId) -> Option<ChunkFlags> {
        let off = self.sequences.of(sequence)?.chunks.get(id)?;
        self.common.memory.chunk(off).map(|chunk| chunk.flags)
    }

    fn begin_read(&mut self) {
        self.begin_scan();
    }

    fn find_packet(&mut self, budget: &mut ScanBudget) -> Option<Found> {
        self.find_in_scan(budget)
    }

    fn packet(&mut self, found: Found) -> Option<PacketRef<'_>> {
        self.packet_at(found)
    }

    #[inline]
    fn read_run(&mut self, take: &mut impl TakePacket) -> bool {
        self.read_chunk_run(take)
    }
}

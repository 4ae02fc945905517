//! The sequences: for each writer its chunks, how far they were read, and what was lost.
//!
//! A sequence without chunks is remembered for a while, so that a gap before its next chunk is noticed.
//! Producer ids are used again after 65535 connections: when a chunk comes from another
//! identity than before, a new sequence begins, and the old one is only read to its end.

use crate::buffer::chunks::Chunks;
use crate::buffer::index_size::IndexEntries;
use crate::buffer::slot_cache::SlotCache;
use crate::buffer::slots::Slots;
use crate::buffer::{ChunkPatches, Identity, SequenceKey, loss};
use crate::limits::{EMPTY_SEQUENCES_V2_KEPT, EMPTY_SEQUENCES_V2_MAX, EMPTY_SEQUENCES_V2_PART};
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::map::BlockMap;

/// The newest chunk that was removed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Consumed {
    pub(super) id: ChunkId,
    /// Bytes of its fragments.
    pub(super) used: u16,
    pub(super) incomplete: bool,
}

/// The chunks of one writer of one producer.
#[derive(Clone, Debug)]
pub(in crate::buffer) struct Sequence {
    pub(super) producer: ProducerId,
    pub(super) writer: WriterId,
    pub(super) identity: Identity,
    pub(super) chunks: Chunks,
    /// Id of the last chunk. All ids of a sequence are less than half the range of ids apart.
    pub(super) last: ChunkId,
    pub(super) consumed: Option<Consumed>,
    /// [`loss`] bits that the next packet reports.
    pub(super) loss: u32,
    /// The first chunk, if a gap before it was noted.
    gap_before: Option<ChunkId>,
    /// The scan in which there was nothing more to read.
    pub(super) stalled_in: u64,
    /// Index of its histogram, once it has one.
    pub(super) histogram: Option<u32>,
    /// When its last chunk was removed, in copied chunks.
    emptied: u64,
    /// The producer id has another owner, with a sequence of its own.
    replaced: bool,
}

impl Sequence {
    /// Adds a loss that the next packet reports.
    pub(super) fn record_loss(&mut self, reason: u32) {
        self.loss |= reason | loss::PRESENT;
    }

    /// The chunk with the lowest id.
    #[inline]
    pub(super) fn first(&self) -> Option<ChunkId> {
        self.chunks.first_after(self.last)
    }

    /// The next chunk after `id`. There may be missing ids between.
    #[inline]
    pub(super) fn after(&self, id: ChunkId) -> Option<ChunkId> {
        if id == self.last { None } else { self.chunks.first_after(id) }
    }

    /// Whether all ids would be less than half the range of ids apart.
    pub(super) fn in_range(&self, id: ChunkId) -> bool {
        let Some(first) = self.first() else { return true };
        let span = |from: ChunkId, to: ChunkId| to.get().wrapping_sub(from.get());
        let near = |span: u32| i32::try_from(span).is_ok();
        span(first, id) <= span(first, self.last)
            || near(span(first, id))
            || near(span(id, self.last))
    }

    /// Reports a gap, once, if `first` is not the chunk that should follow the last removed one.
    pub(super) fn note_gap(&mut self, first: ChunkId) {
        let Some(consumed) = self.consumed else { return };
        let again = first == consumed.id && consumed.incomplete;
        if first != consumed.id.next() && !again && self.gap_before != Some(first) {
            self.gap_before = Some(first);
            self.record_loss(loss::READ_GAP);
        }
    }

    /// Notes a removed chunk. An eviction may remove chunks before the newest removed one.
    pub(super) fn note_consumed(&mut self, chunk: Consumed) {
        if self.consumed.is_none_or(|old| chunk.id.distance(old.id) >= 0) {
            self.consumed = Some(chunk);
        }
    }
}

fn key(producer: ProducerId, writer: WriterId) -> u32 {
    u32::from(producer.get()) << 16 | u32::from(writer.get())
}

/// All sequences. A sequence keeps its slot until it is forgotten.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    slots: Slots<Sequence>,
    by_key: BlockMap<u32, u32>,
    /// Sequences without chunks.
    empty: usize,
    /// Chunks copied so far: the time of `emptied`.
    clock: u64,
    entries: IndexEntries,
    cache: SlotCache,
}

impl Sequences {
    /// Memory of the sequences, bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let slots = self.slots.memory_bytes(|sequence| sequence.chunks.memory_bytes());
        let keys = self.by_key.memory_bytes().saturating_add(self.cache.memory_bytes());
        slots.saturating_add(keys)
    }

    /// At least as much, without a look at each sequence.
    pub(super) fn memory_bytes_max(&self) -> usize {
        let own = self.entries.bytes(self.empty, self.slots.places());
        own.saturating_add(self.cache.memory_bytes())
    }

    /// Places for sequences.
    pub(super) fn places(&self) -> usize {
        self.slots.places()
    }

    /// The sequences, for one who frees them.
    pub(super) fn take_slots(&mut self) -> Slots<Sequence> {
        core::mem::take(&mut self.slots)
    }

    /// How much is in it.
    #[inline]
    pub(super) fn entries(&self) -> IndexEntries {
        self.entries
    }

    #[inline]
    pub(super) fn slot(&self, slot: u32) -> Option<&Sequence> {
        self.slots.get(slot)
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, slot: u32) -> Option<&mut Sequence> {
        self.slots.get_mut(slot)
    }

    /// The chunks of a writer, if it is the present owner of the producer id that names it.
    pub(super) fn of(&mut self, sequence: SequenceKey) -> Option<&Sequence> {
        let slot = self.find(sequence.producer, sequence.writer)?;
        self.slot(slot).filter(|s| s.identity == sequence.identity)
    }

    /// Where a chunk of such a writer is, to patch it. Most patches that miss are of chunks that are gone, so the
    /// identity is compared last.
    #[inline(always)]
    pub(super) fn chunk_to_patch(&mut self, patches: &ChunkPatches<'_>) -> Option<u32> {
        let slot = self.find(patches.sequence.producer, patches.sequence.writer)?;
        let sequence = self.slot(slot)?;
        let off = sequence.chunks.get_to_patch(patches.chunk)?;
        (sequence.identity == patches.sequence.identity).then_some(off)
    }

    #[inline(always)]
    fn find(&mut self, producer: ProducerId, writer: WriterId) -> Option<u32> {
        let key = key(producer, writer);
        match self.cache.find(key.into()) {
            None => self.find_in_map(key),
            slot => slot,
        }
    }

    #[inline(never)]
    fn find_in_map(&mut self, key: u32) -> Option<u32> {
        let slot = *self.by_key.get(&key)?;
        self.cache.insert(key.into(), slot, self.by_key.len());
        Some(slot)
    }

    /// The sequence of this writer, which is added if `identity` has none.
    pub(super) fn find_or_create(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        identity: Identity,
    ) -> Option<u32> {
        if let Some(slot) = self.find(producer, writer) {
            let sequence = self.slot_mut(slot)?;
            if sequence.identity == identity {
                return Some(slot);
            }
            sequence.replaced = true;
            if sequence.chunks.is_empty() {
                self.release(slot);
            }
        }
        let sequence = Sequence {
            producer,
            writer,
            identity,
            chunks: Chunks::default(),
            last: ChunkId::new(0),
            consumed: None,
            loss: 0,
            gap_before: None,
            stalled_in: 0,
            histogram: None,
            emptied: self.clock,
            replaced: false,
        };
        let slot = self.slots.add(sequence)?;
        self.by_key.insert(key(producer, writer), slot);
        self.cache.insert(key(producer, writer).into(), slot, self.by_key.len());
        self.empty = self.empty.saturating_add(1);
        Some(slot)
    }

    /// Adds a chunk to a sequence; returns whether there are later ones.
    pub(super) fn insert(&mut self, slot: u32, id: ChunkId, off: u32) -> bool {
        let Self { slots, entries, .. } = self;
        let Some(sequence) = slots.get_mut(slot) else { return false };
        let was_empty = sequence.chunks.is_empty();
        let is_last = was_empty || id.distance(sequence.last) > 0;
        entries.insert(&mut sequence.chunks, id, off);
        if is_last {
            sequence.last = id;
        }
        if was_empty {
            self.empty = self.empty.saturating_sub(1);
        }
        !is_last
    }

    /// Removes a chunk from its sequence. The sequence stays, unless its producer id has another owner.
    pub(super) fn remove(&mut self, slot: u32, chunk: Consumed) {
        let now = self.clock;
        let Self { slots, entries, .. } = self;
        let Some(sequence) = slots.get_mut(slot) else { return };
        sequence.note_consumed(chunk);
        if entries.remove(&mut sequence.chunks, chunk.id) == Some(true) {
            sequence.emptied = now;
            let replaced = sequence.replaced;
            self.empty = self.empty.saturating_add(1);
            if replaced {
                self.release(slot);
            }
        }
    }

    /// Frees the slot of an empty sequence that has no key any more.
    fn release(&mut self, slot: u32) {
        self.slots.remove(slot);
        self.empty = self.empty.saturating_sub(1);
    }

    /// If too many sequences are empty, forgets those that have been empty for longest. Returns how many it had to look
    /// at.
    #[inline]
    pub(super) fn forget_empty(&mut self) -> usize {
        self.clock = self.clock.wrapping_add(1);
        if self.empty <= EMPTY_SEQUENCES_V2_MAX { 0 } else { self.forget_oldest() }
    }

    /// All are looked at, so there are some more before that if there are many.
    #[cold]
    fn forget_oldest(&mut self) -> usize {
        let looked_at = self.by_key.len();
        let more = looked_at.saturating_sub(self.empty) / EMPTY_SEQUENCES_V2_PART;
        if self.empty <= EMPTY_SEQUENCES_V2_MAX.saturating_add(more) {
            return 0;
        }
        let mut empty: Vec<(u64, u32, u32)> = self
            .by_key
            .iter()
            .filter_map(|(key, slot)| {
                let sequence = self.slot(*slot).filter(|s| s.chunks.is_empty())?;
                Some((sequence.emptied, *key, *slot))
            })
            .collect();
        empty.sort_unstable();
        let oldest = empty.len().saturating_sub(EMPTY_SEQUENCES_V2_KEPT);
        for (_, key, slot) in empty.into_iter().take(oldest) {
            self.by_key.remove(&key);
            self.release(slot);
        }
        self.cache.clear();
        looked_at
    }
}

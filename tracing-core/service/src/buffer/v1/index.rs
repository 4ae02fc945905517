//! The sequences of a buffer and their chunks.

use crate::buffer::chunks::Chunks;
use crate::buffer::index_size::IndexEntries;
use crate::buffer::slot_cache::SlotCache;
use crate::buffer::slots::Slots;
use crate::buffer::{ChunkPatches, Identity, SequenceKey};
use abi::ids::{ChunkId, ProducerId, WriterId};
use abi::map::BlockMap;

/// Where a pass may start instead of at the first chunk: all chunks before were read, are complete
/// and without holes, so that a pass would only skip them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resume {
    /// The first chunk of the sequence when this was noted.
    pub(super) first: ChunkId,
    /// The chunk at which to start.
    pub(super) at: ChunkId,
    /// The last chunk up to there of which something was read: it knows whether a loss came before.
    pub(super) read: Option<ChunkId>,
}

/// A packet whose end was not found, and how far it was followed, so that the next pass goes on from there. New chunks
/// and patches do not change the chunks before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    /// The chunk in which the packet begins.
    pub(super) from: ChunkId,
    /// The last chunk that it goes on through.
    pub(super) at: ChunkId,
}

/// The chunks of one writer of one producer.
#[derive(Clone, Debug)]
pub(in crate::buffer) struct Sequence {
    /// Its key in the order of reading.
    pub(super) key: u64,
    pub(super) producer: ProducerId,
    pub(super) writer: WriterId,
    pub(super) identity: Identity,
    /// Highest chunk id so far.
    pub(super) last: ChunkId,
    pub(super) chunks: Chunks,
    pub(super) resume: Option<Resume>,
    pub(super) stalled: Option<Stall>,
    /// Index of its histogram, once it has one.
    pub(super) histogram: Option<u32>,
}

impl Sequence {
    /// What others know it by.
    #[inline]
    pub(super) fn name(&self) -> SequenceKey {
        let Self { producer, writer, identity, .. } = *self;
        SequenceKey { producer, writer, identity }
    }

    /// A chunk was removed or changed: a packet that goes on through it has to be followed anew.
    pub(super) fn forget_stall_at(&mut self, id: ChunkId) {
        let ahead = |id: ChunkId, from: ChunkId| id.get().wrapping_sub(from.get());
        self.stalled = self.stalled.filter(|s| ahead(id, s.from) > ahead(s.at, s.from));
    }
}

/// Orders sequences by producer, then writer, then age. Producer ids are used again: the chunks of an earlier owner
/// of an id are read before those of the present one, which has the highest number.
fn key(producer: ProducerId, writer: WriterId, owner: u32) -> u64 {
    u64::from(producer.get()) << 48 | u64::from(writer.get()) << 32 | u64::from(owner)
}

/// The `owner` that has the id now. Not the highest number: the cache has no entry for `u64::MAX`.
const PRESENT: u32 = u32::MAX - 1;

/// All sequences. A sequence keeps its slot until it is forgotten.
#[derive(Debug, Default)]
pub(super) struct Index {
    slots: Slots<Sequence>,
    order: BlockMap<u64, u32>,
    /// Sequences without chunks.
    empty: usize,
    /// Sequences so far whose producer id has another owner now.
    past: u32,
    entries: IndexEntries,
    cache: SlotCache,
}

impl Index {
    /// Memory of the index, bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let slots = self.slots.memory_bytes(|sequence| sequence.chunks.memory_bytes());
        let keys = self.order.memory_bytes().saturating_add(self.cache.memory_bytes());
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

    /// A copy in which no sequence has a histogram yet.
    pub(super) fn without_histograms(&self) -> Self {
        Self {
            slots: self.slots.clone_with(|sequence| sequence.histogram = None),
            order: self.order.clone(),
            cache: self.cache.clone(),
            ..*self
        }
    }

    #[inline]
    pub(super) fn sequence(&self, slot: u32) -> Option<&Sequence> {
        self.slots.get(slot)
    }

    #[inline]
    pub(super) fn sequence_mut(&mut self, slot: u32) -> Option<&mut Sequence> {
        self.slots.get_mut(slot)
    }

    /// The chunks of a writer, if it is the present owner of the producer id that names it.
    pub(super) fn of(&mut self, sequence: SequenceKey) -> Option<&Sequence> {
        let slot = self.find(sequence.producer, sequence.writer)?;
        self.sequence(slot).filter(|s| s.identity == sequence.identity)
    }

    /// Where a chunk of such a writer is, to patch it. Most patches that miss are of chunks that are gone, so the
    /// identity is compared last.
    #[inline(always)]
    pub(super) fn chunk_to_patch(&mut self, patches: &ChunkPatches<'_>) -> Option<u32> {
        let slot = self.find(patches.sequence.producer, patches.sequence.writer)?;
        let sequence = self.sequence(slot)?;
        let off = sequence.chunks.get_to_patch(patches.chunk)?;
        (sequence.identity == patches.sequence.identity).then_some(off)
    }

    #[inline(always)]
    fn find(&mut self, producer: ProducerId, writer: WriterId) -> Option<u32> {
        let key = key(producer, writer, PRESENT);
        match self.cache.find(key) {
            None => self.find_in_map(key),
            slot => slot,
        }
    }

    #[inline(never)]
    fn find_in_map(&mut self, key: u64) -> Option<u32> {
        let slot = *self.order.get(&key)?;
        self.cache.insert(key, slot, self.order.len());
        Some(slot)
    }

    /// The sequence of this writer, if it belongs to `identity`. If it belongs to another identity, that was the
    /// earlier owner of the producer id, and the sequence gets the key of a past one.
    pub(super) fn find_of_owner(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        identity: Identity,
    ) -> Option<u32> {
        let slot = self.find(producer, writer)?;
        let past = self.past;
        let sequence = self.sequence_mut(slot)?;
        if sequence.identity == identity {
            return Some(slot);
        }
        let (old, new) = (sequence.key, key(producer, writer, past));
        sequence.key = new;
        let is_empty = sequence.chunks.is_empty();
        self.order.remove(&old);
        self.order.insert(new, slot);
        self.past = past.wrapping_add(1);
        self.cache.clear();
        if is_empty {
            self.forget(new, slot);
        }
        None
    }

    /// Forgets an empty sequence.
    fn forget(&mut self, key: u64, slot: u32) {
        self.order.remove(&key);
        self.slots.remove(slot);
        self.empty = self.empty.saturating_sub(1);
    }

    /// Adds a sequence that [`find_of_owner`](Self::find_of_owner) did not find.
    pub(super) fn create(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        identity: Identity,
    ) -> Option<u32> {
        let key = key(producer, writer, PRESENT);
        let sequence = Sequence {
            key,
            producer,
            writer,
            identity,
            last: ChunkId::new(0),
            chunks: Chunks::default(),
            resume: None,
            stalled: None,
            histogram: None,
        };
        let slot = self.slots.add(sequence)?;
        self.order.insert(key, slot);
        self.cache.insert(key, slot, self.order.len());
        self.empty = self.empty.saturating_add(1);
        Some(slot)
    }

    /// Whether more than `max` sequences have no chunks.
    #[inline]
    pub(super) fn has_empty_above(&self, max: usize) -> bool {
        self.empty > max
    }

    /// Forgets the sequences without chunks. Returns how many it had to look at.
    #[cold]
    pub(super) fn forget_empty(&mut self) -> usize {
        let looked_at = self.order.len();
        let Self { slots, order, empty, cache, .. } = self;
        order.retain(|_, slot| {
            let keep = slots.get(*slot).is_some_and(|s| !s.chunks.is_empty());
            if !keep {
                slots.remove(*slot);
            }
            keep
        });
        *empty = 0;
        cache.clear();
        looked_at
    }

    /// Adds a chunk to a sequence.
    pub(super) fn insert(&mut self, slot: u32, id: ChunkId, off: u32) {
        let Self { slots, entries, .. } = self;
        let Some(sequence) = slots.get_mut(slot) else { return };
        if entries.insert(&mut sequence.chunks, id, off) {
            self.empty = self.empty.saturating_sub(1);
        }
    }

    /// Removes a chunk from its sequence. The sequence stays.
    // A full buffer removes a chunk for each that it takes, so this is inlined.
    #[inline(always)]
    pub(super) fn remove(&mut self, slot: u32, id: ChunkId) {
        let Self { slots, entries, .. } = self;
        let Some(sequence) = slots.get_mut(slot) else { return };
        let Some(is_empty) = entries.remove(&mut sequence.chunks, id) else { return };
        // Without its first chunk the sequence still has no hole up to the place to resume.
        sequence.resume = sequence.resume.filter(|r| r.first == id && r.at != id);
        if let Some(resume) = &mut sequence.resume {
            resume.first = id.next();
        }
        sequence.forget_stall_at(id);
        if is_empty {
            let key = sequence.key;
            self.empty = self.empty.saturating_add(1);
            if key & u64::from(u32::MAX) != u64::from(PRESENT) {
                self.forget(key, slot);
            }
        }
    }

    /// The first sequence with chunks after `key`; none: the first of all.
    pub(super) fn next_sequence(&self, key: Option<u64>) -> Option<u32> {
        let from = match key {
            Some(key) => key.checked_add(1)?,
            None => 0,
        };
        self.order
            .range(from..)
            .map(|(_, slot)| *slot)
            .find(|slot| self.sequence(*slot).is_some_and(|s| !s.chunks.is_empty()))
    }
}

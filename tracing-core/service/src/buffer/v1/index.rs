//! Which chunks are in the buffer, by sequence and chunk id.

use std::collections::BTreeMap;

use crate::buffer::Identity;
use crate::buffer::chunks::Chunks;
use crate::buffer::slot_cache::SlotCache;
use crate::limits::EMPTY_SEQUENCES_PER_BUFFER_MAX;
use abi::ids::{ChunkId, ProducerId, WriterId};

/// Where reading may start instead of at the first chunk: everything before was read, is complete
/// and without holes, and so would only be walked over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resume {
    /// The first chunk when this was found.
    pub(super) first: ChunkId,
    /// A chunk that was reached.
    pub(super) at: ChunkId,
    /// The last one up to there of which something was read: it knows whether a loss came before.
    pub(super) read: Option<ChunkId>,
}

/// Where looking ahead gave up, so that the next pass does not walk all the way again. New chunks
/// and patches leave the way there as it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall {
    /// The chunk in which the packet begins.
    pub(super) from: ChunkId,
    /// The last chunk led over.
    pub(super) at: ChunkId,
}

/// What one writer of one producer wrote.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// Its place among the sequences.
    pub(super) key: u64,
    pub(super) producer: ProducerId,
    pub(super) writer: WriterId,
    pub(super) identity: Identity,
    /// Highest id seen.
    pub(super) last: ChunkId,
    pub(super) chunks: Chunks,
    pub(super) resume: Option<Resume>,
    pub(super) stalled: Option<Stall>,
    /// Index of its histogram, once it has one.
    pub(super) histogram: Option<usize>,
}

impl Sequence {
    /// A chunk went or is another now: looking ahead may not skip it.
    pub(super) fn forget_stall_over(&mut self, id: ChunkId) {
        let ahead = |id: ChunkId, from: ChunkId| id.0.wrapping_sub(from.0);
        self.stalled = self.stalled.filter(|s| ahead(id, s.from) > ahead(s.at, s.from));
    }
}

/// Orders sequences by producer, then writer, then age: numbers of producers are used again, and what
/// the last owner of a number left is read before what the present one wrote (the highest of all).
fn key(producer: ProducerId, writer: WriterId, life: u32) -> u64 {
    u64::from(producer.0) << 48 | u64::from(writer.0) << 32 | u64::from(life)
}

/// The `life` of the present owner.
const PRESENT: u32 = u32::MAX;

/// All sequences. A sequence keeps its slot as long as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    slots: Vec<Sequence>,
    order: BTreeMap<u64, u32>,
    free: Vec<u32>,
    /// Sequences without chunks.
    empty: usize,
    /// Sequences whose producer's number went to another one, so far.
    past: u32,
    cache: SlotCache,
}

impl Index {
    /// Memory it takes, bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let chunks = self.slots.iter().map(|s| s.chunks.memory_bytes());
        let own = self.slots.len().saturating_mul(size_of::<Sequence>());
        chunks.fold(own.saturating_add(self.cache.memory_bytes()), usize::saturating_add)
    }

    /// A copy in which no sequence has a histogram yet.
    pub(super) fn without_histograms(&self) -> Self {
        let mut index = self.clone();
        for sequence in &mut index.slots {
            sequence.histogram = None;
        }
        index
    }

    #[inline]
    pub(super) fn sequence(&self, slot: u32) -> Option<&Sequence> {
        self.slots.get(usize::try_from(slot).ok()?)
    }

    #[inline]
    pub(super) fn sequence_mut(&mut self, slot: u32) -> Option<&mut Sequence> {
        self.slots.get_mut(usize::try_from(slot).ok()?)
    }

    #[inline]
    pub(super) fn find(&mut self, producer: ProducerId, writer: WriterId) -> Option<u32> {
        let key = key(producer, writer, PRESENT);
        self.cache.find(key).or_else(|| {
            let slot = *self.order.get(&key)?;
            self.cache.insert(key, slot, self.order.len());
            Some(slot)
        })
    }

    /// The sequence of this writer, if it is there and on behalf of `identity`. If it is somebody else's, it
    /// goes among the past ones.
    pub(super) fn find_own(
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
        self.free.push(slot);
        self.empty = self.empty.saturating_sub(1);
    }

    /// Makes a sequence that [`find_own`](Self::find_own) did not find.
    pub(super) fn create(
        &mut self,
        producer: ProducerId,
        writer: WriterId,
        identity: Identity,
    ) -> Option<u32> {
        if self.empty > EMPTY_SEQUENCES_PER_BUFFER_MAX {
            self.forget_empty();
        }
        let key = key(producer, writer, PRESENT);
        let sequence = Sequence {
            key,
            producer,
            writer,
            identity,
            last: ChunkId(0),
            chunks: Chunks::default(),
            resume: None,
            stalled: None,
            histogram: None,
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                *self.sequence_mut(slot)? = sequence;
                slot
            }
            None => {
                let slot = u32::try_from(self.slots.len()).ok()?;
                self.slots.push(sequence);
                slot
            }
        };
        self.order.insert(key, slot);
        self.cache.insert(key, slot, self.order.len());
        self.empty = self.empty.saturating_add(1);
        Some(slot)
    }

    fn forget_empty(&mut self) {
        let Self { slots, order, free, empty, cache, .. } = self;
        order.retain(|_, slot| {
            let sequence = usize::try_from(*slot).ok().and_then(|slot| slots.get(slot));
            let keep = sequence.is_some_and(|s| !s.chunks.is_empty());
            if !keep {
                free.push(*slot);
            }
            keep
        });
        *empty = 0;
        cache.clear();
    }

    /// Adds a chunk to a sequence.
    pub(super) fn insert(&mut self, slot: u32, id: ChunkId, off: u32) {
        let Some(sequence) = self.sequence_mut(slot) else { return };
        let was_empty = sequence.chunks.is_empty();
        sequence.chunks.insert(id, off);
        if was_empty {
            self.empty = self.empty.saturating_sub(1);
        }
    }

    /// Takes a chunk out of a sequence, which stays.
    pub(super) fn remove(&mut self, slot: u32, id: ChunkId) {
        let Some(sequence) = self.sequence_mut(slot) else { return };
        if sequence.chunks.remove(id).is_none() {
            return;
        }
        // Going from the first chunk on is still the same walk if it was the first that went.
        sequence.resume = sequence.resume.filter(|r| r.first == id && r.at != id);
        if let Some(resume) = &mut sequence.resume {
            resume.first = id.next();
        }
        sequence.forget_stall_over(id);
        if sequence.chunks.is_empty() {
            let key = sequence.key;
            self.empty = self.empty.saturating_add(1);
            if key & u64::from(PRESENT) != u64::from(PRESENT) {
                self.forget(key, slot);
            }
        }
    }

    /// The first sequence with chunks, of those after `key` or of all.
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

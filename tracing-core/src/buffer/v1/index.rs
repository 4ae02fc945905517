//! Which chunks are in the buffer, by sequence and chunk id.
//!
//! A sequence mostly holds a run of consecutive ids: appended at one end, evicted at the other. So
//! they live in a window, a deque indexed by `id - start` (wrapping, as ids do). What would tear big
//! holes into the window goes into an ordered map instead, so that no choice of ids makes us slow
//! or large.

use std::collections::{BTreeMap, VecDeque};

use crate::buffer::Identity;
use crate::ids::{ChunkId, ProducerId, WriterId};
use crate::limits::{EMPTY_SEQUENCES_PER_BUFFER_MAX, SEQUENCE_HOLES_MAX};
use crate::shm::ChunkFlags;

/// A chunk in the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    pub(super) identity: Identity,
    /// Of its record.
    pub(super) offset: u32,
    /// Of its record, header included.
    pub(super) record_len: u16,
    /// Fragments, less the last one of an unfinished chunk.
    pub(super) fragments: u16,
    /// How many of them were read.
    pub(super) read: u16,
    /// Where in the payload the next one starts.
    pub(super) next: u16,
    pub(super) flags: ChunkFlags,
    pub(super) complete: bool,
    /// The last fragment read was not delivered.
    pub(super) last_skipped: bool,
}

/// The chunks of one sequence.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    /// Id of the window's front, which is never a hole; nor is its back.
    start: u32,
    window: VecDeque<Option<Chunk>>,
    /// Chunks in the window.
    live: usize,
    strays: BTreeMap<u32, Chunk>,
}

impl Chunks {
    pub(super) fn is_empty(&self) -> bool {
        self.live == 0 && self.strays.is_empty()
    }

    #[inline]
    fn place(&self, id: u32) -> usize {
        usize::try_from(id.wrapping_sub(self.start)).unwrap_or(usize::MAX)
    }

    #[inline]
    pub(super) fn get(&self, id: ChunkId) -> Option<&Chunk> {
        if let Some(Some(chunk)) = self.window.get(self.place(id.0)) {
            return Some(chunk);
        }
        if self.strays.is_empty() { None } else { self.strays.get(&id.0) }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: ChunkId) -> Option<&mut Chunk> {
        let place = self.place(id.0);
        if let Some(Some(chunk)) = self.window.get_mut(place) {
            return Some(chunk);
        }
        if self.strays.is_empty() { None } else { self.strays.get_mut(&id.0) }
    }

    /// Adds a chunk that is not there yet.
    pub(super) fn insert(&mut self, id: ChunkId, chunk: Chunk) {
        if self.window.is_empty() {
            self.start = id.0;
        }
        let place = self.place(id.0);
        if let Some(slot) = self.window.get_mut(place) {
            *slot = Some(chunk);
        } else if place <= self.live.saturating_mul(2).saturating_add(SEQUENCE_HOLES_MAX) {
            self.window.resize(place, None);
            self.window.push_back(Some(chunk));
        } else {
            self.strays.insert(id.0, chunk);
            return;
        }
        self.live = self.live.saturating_add(1);
    }

    pub(super) fn remove(&mut self, id: ChunkId) -> Option<Chunk> {
        let place = self.place(id.0);
        let taken = self.window.get_mut(place).and_then(Option::take);
        if taken.is_none() {
            return self.strays.remove(&id.0);
        }
        self.live = self.live.saturating_sub(1);
        while let Some(None) = self.window.front() {
            self.window.pop_front();
            self.start = self.start.wrapping_add(1);
        }
        while let Some(None) = self.window.back() {
            self.window.pop_back();
        }
        taken
    }

    /// The first chunk after `id`, going round: where reading starts, given the last id written.
    pub(super) fn first_after(&self, id: ChunkId) -> Option<ChunkId> {
        let from = id.next().0;
        let place = self.place(from);
        // The back of the window is never a hole, so a place inside finds something.
        let holes = self.window.iter().skip(place).take_while(|c| c.is_none()).count();
        let ahead = if place < self.window.len() {
            u32::try_from(holes).map_or(self.start, |holes| from.wrapping_add(holes))
        } else {
            self.start
        };
        let ahead = (!self.window.is_empty()).then_some(ahead);
        let stray = self.strays.range(from..).next().or_else(|| self.strays.iter().next());
        let stray = stray.map(|(id, _)| *id);
        ahead.into_iter().chain(stray).min_by_key(|id| id.wrapping_sub(from)).map(ChunkId)
    }
}

/// Where reading may start instead of at the first chunk: everything before was read, is complete
/// and without holes, and so would only be walked over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resume {
    /// The first chunk when this was found.
    pub(super) first: ChunkId,
    /// A chunk with something read.
    pub(super) at: ChunkId,
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
    pub(super) producer: ProducerId,
    pub(super) writer: WriterId,
    /// Highest id seen.
    pub(super) last: ChunkId,
    pub(super) chunks: Chunks,
    pub(super) resume: Option<Resume>,
    pub(super) stalled: Option<Stall>,
    /// Index of its histogram, once it has one.
    pub(super) histogram: Option<usize>,
}

impl Sequence {
    fn new(producer: ProducerId, writer: WriterId) -> Self {
        Self {
            producer,
            writer,
            last: ChunkId(0),
            chunks: Chunks::default(),
            resume: None,
            stalled: None,
            histogram: None,
        }
    }

    /// A chunk went or is another now: looking ahead may not skip it.
    pub(super) fn forget_stall_over(&mut self, id: ChunkId) {
        let ahead = |id: ChunkId, from: ChunkId| id.0.wrapping_sub(from.0);
        self.stalled = self.stalled.filter(|s| ahead(id, s.from) > ahead(s.at, s.from));
    }

    pub(super) fn key(&self) -> u32 {
        key(self.producer, self.writer)
    }
}

/// Orders sequences by producer, then writer.
pub(super) const fn key(producer: ProducerId, writer: WriterId) -> u32 {
    (producer.0 as u32) << 16 | writer.0 as u32
}

/// All sequences. A sequence keeps its slot as long as it is known.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    slots: Vec<Sequence>,
    order: BTreeMap<u32, u32>,
    free: Vec<u32>,
    /// Sequences without chunks.
    empty: usize,
    /// The last one looked up: chunks of a sequence come in bunches.
    recent: Option<(u32, u32)>,
}

impl Index {
    /// Memory they take, bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let chunks = self.slots.iter().map(|s| {
            let places = s.chunks.window.capacity().saturating_add(s.chunks.strays.len());
            places.saturating_mul(size_of::<Option<Chunk>>())
        });
        let own = self.slots.len().saturating_mul(size_of::<Sequence>());
        chunks.fold(own, usize::saturating_add)
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
        let key = key(producer, writer);
        match self.recent {
            Some((recent, slot)) if recent == key => Some(slot),
            _ => {
                let slot = *self.order.get(&key)?;
                self.recent = Some((key, slot));
                Some(slot)
            }
        }
    }

    /// The sequence of this writer, made if it is new.
    pub(super) fn find_or_create(&mut self, producer: ProducerId, writer: WriterId) -> Option<u32> {
        if let Some(slot) = self.find(producer, writer) {
            return Some(slot);
        }
        if self.empty > EMPTY_SEQUENCES_PER_BUFFER_MAX {
            self.forget_empty();
        }
        let sequence = Sequence::new(producer, writer);
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
        self.order.insert(key(producer, writer), slot);
        self.empty = self.empty.saturating_add(1);
        Some(slot)
    }

    fn forget_empty(&mut self) {
        let Self { slots, order, free, empty, recent } = self;
        order.retain(|_, slot| {
            let sequence = usize::try_from(*slot).ok().and_then(|slot| slots.get(slot));
            let keep = sequence.is_some_and(|s| !s.chunks.is_empty());
            if !keep {
                free.push(*slot);
            }
            keep
        });
        *empty = 0;
        *recent = None;
    }

    /// Adds a chunk to a sequence.
    pub(super) fn insert(&mut self, slot: u32, id: ChunkId, chunk: Chunk) {
        let Some(sequence) = self.sequence_mut(slot) else { return };
        let was_empty = sequence.chunks.is_empty();
        sequence.chunks.insert(id, chunk);
        if was_empty {
            self.empty = self.empty.saturating_sub(1);
        }
    }

    /// Takes a chunk out of a sequence, which stays.
    pub(super) fn remove(&mut self, slot: u32, id: ChunkId) -> Option<Chunk> {
        let sequence = self.sequence_mut(slot)?;
        let chunk = sequence.chunks.remove(id)?;
        // Going from the first chunk on is still the same walk if it was the first that went.
        sequence.resume = sequence.resume.filter(|r| r.first == id && r.at != id);
        if let Some(resume) = &mut sequence.resume {
            resume.first = id.next();
        }
        sequence.forget_stall_over(id);
        if sequence.chunks.is_empty() {
            self.empty = self.empty.saturating_add(1);
        }
        Some(chunk)
    }

    /// The first sequence with chunks, of those after `key` or of all.
    pub(super) fn next_sequence(&self, key: Option<u32>) -> Option<u32> {
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

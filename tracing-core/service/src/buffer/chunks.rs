//! Where the chunks of one sequence lie, by chunk id.
//!
//! A sequence mostly holds a run of consecutive ids: appended at one end, taken away at the other.
//! So their offsets live in a window, a deque indexed by `id - start` (wrapping, as ids do):
//!
//! ```text
//!  start = 7    | 7 | 8 | - | 10 | 11 |      strays: 3, 90000
//! ```
//!
//! What would tear big holes into the window goes into an ordered map instead, so that no choice of
//! ids makes us slow or large: four bytes a chunk, and at most eight for the holes between.

use std::collections::{BTreeMap, VecDeque};

use crate::limits::SEQUENCE_HOLES_MAX;
use abi::ids::ChunkId;

/// A place in the window where no chunk is. No chunk starts at this offset: it is no multiple of 16.
const HOLE: u32 = u32::MAX;
/// A window that holds fewer places than a quarter of its memory, and more than this, gives some back.
const SHRINK_ABOVE: usize = 64;
/// About what an entry of the map costs, bytes.
const STRAY_BYTES: usize = 16;

/// Offsets of chunks by id.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks {
    /// Id of the window's front, which is never a hole; nor is its back.
    start: u32,
    window: VecDeque<u32>,
    /// Chunks in the window.
    live: usize,
    strays: BTreeMap<u32, u32>,
}

impl Chunks {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.live == 0 && self.strays.is_empty()
    }

    #[inline]
    fn place(&self, id: u32) -> usize {
        usize::try_from(id.wrapping_sub(self.start)).unwrap_or(usize::MAX)
    }

    /// The offset of a chunk.
    #[inline]
    pub(super) fn get(&self, id: ChunkId) -> Option<u32> {
        match self.window.get(self.place(id.0)) {
            Some(&off) if off != HOLE => Some(off),
            _ if self.strays.is_empty() => None,
            _ => self.strays.get(&id.0).copied(),
        }
    }

    /// Adds a chunk that is not there yet.
    pub(super) fn insert(&mut self, id: ChunkId, off: u32) {
        if self.window.is_empty() {
            self.start = id.0;
        }
        let room = self.live.saturating_mul(2).saturating_add(SEQUENCE_HOLES_MAX);
        let place = self.place(id.0);
        let before = usize::try_from(self.start.wrapping_sub(id.0)).unwrap_or(usize::MAX);
        if let Some(slot) = self.window.get_mut(place) {
            *slot = off;
        } else if place <= room {
            self.window.resize(place, HOLE);
            self.window.push_back(off);
        } else if before.saturating_add(self.window.len()) <= room {
            for _ in 1..before {
                self.window.push_front(HOLE);
            }
            self.window.push_front(off);
            self.start = id.0;
        } else {
            self.strays.insert(id.0, off);
            return;
        }
        self.live = self.live.saturating_add(1);
    }

    /// Takes a chunk out.
    pub(super) fn remove(&mut self, id: ChunkId) -> Option<u32> {
        let place = self.place(id.0);
        let taken = self.window.get_mut(place).map(|off| core::mem::replace(off, HOLE));
        let Some(off) = taken.filter(|off| *off != HOLE) else {
            return self.strays.remove(&id.0);
        };
        self.live = self.live.saturating_sub(1);
        while let Some(&HOLE) = self.window.front() {
            self.window.pop_front();
            self.start = self.start.wrapping_add(1);
        }
        while let Some(&HOLE) = self.window.back() {
            self.window.pop_back();
        }
        let capacity = self.window.capacity();
        if capacity > SHRINK_ABOVE && self.window.len() < capacity / 4 {
            self.window.shrink_to(capacity / 2);
        }
        Some(off)
    }

    /// The first chunk after `id`, going round; it may be `id` itself again.
    pub(super) fn first_after(&self, id: ChunkId) -> Option<ChunkId> {
        let from = id.next();
        if self.window.get(self.place(from.0)).is_some_and(|off| *off != HOLE) {
            return Some(from);
        }
        let place = self.place(from.0);
        // The back of the window is never a hole, so a place inside finds something.
        let ahead = if place < self.window.len() {
            let holes = self.window.iter().skip(place).take_while(|off| **off == HOLE).count();
            u32::try_from(holes).map_or(self.start, |holes| from.0.wrapping_add(holes))
        } else {
            self.start
        };
        let ahead = (!self.window.is_empty()).then_some(ahead);
        let stray = self.strays.range(from.0..).next().or_else(|| self.strays.iter().next());
        let stray = stray.map(|(id, _)| *id);
        let closest = ahead.into_iter().chain(stray);
        closest.min_by_key(|id| id.wrapping_sub(from.0)).map(ChunkId)
    }

    /// Memory it takes, bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let window = self.window.capacity().saturating_mul(size_of::<u32>());
        window.saturating_add(self.strays.len().saturating_mul(STRAY_BYTES))
    }
}

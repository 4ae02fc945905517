//! The offsets of the chunks of one sequence, by chunk id.
//!
//! The chunks of a sequence nearly always have consecutive ids: added at one end, removed at the other.
//! So their offsets are in a window, a deque indexed by `id - start` (ids wrap around, and so does this):
//!
//! ```text
//!  start = 7    | 7 | 8 | - | 10 | 11 |      outliers: 3, 90000
//! ```
//!
//! An id that would add many holes to the window goes into an ordered map instead, so that no choice of
//! ids makes the buffer slow: there are at most half as many holes as chunks, and a few more.
//!
//! What it takes is counted in entries of eight bytes: one for each place in the window, holes included, and more for
//! those in the map. A window of up to [`SHRINK_ABOVE`] places belongs to what a sequence counts for.

use std::collections::VecDeque;

use crate::limits::{ENTRIES_OF_OUTLIERS, ENTRIES_PER_OUTLIER, SEQUENCE_HOLES_MAX};
use abi::ids::ChunkId;
use abi::map::BlockMap;

/// Memory of an entry as it is counted, bytes: a place in the window, and one that is kept for the next chunk.
pub(super) const ENTRY_BYTES: usize = 8;
/// What an allocator adds to each piece of memory, bytes, about.
pub(super) const ALLOCATION_BYTES: usize = 16;
/// An entry of the window without a chunk. No chunk starts at this offset, which is no multiple of 16.
const HOLE: u32 = u32::MAX;
/// A window with memory for more entries than this shrinks when it uses less than half of them. Doubling makes it no
/// larger, so it has memory for twice its entries at most: eight bytes for each of them.
const SHRINK_ABOVE: usize = 16;

/// Offsets of chunks by id.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    /// Id of the first entry. Neither the first nor the last entry is ever a hole.
    start: u32,
    window: VecDeque<u32>,
    /// Chunks in the window.
    in_window: usize,
    outliers: BlockMap<u32, u32>,
}

impl Clone for Chunks {
    /// A window may have millions of entries: they are copied as memory.
    fn clone(&self) -> Self {
        let (front, back) = self.window.as_slices();
        let window = VecDeque::from([front, back].concat());
        let Self { start, in_window, ref outliers, .. } = *self;
        Self { start, window, in_window, outliers: outliers.clone() }
    }
}

impl Chunks {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.in_window == 0 && self.outliers.is_empty()
    }

    #[inline]
    fn index(&self, id: u32) -> usize {
        usize::try_from(id.wrapping_sub(self.start)).unwrap_or(usize::MAX)
    }

    /// The offset of a chunk.
    #[inline]
    pub(super) fn get(&self, id: ChunkId) -> Option<u32> {
        match self.window.get(self.index(id.get())) {
            Some(&off) if off != HOLE => Some(off),
            _ if self.outliers.is_empty() => None,
            _ => self.outliers.get(&id.get()).copied(),
        }
    }

    /// The same for patches. Less of it is inlined, so that it takes fewer registers: a patch of a chunk that is gone
    /// costs little. Reading is faster with all of it inlined.
    #[inline]
    pub(super) fn get_to_patch(&self, id: ChunkId) -> Option<u32> {
        match self.window.get(self.index(id.get())) {
            Some(&off) if off != HOLE => Some(off),
            _ if self.outliers.is_empty() => None,
            _ => self.outlier(id),
        }
    }

    #[cold]
    #[inline(never)]
    fn outlier(&self, id: ChunkId) -> Option<u32> {
        self.outliers.get(&id.get()).copied()
    }

    /// Adds a chunk that is not there yet, and what it takes to `entries`.
    pub(super) fn insert(&mut self, id: ChunkId, off: u32, entries: &mut usize) {
        if self.window.is_empty() {
            self.start = id.get();
        }
        let holes_max = (self.in_window / 2).saturating_add(SEQUENCE_HOLES_MAX);
        let len_max = self.in_window.saturating_add(holes_max);
        let index = self.index(id.get());
        let before = usize::try_from(self.start.wrapping_sub(id.get())).unwrap_or(usize::MAX);
        let len = self.window.len();
        if let Some(slot) = self.window.get_mut(index) {
            *slot = off;
        } else if index <= len_max {
            *entries = entries.wrapping_add(index.wrapping_sub(len).wrapping_add(1));
            self.window.resize(index, HOLE);
            self.window.push_back(off);
        } else if before.saturating_add(self.window.len()) <= len_max {
            debug_assert!(before <= len_max, "more holes than there may be");
            for _ in 1..before {
                self.window.push_front(HOLE);
            }
            self.window.push_front(off);
            self.start = id.get();
            *entries = entries.wrapping_add(before);
        } else {
            return self.insert_outlier(id, off, entries);
        }
        self.in_window = self.in_window.saturating_add(1);
    }

    #[cold]
    fn insert_outlier(&mut self, id: ChunkId, off: u32, entries: &mut usize) {
        let map = if self.outliers.is_empty() { ENTRIES_OF_OUTLIERS } else { 0 };
        self.outliers.insert(id.get(), off);
        *entries = entries.wrapping_add(map).wrapping_add(ENTRIES_PER_OUTLIER);
    }

    #[cold]
    fn remove_outlier(&mut self, id: ChunkId, entries: &mut usize) -> Option<u32> {
        let off = self.outliers.remove(&id.get())?;
        *entries = entries.wrapping_sub(ENTRIES_PER_OUTLIER);
        if self.outliers.is_empty() {
            self.outliers.clear();
            *entries = entries.wrapping_sub(ENTRIES_OF_OUTLIERS);
        }
        Some(off)
    }

    /// Removes a chunk, and what that frees from `entries`.
    pub(super) fn remove(&mut self, id: ChunkId, entries: &mut usize) -> Option<u32> {
        let index = self.index(id.get());
        let taken = self.window.get_mut(index).map(|off| core::mem::replace(off, HOLE));
        let Some(off) = taken.filter(|off| *off != HOLE) else {
            return self.remove_outlier(id, entries);
        };
        self.in_window = self.in_window.saturating_sub(1);
        let before = self.window.len();
        while let Some(&HOLE) = self.window.front() {
            self.window.pop_front();
            self.start = self.start.wrapping_add(1);
        }
        while let Some(&HOLE) = self.window.back() {
            self.window.pop_back();
        }
        let (capacity, len) = (self.window.capacity(), self.window.len());
        *entries = entries.wrapping_sub(before.wrapping_sub(len));
        if capacity > SHRINK_ABOVE && len < capacity / 2 {
            self.window.shrink_to(len.saturating_add(len / 2).max(SHRINK_ABOVE));
        }
        Some(off)
    }

    /// The first chunk after `id`, where the highest id is followed by 0. It may be `id` itself.
    pub(super) fn first_after(&self, id: ChunkId) -> Option<ChunkId> {
        let from = id.next();
        if self.window.get(self.index(from.get())).is_some_and(|off| *off != HOLE) {
            return Some(from);
        }
        let index = self.index(from.get());
        // The last entry is never a hole, so there is a chunk behind each entry of the window.
        let ahead = if index < self.window.len() {
            let holes = self.window.iter().skip(index).take_while(|off| **off == HOLE).count();
            u32::try_from(holes).map_or(self.start, |holes| from.get().wrapping_add(holes))
        } else {
            self.start
        };
        let ahead = (!self.window.is_empty()).then_some(ahead);
        if self.outliers.is_empty() {
            return ahead.map(ChunkId::new);
        }
        let outlier =
            self.outliers.range(from.get()..).next().or_else(|| self.outliers.iter().next());
        let outlier = outlier.map(|(id, _)| *id);
        let closest = ahead.into_iter().chain(outlier);
        closest.min_by_key(|id| id.wrapping_sub(from.get())).map(ChunkId::new)
    }

    /// Memory of the window and the map, bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let window = match self.window.capacity() {
            0 => 0,
            capacity => capacity.saturating_mul(size_of::<u32>()).saturating_add(ALLOCATION_BYTES),
        };
        window.saturating_add(self.outliers.memory_bytes())
    }
}

//! The bytes of a buffer as they were at one instant, copied piece by piece while the buffer changes.
//!
//! ```text
//!                    copied in order      | not yet
//!   memory   |############################|......x.......xx....|  written after the instant
//!   copy     |############################|    reserved        |
//!   saved                                       x       xx        blocks, copied just before they changed
//! ```
//!
//! Each change of the buffer first calls [`Snapshot::save`], which copies the blocks that will change and are not
//! copied yet. The copy takes them from there later. So nothing has to stop while a gigabyte is
//! copied, and the copy shows one instant. Saved blocks take memory in addition to the copy: if there are
//! many, each change also copies a part of the rest.

use abi::map::BlockMap;

use core::mem::MaybeUninit;

use crate::limits::{CLONE_COPY_PER_CHANGE_BYTES, CLONE_SAVED_BYTES_MAX};

/// Makes the system map memory that is about to be written for the first time, all pages in one call. One page fault
/// for each page takes a third longer.
pub type FaultIn = fn(&mut [MaybeUninit<u8>]);

/// How much an unfinished copy may save. A value, so that tests can make it small and reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SnapshotLimits {
    /// What is saved at once, bytes; at least one.
    pub(super) block_bytes: usize,
    /// Saved blocks, bytes, beyond which each change of the buffer also copies a part of what is left.
    pub(super) clone_saved_bytes_max: usize,
    /// How many bytes such a change copies.
    pub(super) clone_copy_per_change_bytes: usize,
}

impl SnapshotLimits {
    /// Those of the service.
    pub(super) const DEFAULT: Self = Self {
        block_bytes: BLOCK_BYTES,
        clone_saved_bytes_max: CLONE_SAVED_BYTES_MAX,
        clone_copy_per_change_bytes: CLONE_COPY_PER_CHANGE_BYTES,
    };
}

/// A page: smaller blocks would not save page faults.
const BLOCK_BYTES: usize = 4096;

/// An unfinished copy.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) number: u64,
    /// The part that is copied: whole blocks, or everything.
    copy: Vec<u8>,
    /// Bytes to be copied.
    len: usize,
    /// Blocks behind the copied part, as they were, by offset.
    saved: BlockMap<usize, Vec<u8>>,
    limits: SnapshotLimits,
    fault_in: Option<FaultIn>,
    /// There was no memory to save a block.
    abandoned: bool,
}

impl Snapshot {
    /// Reserves memory for `len` bytes, and copies nothing yet.
    pub(super) fn new(
        number: u64,
        len: usize,
        limits: SnapshotLimits,
        fault_in: Option<FaultIn>,
    ) -> Option<Self> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(len).ok()?;
        Some(Self { number, copy, len, saved: BlockMap::new(), limits, fault_in, abandoned: false })
    }

    /// Bytes not copied yet.
    pub(super) fn left(&self) -> usize {
        self.len.saturating_sub(self.copy.len())
    }

    /// The bytes of `data` from `start` to `end` are about to change.
    pub(super) fn save(&mut self, data: &[u8], start: usize, end: usize) {
        let end = end.min(self.len);
        // A finished copy need not end at the end of a block.
        if self.left() == 0 || self.abandoned {
            return;
        }
        let before = self.saved.len();
        let first = start.max(self.copy.len());
        let block = self.limits.block_bytes.max(1);
        let mut at = first.checked_div(block).unwrap_or(0).saturating_mul(block);
        while at < end {
            self.save_block(data, at, block);
            at = at.saturating_add(block);
        }
        let saved_max = self.limits.clone_saved_bytes_max.checked_div(block).unwrap_or(0);
        if self.saved.len() > before.max(saved_max) {
            self.copy_more(data, self.limits.clone_copy_per_change_bytes);
        }
    }

    fn save_block(&mut self, data: &[u8], at: usize, len: usize) {
        if self.saved.contains_key(&at) {
            return;
        }
        let bytes = data.get(at..at.saturating_add(len).min(self.len)).unwrap_or_default();
        let mut block = Vec::new();
        if block.try_reserve_exact(bytes.len()).is_err() {
            self.abandon();
            return;
        }
        block.extend_from_slice(bytes);
        self.saved.insert(at, block);
    }

    /// Copies about `bytes` more.
    pub(super) fn copy_more(&mut self, data: &[u8], bytes: usize) {
        let from = self.copy.len();
        let to = from.saturating_add(bytes).checked_next_multiple_of(self.limits.block_bytes);
        let to = to.unwrap_or(usize::MAX).min(self.len);
        if let Some(fault_in) = self.fault_in
            && let Some(fresh) = self.copy.spare_capacity_mut().get_mut(..to.saturating_sub(from))
        {
            fault_in(fresh);
        }
        while self.copy.len() < to && !self.abandoned {
            let at = self.copy.len();
            if let Some(block) = self.saved.remove(&at) {
                self.copy.extend_from_slice(&block);
                continue;
            }
            let run_end = self.saved.range(at..to).next().map_or(to, |(next, _)| *next);
            match data.get(at..run_end) {
                Some(run) => self.copy.extend_from_slice(run),
                None => self.abandon(),
            }
        }
    }

    /// The copy can never be finished: gives its memory back.
    fn abandon(&mut self) {
        self.abandoned = true;
        self.len = 0;
        self.copy = Vec::new();
        self.saved = BlockMap::new();
    }

    /// What is copied so far, finished or not.
    pub(super) fn into_copied(self) -> Vec<u8> {
        self.copy
    }

    /// The copy, if it is finished.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        (!self.abandoned && self.left() == 0).then_some(self.copy)
    }
}

#[cfg(test)]
mod tests;

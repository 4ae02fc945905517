//! The bytes of a buffer as they were at one instant, copied piece by piece while the buffer goes on.
//!
//! ```text
//!                    copied in order      | not yet
//!   memory   |############################|......x.......xx....|  written after the instant
//!   copy     |############################|    reserved        |
//!   early                                       x       xx        blocks saved just before they change
//! ```
//!
//! Whoever is about to change bytes says so first ([`Snapshot::save`]): blocks of them that are not copied
//! yet are put aside, and taken from there when it is their turn. So nothing has to stop while a gigabyte is
//! copied, and the copy is what was there when it began. What is put aside takes memory beside the copy; if
//! it becomes much, those who change bytes go on with the copying, and so hasten its end.

use std::collections::BTreeMap;

use super::FaultIn;
use crate::limits::{CLONE_EARLY_BYTES_MAX, CLONE_EARLY_PAYS_BYTES};

/// How much an unfinished copy may save. A value, so that tests can make it small and reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// What is saved at once, bytes; at least one.
    pub block_bytes: usize,
    /// Saved blocks, bytes, beyond which each change of the buffer ...
    pub early_bytes_max: usize,
    /// ... copies this many bytes of what is left.
    pub early_pays_bytes: usize,
}

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self {
            block_bytes: BLOCK_BYTES,
            early_bytes_max: CLONE_EARLY_BYTES_MAX,
            early_pays_bytes: CLONE_EARLY_PAYS_BYTES,
        }
    }
}

/// A page: smaller blocks would not save page faults.
const BLOCK_BYTES: usize = 4096;

/// An unfinished copy.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) number: u64,
    /// What is copied in order: whole blocks, or all.
    copy: Vec<u8>,
    /// Bytes there were at the instant.
    len: usize,
    /// Blocks further on, by offset, as they were.
    early: BTreeMap<usize, Vec<u8>>,
    limits: SnapshotLimits,
    fault_in: Option<FaultIn>,
    /// There was no memory to save a block.
    broken: bool,
}

impl Snapshot {
    /// Reserves memory for `len` bytes, and copies none.
    pub(super) fn new(
        number: u64,
        len: usize,
        limits: SnapshotLimits,
        fault_in: Option<FaultIn>,
    ) -> Option<Self> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(len).ok()?;
        Some(Self { number, copy, len, early: BTreeMap::new(), limits, fault_in, broken: false })
    }

    /// Bytes not copied yet.
    pub(super) fn left(&self) -> usize {
        self.len.saturating_sub(self.copy.len())
    }

    /// The bytes of `data` from `start` to `end` are about to change.
    pub(super) fn save(&mut self, data: &[u8], start: usize, end: usize) {
        let end = end.min(self.len);
        // Once all is copied, and what follows it, its end need not be that of a block.
        if self.left() == 0 || self.broken {
            return;
        }
        let before = self.early.len();
        let first = start.max(self.copy.len());
        let block = self.limits.block_bytes.max(1);
        let mut at = first.checked_div(block).unwrap_or(0).saturating_mul(block);
        while at < end {
            self.save_block(data, at, block);
            at = at.saturating_add(block);
        }
        let saved_max = self.limits.early_bytes_max.checked_div(block).unwrap_or(0);
        if self.early.len() > before.max(saved_max) {
            self.copy_more(data, self.limits.early_pays_bytes);
        }
    }

    fn save_block(&mut self, data: &[u8], at: usize, len: usize) {
        if self.early.contains_key(&at) {
            return;
        }
        let bytes = data.get(at..at.saturating_add(len).min(self.len)).unwrap_or_default();
        let mut block = Vec::new();
        if block.try_reserve_exact(bytes.len()).is_err() {
            self.give_up();
            return;
        }
        block.extend_from_slice(bytes);
        self.early.insert(at, block);
    }

    /// Copies about so many bytes more.
    pub(super) fn copy_more(&mut self, data: &[u8], bytes: usize) {
        let from = self.copy.len();
        let to = from.saturating_add(bytes).checked_next_multiple_of(self.limits.block_bytes);
        let to = to.unwrap_or(usize::MAX).min(self.len);
        if let Some(fault_in) = self.fault_in
            && let Some(fresh) = self.copy.spare_capacity_mut().get_mut(..to.saturating_sub(from))
        {
            fault_in(fresh);
        }
        while self.copy.len() < to && !self.broken {
            let at = self.copy.len();
            if let Some(block) = self.early.remove(&at) {
                self.copy.extend_from_slice(&block);
                continue;
            }
            let run_end = self.early.range(at..to).next().map_or(to, |(next, _)| *next);
            match data.get(at..run_end) {
                Some(run) => self.copy.extend_from_slice(run),
                None => self.give_up(),
            }
        }
    }

    /// It will never be whole, and takes no memory any more.
    fn give_up(&mut self) {
        self.broken = true;
        self.len = 0;
        self.copy = Vec::new();
        self.early = BTreeMap::new();
    }

    /// The copy, if it is whole.
    pub(super) fn into_bytes(self) -> Option<Vec<u8>> {
        (!self.broken && self.left() == 0).then_some(self.copy)
    }
}

#[cfg(test)]
mod tests;

//! Which memory of a region holds data, as far as its reader has asked.
//!
//! Shared memory is made without memory behind it: the system provides a page when a process touches it first, and
//! puts it on the account (memory cgroup) of that process, where it stays as long as the memory exists. A peer that
//! names chunks in pages that it never wrote would so make the service pay for its memory. Therefore the reader looks
//! at the bytes through the file first, which provides nothing, and touches only pages where it has seen one that is
//! not zero. All others read as zeros.
//!
//! ```text
//!   bits     1 1 0 1 ...      one for each 4096 bytes; 1: a byte of it was seen that is not zero
//!   memory  [data|data|hole|data| ...
//! ```
//!
//! It does not ask where the file has holes (`SEEK_DATA`): the system answers that only when no process is writing to
//! the file, and so a peer could keep the reader waiting.
//!
//! A peer can remove a page afterwards; its memory is gone then, and the next use by the reader provides it again. So
//! a user of this [looks again](Present::look_again) at pages before it touches them: now and then, when the peer
//! cannot know, or each time.

#![deny(clippy::arithmetic_side_effects)]

use crate::shm::layout::PAGE_UNIT_BYTES;
use crate::shm::region::Region;

/// A bit for each 4096 bytes of a region. See the [module](self).
#[derive(Debug)]
pub(super) struct Present {
    /// Empty where all memory is there from the start.
    bits: Vec<u64>,
    count: usize,
}

/// What a second look at a page found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    /// It was not known that the page holds data: the next use looks at it anyway.
    NotKnown,
    /// It still holds data.
    Data,
    /// It holds zeros only.
    Nothing,
}

const WORD_BITS: usize = u64::BITS as usize;

impl Present {
    pub(super) fn new(region: &Region) -> Self {
        let pages = if region.has_holes() { region.len() / PAGE_UNIT_BYTES } else { 0 };
        Self { bits: vec![0; pages.div_ceil(WORD_BITS)], count: 0 }
    }

    /// Bytes that are known to hold data.
    pub(super) fn bytes(&self) -> usize {
        self.count.saturating_mul(PAGE_UNIT_BYTES)
    }

    /// Looks at the `len` bytes at `off`, where it is not known yet whether they may be touched. Returns whether all of
    /// them may.
    #[inline]
    pub(super) fn learn(&mut self, region: &Region, off: usize, len: usize) -> bool {
        if self.bits.is_empty() {
            return true;
        }
        let mut all = true;
        for (at, len) in parts(off, len) {
            all &= self.has(at) || self.look(region, at, len);
        }
        all
    }

    /// Whether the page with byte `at` may be touched, as far as it is known.
    #[inline]
    pub(super) fn has(&self, at: usize) -> bool {
        let page = at / PAGE_UNIT_BYTES;
        self.bits.is_empty()
            || self.bits.get(page / WORD_BITS).is_some_and(|w| w >> (page % WORD_BITS) & 1 == 1)
    }

    /// Appends the `len` bytes at `off` to `out`, with zeros for those that may not be touched, as far as it is known.
    pub(super) fn copy_to(&self, region: &Region, off: usize, len: usize, out: &mut Vec<u8>) {
        if self.bits.is_empty() {
            region.copy_to(off, len, out);
            return;
        }
        for (at, len) in parts(off, len) {
            if self.has(at) {
                region.copy_to(at, len, out);
            } else {
                out.resize(out.len().saturating_add(len), 0);
            }
        }
    }

    /// Looks again at all of the page with byte `off`. Nothing is left there if a peer removed it.
    pub(super) fn look_again(&mut self, region: &Region, off: usize) -> Again {
        let page = off / PAGE_UNIT_BYTES;
        let Some(word) = self.bits.get_mut(page / WORD_BITS) else { return Again::NotKnown };
        let bit = 1 << (page % WORD_BITS);
        if *word & bit == 0 {
            return Again::NotKnown;
        }
        if region.is_written(page.saturating_mul(PAGE_UNIT_BYTES), PAGE_UNIT_BYTES) {
            return Again::Data;
        }
        *word &= !bit;
        self.count = self.count.saturating_sub(1);
        Again::Nothing
    }

    /// Looks at bytes of one page.
    #[cold]
    #[inline(never)]
    fn look(&mut self, region: &Region, off: usize, len: usize) -> bool {
        let page = off / PAGE_UNIT_BYTES;
        let is_written = region.is_written(off, len);
        if is_written && let Some(word) = self.bits.get_mut(page / WORD_BITS) {
            *word |= 1 << (page % WORD_BITS);
            self.count = self.count.saturating_add(1);
        }
        is_written
    }
}

/// The `len` bytes at `off`, cut at the borders of pages: offset and length of each part.
fn parts(off: usize, len: usize) -> impl Iterator<Item = (usize, usize)> {
    let end = off.saturating_add(len);
    let mut at = off;
    core::iter::from_fn(move || {
        let next =
            (at / PAGE_UNIT_BYTES).saturating_add(1).saturating_mul(PAGE_UNIT_BYTES).min(end);
        let part = (at, next.saturating_sub(at));
        at = next;
        (part.1 > 0).then_some(part)
    })
}

//! Which memory of a region holds data, as far as its reader has asked.
//!
//! Shared memory is made without memory behind it: the system provides a page when a process touches it first, and
//! puts it on the account (memory cgroup) of that process, where it stays as long as the memory exists. A peer that
//! names chunks in pages that it never wrote would so make the service pay for its memory. Therefore the reader asks
//! the system once for each page, and touches only those that hold data.
//!
//! ```text
//!   bits     1 1 0 1 ...      one for each 4096 bytes; 1: held data when it was asked for
//!   memory  [data|data|hole|data| ...
//! ```
//!
//! A peer can remove a page afterwards; its memory is gone then, and the next use by the reader provides it again. So
//! a user of this [forgets](Present::forget) pages now and then, when the peer cannot know.

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

    /// How many of the `len` bytes at `off` may be touched: up to the first page without data.
    #[inline]
    pub(super) fn prefix(&mut self, region: &Region, off: usize, len: usize) -> usize {
        if self.bits.is_empty() {
            return len;
        }
        let end = off.saturating_add(len).div_ceil(PAGE_UNIT_BYTES);
        for page in off / PAGE_UNIT_BYTES..end {
            if !self.has(page) && !self.ask(region, page) {
                return page.saturating_mul(PAGE_UNIT_BYTES).saturating_sub(off);
            }
        }
        len
    }

    /// Asks again for the page at `off` when it is used next.
    pub(super) fn forget(&mut self, off: usize) {
        let page = off / PAGE_UNIT_BYTES;
        if self.has(page)
            && let Some(word) = self.bits.get_mut(page / WORD_BITS)
        {
            *word &= !(1 << (page % WORD_BITS));
            self.count = self.count.saturating_sub(1);
        }
    }

    #[inline]
    fn has(&self, page: usize) -> bool {
        self.bits.get(page / WORD_BITS).is_some_and(|word| word >> (page % WORD_BITS) & 1 == 1)
    }

    /// Asks the system for a page, and for those behind it.
    #[cold]
    #[inline(never)]
    fn ask(&mut self, region: &Region, page: usize) -> bool {
        let off = page.saturating_mul(PAGE_UNIT_BYTES);
        let Some(data) = region.written_from(off).filter(|data| data.start <= off) else {
            return false;
        };
        for page in page..data.end.div_ceil(PAGE_UNIT_BYTES) {
            if !self.has(page)
                && let Some(word) = self.bits.get_mut(page / WORD_BITS)
            {
                *word |= 1 << (page % WORD_BITS);
                self.count = self.count.saturating_add(1);
            }
        }
        true
    }
}

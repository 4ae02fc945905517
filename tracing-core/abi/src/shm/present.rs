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
//! cannot know, or each time. A peer that removes a page between the look and the use makes the system provide it all
//! the same. What it can get so are [pages that were touched](Present::touched_bytes).

#![deny(clippy::arithmetic_side_effects)]

use crate::shm::layout::PAGE_UNIT_BYTES;
use crate::shm::region::Region;

/// A bit for each 4096 bytes of a region. See the [module](self).
#[derive(Debug)]
pub(super) struct Present {
    /// Empty where all memory is there from the start.
    bits: Vec<u64>,
    /// As `bits`, but for those that the reader has touched, or will: none is ever cleared.
    touched: Vec<u64>,
    touched_count: usize,
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
        let words = || vec![0; pages.div_ceil(WORD_BITS)];
        Self { bits: words(), touched: words(), touched_count: 0 }
    }

    /// Bytes of pages that were touched, those included that a peer has removed since.
    pub(super) fn touched_bytes(&self) -> usize {
        self.touched_count.saturating_mul(PAGE_UNIT_BYTES)
    }

    /// Bytes of those pages among the `len` bytes at `off` that were not touched.
    pub(super) fn untouched_bytes(&self, off: usize, len: usize) -> usize {
        let is_untouched = |at: usize| {
            let word = self.touched.get(at / PAGE_UNIT_BYTES / WORD_BITS);
            word.is_some_and(|word| word & bit_of(at) == 0)
        };
        let count = parts(off, len).filter(|(at, _)| is_untouched(*at)).count();
        count.saturating_mul(PAGE_UNIT_BYTES)
    }

    /// The `len` bytes at `off` will be touched, whatever they hold.
    pub(super) fn note_touched(&mut self, off: usize, len: usize) {
        for (at, _) in parts(off, len) {
            let (page, bit) = (at / PAGE_UNIT_BYTES, bit_of(at));
            let word = self.touched.get_mut(page / WORD_BITS);
            if let Some(word) = word.filter(|word| **word & bit == 0) {
                *word |= bit;
                self.touched_count = self.touched_count.saturating_add(1);
            }
        }
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
        let word = self.bits.get(at / PAGE_UNIT_BYTES / WORD_BITS);
        self.bits.is_empty() || word.is_some_and(|word| word & bit_of(at) != 0)
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
        let bit = bit_of(off);
        if *word & bit == 0 {
            return Again::NotKnown;
        }
        if region.is_written(page.saturating_mul(PAGE_UNIT_BYTES), PAGE_UNIT_BYTES) {
            return Again::Data;
        }
        *word &= !bit;
        Again::Nothing
    }

    /// Looks at bytes of one page.
    #[cold]
    #[inline(never)]
    fn look(&mut self, region: &Region, off: usize, len: usize) -> bool {
        let is_written = region.is_written(off, len);
        if is_written && let Some(word) = self.bits.get_mut(off / PAGE_UNIT_BYTES / WORD_BITS) {
            *word |= bit_of(off);
            self.note_touched(off, len);
        }
        is_written
    }
}

/// The bit of the page with byte `at` in its word.
#[inline]
const fn bit_of(at: usize) -> u64 {
    1 << (at / PAGE_UNIT_BYTES % WORD_BITS)
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

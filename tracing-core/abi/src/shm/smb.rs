//! Pages over a region: the shared memory buffer itself.

#![deny(clippy::arithmetic_side_effects)]

use crate::shm::header::PageWord;
use crate::shm::layout::{Layout, PageSize, ShmError};
use crate::shm::page;
use crate::shm::region::Region;
use crate::shm::words::PageWords;
use crate::sync::AtomicU32;

/// A region cut into pages. Clones share the memory.
#[derive(Clone, Debug)]
pub struct Smb {
    region: Region,
    page_size: PageSize,
    page_count: usize,
}

/// One page of an [`Smb`].
pub(super) struct PageOf<'a> {
    region: &'a Region,
    off: usize,
    page_size: PageSize,
}

impl PageWords for PageOf<'_> {
    #[inline]
    fn page_size(&self) -> PageSize {
        self.page_size
    }

    #[inline]
    fn word(&self, off: usize) -> Option<&AtomicU32> {
        if off >= self.page_size.bytes() {
            return None;
        }
        self.region.word(self.off.checked_add(off)?)
    }
}

impl Smb {
    /// `region` as pages of `page_size`. The first call decides the size for as long as the region lives:
    /// pages of two sizes would be cut into chunks that overlap.
    ///
    /// # Errors
    /// [`ShmError::RegionBytes`] if the region is empty or not a whole number of pages,
    /// [`ShmError::PageSizeFixed`] if it has pages of another size already.
    pub fn new(region: Region, page_size: PageSize) -> Result<Self, ShmError> {
        region.rights().cut(region.len(), page_size)?;
        let page_count = page_size.whole_pages(region.len());
        Ok(Self { region, page_size, page_count })
    }

    /// The memory.
    #[inline]
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// See [`Region::is_alone`].
    pub(super) fn is_alone(&mut self) -> bool {
        self.region.is_alone()
    }

    /// Size of each page.
    #[inline]
    pub fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// Pages.
    #[inline]
    pub fn page_count(&self) -> usize {
        self.page_count
    }

    /// Size of the whole, bytes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.region.len()
    }

    pub(super) fn page(&self, idx: usize) -> Option<PageOf<'_>> {
        if idx >= self.page_count {
            return None;
        }
        let off = idx.checked_mul(self.page_size.bytes())?;
        Some(PageOf { region: &self.region, off, page_size: self.page_size })
    }

    /// The word of page `idx` as a hint where a chunk may be had; [`PageWord::FREE`] outside.
    #[inline]
    pub fn page_hint(&self, idx: usize) -> PageWord {
        self.page(idx).map_or(PageWord::FREE, |page| page::hint(&page))
    }

    /// Cuts free page `idx`. False if it is not free, or not there.
    pub fn try_partition(&self, idx: usize, layout: Layout) -> bool {
        self.page(idx).is_some_and(|page| page::try_partition(&page, layout))
    }

    /// Counts, where the other side can read it, that a writer begins to drop packets.
    pub fn note_loss(&self) {
        if let Some(page) = self.page(0) {
            page::note_loss(&page);
        }
    }

    /// Chunks of page `idx` that are in use, as a scrape visits them: how many chunks the page has now,
    /// 0 if it is not partitioned.
    pub fn chunk_count(&self, idx: usize) -> usize {
        let word = self.page(idx).map_or(PageWord::FREE, |page| page::snapshot(&page));
        word.layout().map_or(0, Layout::chunk_count)
    }
}

#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "at compile time")]
const _: () = {
    let mut i = 0;
    while i < Layout::ALL.len() {
        let Ok(page) = PageSize::new(64 * 1024) else { panic!("the largest page") };
        // A chunk's size travels in 16 bits, and a patch's offset too.
        assert!(Layout::ALL[i].chunk_bytes(page) <= u16::MAX as usize);
        i += 1;
    }
};

//! Pages over a region: the shared memory buffer itself.

use crate::shm::chunk::{self, ReadableChunk, WritableChunk};
use crate::shm::header::{ChunkHeader, ChunkState, PageWord};
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
        region.cut(page_size)?;
        let page_count = region.len() / page_size.bytes();
        Ok(Self { region, page_size, page_count })
    }

    /// The right to read and free the chunks of this memory; `None` while another reader exists.
    pub fn reader(&self) -> Option<SmbReader> {
        self.region.take_reader().then(|| SmbReader(self.clone()))
    }

    /// The memory.
    #[inline]
    pub fn region(&self) -> &Region {
        &self.region
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

    /// Takes a free chunk for writing under `header`.
    pub fn try_acquire(
        &self,
        page_idx: usize,
        chunk_idx: usize,
        header: ChunkHeader,
    ) -> Option<WritableChunk> {
        let page = self.page(page_idx)?;
        let grant = page::try_acquire(&page, chunk_idx, header)?;
        WritableChunk::new(self.clone(), page_idx, grant, header)
    }

    /// Chunks of page `idx` that are in use, as a scrape visits them: how many chunks the page has now,
    /// 0 if it is not partitioned.
    pub fn chunk_count(&self, idx: usize) -> usize {
        let word = self.page(idx).map_or(PageWord::FREE, |page| page::snapshot(&page));
        word.layout().map_or(0, Layout::chunk_count)
    }
}

/// The right to take chunks of an [`Smb`], to free them, and to look into chunks that writers hold: one
/// exists for each region in this process, held by the service, or by an arbiter whose memory is not
/// shared.
///
/// It is what makes a scrape sound. A scrape reads the finished fragments of a chunk without owning it, so
/// the chunk must not become another writer's meanwhile. For that it would have to be freed. The code that
/// frees a chunk borrows this value until it is done, and a scrape borrows it mutably: no chunk is freed while
/// a scrape runs.
#[derive(Debug)]
pub struct SmbReader(Smb);

impl SmbReader {
    /// The memory it reads.
    #[inline]
    pub fn smb(&self) -> &Smb {
        &self.0
    }

    /// Takes a complete chunk for reading.
    pub fn try_read(&self, page_idx: usize, chunk_idx: usize) -> Option<ReadableChunk<'_>> {
        let page = self.0.page(page_idx)?;
        let grant = page::try_read(&page, chunk_idx)?;
        let header = page::load_header(&page, grant);
        Some(ReadableChunk::new(&self.0, page_idx, grant, header))
    }

    /// Takes a complete chunk, appends its payload to `payload` and frees it.
    ///
    /// `None`, with nothing appended, if there is no such page or chunk or it is not complete. Nothing
    /// of what comes out was validated: writer, count, flags and payload are whatever the peer put
    /// there.
    pub fn read_chunk(
        &self,
        page_idx: usize,
        chunk_idx: usize,
        payload: &mut Vec<u8>,
    ) -> Option<ChunkHeader> {
        let chunk = self.try_read(page_idx, chunk_idx)?;
        chunk.copy_payload(payload);
        Some(chunk.header())
    }

    /// Copies a chunk without taking it: what a scrape does for chunks that writers still hold.
    ///
    /// Gives the header and whether the chunk is complete. The payload appended to `payload` is as long
    /// as the chunk's, but only the bytes of finished fragments are copied: the rest is zero. Those are all
    /// `count` of a complete chunk and `count - 1` of one being written. `None`, with nothing appended,
    /// for free chunks, chunks being read, and chunks whose header is not there yet.
    pub fn scrape_chunk(
        &mut self,
        page_idx: usize,
        chunk_idx: usize,
        payload: &mut Vec<u8>,
    ) -> Option<(ChunkHeader, bool)> {
        let page = self.0.page(page_idx)?;
        let (grant, state) = page::peek(&page, page::snapshot(&page), chunk_idx)?;
        let complete = match state {
            ChunkState::Complete => true,
            ChunkState::BeingWritten => false,
            ChunkState::Free | ChunkState::BeingRead => return None,
        };
        let header = page::load_header(&page, grant);
        if header.writer.is_none() {
            return None;
        }
        let count = header.packets.count();
        let finished = if complete { count } else { count.saturating_sub(1) };
        chunk::copy_fragments(&self.0, page_idx, grant, finished, payload);
        Some((header, complete))
    }

    /// Appends a whole chunk, header and payload, to `data` and frees it: how a chunk travels when the
    /// service cannot see this memory. A chunk of other memory is left alone, which loses it.
    pub fn take_by_value(&self, chunk: WritableChunk, data: &mut Vec<u8>) {
        if chunk.is_of(&self.0) {
            chunk.take_by_value(data);
        }
    }
}

impl Drop for SmbReader {
    fn drop(&mut self) {
        self.0.region.release_reader();
    }
}

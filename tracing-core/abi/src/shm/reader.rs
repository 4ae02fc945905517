//! The right to read and free chunks.

#![deny(clippy::arithmetic_side_effects)]

use crate::shm::chunk::{self, ReadableChunk, WritableChunk};
use crate::shm::fragment::RESERVED_BYTES;
use crate::shm::header::{ChunkFlags, ChunkHeader, ChunkState, PageWord};
use crate::shm::layout::{CHUNK_HEADER_BYTES, Layout, PAGE_HEADER_BYTES, PAGE_UNIT_BYTES};
use crate::shm::page::{self, Grant};
use crate::shm::present::{Again, Present};
use crate::shm::region::Region;
use crate::shm::smb::Smb;
use crate::sync::{Ordering, fence};

/// The right to take chunks of an [`Smb`], to free them, and to look into chunks that writers hold: one
/// exists for each region in this process, held by the service, or by an arbiter whose memory is not
/// shared.
///
/// It is what makes a scrape sound. A scrape reads the finished fragments of a chunk without owning it, so
/// the chunk must not become another writer's meanwhile. For that it would have to be freed. The code that
/// frees a chunk borrows this value until it is done, and a scrape borrows it mutably: no chunk is freed while
/// a scrape runs.
///
/// It touches only memory that holds data: see [`present`](super::present).
#[derive(Debug)]
pub struct SmbReader {
    smb: Smb,
    present: Present,
}

/// What the system said of a page again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageCheck {
    /// Bytes of it that were looked at: those that were known to hold data.
    pub bytes: usize,
    /// Some of them hold none any more.
    pub is_removed: bool,
}

/// What a peer that is gone left in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leftover {
    /// The header. Nothing of it was validated.
    pub header: ChunkHeader,
    /// The chunk is complete: all of its fragments were copied.
    pub complete: bool,
    /// Bytes of the fragments that were copied.
    pub finished: usize,
    /// The last fragment was begun and not copied: a packet, or a part of one, is lost. Behind `finished` the chunk has
    /// [`RESERVED_BYTES`] at least then.
    pub begun: bool,
}

/// A chunk that is complete or being written, and where it is.
struct InUse {
    header: ChunkHeader,
    complete: bool,
    grant: Grant,
    /// Offset in the region.
    off: usize,
}

/// A chunk that was copied, and where it is.
struct Scraped {
    header: ChunkHeader,
    complete: bool,
    /// Offset in the region.
    off: usize,
    /// Bytes of its payload.
    payload_len: usize,
    /// Bytes of the fragments that were copied.
    finished: usize,
}

impl Smb {
    /// The right to read and free the chunks of this memory; `None` while another reader exists.
    pub fn reader(&self) -> Option<SmbReader> {
        let region = self.region();
        region
            .rights()
            .take_reader()
            .then(|| SmbReader { smb: self.clone(), present: Present::new(region) })
    }
}

impl SmbReader {
    /// The memory it reads.
    #[inline]
    pub fn smb(&self) -> &Smb {
        &self.smb
    }

    /// Bytes of its pages that were touched, those included that a peer has removed since; zero for memory that is not
    /// mapped.
    #[inline]
    pub fn touched_bytes(&self) -> usize {
        self.present.touched_bytes()
    }

    /// What [`touched_bytes`](Self::touched_bytes) will be once page `page_idx` is touched.
    pub fn touched_bytes_with(&self, page_idx: usize) -> usize {
        let page_bytes = self.smb.page_size().bytes();
        let more = match page_idx < self.smb.page_count() {
            true => self.present.untouched_bytes(page_idx.saturating_mul(page_bytes), page_bytes),
            false => 0,
        };
        self.touched_bytes().saturating_add(more)
    }

    /// Page `page_idx` will be touched, whatever it holds.
    pub fn note_touched(&mut self, page_idx: usize) {
        let page_bytes = self.smb.page_size().bytes();
        if page_idx < self.smb.page_count() {
            self.present.note_touched(page_idx.saturating_mul(page_bytes), page_bytes);
        }
    }

    /// Asks the system again whether page `page_idx` holds data wherever it did.
    ///
    /// A part with nothing but zeros counts as removed. A writer leaves none where a page begins, as the header of a
    /// chunk stays; it may fill another part of a large page with zeros.
    pub fn check_page(&mut self, page_idx: usize) -> PageCheck {
        let mut check = PageCheck::default();
        let page_bytes = self.smb.page_size().bytes();
        if page_idx < self.smb.page_count() {
            for off in (0..page_bytes).step_by(PAGE_UNIT_BYTES) {
                let at = page_idx.saturating_mul(page_bytes).saturating_add(off);
                match self.present.look_again(self.smb.region(), at) {
                    Again::NotKnown => continue,
                    Again::Data => {}
                    Again::Nothing => check.is_removed = true,
                }
                check.bytes = check.bytes.saturating_add(PAGE_UNIT_BYTES);
            }
        }
        check
    }

    /// Whether page `page_idx` exists and its first 8 bytes, which say what is in it, are not all zero. Such a page may
    /// be touched from then on, and counts as [touched](Self::touched_bytes). To look at a page without data in another
    /// way would make the system provide memory for it.
    pub fn begin_touching(&mut self, page_idx: usize) -> bool {
        let off = page_idx.saturating_mul(self.smb.page_size().bytes());
        page_idx < self.smb.page_count()
            && self.present.learn(self.smb.region(), off, PAGE_HEADER_BYTES)
    }

    /// Whether page `page_idx` exists and its first 8 bytes are not all zero, found without touching it.
    pub fn has_header_data(&self, page_idx: usize) -> bool {
        let off = page_idx.saturating_mul(self.smb.page_size().bytes());
        page_idx < self.smb.page_count() && self.smb.region().is_written(off, PAGE_HEADER_BYTES)
    }

    /// Whether page `page_idx` begins with 4096 zeros, found without touching it: its peer never wrote it, or removed
    /// what it had written. What is left of a chunk that was read is not zero.
    pub fn is_hole(&self, page_idx: usize) -> bool {
        let off = page_idx.saturating_mul(self.smb.page_size().bytes());
        page_idx < self.smb.page_count() && !self.smb.region().is_written(off, PAGE_UNIT_BYTES)
    }

    /// A reader of a copy of page `page_idx`, which is page 0 there, made without touching it: the system provides no
    /// memory for that, whenever the peer removes it. `None` if there is no such page, or the system cannot do that.
    ///
    /// A writer may write meanwhile. The headers are copied before the payload, so the fragments that they count are
    /// in the copy.
    pub fn copy_of_page(&self, page_idx: usize) -> Option<Self> {
        let page_size = self.smb.page_size();
        let off = page_idx.checked_mul(page_size.bytes())?;
        let copy = || self.smb.region().copy_untouched(off, page_size.bytes());
        let headers = copy()?;
        fence(Ordering::Acquire);
        let copy = copy()?;
        copy_word(&headers, &copy, 0)?;
        let layout = PageWord(headers.word(0)?.load(Ordering::Relaxed)).layout();
        for idx in 0..layout.map_or(0, Layout::chunk_count) {
            let off = layout?.chunk_off(page_size, idx)?;
            copy_word(&headers, &copy, off)?;
            copy_word(&headers, &copy, off.checked_add(4)?)?;
        }
        Smb::new(copy, page_size).ok()?.reader()
    }

    /// Frees a complete chunk that was read out of a [copy](Self::copy_of_page) of its page. False if it is not
    /// complete. This touches the page.
    pub fn free_copied(&mut self, page_idx: usize, chunk_idx: usize) -> bool {
        let Some(page) = self.smb.page(page_idx) else { return false };
        let grant = page::try_read(&page, chunk_idx);
        grant.is_some_and(|grant| page::free(&page, grant, ChunkState::BeingRead))
    }

    /// How often writers began to drop packets, as the peer [counted](Smb::note_loss).
    pub fn losses_noted(&mut self) -> u32 {
        if !self.begin_touching(0) {
            return 0;
        }
        self.smb.page(0).map_or(0, |page| page::losses_noted(&page))
    }

    /// Takes a complete chunk for reading.
    pub fn try_read(&self, page_idx: usize, chunk_idx: usize) -> Option<ReadableChunk<'_>> {
        let page = self.smb.page(page_idx)?;
        let grant = page::try_read(&page, chunk_idx)?;
        let header = page::load_header(&page, grant);
        Some(ReadableChunk::new(&self.smb, page_idx, grant, header))
    }

    /// Takes a complete chunk, appends its payload to `payload` and frees it.
    ///
    /// `None`, with nothing appended, if there is no such page or chunk or it is not complete. Nothing
    /// of what comes out was validated: writer, count, flags and payload are whatever the peer put
    /// there. Where the memory holds no data, the payload is zero.
    pub fn read_chunk(
        &mut self,
        page_idx: usize,
        chunk_idx: usize,
        payload: &mut Vec<u8>,
    ) -> Option<ChunkHeader> {
        if !self.begin_touching(page_idx) {
            return None;
        }
        let page = self.smb.page(page_idx)?;
        let grant = page::try_read(&page, chunk_idx)?;
        let off = chunk::chunk_off(&self.smb, page_idx, grant);
        if !self.present.learn(self.smb.region(), off, CHUNK_HEADER_BYTES) {
            // The peer claims a chunk where it wrote nothing.
            let _ = page::free(&page, grant, ChunkState::BeingRead);
            return None;
        }
        let header = page::load_header(&page, grant);
        let chunk = ReadableChunk::new(&self.smb, page_idx, grant, header);
        chunk.copy_payload(&mut self.present, payload);
        Some(header)
    }

    /// The header of a chunk that is in use and was not taken: what a scrape looks at before it copies anything.
    /// `None` for free chunks, chunks being read, and chunks whose header is not there yet.
    ///
    /// The load is an acquire: if it shows a chunk of a writer, every chunk that the writer began before is there for
    /// all loads that follow.
    pub fn header_in_use(&mut self, page_idx: usize, chunk_idx: usize) -> Option<ChunkHeader> {
        self.in_use(page_idx, chunk_idx).map(|found| found.header)
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
        let scraped = self.scrape(page_idx, chunk_idx, payload)?;
        Some((scraped.header, scraped.complete))
    }

    /// The same for a chunk that nobody will finish, because its peer is gone.
    pub fn scrape_leftover(
        &mut self,
        page_idx: usize,
        chunk_idx: usize,
        payload: &mut Vec<u8>,
    ) -> Option<Leftover> {
        let Scraped { header, complete, off, payload_len, finished } =
            self.scrape(page_idx, chunk_idx, payload)?;
        let is_continued = header.packets.flags().contains(ChunkFlags::CONTINUES_FROM_PREV);
        let begun = if complete || header.packets.count() == 0 {
            false
        } else if header.packets.count() == 1 && is_continued {
            true
        } else {
            let last = off.saturating_add(CHUNK_HEADER_BYTES).saturating_add(finished);
            self.is_begun(last, payload_len.saturating_sub(finished))
        };
        Some(Leftover { header, complete, finished, begun })
    }

    /// Whether the last fragment, at `off` of the region with `len` bytes up to the end of its chunk, has content. It
    /// has a length (upstream ends a fragment without reserving the next one), or bytes behind a length of zero, which
    /// takes one byte here and four upstream. False also while this process has other handles of the memory: the
    /// bytes may be changing.
    fn is_begun(&mut self, off: usize, len: usize) -> bool {
        if len < RESERVED_BYTES || !self.smb.is_alone() {
            return false;
        }
        (off..off.saturating_add(RESERVED_BYTES))
            .filter(|at| self.present.has(*at))
            .any(|at| self.smb.region().byte(at).is_some_and(|b| b != 0))
    }

    fn in_use(&mut self, page_idx: usize, chunk_idx: usize) -> Option<InUse> {
        if !self.begin_touching(page_idx) {
            return None;
        }
        let page = self.smb.page(page_idx)?;
        let (grant, state) = page::peek(&page, page::snapshot(&page), chunk_idx)?;
        let complete = match state {
            ChunkState::Complete => true,
            ChunkState::BeingWritten => false,
            ChunkState::Free | ChunkState::BeingRead => return None,
        };
        let off = chunk::chunk_off(&self.smb, page_idx, grant);
        if !self.present.learn(self.smb.region(), off, CHUNK_HEADER_BYTES) {
            return None;
        }
        let header = page::load_header(&page, grant);
        (!header.writer.is_none()).then_some(InUse { header, complete, grant, off })
    }

    fn scrape(
        &mut self,
        page_idx: usize,
        chunk_idx: usize,
        payload: &mut Vec<u8>,
    ) -> Option<Scraped> {
        let InUse { header, complete, grant, off } = self.in_use(page_idx, chunk_idx)?;
        let count = header.packets.count();
        let finished = if complete { count } else { count.saturating_sub(1) };
        let finished =
            chunk::copy_fragments(&self.smb, (off, grant), finished, &mut self.present, payload);
        let payload_len = grant.payload_len();
        Some(Scraped { header, complete, off, payload_len, finished })
    }

    /// Appends a whole chunk, header and payload, to `data` and frees it: how a chunk travels when the
    /// service cannot see this memory. A chunk of other memory is left alone, which loses it.
    pub fn take_by_value(&self, chunk: WritableChunk, data: &mut Vec<u8>) {
        if chunk.is_of(&self.smb) {
            chunk.take_by_value(data);
        }
    }
}

/// Copies the word at `off`. `None` if it is not in both.
fn copy_word(from: &Region, to: &Region, off: usize) -> Option<()> {
    to.word(off)?.store(from.word(off)?.load(Ordering::Relaxed), Ordering::Relaxed);
    Some(())
}

impl Drop for SmbReader {
    fn drop(&mut self) {
        self.smb.region().rights().release_reader();
    }
}

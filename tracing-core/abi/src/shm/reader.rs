//! The right to read and free chunks.

use crate::shm::chunk::{self, ReadableChunk, WritableChunk};
use crate::shm::header::{ChunkHeader, ChunkState};
use crate::shm::page;
use crate::shm::smb::Smb;

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

impl Smb {
    /// The right to read and free the chunks of this memory; `None` while another reader exists.
    pub fn reader(&self) -> Option<SmbReader> {
        self.region().take_reader().then(|| SmbReader(self.clone()))
    }
}

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
        self.0.region().release_reader();
    }
}

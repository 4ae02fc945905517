//! The ownership of a chunk as a value: a [`WritableChunk`] was acquired through the page protocol, a
//! [`ReadableChunk`] was taken for reading. Both keep the memory mapped.

use core::ptr::NonNull;

use protozero::wire::hostile::SplitVarint;

use crate::ids::{ChunkId, WriterId};
use crate::shm::header::{ChunkFlags, ChunkHeader, ChunkState, Packets};
use crate::shm::layout::CHUNK_HEADER_BYTES;
use crate::shm::page::{self, Grant, PublishedHeader};
use crate::shm::region::Span;
use crate::shm::smb::Smb;

/// Bytes of the length of a fragment that is long or was cut.
pub const FRAGMENT_HEADER_BYTES: usize = 4;

/// The kind of the last fragment that the count of a chunk covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fragment {
    /// There is none yet.
    None,
    /// It is being written.
    Open,
    /// It is being written and goes on from an earlier chunk: its length has four bytes.
    Continued,
    /// It was counted and has not begun.
    Reserved,
    /// It is the last one of the chunk.
    Closed,
}

/// A chunk being written. A chunk that is dropped without [`complete`](Self::complete) is lost: completed in
/// the middle of a packet, it would look whole to the service.
#[derive(Debug)]
pub struct WritableChunk {
    /// The chunk's bytes, header included.
    pub(super) span: Span,
    pub(super) header: PublishedHeader,
    smb: Smb,
    page_idx: usize,
    grant: Grant,
    /// Payload offset at which the last fragment counted begins, or the first one will. What lies before it is
    /// final.
    pub(super) begin: usize,
    pub(super) fragment: Fragment,
}

impl Smb {
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
}

/// Where the word of the header is that has the fragments and flags.
pub(super) const PACKETS_OFF: usize = 4;

impl WritableChunk {
    fn new(smb: Smb, page_idx: usize, grant: Grant, header: ChunkHeader) -> Option<Self> {
        let span = smb.region().span(chunk_off(&smb, page_idx, grant), grant.bytes)?;
        let packets = header.packets;
        let header = PublishedHeader::new(header);
        let (begin, fragment) = (0, Fragment::None);
        let mut this = Self { span, header, smb, page_idx, grant, begin, fragment };
        if packets.count() > 0 {
            this.fragment = Fragment::Continued;
            this.store(0, &[0; FRAGMENT_HEADER_BYTES]);
        }
        Some(this)
    }

    /// Index of its page.
    #[inline]
    pub fn page_idx(&self) -> usize {
        self.page_idx
    }

    /// Index in its page.
    #[inline]
    pub fn chunk_idx(&self) -> usize {
        self.grant.idx
    }

    /// Size, bytes, header included.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.grant.bytes
    }

    /// Bytes of its payload.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.grant.bytes - CHUNK_HEADER_BYTES
    }

    /// Its number among the chunks of its writer.
    #[inline]
    pub fn id(&self) -> ChunkId {
        self.header.get().chunk
    }

    /// Its writer.
    #[inline]
    pub fn writer(&self) -> WriterId {
        self.header.get().writer
    }

    /// Fragments begun and flags, as we stored them.
    #[inline]
    pub fn packets(&self) -> Packets {
        self.header.get().packets
    }

    /// Packets that begin in it, whether or not they end here.
    pub fn packet_count(&self) -> u64 {
        let packets = self.packets();
        let continued = packets.flags().contains(ChunkFlags::CONTINUES_FROM_PREV);
        let reserved = self.fragment == Fragment::Reserved;
        let others = u64::from(continued) + u64::from(reserved);
        u64::from(packets.count()).saturating_sub(others)
    }

    /// The payload's first byte, for a stream to write through. Only the owner of this value may use the
    /// pointer, until the chunk is completed or freed, and only behind the header of the open fragment.
    #[inline(always)]
    pub fn payload(&self) -> Option<NonNull<u8>> {
        self.span.at(CHUNK_HEADER_BYTES)
    }

    /// Sets `flags` on top of those there are.
    #[inline]
    pub fn add_flags(&mut self, flags: ChunkFlags) {
        self.header.add_flags(self.span.word(PACKETS_OFF), flags);
    }

    /// Takes `flags` back.
    #[inline]
    pub fn remove_flags(&mut self, flags: ChunkFlags) {
        self.header.remove_flags(self.span.word(PACKETS_OFF), flags);
    }

    /// Counts one fragment more, which publishes everything before it.
    #[inline(always)]
    pub(super) fn publish_fragment(&mut self) {
        self.header.start_fragment(self.span.word(PACKETS_OFF));
    }

    /// Stores `bytes` at `off` of the payload. False, and nothing stored, if they do not fit.
    #[inline(always)]
    pub(super) fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        self.span.store(off.saturating_add(CHUNK_HEADER_BYTES), bytes)
    }

    /// Moves the `len` bytes at `off` of the payload towards its end by three. False, and nothing moved, if they do
    /// not fit there.
    pub(super) fn move_forward_3(&mut self, off: usize, len: usize) -> bool {
        self.span.move_forward_3(off.saturating_add(CHUNK_HEADER_BYTES), len)
    }

    /// Hands the chunk to the service. False if a peer tampered with the page: the chunk is then lost.
    pub fn complete(mut self) -> bool {
        self.close_fragments();
        let Some(page) = self.smb.page(self.page_idx) else { return false };
        page::complete(&page, self.grant)
    }

    pub(super) fn is_of(&self, smb: &Smb) -> bool {
        self.smb.region().is_same(smb.region())
    }

    /// See [`SmbReader::take_by_value`](super::SmbReader::take_by_value): only its holder may free chunks.
    pub(super) fn take_by_value(mut self, data: &mut Vec<u8>) {
        self.close_fragments();
        data.extend_from_slice(&self.header.get().to_bytes());
        let payload_off = chunk_off(&self.smb, self.page_idx, self.grant) + CHUNK_HEADER_BYTES;
        self.smb.region().copy_to(payload_off, self.payload_len(), data);
        if let Some(page) = self.smb.page(self.page_idx) {
            // The page protocol has no direct step from being written to free.
            let _ = page::complete(&page, self.grant)
                && page::free(&page, self.grant, ChunkState::Complete);
        }
    }
}

/// For tests that play a broken or hostile writer: unchecked stores, in any order. The safe way in is
/// [`begin_fragment`](Self::begin_fragment) and [`end_fragment`](Self::end_fragment).
#[cfg(any(test, feature = "testing"))]
#[allow(unsafe_code)]
impl WritableChunk {
    /// Counts one fragment more.
    ///
    /// # Safety
    /// Until the chunk is completed or dropped, no other thread of this process scrapes it: the count may now cover
    /// bytes that are not final.
    pub unsafe fn start_fragment(&mut self) {
        self.publish_fragment();
    }

    /// Stores `bytes` at `off` of the payload. False, and nothing stored, if they do not fit.
    ///
    /// # Safety
    /// During the call, no other thread of this process scrapes the chunk: the bytes may belong to a finished fragment.
    pub unsafe fn write(&mut self, off: usize, bytes: &[u8]) -> bool {
        self.store(off, bytes)
    }
}

/// A chunk taken for reading; freed when dropped.
#[derive(Debug)]
pub struct ReadableChunk<'a> {
    smb: &'a Smb,
    page_idx: usize,
    grant: Grant,
    header: ChunkHeader,
}

impl<'a> ReadableChunk<'a> {
    pub(super) fn new(smb: &'a Smb, page_idx: usize, grant: Grant, header: ChunkHeader) -> Self {
        Self { smb, page_idx, grant, header }
    }

    /// The header as the peer stored it, read once.
    #[inline]
    pub fn header(&self) -> ChunkHeader {
        self.header
    }

    /// Bytes of its payload.
    #[inline]
    pub fn payload_len(&self) -> usize {
        self.grant.bytes - CHUNK_HEADER_BYTES
    }

    /// Appends the payload to `out`: its first `there` bytes, and zeros. The peer shares the bytes, so two calls may
    /// give different ones.
    pub(super) fn copy_payload(&self, there: usize, out: &mut Vec<u8>) {
        let off = chunk_off(self.smb, self.page_idx, self.grant) + CHUNK_HEADER_BYTES;
        let len = self.payload_len();
        self.smb.region().copy_to(off, there.min(len), out);
        if there < len {
            out.resize(out.len() + (len - there), 0);
        }
    }
}

impl Drop for ReadableChunk<'_> {
    fn drop(&mut self) {
        if let Some(page) = self.smb.page(self.page_idx) {
            // This fails if the peer changed the state meanwhile; it then loses a chunk of its own.
            let _ = page::free(&page, self.grant, ChunkState::BeingRead);
        }
    }
}

/// Byte offset of a chunk's header in the region. Cannot overflow: the grant lies in its page, and the
/// page in the region.
pub(super) fn chunk_off(smb: &Smb, page_idx: usize, grant: Grant) -> usize {
    page_idx * smb.page_size().bytes() + grant.off
}

/// Appends the first `count` fragments of the chunk at `off`, and zeros up to the length of the payload. Of that only
/// the first `there` bytes are touched. Gives the length of these fragments, bytes.
pub(super) fn copy_fragments(
    smb: &Smb,
    off: usize,
    (grant, there): (Grant, usize),
    count: u16,
    out: &mut Vec<u8>,
) -> usize {
    let start = off + CHUNK_HEADER_BYTES;
    let payload_len = grant.bytes - CHUNK_HEADER_BYTES;
    let len = there.min(payload_len);
    let region = smb.region();
    let mut end = 0;
    // The lengths are read in place, because only finished fragments may be read. If a peer changes a length
    // before the copy, the reader of the copy finds a wrong length there and rejects it.
    for _ in 0..count {
        let (mut size, mut length) = (0, SplitVarint::new());
        // A length has at most four bytes, as in every reader of fragments.
        for _ in 0..4 {
            let Some(byte) = (end < len).then(|| region.byte(start + end)).flatten() else { break };
            end += 1;
            if let Ok(Some((value, _))) = length.push(byte) {
                size = usize::try_from(value).unwrap_or(usize::MAX);
                break;
            }
        }
        if size == crate::shm::header::PACKET_DROPPED as usize {
            size = 0;
        }
        end = end.saturating_add(size).min(len);
    }
    let old = out.len();
    region.copy_to(start, end, out);
    out.resize(old + payload_len, 0);
    end
}

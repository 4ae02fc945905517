//! The ownership of a chunk as a value: a [`WritableChunk`] was acquired through the page protocol, a
//! [`ReadableChunk`] was taken for reading. Both keep the memory mapped.

#![deny(clippy::arithmetic_side_effects)]

use core::ops::Range;
use core::ptr::NonNull;

use crate::ids::{ChunkId, WriterId};
use crate::shm::fragment::{Fragments, Short};
use crate::shm::header::{ChunkFlags, ChunkHeader, ChunkState, Packets};
use crate::shm::layout::CHUNK_HEADER_BYTES;
use crate::shm::lengths;
use crate::shm::page::{self, Grant};
use crate::shm::present::Present;
use crate::shm::region::{Piece, Span};
use crate::shm::smb::Smb;

/// A chunk being written. A chunk that is dropped without [`complete`](Self::complete) is lost: completed in
/// the middle of a packet, it would look whole to the service.
#[derive(Debug)]
pub struct WritableChunk {
    fragments: Fragments<Span>,
    smb: Smb,
    page_idx: usize,
    grant: Grant,
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

impl WritableChunk {
    fn new(smb: Smb, page_idx: usize, grant: Grant, header: ChunkHeader) -> Option<Self> {
        let span = smb.region().span(chunk_off(&smb, page_idx, grant), grant.bytes)?;
        let fragments = Fragments::new(span, grant.bytes, header);
        Some(Self { fragments, smb, page_idx, grant })
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
        self.fragments.payload_len()
    }

    /// Its number among the chunks of its writer.
    #[inline]
    pub fn id(&self) -> ChunkId {
        self.fragments.header().chunk
    }

    /// Its writer.
    #[inline]
    pub fn writer(&self) -> WriterId {
        self.fragments.header().writer
    }

    /// Fragments begun and flags, as we stored them.
    #[inline]
    pub fn packets(&self) -> Packets {
        self.fragments.header().packets
    }

    /// Packets that begin in it, whether or not they end here.
    pub fn packet_count(&self) -> u64 {
        self.fragments.packet_count()
    }

    /// The payload's first byte, for a stream to write through. Only the owner of this value may use the
    /// pointer, until the chunk is completed or freed, and only behind the header of the open fragment.
    #[inline(always)]
    pub fn payload(&self) -> Option<NonNull<u8>> {
        self.fragments.bytes().at(CHUNK_HEADER_BYTES)
    }

    /// Sets `flags` on top of those there are.
    #[inline]
    pub fn add_flags(&mut self, flags: ChunkFlags) {
        self.fragments.add_flags(flags);
    }

    /// Takes `flags` back.
    #[inline]
    pub fn remove_flags(&mut self, flags: ChunkFlags) {
        self.fragments.remove_flags(flags);
    }

    /// Begins a fragment, if `bytes_min` bytes are left for it, its length included (at least
    /// [`FRAGMENT_HEADER_BYTES`](super::FRAGMENT_HEADER_BYTES)), and the count can take it and another. Gives the
    /// payload offsets between which its bytes may lie.
    #[inline(always)]
    pub fn begin_fragment(&mut self, bytes_min: usize) -> Option<Range<usize>> {
        self.fragments.begin(bytes_min)
    }

    /// Ends the open fragment, whose bytes reach up to payload offset `used`: its bytes are final, and
    /// published if the chunk has space left. True if it has none. `None`, and nothing done, if no fragment is open or
    /// `used` lies before its first byte.
    #[inline(always)]
    pub fn end_fragment(&mut self, used: usize) -> Option<bool> {
        self.fragments.end(used)
    }

    /// By how much the bytes of the open fragment move towards the end of the chunk when it is cut.
    pub fn growth(&self) -> usize {
        self.fragments.growth()
    }

    /// Begins a fragment that takes at most `bytes_max` bytes, its length included, and less than 128. `None` unless a
    /// fragment is reserved, these bytes and a few more are left, and the count can take another.
    #[inline(always)]
    pub fn begin_short(&mut self, bytes_max: usize) -> Option<ShortFragment<'_>> {
        self.fragments.begin_short(bytes_max).map(ShortFragment)
    }

    /// Ends the open fragment at payload offset `used` and says that its packet continues in another chunk. With
    /// `needs_patching`, lengths inside it will come later.
    pub fn cut_fragment(&mut self, used: usize, needs_patching: bool) {
        self.fragments.cut(used, needs_patching);
    }

    /// Marks the packet of the open fragment as given up by its writer.
    pub fn abandon_fragment(&mut self) {
        self.fragments.abandon();
    }

    /// Stores a length of a fragment that was cut. False, and nothing stored, for any other place.
    pub fn patch(&mut self, off: usize, length: [u8; 4]) -> bool {
        self.fragments.patch(off, length)
    }

    /// Hands the chunk to the service. False if a peer tampered with the page: the chunk is then lost.
    pub fn complete(mut self) -> bool {
        self.fragments.close();
        let Some(page) = self.smb.page(self.page_idx) else { return false };
        page::complete(&page, self.grant)
    }

    pub(super) fn is_of(&self, smb: &Smb) -> bool {
        self.smb.region().is_same(smb.region())
    }

    /// See [`SmbReader::take_by_value`](super::SmbReader::take_by_value): only its holder may free chunks.
    pub(super) fn take_by_value(mut self, data: &mut Vec<u8>) {
        self.fragments.close();
        data.extend_from_slice(&self.fragments.header().to_bytes());
        let payload_off = payload_off(&self.smb, self.page_idx, self.grant);
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
        self.fragments.publish();
    }

    /// Stores `bytes` at `off` of the payload. False, and nothing stored, if they do not fit.
    ///
    /// # Safety
    /// During the call, no other thread of this process scrapes the chunk: the bytes may belong to a finished fragment.
    pub unsafe fn write(&mut self, off: usize, bytes: &[u8]) -> bool {
        self.fragments.store(off, bytes)
    }

    /// Moves the `len` bytes at `off` of the payload towards its end by three. False, and nothing moved, if they do
    /// not fit there.
    #[cfg(test)]
    pub(super) fn move_forward_3(&mut self, off: usize, len: usize) -> bool {
        self.fragments.move_forward_3(off, len)
    }
}

/// A short fragment that is being written. It does not exist before [`end`](Self::end).
#[derive(Debug)]
pub struct ShortFragment<'a>(Short<'a, Piece<'a>>);

impl ShortFragment<'_> {
    /// How many bytes it has.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }

    /// Appends the first `len` of `bytes`. All of them are stored, which is cheaper, so all must be within its bytes.
    #[inline(always)]
    pub fn append<const BYTES: usize>(&mut self, bytes: [u8; BYTES], len: usize) {
        self.0.append(bytes, len);
    }

    /// Appends `bytes`.
    #[inline(always)]
    pub fn append_slice(&mut self, bytes: &[u8]) {
        self.0.append_slice(bytes);
    }

    /// Replaces byte `at`.
    #[inline(always)]
    pub fn replace(&mut self, at: usize, byte: u8) {
        self.0.replace(at, byte);
    }

    /// Ends and publishes it.
    #[inline(always)]
    pub fn end(self) {
        self.0.end();
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
        self.grant.payload_len()
    }

    /// Appends the payload to `out`, with zeros where nothing was written. The peer shares the bytes, so two calls may
    /// give different ones.
    pub(super) fn copy_payload(&self, present: &mut Present, out: &mut Vec<u8>) {
        let off = payload_off(self.smb, self.page_idx, self.grant);
        let (region, len) = (self.smb.region(), self.payload_len());
        present.learn(region, off, len);
        present.copy_to(region, off, len, out);
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

/// Byte offset of a chunk's header in the region, which refuses an offset that is too large.
pub(super) fn chunk_off(smb: &Smb, page_idx: usize, grant: Grant) -> usize {
    page_idx.saturating_mul(smb.page_size().bytes()).saturating_add(grant.off)
}

/// The same of its payload.
fn payload_off(smb: &Smb, page_idx: usize, grant: Grant) -> usize {
    chunk_off(smb, page_idx, grant).saturating_add(CHUNK_HEADER_BYTES)
}

/// Appends the first `count` fragments of the chunk at `off`, and zeros up to the length of the payload. Gives the
/// length of these fragments, bytes.
pub(super) fn copy_fragments(
    smb: &Smb,
    (off, grant): (usize, Grant),
    count: u16,
    present: &mut Present,
    out: &mut Vec<u8>,
) -> usize {
    let start = off.saturating_add(CHUNK_HEADER_BYTES);
    let payload_len = grant.payload_len();
    let region = smb.region();
    present.learn(region, start, payload_len);
    // The lengths are read in place, because only finished fragments may be read. If a peer changes a length
    // before the copy, the reader of the copy finds a wrong length there and rejects it.
    let byte = |at: usize| {
        let at = start.saturating_add(at);
        if present.has(at) { region.byte(at) } else { Some(0) }
    };
    let end = lengths::fragments_end(count, payload_len, byte);
    let old = out.len();
    present.copy_to(region, start, end, out);
    out.resize(old.saturating_add(payload_len), 0);
    end
}

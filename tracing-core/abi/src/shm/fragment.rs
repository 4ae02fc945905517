//! The fragments of a chunk being written.
//!
//! ```text
//! payload  | len | fragment | len | fragment | len | open fragment . . . |   reserve   |
//!          0                                 ^ begin                     ^ used         ^ payload_len
//!
//!   None ──begin──> Open ──end──> Reserved ──begin──> Open     the chunk was full at the end: ──> Closed
//!                    └──cut, abandon──> Closed
//! ```
//!
//! The fragment count rises when a fragment *begins*. When a fragment ends and space is left, the count rises
//! once more for the next one, which is *reserved*: now the finished fragment can be scraped. If no
//! fragment follows, the reserved one becomes an empty one, a zero byte. A reserved fragment begins with zeros, so that
//! one that was begun can be told from it when the process of the writer is gone.
//!
//! A fragment begins behind one byte for its length, and ends three bytes before the end of the chunk at most. One
//! that has 127 bytes or more, or is cut, moves by these three bytes, so that its length takes four. (Upstream reserves
//! four bytes, and moves short fragments back.) So the bytes of a short one are not read again soon after they were
//! stored: a processor waits then, until all of its stores have reached the cache.
//!
//! A scrape reads the finished fragments while the writer goes on, and finds them by the lengths in
//! front of them. Therefore lengths are stored here only, and nothing before `begin` is written again.
//!
//! The code is generic over the memory ([`ChunkBytes`]): the same runs on mapped memory, under loom, and in the program
//! by which `cargo xtask no-panic` proves that no offset overflows, whatever the caller passes. Positions of a payload
//! have 16 bits, as they have in a patch, so that sums of a few of them cannot overflow.

use core::ops::Range;

use protozero::wire::varint;

use crate::shm::header::{ChunkFlags, ChunkHeader, PACKET_DROPPED, Packets};
use crate::shm::layout::CHUNK_HEADER_BYTES;
use crate::shm::page::PublishedHeader;
use crate::shm::words::{Bytes, ChunkBytes};
use crate::sync::AtomicU32;

/// Bytes of the length of a fragment that is long or was cut.
pub const FRAGMENT_HEADER_BYTES: usize = 4;

/// Fragments shorter than this get a length of one byte. (Unlike nested messages, where 127 does too.)
const ONE_BYTE_LIMIT: usize = 127;

/// Zeros at the begin of a reserved fragment, if its chunk has as many bytes left; with fewer, no fragment begins
/// there. Upstream begins one with a length of four bytes, zero until it ends.
pub const RESERVED_BYTES: usize = FRAGMENT_HEADER_BYTES + 1;

/// By how many bytes a length grows from one byte.
const GROWTH: usize = FRAGMENT_HEADER_BYTES - 1;

/// Where the word of the header is that has the fragments and flags.
const PACKETS_OFF: usize = 4;

/// The kind of the last fragment that the count of a chunk covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Last {
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

/// Header and fragments of a chunk being written. The methods have their contracts at
/// [`WritableChunk`](super::WritableChunk), which owns one.
#[derive(Debug)]
pub struct Fragments<B> {
    /// The chunk's bytes, header included.
    bytes: B,
    header: PublishedHeader,
    payload_len: u16,
    /// Payload offset at which the last fragment counted begins, or the first one will. What lies before it is
    /// final.
    begin: u16,
    last: Last,
}

impl<B: ChunkBytes> Fragments<B> {
    /// A chunk of `len` bytes that was acquired with `header`.
    pub fn new(bytes: B, len: usize, header: ChunkHeader) -> Self {
        let payload_len = u16::try_from(len.saturating_sub(CHUNK_HEADER_BYTES)).unwrap_or(u16::MAX);
        let (published, last) = (PublishedHeader::new(header), Last::None);
        let mut this = Self { bytes, header: published, payload_len, begin: 0, last };
        if header.packets.count() > 0 {
            this.last = Last::Continued;
            this.store(0, &[0; FRAGMENT_HEADER_BYTES]);
        }
        this
    }

    /// The memory.
    #[inline(always)]
    pub fn bytes(&self) -> &B {
        &self.bytes
    }

    /// The header as it was stored.
    #[inline]
    pub fn header(&self) -> ChunkHeader {
        self.header.get()
    }

    /// Bytes of the payload.
    #[inline(always)]
    pub fn payload_len(&self) -> usize {
        usize::from(self.payload_len)
    }

    /// Packets that begin in the chunk.
    pub fn packet_count(&self) -> u64 {
        let packets = self.header().packets;
        let continued = packets.flags().contains(ChunkFlags::CONTINUES_FROM_PREV);
        let reserved = self.last == Last::Reserved;
        let others = u64::from(continued) + u64::from(reserved);
        u64::from(packets.count()).saturating_sub(others)
    }

    /// Sets `flags` on top of those there are.
    #[inline]
    pub fn add_flags(&mut self, flags: ChunkFlags) {
        self.header.add_flags(self.bytes.word(PACKETS_OFF), flags);
    }

    /// Takes `flags` back.
    #[inline]
    pub fn remove_flags(&mut self, flags: ChunkFlags) {
        self.header.remove_flags(self.bytes.word(PACKETS_OFF), flags);
    }

    /// Counts one fragment more, which publishes everything before it.
    #[inline(always)]
    pub fn publish(&mut self) {
        self.header.start_fragment(self.bytes.word(PACKETS_OFF));
    }

    /// Stores `bytes` at `off` of the payload. False, and nothing stored, if they do not fit.
    #[inline(always)]
    pub fn store(&mut self, off: usize, bytes: &[u8]) -> bool {
        self.bytes.store(off.saturating_add(CHUNK_HEADER_BYTES), bytes)
    }

    /// Moves the `len` bytes at `off` of the payload towards its end by three. False, and nothing moved, if they do
    /// not fit there.
    pub fn move_forward_3(&mut self, off: usize, len: usize) -> bool {
        self.bytes.move_forward_3(off.saturating_add(CHUNK_HEADER_BYTES), len)
    }

    /// Begins a fragment of at least `bytes_min` bytes.
    #[inline(always)]
    pub fn begin(&mut self, bytes_min: usize) -> Option<Range<usize>> {
        debug_assert!(bytes_min >= FRAGMENT_HEADER_BYTES, "the length is part of it");
        let uncounted = match self.last {
            Last::Reserved => 0,
            Last::None => 1,
            Last::Open | Last::Continued | Last::Closed => return None,
        };
        let (begin, payload_len) = (usize::from(self.begin), self.payload_len());
        // The count has to have one left for the fragment reserved when this one ends.
        if begin.saturating_add(bytes_min) > payload_len
            || self.header().packets.count() >= Packets::COUNT_MAX - uncounted
        {
            return None;
        }
        // The length must read as zero before the count says that there is a fragment.
        self.store(begin, &[0]);
        if uncounted != 0 {
            self.publish();
        }
        self.last = Last::Open;
        Some(begin + 1..payload_len.saturating_sub(GROWTH))
    }

    /// Ends the open fragment at `used`. True if the chunk is full.
    #[inline(always)]
    pub fn end(&mut self, used: usize) -> Option<bool> {
        let begin = usize::from(self.begin);
        let end = match self.last {
            Last::Open => {
                let len = used.checked_sub(begin + 1)?;
                if len < ONE_BYTE_LIMIT {
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "below 128, the limit of one byte"
                    )]
                    self.store(begin, &[len as u8]);
                    used
                } else {
                    self.store_long(used)?
                }
            }
            Last::Continued => self.store_long(used)?,
            Last::None | Last::Reserved | Last::Closed => return None,
        };
        match u16::try_from(end) {
            Ok(next) if next < self.payload_len => {
                self.begin = next;
                self.store(end, &[0; RESERVED_BYTES]);
                self.publish();
                self.last = Last::Reserved;
                Some(false)
            }
            _ => {
                self.begin = self.payload_len;
                self.last = Last::Closed;
                Some(true)
            }
        }
    }

    /// By how much the bytes of the open fragment move towards the end of the chunk when it is cut.
    pub fn growth(&self) -> usize {
        if self.last == Last::Open { GROWTH } else { 0 }
    }

    /// Stores the length of the open fragment in four bytes, and gives its end. `None`, and nothing done, if `used`
    /// lies before its first byte, in the reserve or beyond the chunk.
    #[inline(never)]
    fn store_long(&mut self, used: usize) -> Option<usize> {
        let (growth, begin) = (self.growth(), usize::from(self.begin));
        let end = used.saturating_add(growth);
        let len = end.checked_sub(begin + FRAGMENT_HEADER_BYTES)?;
        if end > self.payload_len() || growth != 0 && !self.move_forward_3(begin + 1, len) {
            return None;
        }
        self.store(begin, &padded(len)).then_some(end)
    }

    /// Begins a fragment of at most `bytes_max` bytes; behind it [`RESERVED_BYTES`] are left.
    #[inline(always)]
    pub fn begin_short(&mut self, bytes_max: usize) -> Option<Short<'_, B::Piece<'_>>> {
        debug_assert!(bytes_max <= ONE_BYTE_LIMIT, "the length has one byte");
        let (begin, len) = (usize::from(self.begin), bytes_max.saturating_add(RESERVED_BYTES));
        if self.last != Last::Reserved
            || begin.saturating_add(len) > self.payload_len()
            || self.header().packets.count() >= Packets::COUNT_MAX
        {
            return None;
        }
        let (word, piece) =
            self.bytes.word_and_piece(PACKETS_OFF, CHUNK_HEADER_BYTES + begin, len)?;
        Some(Short { piece, end: 1, word, header: &mut self.header, next: &mut self.begin })
    }

    fn is_open(&self) -> bool {
        matches!(self.last, Last::Open | Last::Continued)
    }

    /// Ends the open fragment at `used`; its packet goes on in another chunk.
    pub fn cut(&mut self, used: usize, needs_patching: bool) {
        if self.is_open() {
            self.store_long(used);
            let patching = if needs_patching { ChunkFlags::NEEDS_PATCHING } else { ChunkFlags(0) };
            self.add_flags(ChunkFlags::CONTINUES_ON_NEXT.with(patching));
            self.last = Last::Closed;
        }
    }

    /// Marks the packet of the open fragment as given up.
    pub fn abandon(&mut self) {
        if self.is_open() {
            self.store(usize::from(self.begin), &varint::padded(PACKET_DROPPED));
            self.last = Last::Closed;
        }
    }

    /// Stores a length of a fragment that was cut.
    pub fn patch(&mut self, off: usize, length: [u8; 4]) -> bool {
        self.last == Last::Closed
            && off >= usize::from(self.begin) + FRAGMENT_HEADER_BYTES
            && self.store(off, &length)
    }

    /// Makes an empty fragment of a reserved one.
    pub fn close(&mut self) {
        if self.last == Last::Reserved {
            self.store(usize::from(self.begin), &[0]);
            self.last = Last::Closed;
        }
    }
}

/// A short fragment that is being written. Its methods have their contracts at
/// [`ShortFragment`](super::ShortFragment).
#[derive(Debug)]
pub struct Short<'a, P> {
    /// Its length, and its bytes.
    piece: P,
    /// Where the next byte will be. It wraps: a caller that appends more than it said gets positions that the piece
    /// refuses.
    end: usize,
    /// Of its chunk: the word with the count of fragments, the header, and where the next fragment begins.
    word: &'a AtomicU32,
    header: &'a mut PublishedHeader,
    next: &'a mut u16,
}

impl<P: Bytes> Short<'_, P> {
    /// How many bytes it has.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.end.wrapping_sub(1)
    }

    /// Appends the first `len` of `bytes`, and stores all.
    #[inline(always)]
    pub fn append<const BYTES: usize>(&mut self, bytes: [u8; BYTES], len: usize) {
        self.piece.store(self.end, &bytes);
        self.end = self.end.wrapping_add(len);
    }

    /// Appends `bytes`.
    #[inline(always)]
    pub fn append_slice(&mut self, bytes: &[u8]) {
        self.piece.store(self.end, bytes);
        self.end = self.end.wrapping_add(bytes.len());
    }

    /// Replaces byte `at`.
    #[inline(always)]
    pub fn replace(&mut self, at: usize, byte: u8) {
        self.piece.store(at.wrapping_add(1), &[byte]);
    }

    /// Ends and publishes it.
    #[inline(always)]
    pub fn end(mut self) {
        #[expect(clippy::cast_possible_truncation, reason = "below 128, as its beginning says")]
        let len = self.bytes() as u8;
        self.piece.store(0, &[len]);
        self.piece.store(self.end, &[0; RESERVED_BYTES]);
        *self.next = self.next.saturating_add(1 + u16::from(len));
        self.header.start_fragment(Some(self.word));
    }
}

/// The length of a fragment as a varint of four bytes.
#[inline]
fn padded(len: usize) -> [u8; 4] {
    // A payload is shorter than 64 KiB.
    varint::padded(u32::try_from(len).unwrap_or(PACKET_DROPPED))
}

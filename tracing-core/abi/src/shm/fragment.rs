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

use core::ops::Range;

use protozero::wire::varint;

use crate::shm::chunk::{Fragment, PACKETS_OFF, WritableChunk};

pub use crate::shm::chunk::FRAGMENT_HEADER_BYTES;

use crate::shm::header::{ChunkFlags, PACKET_DROPPED, Packets};
use crate::shm::layout::CHUNK_HEADER_BYTES;
use crate::shm::page::PublishedHeader;
use crate::shm::region::Piece;
use crate::sync::AtomicU32;

/// Fragments shorter than this get a length of one byte. (Unlike nested messages, where 127 does too.)
const ONE_BYTE_LIMIT: usize = 127;

/// Zeros at the begin of a reserved fragment, if its chunk has as many bytes left; with fewer, no fragment begins
/// there. Upstream begins one with a length of four bytes, zero until it ends.
pub const RESERVED_BYTES: usize = FRAGMENT_HEADER_BYTES + 1;

/// By how many bytes a length grows from one byte.
const GROWTH: usize = FRAGMENT_HEADER_BYTES - 1;

impl WritableChunk {
    /// Begins a fragment, if `bytes_min` bytes are left for it, its length included (at least
    /// [`FRAGMENT_HEADER_BYTES`]), and the count can take it and another. Gives the payload offsets between which its
    /// bytes may lie.
    #[inline(always)]
    pub fn begin_fragment(&mut self, bytes_min: usize) -> Option<Range<usize>> {
        debug_assert!(bytes_min >= FRAGMENT_HEADER_BYTES, "the length is part of it");
        let uncounted = match self.fragment {
            Fragment::Reserved => 0,
            Fragment::None => 1,
            Fragment::Open | Fragment::Continued | Fragment::Closed => return None,
        };
        // The count has to have one left for the fragment reserved when this one ends.
        if self.begin + bytes_min > self.payload_len()
            || self.packets().count() >= Packets::COUNT_MAX - uncounted
        {
            return None;
        }
        // The length must read as zero before the count says that there is a fragment.
        self.store(self.begin, &[0]);
        if uncounted != 0 {
            self.publish_fragment();
        }
        self.fragment = Fragment::Open;
        Some(self.begin + 1..self.payload_len() - GROWTH)
    }

    /// Ends the open fragment, whose bytes reach up to payload offset `used`: its bytes are final, and
    /// published if the chunk has space left. True if it has none. `None`, and nothing done, if no fragment is open or
    /// `used` lies before its first byte.
    #[inline(always)]
    pub fn end_fragment(&mut self, used: usize) -> Option<bool> {
        let end = match self.fragment {
            Fragment::Open => {
                let len = used.checked_sub(self.begin + 1)?;
                if len < ONE_BYTE_LIMIT {
                    #[expect(
                        clippy::cast_possible_truncation,
                        reason = "below 128, the limit of one byte"
                    )]
                    self.store(self.begin, &[len as u8]);
                    used
                } else {
                    self.store_long(used)?
                }
            }
            Fragment::Continued => self.store_long(used)?,
            Fragment::None | Fragment::Reserved | Fragment::Closed => return None,
        };
        self.begin = end;
        let is_full = end >= self.payload_len();
        if is_full {
            self.fragment = Fragment::Closed;
        } else {
            self.store(end, &[0; RESERVED_BYTES]);
            self.publish_fragment();
            self.fragment = Fragment::Reserved;
        }
        Some(is_full)
    }

    /// By how much the bytes of the open fragment move towards the end of the chunk when it is cut.
    pub fn growth(&self) -> usize {
        if self.fragment == Fragment::Open { GROWTH } else { 0 }
    }

    /// Stores the length of the open fragment in four bytes, and gives its end. `None`, and nothing done, if `used`
    /// lies before its first byte or in the reserve.
    #[inline(never)]
    fn store_long(&mut self, used: usize) -> Option<usize> {
        let (growth, begin) = (self.growth(), self.begin);
        let len = (used + growth).checked_sub(begin + FRAGMENT_HEADER_BYTES)?;
        if growth != 0 && !self.move_forward_3(begin + 1, len) {
            return None;
        }
        self.store(begin, &padded(len)).then_some(used + growth)
    }

    /// Begins a fragment that takes at most `bytes_max` bytes, its length included, and less than 128. `None` unless a
    /// fragment is reserved, these bytes and [`RESERVED_BYTES`] are left, and the count can take another.
    #[inline(always)]
    pub fn begin_short(&mut self, bytes_max: usize) -> Option<ShortFragment<'_>> {
        debug_assert!(bytes_max <= ONE_BYTE_LIMIT, "the length has one byte");
        let len = bytes_max + RESERVED_BYTES;
        if self.fragment != Fragment::Reserved
            || self.begin + len > self.payload_len()
            || self.packets().count() >= Packets::COUNT_MAX
        {
            return None;
        }
        let (word, piece) =
            self.span.word_and_piece(PACKETS_OFF, CHUNK_HEADER_BYTES + self.begin, len)?;
        Some(ShortFragment { piece, end: 1, word, header: &mut self.header, next: &mut self.begin })
    }

    fn is_open(&self) -> bool {
        matches!(self.fragment, Fragment::Open | Fragment::Continued)
    }

    /// Ends the open fragment at payload offset `used` and says that its packet continues in another chunk. With
    /// `needs_patching`, lengths inside it will come later.
    pub fn cut_fragment(&mut self, used: usize, needs_patching: bool) {
        if self.is_open() {
            self.store_long(used);
            let patching = if needs_patching { ChunkFlags::NEEDS_PATCHING } else { ChunkFlags(0) };
            self.add_flags(ChunkFlags::CONTINUES_ON_NEXT.with(patching));
            self.fragment = Fragment::Closed;
        }
    }

    /// Marks the packet of the open fragment as given up by its writer.
    pub fn abandon_fragment(&mut self) {
        if self.is_open() {
            self.store(self.begin, &varint::padded(PACKET_DROPPED));
            self.fragment = Fragment::Closed;
        }
    }

    /// Stores a length of a fragment that was cut. False, and nothing stored, for any other place.
    pub fn patch(&mut self, off: usize, length: [u8; 4]) -> bool {
        self.fragment == Fragment::Closed
            && off >= self.begin.saturating_add(FRAGMENT_HEADER_BYTES)
            && self.store(off, &length)
    }

    /// Makes an empty fragment of a reserved one.
    pub(super) fn close_fragments(&mut self) {
        if self.fragment == Fragment::Reserved {
            self.store(self.begin, &[0]);
            self.fragment = Fragment::Closed;
        }
    }
}

/// A short fragment that is being written. It does not exist before [`end`](Self::end).
#[derive(Debug)]
pub struct ShortFragment<'a> {
    /// Its length, and its bytes.
    piece: Piece<'a>,
    /// Where the next byte will be.
    end: usize,
    /// Of its chunk: the word with the count of fragments, the header, and where the next fragment begins.
    word: &'a AtomicU32,
    header: &'a mut PublishedHeader,
    next: &'a mut usize,
}

impl ShortFragment<'_> {
    /// How many bytes it has.
    #[inline(always)]
    pub fn bytes(&self) -> usize {
        self.end - 1
    }

    /// Appends the first `len` of `bytes`. All of them are stored, which is cheaper, so all must be within its bytes.
    #[inline(always)]
    pub fn append<const BYTES: usize>(&mut self, bytes: [u8; BYTES], len: usize) {
        self.piece.store(self.end, &bytes);
        self.end += len;
    }

    /// Appends `bytes`.
    #[inline(always)]
    pub fn append_slice(&mut self, bytes: &[u8]) {
        self.piece.store(self.end, bytes);
        self.end += bytes.len();
    }

    /// Replaces byte `at`.
    #[inline(always)]
    pub fn replace(&mut self, at: usize, byte: u8) {
        self.piece.store(1 + at, &[byte]);
    }

    /// Ends and publishes it.
    #[inline(always)]
    pub fn end(mut self) {
        #[expect(clippy::cast_possible_truncation, reason = "below 128, as its beginning says")]
        let len = self.bytes() as u8;
        self.piece.store(0, &[len]);
        self.piece.store(self.end, &[0; RESERVED_BYTES]);
        *self.next += self.end;
        self.header.start_fragment(Some(self.word));
    }
}

/// The length of a fragment as a varint of four bytes.
#[inline]
fn padded(len: usize) -> [u8; 4] {
    // A payload is shorter than 64 KiB.
    varint::padded(u32::try_from(len).unwrap_or(PACKET_DROPPED))
}

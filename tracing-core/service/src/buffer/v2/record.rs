//! Records: what lies in the memory of the buffer.
//!
//! ```text
//!  0                                                                          size
//!  | header | fragments .. room | header | fragments | padding |  not written yet  |
//!  ^ multiples of 16                                 ^ write position
//!
//!  header of a chunk, 16 bytes, little endian:
//!  | chunk id u32 | sequence slot u32 | room u16 | used u16 | unread u16 | flags u8 | 1 |
//!  header of padding:
//!  | 0            | skip u32          | room u16 | 0                               | 0 |
//! ```
//!
//! A record is a header and `room`, together rounded up to 16; `used` of these bytes are fragments and
//! the last `unread` of them were not consumed. `skip` leads over a run of padding to the next record
//! that may be more (0 if not known): it is a shortcut for readers and says nothing else.

use crate::buffer::memory::{HEADER, Memory};
use abi::ids::ChunkId;
use abi::shm::ChunkFlags;

/// In the flags of a chunk whose writer is not done with it.
const INCOMPLETE: u8 = 0x80;
/// In the flags of a chunk that was changed since it came.
const CHANGED: u8 = 0x40;

/// A chunk as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) chunk: ChunkId,
    /// Of its sequence.
    pub(super) slot: u32,
    /// Bytes it may grow to.
    pub(super) room: u16,
    /// Bytes of fragments.
    pub(super) used: u16,
    /// How many of these, at the end, were not consumed.
    pub(super) unread: u16,
    pub(super) flags: ChunkFlags,
    pub(super) incomplete: bool,
    /// It was patched, or came again: what is unread need not be whole fragments any more.
    pub(super) changed: bool,
}

/// What lies at an offset.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored {
    Chunk(Record),
    Padding {
        /// All of it.
        len: usize,
        /// To the next record worth looking at; at least `len`.
        skip: usize,
    },
}

/// All that a record with this room takes.
pub(super) fn outer_len(room: usize) -> usize {
    room.saturating_add(HEADER).next_multiple_of(HEADER)
}

impl Record {
    /// All that it takes.
    #[inline]
    pub(super) fn outer(&self) -> usize {
        outer_len(self.room.into())
    }

    pub(super) fn header(self) -> u128 {
        let flags = self.flags.0
            | if self.incomplete { INCOMPLETE } else { 0 }
            | if self.changed { CHANGED } else { 0 };
        u128::from(self.chunk.0)
            | u128::from(self.slot) << 32
            | u128::from(self.room) << 64
            | u128::from(self.used) << 80
            | u128::from(self.unread) << 96
            | u128::from(flags) << 112
            | 1 << 120
    }
}

impl Memory {
    /// The record at `off`; none where nothing was ever written.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "each takes its own bits")]
    pub(super) fn stored(&self, off: usize) -> Option<Stored> {
        let header = self.header(off)?;
        let room = (header >> 64) as u16;
        if header >> 120 == 0 {
            let len = outer_len(room.into());
            let skip = usize::try_from((header >> 32) as u32).unwrap_or(0).max(len);
            return Some(Stored::Padding { len, skip });
        }
        let flags = (header >> 112) as u8;
        Some(Stored::Chunk(Record {
            chunk: ChunkId(header as u32),
            slot: (header >> 32) as u32,
            room,
            used: (header >> 80) as u16,
            unread: (header >> 96) as u16,
            flags: ChunkFlags(flags & ChunkFlags::MASK),
            incomplete: flags & INCOMPLETE != 0,
            changed: flags & CHANGED != 0,
        }))
    }

    /// The chunk at an offset that the index gave.
    #[inline]
    pub(super) fn chunk(&self, off: u32) -> Option<Record> {
        match self.stored(usize::try_from(off).ok()?)? {
            Stored::Chunk(record) => Some(record),
            Stored::Padding { .. } => {
                debug_assert!(false, "the index leads to padding");
                None
            }
        }
    }

    /// Replaces a chunk's header.
    pub(super) fn put_record(&mut self, off: u32, record: Record) {
        if let Ok(off) = usize::try_from(off) {
            self.put_header(off, record.header());
        }
    }

    /// The fragments of a chunk, to be patched.
    pub(super) fn fragments_mut(&mut self, off: u32, record: &Record) -> Option<&mut [u8]> {
        let start = usize::try_from(off).ok()?.checked_add(HEADER)?;
        self.between_mut(start, start.checked_add(record.used.into())?)
    }

    /// Replaces the fragments of a chunk, of which there may be as many as it has room.
    pub(super) fn put_fragments(&mut self, off: u32, fragments: &[u8]) {
        self.overwrite(off.saturating_add(16), fragments);
    }

    /// Notes how much of a chunk was not consumed.
    #[inline]
    pub(super) fn put_unread(&mut self, off: u32, unread: u16) {
        self.overwrite(off.saturating_add(12), &unread.to_le_bytes());
    }

    /// Makes padding of `len` bytes, a multiple of 16 and at least that.
    pub(super) fn put_padding(&mut self, off: usize, len: usize) {
        let room = u16::try_from(len.saturating_sub(HEADER)).unwrap_or(u16::MAX);
        self.put_header(off, u128::from(room) << 64);
    }

    /// Notes that from the padding at `off` on there is nothing else for `skip` bytes.
    pub(super) fn put_skip(&mut self, off: usize, skip: usize) {
        if let (Ok(off), Ok(skip)) = (u32::try_from(off), u32::try_from(skip)) {
            self.overwrite(off.saturating_add(4), &skip.to_le_bytes());
        }
    }
}

//! Records: the format of the memory of a buffer.
//!
//! ```text
//!  0                                                                          size
//!  | header | fragments .. capacity | header | fragments | padding |  not written yet  |
//!  ^ multiples of 16                                 ^ write position
//!
//!  header of a chunk, 16 bytes, little endian:
//!  | chunk id u32 | sequence slot u32 | capacity u16 | used u16 | unread u16 | flags u8 | 1 |
//!  header of padding:
//!  | 0            | skip u32          | capacity u16 | 0                               | 0 |
//! ```
//!
//! A record is a header and `capacity` bytes, together rounded up to 16. The first `used` bytes are fragments, the last
//! `unread` of these are not consumed. `skip` is the distance to the next record that may be a chunk
//! (0: not known), a shortcut for readers.

use crate::buffer::memory::{HEADER, Memory};
use crate::buffer::{ChunkPatches, Patch};
use abi::ids::ChunkId;
use abi::shm::{ChunkFlags, store_patch};

/// Flag of a chunk that its writer may still add fragments to.
const INCOMPLETE: u8 = 0x80;
/// Flag of a chunk that was changed after it was stored.
const CHANGED: u8 = 0x40;

/// A stored chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) chunk: ChunkId,
    /// The slot of its sequence.
    pub(super) slot: u32,
    /// Bytes it may grow to.
    pub(super) capacity: u16,
    /// Bytes of fragments.
    pub(super) used: u16,
    /// How many of these bytes, at the end, are not consumed.
    pub(super) unread: u16,
    pub(super) flags: ChunkFlags,
    pub(super) incomplete: bool,
    /// It was patched, or came again: the unread bytes may not be whole fragments any more.
    pub(super) changed: bool,
}

/// A record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stored {
    Chunk(Record),
    Padding {
        /// Its length, header included.
        len: usize,
        /// Distance to the next record that may be a chunk; at least `len`.
        skip: usize,
    },
}

/// Length of a record with `capacity` bytes for fragments, header included.
pub(super) fn outer_len(capacity: usize) -> usize {
    capacity.saturating_add(HEADER).next_multiple_of(HEADER)
}

impl Record {
    /// Length of its record, header included.
    #[inline]
    pub(super) fn outer(&self) -> usize {
        outer_len(self.capacity.into())
    }

    #[inline]
    fn flag_bits(&self) -> u8 {
        let or = |is_set, flag| if is_set { flag } else { 0 };
        self.flags.0 | or(self.incomplete, INCOMPLETE) | or(self.changed, CHANGED)
    }

    pub(super) fn header(self) -> u128 {
        u128::from(self.chunk.get())
            | u128::from(self.slot) << 32
            | u128::from(self.capacity) << 64
            | u128::from(self.used) << 80
            | u128::from(self.unread) << 96
            | u128::from(self.flag_bits()) << 112
            | 1 << 120
    }
}

impl Memory {
    /// The record at `off`; none where nothing was ever written.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "each field takes its bits")]
    pub(super) fn stored(&self, off: usize) -> Option<Stored> {
        let header = self.header(off)?;
        let capacity = (header >> 64) as u16;
        if header >> 120 == 0 {
            let len = outer_len(capacity.into());
            let skip = usize::try_from((header >> 32) as u32).unwrap_or(0).max(len);
            return Some(Stored::Padding { len, skip });
        }
        let flags = (header >> 112) as u8;
        Some(Stored::Chunk(Record {
            chunk: ChunkId::new(header as u32),
            slot: (header >> 32) as u32,
            capacity,
            used: (header >> 80) as u16,
            unread: (header >> 96) as u16,
            flags: ChunkFlags(flags & ChunkFlags::MASK),
            incomplete: flags & INCOMPLETE != 0,
            changed: flags & CHANGED != 0,
        }))
    }

    /// The chunk at an offset of its sequence.
    #[inline]
    pub(super) fn chunk(&self, off: u32) -> Option<Record> {
        match self.stored(usize::try_from(off).ok()?)? {
            Stored::Chunk(record) => Some(record),
            Stored::Padding { .. } => {
                debug_assert!(false, "the offset of a chunk is that of padding");
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

    /// Patches a chunk. None if there is none, or a patch lies outside of it; those before that one count.
    pub(super) fn patch_chunk(&mut self, off: u32, patches: &ChunkPatches<'_>) -> Option<()> {
        let record = self.chunk(off)?;
        let patched = self.patch_fragments(off, &record, patches.patches);
        // A patch may change the length of a fragment.
        let mut flags = record.flag_bits() | CHANGED;
        if patched.is_some() && !patches.more {
            flags &= !ChunkFlags::NEEDS_PATCHING.0;
        }
        self.overwrite(off.saturating_add(14), &[flags]);
        patched
    }

    fn patch_fragments(&mut self, off: u32, record: &Record, patches: &[Patch]) -> Option<()> {
        let start = usize::try_from(off).ok()?.checked_add(HEADER)?;
        let fragments = self.between_mut(start, start.checked_add(record.used.into())?)?;
        for patch in patches {
            store_patch(fragments, patch.offset, patch.data)?;
        }
        Some(())
    }

    /// Replaces the fragments of a chunk, which fit into its capacity.
    pub(super) fn put_fragments(&mut self, off: u32, fragments: &[u8]) {
        self.overwrite(off.saturating_add(16), fragments);
    }

    /// Stores how many bytes of a chunk are not consumed.
    #[inline]
    pub(super) fn put_unread(&mut self, off: u32, unread: u16) {
        self.overwrite(off.saturating_add(12), &unread.to_le_bytes());
    }

    /// Writes padding of `len` bytes, a multiple of 16, at least 16.
    pub(super) fn put_padding(&mut self, off: usize, len: usize) {
        let capacity = u16::try_from(len.saturating_sub(HEADER)).unwrap_or(u16::MAX);
        self.put_header(off, u128::from(capacity) << 64);
    }

    /// Stores that there is only padding in the `skip` bytes from `off` on.
    pub(super) fn put_skip(&mut self, off: usize, skip: usize) {
        if let (Ok(off), Ok(skip)) = (u32::try_from(off), u32::try_from(skip)) {
            self.overwrite(off.saturating_add(4), &skip.to_le_bytes());
        }
    }
}

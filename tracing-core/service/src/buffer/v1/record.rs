//! Records: the format of the memory of a buffer.
//!
//! ```text
//!  0                                                                        size
//!  | header | payload ... | header | payload ... | padding |   not written yet   |
//!  ^ multiples of 16      ^ write position
//!
//!  header, 16 bytes, little endian, bits:
//!  | chunk id 32 | sequence slot 32 | next 16 | length / 16: 12 | fragments 10 | read 10
//!  | flags 3 | complete | last skipped | padding | 0 .. |
//! ```
//!
//! There are no gaps between records, and their length includes the header. Bytes of a producer are only in
//! payloads, so the headers can be trusted. A header has everything that is known of its chunk; the index has only
//! the offset.

use crate::buffer::memory::{HEADER, Memory};
use abi::ids::ChunkId;
use abi::shm::{ChunkFlags, Packets};

/// Largest record, bytes: its length has 16 bits upstream.
pub(super) const RECORD_MAX: usize = u16::MAX as usize;

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) chunk: ChunkId,
    /// The slot of its sequence; without a meaning for padding.
    pub(super) slot: u32,
    /// Bytes with the header: a multiple of 16.
    pub(super) len: u16,
    /// Fragments, without the last one of an incomplete chunk; at most [`Packets::COUNT_MAX`].
    pub(super) fragments: u16,
    /// How many fragments were read.
    pub(super) read: u16,
    /// Offset in the payload of the next fragment.
    pub(super) next: u16,
    pub(super) flags: ChunkFlags,
    pub(super) complete: bool,
    /// The fragment that was read last is not part of a packet that was delivered.
    pub(super) last_skipped: bool,
    pub(super) padding: bool,
}

/// Length of the record for a payload: header, payload, and zeros up to a multiple of 16.
pub(super) fn record_len(payload_len: usize) -> Option<usize> {
    payload_len.checked_add(HEADER)?.checked_next_multiple_of(HEADER)
}

const COUNT_MASK: u64 = Packets::COUNT_MAX as u64;

impl Record {
    #[inline]
    pub(super) fn header(self) -> u128 {
        let low = u64::from(self.chunk.get()) | u64::from(self.slot) << 32;
        let high = u64::from(self.next)
            | u64::from(self.len / 16) << 16
            | (u64::from(self.fragments) & COUNT_MASK) << 28
            | (u64::from(self.read) & COUNT_MASK) << 38
            | u64::from(self.flags.0 & ChunkFlags::MASK) << 48
            | u64::from(self.complete) << 51
            | u64::from(self.last_skipped) << 52
            | u64::from(self.padding) << 53;
        u128::from(high) << 64 | u128::from(low)
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "each field takes its bits")]
    fn of(header: u128) -> Self {
        let (low, high) = (header as u64, (header >> 64) as u64);
        Self {
            chunk: ChunkId::new(low as u32),
            slot: (low >> 32) as u32,
            next: high as u16,
            len: ((high >> 16 & 0xfff) as u16).wrapping_mul(16),
            fragments: (high >> 28 & COUNT_MASK) as u16,
            read: (high >> 38 & COUNT_MASK) as u16,
            flags: ChunkFlags((high >> 48) as u8 & ChunkFlags::MASK),
            complete: high >> 51 & 1 != 0,
            last_skipped: high >> 52 & 1 != 0,
            padding: high >> 53 & 1 != 0,
        }
    }

    /// A padding record of `len` bytes.
    pub(super) fn padding(len: u16) -> Self {
        Self {
            chunk: ChunkId::new(0),
            slot: 0,
            len,
            fragments: 0,
            read: 0,
            next: 0,
            flags: ChunkFlags(0),
            complete: false,
            last_skipped: false,
            padding: true,
        }
    }

    /// Whether it has unread fragments.
    pub(super) fn is_unread(&self) -> bool {
        self.read < self.fragments
    }
}

impl Memory {
    /// The record at `off`; none where nothing was ever written.
    #[inline]
    pub(super) fn record(&self, off: usize) -> Option<Record> {
        self.header(off).map(Record::of)
    }

    /// The record at an offset of the index.
    #[inline]
    pub(super) fn record_at(&self, off: u32) -> Option<Record> {
        self.record(usize::try_from(off).ok()?)
    }

    /// Replaces a header.
    #[inline]
    pub(super) fn put_chunk(&mut self, off: u32, record: Record) {
        if let Ok(off) = usize::try_from(off) {
            self.put_header(off, record.header());
        }
    }

    /// Everything behind the header of a record, with the zeros at its end, to be patched.
    pub(super) fn payload_mut(&mut self, off: u32, record: &Record) -> Option<&mut [u8]> {
        let off = usize::try_from(off).ok()?;
        self.between_mut(off.checked_add(HEADER)?, off.checked_add(record.len.into())?)
    }
}

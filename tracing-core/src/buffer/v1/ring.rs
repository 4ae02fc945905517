//! The memory of a buffer: records back to back, going round.
//!
//! ```text
//!  0                                                                        size
//!  | header | payload ... | header | payload ... | padding |   not written yet   |
//!  ^ multiples of 16      ^ write position                 ^ data.len()
//!
//!  header, 16 bytes, little endian:
//!  | chunk id u32 | sequence slot u32 | record length u16 | padding u8 | 5 x 0 |
//! ```
//!
//! Records are 16-byte aligned, leave no gaps, and their length counts the header. What a producer
//! wrote is only ever in payloads, so the headers can be trusted.
//!
//! `data` grows into memory that was reserved when the buffer was made: nothing beyond what was
//! written is ever touched, so an idle buffer of a gigabyte costs nothing.

use crate::ids::ChunkId;

/// Bytes of a record's header, and what records are aligned to.
pub(super) const HEADER: usize = 16;
/// The length of a record is 16 bits wide.
pub(super) const RECORD_MAX: usize = u16::MAX as usize;

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) chunk: ChunkId,
    /// Index of the sequence; means nothing for padding.
    pub(super) slot: u32,
    /// Bytes, header included.
    pub(super) len: u16,
    pub(super) padding: bool,
}

impl Record {
    fn to_bytes(self) -> [u8; HEADER] {
        let padding = u128::from(self.padding) << 80;
        let len = u128::from(self.len) << 64;
        (padding | len | u128::from(self.slot) << 32 | u128::from(self.chunk.0)).to_le_bytes()
    }

    #[allow(clippy::cast_possible_truncation, reason = "each takes its own bits")]
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let header = u128::from_le_bytes(*bytes.first_chunk()?);
        Some(Self {
            chunk: ChunkId(header as u32),
            slot: (header >> 32) as u32,
            len: (header >> 64) as u16,
            padding: (header >> 80) as u8 != 0,
        })
    }
}

/// The memory, and where the next record goes.
#[derive(Debug)]
pub(super) struct Ring {
    data: Vec<u8>,
    size: usize,
    at: usize,
}

/// Length of the record for a payload: header, payload, and zeros up to a multiple of 16.
pub(super) fn record_len(payload_len: usize) -> Option<usize> {
    payload_len.checked_add(HEADER)?.checked_next_multiple_of(HEADER)
}

impl Ring {
    /// Reserves `bytes`, rounded up to a multiple of 16. Offsets must fit 32 bits.
    pub(super) fn new(bytes: usize) -> Option<Self> {
        let size = bytes.checked_next_multiple_of(HEADER)?;
        if bytes == 0 || u32::try_from(size).is_err() {
            return None;
        }
        let mut data = Vec::new();
        data.try_reserve_exact(size).ok()?;
        Some(Self { data, size, at: 0 })
    }

    /// A copy to be read: what was never written takes no memory there.
    pub(super) fn try_clone(&self) -> Option<Self> {
        let mut data = Vec::new();
        data.try_reserve_exact(self.data.len()).ok()?;
        data.extend_from_slice(&self.data);
        Some(Self { data, size: self.size, at: self.at })
    }

    /// Size, bytes.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Bytes ever written.
    pub(super) fn used(&self) -> usize {
        self.data.len()
    }

    /// Where the next record goes.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Bytes from there to the end; never 0.
    pub(super) fn to_end(&self) -> usize {
        self.size.saturating_sub(self.at)
    }

    /// The record at `off`, or none where nothing was ever written.
    #[inline]
    pub(super) fn record(&self, off: usize) -> Option<Record> {
        Record::from_bytes(self.data.get(off..)?)
    }

    /// Everything behind the header of the record at `off`, slack included, to be patched.
    pub(super) fn payload_mut(&mut self, off: usize) -> Option<&mut [u8]> {
        let record = self.record(off)?;
        let end = off.checked_add(usize::from(record.len))?;
        self.data.get_mut(off.checked_add(HEADER)?..end)
    }

    /// Bytes at an absolute position, as found by a reader of payloads.
    #[inline]
    pub(super) fn bytes(&self, off: usize, len: usize) -> &[u8] {
        off.checked_add(len).and_then(|end| self.data.get(off..end)).unwrap_or_default()
    }

    /// Bytes between two absolute positions; none if they lie outside or the wrong way round.
    #[inline]
    pub(super) fn between(&self, start: usize, end: usize) -> &[u8] {
        self.data.get(start..end).unwrap_or_default()
    }

    /// Writes a record over whatever is at `off`, which is at most the end of what was written.
    pub(super) fn put(&mut self, off: usize, record: Record, payload: &[u8]) {
        let header = record.to_bytes();
        let len = usize::from(record.len);
        let body = len.saturating_sub(HEADER);
        let Some(payload) = payload.get(..payload.len().min(body)) else { return };
        if off == self.data.len() {
            self.data.extend_from_slice(&header);
            self.data.extend_from_slice(payload);
            self.data.resize(off.saturating_add(len), 0);
            return;
        }
        let place = off.checked_add(len).and_then(|end| self.data.get_mut(off..end));
        let Some((head, rest)) = place.and_then(|p| p.split_first_chunk_mut::<HEADER>()) else {
            debug_assert!(false, "a record outside of the buffer");
            return;
        };
        *head = header;
        let (used, slack) = rest.split_at_mut(payload.len());
        used.copy_from_slice(payload);
        slack.fill(0);
    }

    /// Covers `len` bytes at the write position with a padding record, without moving on.
    pub(super) fn pad(&mut self, len: usize) {
        let Ok(short) = u16::try_from(len) else { return };
        let record = Record { chunk: ChunkId(0), slot: 0, len: short, padding: true };
        if self.at == self.data.len() {
            self.put(self.at, record, &[]);
        } else if let Some(head) = self.data.get_mut(self.at..).and_then(|d| d.first_chunk_mut()) {
            // Only the header: what lies under a padding record is never looked at.
            *head = record.to_bytes();
        }
    }

    /// Moves the write position on; returns whether it came to the end and so went back to 0.
    pub(super) fn advance(&mut self, len: usize) -> bool {
        self.at = self.at.saturating_add(len);
        let wraps = self.at >= self.size;
        if wraps {
            self.at = 0;
        }
        wraps
    }

    /// Goes back to 0.
    pub(super) fn rewind(&mut self) {
        self.at = 0;
    }
}

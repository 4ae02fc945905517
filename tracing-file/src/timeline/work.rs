//! How much a timeline may cost. Each pass is bounded by its packets, but these may be short and name long texts, and
//! may unpack to much more than the file.

use crate::limits::{TEXT_PER_BYTE, UNPACKED_PER_BYTE};

/// Limits of all passes together.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkLimits {
    /// Bytes that compressed packets may unpack to, beside 1,000 times the file: as in some passes of a small file.
    pub(super) unpacked_bytes: u64,
    /// Bytes of texts that rows and lines may have, beside `TEXT_PER_BYTE` times what is read: ten million lines.
    pub(super) text_bytes: u64,
}

impl Default for WorkLimits {
    fn default() -> Self {
        Self { unpacked_bytes: 4 << 30, text_bytes: 4 << 30 }
    }
}

/// What the passes did so far.
#[derive(Debug)]
pub(super) struct Work {
    limits: WorkLimits,
    file_bytes: u64,
    /// Of the passes before this one, and of this one.
    unpacked_bytes: (u64, u64),
    read_bytes: (u64, u64),
    text_bytes: u64,
}

impl Work {
    /// For a file with so many bytes.
    pub(super) const fn new(limits: WorkLimits, file_bytes: u64) -> Self {
        Self { limits, file_bytes, unpacked_bytes: (0, 0), read_bytes: (0, 0), text_bytes: 0 }
    }

    /// The pass has read and unpacked so many bytes.
    pub(super) const fn read(&mut self, read: u64, unpacked: u64) {
        (self.read_bytes.1, self.unpacked_bytes.1) = (read, unpacked);
    }

    pub(super) const fn end_pass(&mut self) {
        self.read_bytes = (self.read_bytes.0.saturating_add(self.read_bytes.1), 0);
        self.unpacked_bytes = (self.unpacked_bytes.0.saturating_add(self.unpacked_bytes.1), 0);
    }

    /// Texts were made, written or looked at.
    pub(super) const fn add_text(&mut self, bytes: u64) {
        self.text_bytes = self.text_bytes.saturating_add(bytes);
    }

    pub(super) const fn is_within_limits(&self) -> bool {
        let unpacked_max = self.file_bytes.saturating_mul(UNPACKED_PER_BYTE);
        let unpacked_max = unpacked_max.saturating_add(self.limits.unpacked_bytes);
        let read = self.read_bytes.0.saturating_add(self.read_bytes.1);
        let text_max = read.saturating_mul(TEXT_PER_BYTE).saturating_add(self.limits.text_bytes);
        let unpacked = self.unpacked_bytes.0.saturating_add(self.unpacked_bytes.1);
        unpacked <= unpacked_max && self.text_bytes <= text_max
    }
}

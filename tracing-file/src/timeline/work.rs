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

/// Bytes of one pass, or of several.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassBytes {
    /// Of the file, and of what was unpacked.
    pub(super) read: u64,
    pub(super) unpacked: u64,
}

impl PassBytes {
    const NONE: Self = Self { read: 0, unpacked: 0 };

    const fn plus(self, other: Self) -> Self {
        Self {
            read: self.read.saturating_add(other.read),
            unpacked: self.unpacked.saturating_add(other.unpacked),
        }
    }
}

/// What the passes did so far.
#[derive(Debug)]
pub(super) struct Work {
    limits: WorkLimits,
    file_bytes: u64,
    earlier_passes: PassBytes,
    this_pass: PassBytes,
    text_bytes: u64,
}

impl Work {
    /// For a file with so many bytes.
    pub(super) const fn new(limits: WorkLimits, file_bytes: u64) -> Self {
        let (earlier_passes, this_pass) = (PassBytes::NONE, PassBytes::NONE);
        Self { limits, file_bytes, earlier_passes, this_pass, text_bytes: 0 }
    }

    /// Sets what this pass has read and unpacked so far.
    pub(super) const fn set_pass(&mut self, bytes: PassBytes) {
        self.this_pass = bytes;
    }

    pub(super) const fn end_pass(&mut self) {
        self.earlier_passes = self.earlier_passes.plus(self.this_pass);
        self.this_pass = PassBytes::NONE;
    }

    /// Adds bytes of texts that were made, written or compared.
    pub(super) const fn add_text(&mut self, bytes: u64) {
        self.text_bytes = self.text_bytes.saturating_add(bytes);
    }

    pub(super) const fn is_within_limits(&self) -> bool {
        let PassBytes { read, unpacked } = self.earlier_passes.plus(self.this_pass);
        let unpacked_max = self.file_bytes.saturating_mul(UNPACKED_PER_BYTE);
        let unpacked_max = unpacked_max.saturating_add(self.limits.unpacked_bytes);
        let text_max = read.saturating_mul(TEXT_PER_BYTE).saturating_add(self.limits.text_bytes);
        unpacked <= unpacked_max && self.text_bytes <= text_max
    }
}

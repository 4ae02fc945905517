//! Memory of replies that have left, for the next ones: else it goes back to the system after each and comes
//! again page by page, which takes as long as filling it.

use bytes::Bytes;

use crate::limits::{SPARE_BYTES_MAX, SPARE_BYTES_MIN};

/// What is kept while somebody reads, and not longer.
#[derive(Debug, Default)]
pub(super) struct Spares {
    kept: Vec<Vec<u8>>,
    bytes: usize,
    wanted: bool,
}

impl Spares {
    /// Says whether more will be read soon.
    pub(super) fn want(&mut self, wanted: bool) {
        if !wanted {
            *self = Self::default();
        }
        self.wanted = wanted;
    }

    /// Memory to write into, of any capacity.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let memory = self.kept.pop().unwrap_or_default();
        self.bytes -= memory.capacity();
        memory
    }

    /// Takes back what nobody else holds any more; what is in it does not matter.
    pub(super) fn give(&mut self, mut memory: Bytes) {
        if !self.wanted || !memory.is_unique() {
            return;
        }
        memory.clear();
        let memory = Vec::from(memory);
        let capacity = memory.capacity();
        if capacity >= SPARE_BYTES_MIN && self.bytes + capacity <= SPARE_BYTES_MAX {
            self.bytes += capacity;
            self.kept.push(memory);
        }
    }
}

#[cfg(test)]
mod tests;

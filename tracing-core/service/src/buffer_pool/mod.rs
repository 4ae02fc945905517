//! Recycles the memory of replies and file pieces, to avoid page faults on every one of them.

use bytes::Bytes;

use crate::limits::{POOL_BYTES_MAX, POOL_BYTES_MIN};

/// Memory is kept only while a consumer or a file is being read into.
#[derive(Debug, Default)]
pub(crate) struct BufferPool {
    kept: Vec<Vec<u8>>,
    bytes: usize,
    in_use: bool,
}

impl BufferPool {
    /// Keeps memory from now on, or drops what is kept.
    pub(crate) fn set_in_use(&mut self, in_use: bool) {
        if !in_use {
            *self = Self::default();
        }
        self.in_use = in_use;
    }

    /// Memory to write into, of any capacity.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let memory = self.kept.pop().unwrap_or_default();
        self.bytes = self.bytes.saturating_sub(memory.capacity());
        memory
    }

    /// Keeps the memory, if this is the last reference to it. Its content does not matter.
    pub(crate) fn give(&mut self, mut memory: Bytes) {
        if !self.in_use || !memory.is_unique() {
            return;
        }
        memory.clear();
        let memory = Vec::from(memory);
        let capacity = memory.capacity();
        let bytes = self.bytes.saturating_add(capacity);
        if capacity >= POOL_BYTES_MIN && bytes <= POOL_BYTES_MAX {
            self.bytes = bytes;
            self.kept.push(memory);
        }
    }
}

#[cfg(test)]
mod tests;

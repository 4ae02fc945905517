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
mod tests {
    use super::*;
    use bytes::Buf as _;

    fn sent(len: usize) -> Bytes {
        let mut bytes = Bytes::from(vec![1; len]);
        bytes.advance(len);
        bytes
    }

    #[test]
    fn what_was_sent_is_used_again_while_somebody_reads() {
        let mut spares = Spares::default();
        spares.give(sent(SPARE_BYTES_MIN));
        assert_eq!(spares.take().capacity(), 0, "nobody reads");
        spares.want(true);
        spares.give(sent(SPARE_BYTES_MIN));
        spares.give(sent(SPARE_BYTES_MIN - 1));
        let bytes = Bytes::from(vec![1; SPARE_BYTES_MIN]);
        let held = bytes.clone();
        spares.give(bytes);
        drop(held);
        assert_eq!(spares.take().capacity(), SPARE_BYTES_MIN);
        assert_eq!(spares.take().capacity(), 0);
        for _ in 0..10 {
            spares.give(sent(SPARE_BYTES_MAX / 4));
        }
        assert_eq!((spares.kept.len(), spares.bytes), (4, SPARE_BYTES_MAX));
        spares.want(false);
        assert_eq!((spares.kept.len(), spares.bytes), (0, 0));
    }
}

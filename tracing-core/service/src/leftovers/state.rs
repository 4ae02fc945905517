//! What a producer left so far.

use crate::ledger::Amount;
use abi::ids::{BufferId, ChunkId, WriterId};
use abi::map::{BlockMap, SortedMap};

/// What a producer left so far; it is collected in pieces.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// Writers whose chunks were not copied: what they lost, and the first of these chunks.
    pub(super) writers: BlockMap<WriterId, (u64, ChunkId)>,
    lost: SortedMap<BufferId, Amount>,
    /// Of writers that are not registered, or not known.
    of_no_buffer: Amount,
    /// How often its writers had begun to drop packets, if it did not tell all.
    untold: Option<u32>,
}

impl Leftovers {
    /// What was lost for each buffer.
    pub(crate) fn take_lost(&mut self) -> impl Iterator<Item = (BufferId, Amount)> + use<> {
        std::mem::take(&mut self.lost).into_iter()
    }

    /// Packets of writers whose buffer is not known.
    pub(crate) fn take_of_no_buffer(&mut self) -> Amount {
        std::mem::take(&mut self.of_no_buffer)
    }

    /// See [`Producer::untold_losses`](crate::producers::Producer::untold_losses).
    pub(crate) fn take_untold(&mut self) -> Option<u32> {
        self.untold.take()
    }

    pub(super) fn note_untold(&mut self, noted: Option<u32>) {
        self.untold = noted;
    }

    pub(super) fn lose_of_no_buffer(&mut self, amount: Amount) {
        self.of_no_buffer.add(amount);
    }

    pub(super) fn lose(&mut self, buffer: BufferId, amount: Amount) {
        self.lost.get_or_insert_with(buffer, Amount::default).add(amount);
    }
}

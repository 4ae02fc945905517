//! When a ring that is being written needs new beginnings of its sequences.

use crate::limits;
use abi::ids::BufferId;
use abi::map::BlockMap;

/// Quarters of a ring that are written before its file gets them, after which the file counts as late.
const QUARTERS_LATE: u64 = 2;

/// The rings of a session that were written.
#[derive(Debug, Default)]
pub(crate) struct Rings(BlockMap<BufferId, Ring>);

#[derive(Debug, Default)]
struct Ring {
    /// When producers were last asked to begin anew because it was written.
    asked_ns: Option<u64>,
    /// Quarters that were written since the file of the session last began to get what it holds.
    quarters: u64,
}

impl Rings {
    /// The file of the session begins to get what they hold.
    pub(crate) fn note_drain(&mut self) {
        self.0.values_mut().for_each(|ring| ring.quarters = 0);
    }

    /// So many more quarters of a ring were written. Returns whether producers are to begin anew: not if they were just
    /// asked, and not if a file gets the packets long before they are overwritten.
    pub(crate) fn note_quarters(
        &mut self,
        id: BufferId,
        quarters: u64,
        now_ns: u64,
        has_file: bool,
    ) -> bool {
        let ring = self.0.get_or_insert_with(id, Ring::default);
        ring.quarters = ring.quarters.saturating_add(quarters);
        let pause_ns = limits::CLEARED_RING_PAUSE_MS.saturating_mul(1_000_000);
        let is_pause = |asked_ns: u64| now_ns < asked_ns.saturating_add(pause_ns);
        if has_file && ring.quarters < QUARTERS_LATE || ring.asked_ns.is_some_and(is_pause) {
            return false;
        }
        ring.asked_ns = Some(now_ns);
        true
    }
}

#[cfg(test)]
mod tests;

//! Triggers of CLONE_SNAPSHOT mode that the consumer of a session is to be told of, so that it clones the session.
//!
//! ```text
//!   trigger ──> its delay runs ──> due ──> told, once the session has a consumer that observes such triggers
//!                    │              └────> lost, if there is none when the session ends
//!                    └─ the end of the session ends it
//! ```
//!
//! Upstream drops what is due while the session is detached, or its consumer observes something else. How many there
//! are has a limit, `clone_hits_pending_max`.

use std::collections::VecDeque;

use super::events::TriggerHit;
use crate::ledger::Loss;
use abi::map::BlockMap;

/// A trigger that the consumer is to be told of.
#[derive(Debug)]
pub(crate) struct SnapshotHit {
    pub(crate) hit: TriggerHit,
    /// What is lost if nobody is told.
    pub(crate) loss: Loss,
}

/// The triggers of a session that its consumer is to be told of.
#[derive(Debug, Default)]
pub(crate) struct SnapshotHits {
    /// By the number of the timer.
    delayed: BlockMap<u64, SnapshotHit>,
    due: VecDeque<SnapshotHit>,
}

impl SnapshotHits {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.delayed.len().saturating_add(self.due.len())
    }

    /// Keeps one until its timer fires.
    pub(crate) fn delay(&mut self, timer: u64, hit: SnapshotHit) {
        self.delayed.insert(timer, hit);
    }

    /// A timer fired. False if it is none of these.
    pub(crate) fn end_delay(&mut self, timer: u64) -> bool {
        let hit = self.delayed.remove(&timer);
        let is_found = hit.is_some();
        self.due.extend(hit);
        is_found
    }

    /// The session goes: no delay runs any more. Returns the timers.
    pub(crate) fn end_delays(&mut self) -> Vec<u64> {
        let mut timers = Vec::new();
        while let Some((timer, hit)) = self.delayed.pop_first() {
            self.due.push_back(hit);
            timers.push(timer);
        }
        timers
    }

    /// Takes those that are due, in the order in which they became so.
    pub(crate) fn take_due(&mut self) -> VecDeque<SnapshotHit> {
        std::mem::take(&mut self.due)
    }
}

//! How many steps the rules for strings may take.

use super::scratch::Scratch;
use crate::limits;

/// The rules for the strings of a packet take more than [`limits::FILTER_STEPS_PER_PACKET_MAX`] steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetExceeded;

/// The steps that a filter may still take for a packet, and those it took in a pass. In a step an automaton looks at
/// one byte, which takes one or two nanoseconds.
#[derive(Debug)]
pub struct FilterBudget {
    left: u64,
    used: u64,
    pub(super) scratch: Scratch,
}

impl Default for FilterBudget {
    fn default() -> Self {
        Self { left: limits::FILTER_STEPS_PER_PACKET_MAX, used: 0, scratch: Scratch::default() }
    }
}

impl FilterBudget {
    /// A pass begins, with no steps yet.
    pub(super) fn begin_pass(&mut self) {
        self.used = 0;
    }

    /// A packet begins. The packets of the service come together, and share the steps of one packet.
    pub(super) fn begin_packet(&mut self, of_service: bool) {
        let before = if of_service { self.used } else { 0 };
        self.left = limits::FILTER_STEPS_PER_PACKET_MAX.saturating_sub(before);
    }

    /// The steps of this pass.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Charges steps before they are taken. After an error everything is refused until the next packet.
    pub(super) fn charge(&mut self, steps: u64) -> Result<(), BudgetExceeded> {
        let Some(left) = self.left.checked_sub(steps) else {
            self.left = 0;
            return Err(BudgetExceeded);
        };
        self.left = left;
        self.used = self.used.saturating_add(steps);
        Ok(())
    }
}

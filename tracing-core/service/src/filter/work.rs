//! How much the strings of a packet may cost.

use super::engine::Scratch;
use crate::limits;

/// The strings of a packet cost more than [`limits::FILTER_STEPS_PER_PACKET_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch;

/// What a filter may still do for a packet and what it did in a pass, in steps: bytes that an automaton looks at,
/// a nanosecond or two each.
#[derive(Debug)]
pub struct Work {
    left: u64,
    spent: u64,
    pub(super) scratch: Scratch,
}

impl Default for Work {
    fn default() -> Self {
        Self { left: limits::FILTER_STEPS_PER_PACKET_MAX, spent: 0, scratch: Scratch::default() }
    }
}

impl Work {
    /// A pass begins: nothing was done in it.
    pub(super) fn begin_pass(&mut self) {
        self.spent = 0;
    }

    /// A packet begins. Those of the service come at once and share what one may cost.
    pub(super) fn begin_packet(&mut self, of_service: bool) {
        let before = if of_service { self.spent } else { 0 };
        self.left = limits::FILTER_STEPS_PER_PACKET_MAX.saturating_sub(before);
    }

    /// Steps of this pass.
    pub(super) fn spent(&self) -> u64 {
        self.spent
    }

    /// Pays for steps before they are done. Once they are too many, nothing is cheap enough any more.
    pub(super) fn spend(&mut self, steps: u64) -> Result<(), TooMuch> {
        let Some(left) = self.left.checked_sub(steps) else {
            self.left = 0;
            return Err(TooMuch);
        };
        self.left = left;
        self.spent = self.spent.saturating_add(steps);
        Ok(())
    }
}

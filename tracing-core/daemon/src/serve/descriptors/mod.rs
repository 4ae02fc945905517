//! How many descriptors this process may still open, without asking the kernel each time.
//!
//! The number is asked for and then counted down by what the loop opened since. When the rest is short, or the number
//! is old, it is asked for again.
//!
//! If the kernel cannot open all descriptors of a message, it closes the rest in the call that receives it, which may
//! take as long as their sender likes. So there is room for the largest message before one is received whole, and for
//! what other threads open meanwhile. The last descriptors are for root and the user of the daemon: what others sent
//! must not keep them out.

use os::process;
use os::socket::{DESCRIPTORS_PER_MESSAGE, Openable};

use crate::limits::{
    DESCRIPTORS_ASKED_NS, DESCRIPTORS_COUNTED_NS, DESCRIPTORS_KEPT_MIN, DESCRIPTORS_KEPT_PART,
};

/// What one turn of reading may open beside what it receives: files of a consumer, the memory of a producer.
const PER_READ: u64 = 8;

/// Enough for a message with as many descriptors as there can be, and for all that is opened beside it.
const ENOUGH: u64 = DESCRIPTORS_PER_MESSAGE as u64 + 64;

/// See the [module](self).
pub(super) struct Descriptors {
    /// Asks the kernel.
    ask: Box<dyn Fn() -> Option<u64> + Send>,
    /// This many can be opened at least.
    left: u64,
    /// After how long it is asked for again, ns.
    valid_ns: u64,
    /// When it was asked for, and now, ns.
    asked_ns: u64,
    now_ns: u64,
    /// Of these, what is for root and the user of the daemon alone.
    kept: u64,
}

impl Descriptors {
    /// `left` descriptors can still be opened.
    pub(super) fn new(left: u64) -> Self {
        Self::with(left, process::knows_descriptors(), Box::new(process::descriptors_left))
    }

    /// `is_known`: to ask is one call.
    fn with(left: u64, is_known: bool, ask: Box<dyn Fn() -> Option<u64> + Send>) -> Self {
        let kept = (left / DESCRIPTORS_KEPT_PART).max(DESCRIPTORS_KEPT_MIN);
        let valid_ns = if is_known { DESCRIPTORS_ASKED_NS } else { DESCRIPTORS_COUNTED_NS };
        Self { ask, left: 0, valid_ns, asked_ns: 0, now_ns: 0, kept }
    }

    /// A turn of the loop begins.
    pub(super) fn begin_turn(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        if now_ns.saturating_sub(self.asked_ns) > self.valid_ns {
            self.left = 0;
        }
    }

    /// The loop opened so many.
    pub(super) fn count_opened(&mut self, count: u64) {
        self.left = self.left.saturating_sub(count);
    }

    /// How many descriptors of the next message may be opened. `capacity` is how many of its sender may be received;
    /// `is_limited` says that it is neither root nor the user of the daemon.
    pub(super) fn openable(&mut self, is_limited: bool, capacity: usize) -> Openable {
        let kept = if is_limited { self.kept } else { 0 };
        self.count_opened(PER_READ);
        let takes_any = capacity >= DESCRIPTORS_PER_MESSAGE;
        let wanted = if takes_any { ENOUGH } else { PER_READ };
        if self.left < wanted + kept {
            self.left = self.ask().unwrap_or(0);
        }
        match self.left.saturating_sub(kept) {
            _ if capacity == 0 => Openable::Nothing,
            ENOUGH.. if takes_any => Openable::Any,
            PER_READ.. => Openable::Two,
            _ => Openable::Nothing,
        }
    }

    /// Whether a connection may be kept, which was accepted already and opens so many in all. True if the kernel does
    /// not tell.
    pub(super) fn admits(&mut self, is_limited: bool, count: u64) -> bool {
        self.count_opened(count);
        let kept = if is_limited { self.kept } else { 0 };
        if self.left < kept {
            // The connection itself is open already.
            let others = count.saturating_sub(1);
            self.left = self.ask().map_or(u64::MAX, |left| left.saturating_sub(others));
        }
        self.left >= kept
    }

    fn ask(&mut self) -> Option<u64> {
        self.asked_ns = self.now_ns;
        (self.ask)()
    }
}

#[cfg(test)]
mod tests;

//! How many descriptors this process may still open, without asking the kernel each time.
//!
//! The number is asked for and then counted down by what may have been opened since. Only when the rest is short, it
//! is asked for again.

use os::process;
use os::socket::{DESCRIPTORS_PER_MESSAGE, Openable};

/// What one turn of reading may open at most: the memory of a producer and its duplicate, the files of a consumer.
const PER_READ: u64 = 8;

/// Enough for a message with as many descriptors as there can be, and for all that is opened beside it.
const ENOUGH: u64 = DESCRIPTORS_PER_MESSAGE as u64 + 64;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    /// This many can be opened at least.
    left: u64,
}

impl Descriptors {
    /// How many descriptors of the next message may be opened.
    pub(super) fn openable(&mut self) -> Openable {
        self.left = self.left.saturating_sub(PER_READ);
        if self.left >= ENOUGH {
            return Openable::Any;
        }
        self.left = process::descriptors_left();
        match self.left {
            ENOUGH.. => Openable::Any,
            PER_READ.. => Openable::Two,
            _ => Openable::Nothing,
        }
    }
}

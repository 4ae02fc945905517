//! The bytes that are reserved for a length.

use super::cursor::{Direction, RangeState};

/// Setters are function calls, and all use the slow path, which exists in any case.
pub(super) const SMALL: bool = cfg!(feature = "small");

/// Length of a wide slot (`proto_utils.h`: kMessageLengthFieldSize).
pub(crate) const SLOT_LEN: usize = 4;

/// No slot: the end of the list of open wide slots.
pub(crate) const NONE: u32 = u32::MAX;

/// The place of a length. [`Sink::fill`](super::Sink::fill) gets it for messages that end in a
/// later range than the one in which they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// Number of the range: the stream counts the ranges from `next_range`, in order, from 0. A
    /// range from `begin_root` has the number of the range before it, if there is one, because that
    /// range can have no open lengths.
    pub range: u32,
    /// Byte offset of the four reserved bytes in that range.
    pub offset: u32,
}

/// The open lengths of a full range, outermost first.
///
/// A sink iterates over them after it has the next range, and before it gives the old one away:
/// each is a length that [`Sink::fill`](super::Sink::fill) will get later. Iterating zeroes the
/// four bytes of each slot.
pub struct OpenSlots<'a> {
    state: &'a mut RangeState,
    range: u32,
    reversed: bool,
}

impl<'a> OpenSlots<'a> {
    #[inline]
    pub(super) fn new(state: &'a mut RangeState, range: u32) -> Self {
        Self { state, range, reversed: false }
    }

    /// True if no length is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.state.head == NONE
    }

    /// Reverses the list in place: it begins with the innermost slot, but must be returned
    /// outermost first.
    fn reverse(&mut self) {
        let (mut done, mut at) = (NONE, self.state.head);
        while at != NONE {
            let outer = self.state.link(at, Direction::Outwards);
            self.state.set4(at as usize, done.to_ne_bytes());
            (done, at) = (at, outer);
        }
        self.state.head = done;
        self.reversed = true;
    }
}

impl Iterator for OpenSlots<'_> {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        if !self.reversed {
            self.reverse();
        }
        let offset = self.state.head;
        if offset == NONE {
            return None;
        }
        self.state.head = self.state.link(offset, Direction::Inwards);
        self.state.set4(offset as usize, [0; SLOT_LEN]);
        Some(Slot { range: self.range, offset })
    }
}

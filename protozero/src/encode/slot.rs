//! The bytes reserved for a length that is not known yet.

use super::cursor::{Direction, RangeState};

/// Bytes of a wide slot (`proto_utils.h`: kMessageLengthFieldSize).
pub(crate) const SLOT_LEN: usize = 4;

/// No slot: the end of the list of wide open slots.
pub(crate) const NONE: u32 = u32::MAX;

/// Where a length will be stored: [`Sink::fill`](super::Sink::fill) gets it for messages that did
/// not end in the range they began in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// Which range: a stream counts those of `next_range` in the order the sink handed them out, from 0.
    /// One of `begin_root` has the number of the range before it, if there is one: that can have no
    /// open length.
    pub range: u32,
    /// Byte offset of the four reserved bytes in that range.
    pub offset: u32,
}

/// The lengths still open in a range that is full, outermost first.
///
/// A sink looks at them when it has the next range, before it gives the old one away: each is a
/// length that will come through [`Sink::fill`](super::Sink::fill). Yielding one zeroes its four
/// bytes.
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

    /// Turns the list around in place: it leads from the innermost slot outwards, and is wanted
    /// the other way.
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

//! What is known of an event beside the bytes of its packet.

use super::sequence::SequenceId;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// A slice begins.
    SliceBegin,
    /// The innermost open slice of the track ends.
    SliceEnd,
    /// A moment.
    Instant,
    /// A counter has a new value, in its unit.
    Counter(CounterValue),
    /// A track has a new state, the event's name. Without a name it has none.
    State,
    /// An event of the old form, with its phase as an ASCII letter.
    Legacy(u8),
}

/// A value of a counter, after multiplication and summing up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CounterValue {
    /// An integer.
    Int(i64),
    /// A real number, or a sum.
    Double(f64),
}

impl CounterValue {
    /// As a real number.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Double(value) => value,
        }
    }
}

/// An event without its borrowed parts.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) kind: EventKind,
    pub(super) ts_ns: u64,
    pub(super) sequence: SequenceId,
    pub(super) track: u64,
    /// Where the `TrackEvent` is in the packet.
    pub(super) body: std::ops::Range<usize>,
    pub(super) extra: Vec<(u64, CounterValue)>,
}

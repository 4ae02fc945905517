//! Timestamps, and the clocks that they may be of.

use super::error::WriteError;

/// A clock of a trace: [`TraceFile::clock`](super::TraceFile::clock). That it exists shows that a snapshot relates
/// it to the clock of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub(super) trace: u32,
    pub(super) idx: u32,
}

impl Clock {
    /// A time of this clock, in its units.
    #[must_use]
    pub const fn at(self, value: u64) -> Timestamp {
        Timestamp { clock: Some(self), value }
    }
}

/// When something happened. A plain number is a time of the trace: nanoseconds of BOOTTIME, or of whatever clock
/// the trace's maker chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    pub(super) clock: Option<Clock>,
    pub(super) value: u64,
}

impl From<u64> for Timestamp {
    fn from(value: u64) -> Self {
        Self { clock: None, value }
    }
}

/// What the writer knows of a clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownClock {
    /// `ClockSnapshot.Clock.clock_id`.
    pub(super) id: u32,
    pub(super) unit_ns: u64,
    /// The last snapshot: this clock and the clock of the trace at one moment.
    pub(super) value: u64,
    pub(super) trace_ns: u64,
}

impl KnownClock {
    /// The time of the trace at `value` of this clock.
    pub(super) fn trace_ns(&self, value: u64) -> Result<u64, WriteError> {
        let units = i128::from(value) - i128::from(self.value);
        let ns = units * i128::from(self.unit_ns) + i128::from(self.trace_ns);
        let ns = u64::try_from(ns).map_err(|_| WriteError::TimeRange { value })?;
        in_range(ns)
    }
}

/// A time that a reader accepts: one below 2^63 ns.
pub(super) fn in_range(ns: u64) -> Result<u64, WriteError> {
    if i64::try_from(ns).is_ok() { Ok(ns) } else { Err(WriteError::TimeRange { value: ns }) }
}

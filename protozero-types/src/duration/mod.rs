//! Spans of time, which can be negative.

use core::time::Duration as Span;

use crate::google::protobuf::Duration;
use crate::range::{NANOS, OutOfRange};

/// 10,000 years.
const SECONDS_MAX: i64 = 315_576_000_000;

impl Duration {
    /// A span. `seconds` and `nanos` have the same sign.
    ///
    /// # Errors
    /// [`OutOfRange`] if it is longer than 315,576,000,000 s (10,000 years), `nanos` has more than 999,999,999, or the
    /// signs differ.
    pub fn new(seconds: i64, nanos: i32) -> Result<Self, OutOfRange> {
        let new = Self::of(seconds, nanos);
        if new.is_valid() { Ok(new) } else { Err(new.out_of_range("google.protobuf.Duration")) }
    }

    pub(crate) const fn of(seconds: i64, nanos: i32) -> Self {
        Self { seconds, nanos }
    }

    pub(crate) fn out_of_range(&self, target: &'static str) -> OutOfRange {
        OutOfRange::new(self.seconds, self.nanos, target)
    }

    /// Whether the span is one that [`new`](Self::new) accepts. JSON has no others.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let same_sign =
            self.seconds == 0 || self.nanos == 0 || (self.seconds < 0) == (self.nanos < 0);
        self.seconds.unsigned_abs() <= SECONDS_MAX.unsigned_abs()
            && self.nanos.unsigned_abs() < 1_000_000_000
            && same_sign
    }

    /// The same span with `nanos` of less than a second and the sign of `seconds`. What exceeds an `i64` of seconds is
    /// cut off.
    #[must_use]
    pub fn normalized(&self) -> Self {
        let carry = i64::from(self.nanos) / NANOS;
        let nanos = i64::from(self.nanos) % NANOS;
        let (seconds, nanos) = match self.seconds.checked_add(carry) {
            Some(seconds) if seconds > 0 && nanos < 0 => (seconds - 1, nanos + NANOS),
            Some(seconds) if seconds < 0 && nanos > 0 => (seconds + 1, nanos - NANOS),
            Some(seconds) => (seconds, nanos),
            None if carry < 0 => (i64::MIN, 1 - NANOS),
            None => (i64::MAX, NANOS - 1),
        };
        Self::of(seconds, nanos as i32)
    }
}

impl TryFrom<Span> for Duration {
    type Error = OutOfRange;

    /// # Errors
    /// The span is longer than protobuf allows: see [`Duration::new`].
    fn try_from(span: Span) -> Result<Self, OutOfRange> {
        let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        Self::new(seconds, span.subsec_nanos().cast_signed())
    }
}

impl TryFrom<Duration> for Span {
    type Error = OutOfRange;

    /// # Errors
    /// The span is negative.
    fn try_from(span: Duration) -> Result<Self, OutOfRange> {
        let normal = span.normalized();
        match (u64::try_from(normal.seconds), u32::try_from(normal.nanos)) {
            (Ok(seconds), Ok(nanos)) => Ok(Self::new(seconds, nanos)),
            _ => Err(span.out_of_range("std::time::Duration")),
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;

//! Conversions with `jiff`.

use jiff::{SignedDuration, Timestamp as Instant};

use crate::google::protobuf::{Duration, Timestamp};
use crate::range::OutOfRange;

/// The time may be outside of the years 1 to 9999, of which [`Timestamp::is_valid`] tells; JSON has no text for it.
impl From<Instant> for Timestamp {
    fn from(time: Instant) -> Self {
        // Before 1970 theirs is negative, ours counts forward.
        Self::of(time.as_second(), time.subsec_nanosecond()).normalized()
    }
}

impl TryFrom<Timestamp> for Instant {
    type Error = OutOfRange;

    fn try_from(time: Timestamp) -> Result<Self, OutOfRange> {
        let normal = time.normalized();
        Self::new(normal.seconds, normal.nanos).map_err(|_| time.out_of_range("jiff::Timestamp"))
    }
}

impl TryFrom<SignedDuration> for Duration {
    type Error = OutOfRange;

    /// # Errors
    /// The span is longer than protobuf allows: see [`Duration::new`].
    fn try_from(span: SignedDuration) -> Result<Self, OutOfRange> {
        Self::new(span.as_secs(), span.subsec_nanos())
    }
}

impl From<Duration> for SignedDuration {
    fn from(span: Duration) -> Self {
        let normal = span.normalized();
        Self::new(normal.seconds, normal.nanos)
    }
}

#[cfg(test)]
mod tests;

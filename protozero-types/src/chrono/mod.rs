//! Conversions with `chrono`.

use chrono::{DateTime, TimeDelta, Utc};

use crate::google::protobuf::{Duration, Timestamp};
use crate::range::OutOfRange;

/// A leap second becomes the second after it. The time may be outside of the years 1 to 9999, of which
/// [`Timestamp::is_valid`] tells; JSON has no text for it then.
impl From<DateTime<Utc>> for Timestamp {
    fn from(time: DateTime<Utc>) -> Self {
        Self::of(time.timestamp(), time.timestamp_subsec_nanos().cast_signed()).normalized()
    }
}

impl TryFrom<Timestamp> for DateTime<Utc> {
    type Error = OutOfRange;

    fn try_from(time: Timestamp) -> Result<Self, OutOfRange> {
        let normal = time.normalized();
        Self::from_timestamp(normal.seconds, normal.nanos.unsigned_abs())
            .ok_or_else(|| time.out_of_range("chrono::DateTime"))
    }
}

impl TryFrom<TimeDelta> for Duration {
    type Error = OutOfRange;

    /// # Errors
    /// The span is longer than protobuf allows: see [`Duration::new`].
    fn try_from(span: TimeDelta) -> Result<Self, OutOfRange> {
        Self::new(span.num_seconds(), span.subsec_nanos())
    }
}

impl TryFrom<Duration> for TimeDelta {
    type Error = OutOfRange;

    fn try_from(span: Duration) -> Result<Self, OutOfRange> {
        let normal = span.normalized();
        let seconds = Self::try_seconds(normal.seconds);
        let whole = seconds.and_then(|s| s.checked_add(&Self::nanoseconds(normal.nanos.into())));
        whole.ok_or_else(|| span.out_of_range("chrono::TimeDelta"))
    }
}

#[cfg(test)]
mod tests;

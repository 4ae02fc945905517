//! Conversions with `time`.

use time::{Duration as Span, OffsetDateTime};

use crate::google::protobuf::{Duration, Timestamp};
use crate::range::OutOfRange;

/// The time may be outside of the years 1 to 9999, of which [`Timestamp::is_valid`] tells; JSON has no text for it.
impl From<OffsetDateTime> for Timestamp {
    fn from(time: OffsetDateTime) -> Self {
        Self::of(time.unix_timestamp(), time.nanosecond().cast_signed())
    }
}

/// In UTC.
impl TryFrom<Timestamp> for OffsetDateTime {
    type Error = OutOfRange;

    fn try_from(time: Timestamp) -> Result<Self, OutOfRange> {
        let normal = time.normalized();
        Self::from_unix_timestamp(normal.seconds)
            .and_then(|whole| whole.replace_nanosecond(normal.nanos.unsigned_abs()))
            .map_err(|_| time.out_of_range("time::OffsetDateTime"))
    }
}

impl TryFrom<Span> for Duration {
    type Error = OutOfRange;

    /// # Errors
    /// The span is longer than protobuf allows: see [`Duration::new`].
    fn try_from(span: Span) -> Result<Self, OutOfRange> {
        Self::new(span.whole_seconds(), span.subsec_nanoseconds())
    }
}

impl From<Duration> for Span {
    fn from(span: Duration) -> Self {
        let normal = span.normalized();
        Self::new(normal.seconds, normal.nanos)
    }
}

#[cfg(test)]
mod tests;

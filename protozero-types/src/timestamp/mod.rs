//! Points in time.

#[cfg(feature = "std")]
use std::time::{Duration as Span, SystemTime, UNIX_EPOCH};

use crate::google::protobuf::Timestamp;
use crate::range::{NANOS, OutOfRange};

/// 0001-01-01T00:00:00Z, in seconds since 1970.
const SECONDS_MIN: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z.
const SECONDS_MAX: i64 = 253_402_300_799;

impl Timestamp {
    /// The first valid point in time, 0001-01-01T00:00:00Z.
    #[must_use]
    pub const fn min() -> Self {
        Self::of(SECONDS_MIN, 0)
    }

    /// The last valid point in time, 9999-12-31T23:59:59.999999999Z.
    #[must_use]
    pub const fn max() -> Self {
        Self::of(SECONDS_MAX, 999_999_999)
    }

    /// The point in time `seconds` and `nanos` after 1970-01-01T00:00:00Z. `nanos` counts forward also before 1970.
    ///
    /// # Errors
    /// [`OutOfRange`] if it is not in the years 1 to 9999, or `nanos` is not in 0..=999,999,999.
    pub fn new(seconds: i64, nanos: i32) -> Result<Self, OutOfRange> {
        let new = Self::of(seconds, nanos);
        if new.is_valid() { Ok(new) } else { Err(new.out_of_range("google.protobuf.Timestamp")) }
    }

    pub(crate) const fn of(seconds: i64, nanos: i32) -> Self {
        Self { seconds, nanos }
    }

    pub(crate) fn out_of_range(&self, target: &'static str) -> OutOfRange {
        OutOfRange::new(self.seconds, self.nanos, target)
    }

    /// Whether the point in time is in the years 1 to 9999 and `nanos` in 0..=999,999,999. JSON has no others.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        (SECONDS_MIN..=SECONDS_MAX).contains(&self.seconds)
            && (0..1_000_000_000).contains(&self.nanos)
    }

    /// The same point in time with `nanos` in 0..=999,999,999. What exceeds an `i64` of seconds is cut off.
    #[must_use]
    pub fn normalized(&self) -> Self {
        let carry = i64::from(self.nanos).div_euclid(NANOS);
        match self.seconds.checked_add(carry) {
            Some(seconds) => Self::of(seconds, i64::from(self.nanos).rem_euclid(NANOS) as i32),
            None if carry < 0 => Self::of(i64::MIN, 0),
            None => Self::of(i64::MAX, 999_999_999),
        }
    }

    /// The time of the system's clock.
    ///
    /// ```
    /// assert!(protozero_types::Timestamp::now().is_valid());
    /// ```
    #[cfg(feature = "std")]
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().into()
    }
}

/// What exceeds an `i64` of seconds is cut off; no known system has such times.
/// The time may be outside of the years 1 to 9999, of which [`Timestamp::is_valid`] tells; JSON has no text for it.
#[cfg(feature = "std")]
impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => {
                let seconds = i64::try_from(after.as_secs()).unwrap_or(i64::MAX);
                Self::of(seconds, after.subsec_nanos().cast_signed())
            }
            Err(error) => {
                let before = error.duration();
                let seconds = i64::try_from(before.as_secs()).map_or(i64::MIN, |seconds| -seconds);
                // `nanos` counts forward.
                match before.subsec_nanos().cast_signed() {
                    0 => Self::of(seconds, 0),
                    nanos => Self::of(seconds.saturating_sub(1), 1_000_000_000 - nanos),
                }
            }
        }
    }
}

/// Normalizes the timestamp first.
#[cfg(feature = "std")]
impl TryFrom<Timestamp> for SystemTime {
    type Error = OutOfRange;

    fn try_from(time: Timestamp) -> Result<Self, OutOfRange> {
        let normal = time.normalized();
        let seconds = Span::from_secs(normal.seconds.unsigned_abs());
        let whole = if normal.seconds < 0 {
            UNIX_EPOCH.checked_sub(seconds)
        } else {
            UNIX_EPOCH.checked_add(seconds)
        };
        let nanos = Span::from_nanos(u64::from(normal.nanos.unsigned_abs()));
        whole
            .and_then(|time| time.checked_add(nanos))
            .ok_or_else(|| time.out_of_range("SystemTime"))
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;

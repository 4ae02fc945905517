//! Times and spans as text, in the form that they have in the JSON of protobuf.

use core::fmt;
use core::str::FromStr;

use protozero::time;

use crate::google::protobuf::{Duration, Timestamp};

/// A text is not a time or a span.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ParseTimeError {
    /// An example of what was expected.
    pub expected: &'static str,
}

impl fmt::Display for ParseTimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}, in the range of protobuf", self.expected)
    }
}

impl core::error::Error for ParseTimeError {}

/// RFC 3339, as in JSON: `2026-01-31T23:59:59.500Z`, with no digits behind the second, or 3, 6 or 9. A timestamp that
/// is not [valid](Timestamp::is_valid) has no such form, and is printed as its two numbers.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, nanos } = *self;
        let text = time::date_and_time(seconds, nanos);
        match text.as_ref().and_then(|text| core::str::from_utf8(text).ok()) {
            Some(text) => {
                f.write_str(text)?;
                time::put_nanos(nanos.unsigned_abs(), f)?;
                f.write_str("Z")
            }
            None => write!(f, "{seconds} s and {nanos} ns since 1970"),
        }
    }
}

/// RFC 3339 with a zone, as the JSON of protobuf takes it: `2026-01-31T23:59:59.5Z`, `2026-02-01T01:59:59+02:00`.
impl FromStr for Timestamp {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        let expected = "a time such as 2026-01-31T23:59:59.5Z";
        let (seconds, nanos) = time::timestamp(text).ok_or(ParseTimeError { expected })?;
        Ok(Self { seconds, nanos })
    }
}

/// Seconds, as in JSON: `-1.500s`. A span that is not [valid](Duration::is_valid) has no such form, and is printed as
/// its two numbers.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, nanos } = *self;
        if !time::is_duration(seconds, nanos) {
            return write!(f, "{seconds} s and {nanos} ns");
        }
        let sign = if seconds < 0 || nanos < 0 { "-" } else { "" };
        write!(f, "{sign}{}", seconds.unsigned_abs())?;
        time::put_nanos(nanos.unsigned_abs(), f)?;
        f.write_str("s")
    }
}

/// Seconds, as the JSON of protobuf takes them: `1.5s`.
impl FromStr for Duration {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, ParseTimeError> {
        let expected = "a duration such as 1.5s";
        let (seconds, nanos) = time::duration(text).ok_or(ParseTimeError { expected })?;
        Ok(Self { seconds, nanos })
    }
}

#[cfg(all(test, feature = "std"))]
mod tests;

//! The error of times and spans that a type cannot hold.

use core::fmt;

/// A point in time or a span does not fit the type that it is converted to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct OutOfRange {
    /// Seconds of the value.
    pub seconds: i64,
    /// Nanoseconds of the value.
    pub nanos: i32,
    /// The type that cannot hold it.
    pub target: &'static str,
}

impl OutOfRange {
    pub(crate) fn new(seconds: i64, nanos: i32, target: &'static str) -> Self {
        Self { seconds, nanos, target }
    }
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, nanos, target } = self;
        write!(f, "{seconds} s and {nanos} ns do not fit a {target}")
    }
}

impl core::error::Error for OutOfRange {}

/// Nanoseconds of a second.
pub(crate) const NANOS: i64 = 1_000_000_000;

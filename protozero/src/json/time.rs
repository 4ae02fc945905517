//! Times and durations in the output of a printer.

use core::fmt::Write as _;

use super::output::Output;
use crate::time::{date_and_time, is_duration, put_nanos};
pub(super) use crate::time::{duration, timestamp};

/// Appends a timestamp. False if it is out of range.
pub(super) fn put_timestamp(seconds: i64, nanos: i32, out: &mut Output) -> bool {
    let Some(text) = date_and_time(seconds, nanos) else { return false };
    out.put(&text);
    // Writing to memory cannot fail, here and below.
    let _ = put_nanos(nanos.unsigned_abs(), out);
    out.push(b'Z');
    true
}

/// Appends a duration. False if it is out of range, or its parts have different signs.
pub(super) fn put_duration(seconds: i64, nanos: i32, out: &mut Output) -> bool {
    if !is_duration(seconds, nanos) {
        return false;
    }
    if seconds < 0 || nanos < 0 {
        out.push(b'-');
    }
    let _ = write!(out, "{}", seconds.unsigned_abs());
    let _ = put_nanos(nanos.unsigned_abs(), out);
    out.push(b's');
    true
}

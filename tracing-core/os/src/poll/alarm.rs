//! Waiting for a time of the boot clock.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use crate::{failed, sys};
use abi::error::OsError;

/// How far an [`Alarm`] may be off, ns. A time converted from another clock differs a little at each conversion, and
/// setting the timer again would cost a system call each time.
pub const ALARM_SLACK_NS: u64 = 20_000;

/// Wakes its poller at a given boot time. A wait with a timeout would not count the time that the machine was
/// suspended.
#[derive(Debug)]
pub struct Alarm {
    timer: File,
    at_ns: Option<u64>,
}

impl Alarm {
    /// An alarm that is not set.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> Result<Self, OsError> {
        Ok(Self { timer: sys::timer().map_err(failed("timerfd_create"))?, at_ns: None })
    }

    /// Whether [`set`](Self::set) would leave it as it is.
    #[must_use]
    pub fn is_set_to(&self, at_ns: Option<u64>) -> bool {
        match (at_ns, self.at_ns) {
            (Some(new), Some(old)) => new.abs_diff(old) <= ALARM_SLACK_NS,
            (new, old) => new == old,
        }
    }

    /// Sets the alarm to `at_ns`, boot time, and forgets the time before. A time in the past wakes at once, `None`
    /// never. The alarm may be [`ALARM_SLACK_NS`] early or late.
    ///
    /// # Errors
    /// None in practice.
    pub fn set(&mut self, at_ns: Option<u64>) -> Result<(), OsError> {
        if self.is_set_to(at_ns) {
            return Ok(());
        }
        // Zero would mean never.
        let at = at_ns.map_or(Duration::ZERO, |at_ns| Duration::from_nanos(at_ns.max(1)));
        sys::set_timer(self.timer.as_fd(), at).map_err(failed("timerfd_settime"))?;
        self.at_ns = at_ns;
        Ok(())
    }

    /// Marks the alarm as not set, after it woke its poller.
    pub fn clear(&mut self) {
        let _ = self.timer.read(&mut [0; 8]);
        self.at_ns = None;
    }
}

impl AsFd for Alarm {
    /// Readable from the set time until [`clear`](Self::clear).
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

//! How the kernel schedules the thread that asks.

use super::failed;
use crate::error::OsError;

/// A way to be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// As everybody, with this nice value: -20 to 19, lower runs more.
    Nice(i32),
    /// Before everybody who is not real-time, first come first served, with this priority: 1 to 99.
    Fifo(u32),
}

/// The nice value of this thread.
#[must_use]
pub fn nice() -> i32 {
    rustix::process::getpriority_process(None).unwrap_or(0)
}

/// Schedules this thread otherwise from now on.
///
/// # Errors
/// Without the right to (`CAP_SYS_NICE`, or the limits `RLIMIT_NICE` and `RLIMIT_RTPRIO`), and for real-time
/// scheduling, which needs a system call that no dependency of ours has.
pub fn schedule(how: Scheduling) -> Result<(), OsError> {
    match how {
        Scheduling::Nice(value) => {
            rustix::process::setpriority_process(None, value).map_err(failed("setpriority"))
        }
        Scheduling::Fifo(_) => Err(failed("sched_setscheduler")(rustix::io::Errno::NOSYS)),
    }
}

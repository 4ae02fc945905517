//! How the kernel schedules a thread of this process.

use abi::error::OsError;

use crate::{failed, sys};

/// A scheduling class with its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// The default class, with this nice value: -20 to 19, lower runs more.
    Nice(i32),
    /// Real-time, first in first out (`SCHED_FIFO`), with this priority: 1 to 99.
    Fifo(u32),
}

impl Scheduling {
    /// The default class, with minus `boost` (0 to 20) as nice value. A thread whose usual nice value is lower keeps
    /// that: a boost makes it run no less.
    #[must_use]
    pub fn raised(usual_nice: i32, boost: u32) -> Self {
        Self::Nice(i32::try_from(boost).map_or(i32::MIN, |boost| -boost).min(usual_nice))
    }
}

/// The nice value of the calling thread.
#[must_use]
pub fn nice() -> i32 {
    sys::nice()
}

/// Changes the scheduling of a thread of this process, which has the [id](super::id) `thread`. Threads and programs
/// that it starts from then on, also after the boost, begin in the default class with a nice value of at least 0, where
/// the system allows that: a boost is of this thread alone, and they may outlive it.
///
/// # Errors
/// When this process lacks the right (`CAP_SYS_NICE`, or the limits `RLIMIT_NICE` and `RLIMIT_RTPRIO`), or there is no
/// such thread.
pub fn schedule(thread: u32, how: Scheduling) -> Result<(), OsError> {
    let set_class = |policy, priority| {
        sys::set_scheduler(thread, policy, priority).map_err(failed("sched_setscheduler"))
    };
    match how {
        Scheduling::Nice(value) => {
            let policy = sys::scheduler(thread).map_err(failed("sched_getscheduler"))?;
            match policy {
                // Nice values do not count in the real-time classes. Other classes may be the user's choice.
                libc::SCHED_FIFO | libc::SCHED_RR => set_class(libc::SCHED_OTHER, 0)?,
                // Not inherited; where a sandbox forbids the flag for that (`RestrictRealtime=` of systemd), it is.
                libc::SCHED_OTHER | libc::SCHED_BATCH if value < 0 => drop(set_class(policy, 0)),
                _ => {}
            }
            sys::set_nice(thread, value).map_err(failed("setpriority"))
        }
        Scheduling::Fifo(priority) => set_class(libc::SCHED_FIFO, priority),
    }
}

#[cfg(test)]
mod tests;

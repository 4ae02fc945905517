//! How the kernel schedules the calling thread.

use abi::error::OsError;

/// A scheduling class with its priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduling {
    /// The default class, with this nice value: -20 to 19, lower runs more.
    Nice(i32),
    /// Real-time, first in first out (`SCHED_FIFO`), with this priority: 1 to 99.
    Fifo(u32),
}

/// The nice value of this thread.
#[must_use]
pub fn nice() -> i32 {
    os::thread::nice()
}

/// Changes the scheduling of this thread.
///
/// # Errors
/// When this process lacks the right (`CAP_SYS_NICE`, or the limits `RLIMIT_NICE` and `RLIMIT_RTPRIO`), or real-time
/// scheduling is asked for and not built in (feature `realtime`).
pub fn schedule(how: Scheduling) -> Result<(), OsError> {
    match how {
        Scheduling::Nice(value) => {
            realtime::leave()?;
            os::thread::set_nice(value)
        }
        Scheduling::Fifo(priority) => realtime::enter(priority),
    }
}

#[cfg(feature = "realtime")]
mod realtime {
    use thread_priority::{
        Error, NormalThreadSchedulePolicy as Normal, RealtimeThreadSchedulePolicy as Realtime,
        ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy as Policy,
        set_thread_priority_and_policy, thread_native_id, thread_schedule_policy,
    };

    use abi::error::OsError;

    fn set(priority: u8, policy: Policy) -> Result<(), OsError> {
        let invalid = libc::EINVAL;
        let failed = |errno| OsError::new("sched_setscheduler", errno);
        let value = ThreadPriorityValue::try_from(priority).map_err(|_| failed(invalid))?;
        let priority = ThreadPriority::Crossplatform(value);
        set_thread_priority_and_policy(thread_native_id(), priority, policy).map_err(|error| {
            match error {
                Error::OS(errno) => failed(errno),
                _ => failed(invalid),
            }
        })
    }

    pub(super) fn enter(priority: u32) -> Result<(), OsError> {
        set(u8::try_from(priority).unwrap_or(u8::MAX), Policy::Realtime(Realtime::Fifo))
    }

    /// Returns to the default class, in which nice values count.
    pub(super) fn leave() -> Result<(), OsError> {
        match thread_schedule_policy() {
            // This sets nice 0; the caller sets the right value next.
            Ok(Policy::Realtime(_)) => set(50, Policy::Normal(Normal::Other)),
            _ => Ok(()),
        }
    }
}

#[cfg(not(feature = "realtime"))]
mod realtime {
    use abi::error::OsError;

    pub(super) fn enter(_: u32) -> Result<(), OsError> {
        Err(OsError::new("sched_setscheduler", libc::ENOSYS))
    }

    pub(super) fn leave() -> Result<(), OsError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;

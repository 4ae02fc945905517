//! The calling thread, and new ones.
//!
//! New threads come from `pthread_create`, not from the standard library, so that a forked process can have some:
//! `pthread` says what stands in the way.

mod pthread;
#[cfg(test)]
mod tests;

use std::ffi::CString;
use std::io;

use crate::{failed, sys};
use abi::error::OsError;
use abi::sync::{Arc, Weak};

/// A thread that was started. It runs on if this is dropped.
#[derive(Debug)]
pub struct Thread {
    started: pthread::Started,
    /// What it runs has the other end.
    running: Weak<()>,
}

impl Thread {
    /// Waits until it has ended, also by a panic.
    pub fn join(self) {
        self.started.join();
    }

    /// Whether it is the calling thread.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.started.is_current()
    }

    /// Whether what it runs has returned, or panicked.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.running.strong_count() == 0
    }
}

/// Starts a thread. What it runs is boxed, because a thread of each type of closure is much code. The kernel keeps 15
/// bytes of `name`; a name with a zero byte is none.
///
/// # Errors
/// When the system has no thread left.
pub fn spawn(name: &str, run: Box<dyn FnOnce() + Send>) -> io::Result<Thread> {
    let name = CString::new(name).unwrap_or_default();
    let theirs = Arc::new(());
    let running = Arc::downgrade(&theirs);
    let run = move || {
        sys::name_thread(&name);
        run();
        drop(theirs);
    };
    let started = pthread::start(Box::new(run))?;
    Ok(Thread { started, running })
}

/// Its id, unique on this machine. Linux gives the main thread the id of the process.
#[must_use]
pub fn id() -> u32 {
    #[cfg(miri)]
    return 1;
    #[cfg(not(miri))]
    sys::thread_id()
}

/// Its nice value, -20 to 19: a thread with a lower one runs more.
#[must_use]
pub fn nice() -> i32 {
    sys::nice()
}

/// Changes its nice value.
///
/// # Errors
/// When this process lacks the right: `CAP_SYS_NICE`, or the limit `RLIMIT_NICE`.
pub fn set_nice(value: i32) -> Result<(), OsError> {
    sys::set_nice(value).map_err(failed("setpriority"))
}

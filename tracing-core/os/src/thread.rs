//! The calling thread, and new ones.

use std::io;
use std::thread::{Builder, JoinHandle};

use crate::{failed, sys};
use abi::error::OsError;

/// Starts a thread. What it runs is boxed, because a thread of each type of closure is much code.
///
/// # Errors
/// When the system has no thread left.
pub fn spawn(name: &str, run: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.to_owned()).spawn(run)
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

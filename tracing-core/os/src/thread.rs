//! The calling thread.

use crate::sys;

/// Its id, unique on this machine. Linux gives the main thread the id of the process.
#[must_use]
pub fn id() -> u32 {
    #[cfg(miri)]
    return 1;
    #[cfg(not(miri))]
    sys::thread_id()
}

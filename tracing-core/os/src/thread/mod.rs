//! The calling thread, and new ones.
//!
//! New threads come from `pthread_create`, not from the standard library, so that a forked process can have some:
//! `pthread` says what stands in the way.

#[cfg(feature = "host")]
mod own_descriptors;
mod pthread;
#[cfg(feature = "service")]
mod scheduling;
#[cfg(test)]
mod tests;

use std::ffi::CString;
use std::io;

use crate::sys;
use abi::sync::{Arc, AtomicU32, Ordering, Weak};

#[cfg(feature = "host")]
pub use self::own_descriptors::{unshare_all_but, unshare_descriptors};
#[cfg(feature = "service")]
pub use self::scheduling::{Scheduling, nice, schedule};

/// A thread that was started. It runs on if this is dropped.
#[derive(Debug)]
pub struct Thread {
    started: pthread::Started,
    /// What it runs has the other end.
    running: Running,
}

/// A thread that was started, for others than its owner: whether it runs, and its id.
#[derive(Clone, Debug)]
pub struct Running(Weak<AtomicU32>);

impl Running {
    /// The id of the thread. `None` before it begins, and when what it runs has returned or panicked.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        let id = self.0.upgrade()?.load(Ordering::Relaxed);
        (id != 0).then_some(id)
    }
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
        self.running.0.strong_count() == 0
    }

    /// What others may know of it.
    #[must_use]
    pub fn running(&self) -> Running {
        self.running.clone()
    }
}

/// Starts a thread. What it runs is boxed, because a thread of each type of closure is much code. The kernel keeps 15
/// bytes of `name`; a name with a zero byte is none.
///
/// # Errors
/// When the system has no thread left.
pub fn spawn(name: &str, run: Box<dyn FnOnce() + Send>) -> io::Result<Thread> {
    let name = CString::new(name).unwrap_or_default();
    let theirs = Arc::new(AtomicU32::new(0));
    let running = Running(Arc::downgrade(&theirs));
    let run = move || {
        theirs.store(id(), Ordering::Relaxed);
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

//! What other parts of the library do when instances have started or stopped.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::fork::{self, Held};

pub(crate) type Callbacks = Vec<fn()>;

static CALLBACKS: Mutex<Callbacks> = Mutex::new(Vec::new());

/// The value of [`fork::count`] when the functions were called last.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Whether the process was forked since: its instances are gone, and the functions were not called, because that takes
/// locks of other libraries.
#[inline]
pub(crate) fn are_untold() -> bool {
    FORKS.load(Ordering::Relaxed) != fork::count()
}

/// Calls the functions if the process was forked since. The caller holds no lock. If a thread of the parent held a lock
/// of `tracing` then, it waits for ever, as the next new call site of the process would.
pub(crate) fn tell_after_fork() {
    if are_untold() {
        tell();
    }
}

/// The functions, while the process forks.
pub(crate) fn lock_for_fork() -> Held<Callbacks> {
    CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner).into()
}

/// Calls `callback` after each start and stop of an instance, on the thread of the data source, without a lock. Adding
/// the same function twice does nothing.
pub(crate) fn add(callback: fn()) {
    let mut callbacks = CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner);
    if !callbacks.iter().any(|known| core::ptr::fn_addr_eq(*known, callback)) {
        callbacks.push(callback);
    }
}

/// An instance has started or stopped.
pub(super) fn tell() {
    FORKS.store(fork::count(), Ordering::Relaxed);
    let callbacks = CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for callback in callbacks {
        callback();
    }
}

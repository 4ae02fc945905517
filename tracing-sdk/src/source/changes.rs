//! What other parts of the library do when instances have started or stopped.

use std::sync::{Mutex, PoisonError};

use crate::fork::Held;

pub(crate) type Callbacks = Vec<fn()>;

static CALLBACKS: Mutex<Callbacks> = Mutex::new(Vec::new());

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
    let callbacks = CALLBACKS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for callback in callbacks {
        callback();
    }
}

//! What other parts of the library do when instances have started or stopped.

use std::sync::{Mutex, PoisonError};

static CALLBACKS: Mutex<Vec<fn()>> = Mutex::new(Vec::new());

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

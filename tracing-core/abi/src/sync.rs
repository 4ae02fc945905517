//! The only names of atomics, locks and shared pointers in this crate: std's, or loom's models
//! of them when built with `--cfg loom`.
//!
//! The models live in a package of their own, `tracing-core/loom`, which compiles the
//! modules they are about, this one included, from these same files with `cfg(loom)` set.

#[cfg(not(loom))]
pub use std::sync::{
    Arc, Condvar, Mutex, MutexGuard, OnceLock, RwLock, Weak,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(loom)]
pub use loom::sync::{
    Arc, Condvar, Mutex, MutexGuard, RwLock,
    atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};
// Loom has none, so no model may depend on when one is set.
#[cfg(loom)]
pub use std::sync::OnceLock;

/// Locks `mutex`, whether or not a thread panicked while it held it.
///
/// Critical sections here leave their state consistent at each step that can panic. A panic of one thread
/// of a traced program must not end its other threads as well.
#[inline]
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Yields the processor; under loom, a point where the model may switch threads.
pub fn yield_now() {
    #[cfg(not(loom))]
    std::thread::yield_now();
    #[cfg(loom)]
    loom::thread::yield_now();
}

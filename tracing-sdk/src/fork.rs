//! Forks of the process. A child shares the shared memory of its parent, so it must not use the writers that it
//! inherited, nor run their destructors.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::MutexGuard;

/// A lock that is held while the process forks. What it guards cannot be reached.
pub(crate) struct Held<T: 'static>(
    #[expect(dead_code, reason = "it is held")] MutexGuard<'static, T>,
);

impl<T> From<MutexGuard<'static, T>> for Held<T> {
    fn from(guard: MutexGuard<'static, T>) -> Self {
        Self(guard)
    }
}

static COUNT: AtomicU32 = AtomicU32::new(0);

/// How many forks lead from the first process to this one. A writer belongs to the process with the number at which it
/// was made.
pub(crate) fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

/// In a forked process, on its only thread.
pub(crate) fn forked() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

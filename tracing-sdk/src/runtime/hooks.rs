//! The end of the process, and its forks.
//!
//! At the end, what this process has committed is on its way to the service, and nobody waits for it without the hook.
//!
//! A forked process shares the memory of its parent's producer, and has none of its threads. So it forgets all
//! producers, instances and sequences, without running their destructors, which would write into that memory:
//!
//! ```text
//!   before the fork: take the locks ──┬── parent: release them
//!                                     └── child: forget, release them ──> not traced until the next `init`
//! ```

use std::any::Any;
use std::cell::RefCell;
use std::sync::{MutexGuard, Once};
use std::time::Duration;

use super::state::{RUNTIME, Runtime, lock};
use crate::fork;
use crate::interceptor;
use crate::intern;
#[cfg(feature = "tracing")]
use crate::layer::{self, LockedFirst};
use crate::sequence::thread;
use crate::site::sticky;
#[cfg(feature = "tracing")]
use crate::source::changes;
use crate::source::registry;
use crate::track::process;

/// How long the end of a process may wait for a service that does not answer.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// What the thread that forks holds meanwhile, in the order in which locks are taken.
struct Locks {
    runtime: MutexGuard<'static, Runtime>,
    registry: registry::Locked,
    _sources: Vec<Box<dyn Any>>,
    _sticky: sticky::Locked,
    _names: intern::Locked,
    _interceptors: interceptor::Locked,
    #[cfg(feature = "log")]
    _log: crate::log::Locked,
    #[cfg(feature = "tracing")]
    _layer: (LockedFirst, layer::Locked, changes::Locked),
}

thread_local! {
    static LOCKS: RefCell<Option<Locks>> = const { RefCell::new(None) };
}

pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Both fail only without memory; then the last events may be missing, and a fork is not noticed.
        let _ = os::hooks::at_exit(at_exit);
        let _ = os::hooks::at_fork(before_fork, in_parent, in_child);
    });
}

extern "C" fn at_exit() {
    thread::flush();
    // Another thread may hold the lock, and wait for this one.
    let Ok(runtime) = RUNTIME.try_lock() else { return };
    let system = runtime.system.clone();
    drop(runtime);
    if let Some(producer) = system.filter(|producer| producer.is_connected()) {
        producer.sync(EXIT_TIMEOUT);
        // The process ends with its threads.
        core::mem::forget(producer);
    }
}

extern "C" fn before_fork() {
    // In this order everywhere.
    #[cfg(feature = "tracing")]
    let first = layer::lock_first_for_fork();
    let runtime = lock();
    #[cfg(feature = "tracing")]
    let layer = (first, layer::lock_for_fork(), changes::lock_for_fork());
    let registry = registry::lock_for_fork();
    let locks = Locks {
        _sources: runtime.sources.iter().map(|source| (source.lock)()).collect(),
        runtime,
        registry,
        _sticky: sticky::lock_for_fork(),
        _names: intern::lock_for_fork(),
        _interceptors: interceptor::lock_for_fork(),
        #[cfg(feature = "log")]
        _log: crate::log::lock_for_fork(),
        #[cfg(feature = "tracing")]
        _layer: layer,
    };
    // A thread that forks while it ends has no thread locals; then the locks are released at once.
    let _ = LOCKS.try_with(|held| *held.borrow_mut() = Some(locks));
}

extern "C" fn in_parent() {
    let _ = LOCKS.try_with(|held| held.borrow_mut().take());
}

extern "C" fn in_child() {
    let Ok(Some(mut locks)) = LOCKS.try_with(|held| held.borrow_mut().take()) else { return };
    core::mem::forget((locks.runtime.system.take(), locks.runtime.in_process.take()));
    locks.registry.forget_instances();
    // What follows takes them.
    drop(locks);
    fork::forked();
    thread::forget_after_fork();
    process::forget_after_fork();
}

//! The end of the process, and its forks.
//!
//! At the end, what this process has committed is on its way to the service, and nobody waits for it without the hook.
//! A service inside the program ends with it, so the files of its sessions are completed before.
//!
//! A forked process shares the memory of its parent's producer, and has none of its threads. So it forgets all
//! producers, instances and sequences, without running their destructors, which would write into that memory:
//!
//! ```text
//!   before the fork: take the locks ──┬── parent: release them
//!                                     └── child: forget, release them ──> not traced until the next `init`
//! ```
//!
//! What the child forgets stays in its memory. It frees nothing on the way: another thread of the parent may have held
//! a lock of the allocator, and not every allocator takes care of that.
//!
//! The child also closes the sockets that it shares with its parent. Else services would not learn that the parent has
//! ended, while the child lives.

use core::mem::ManuallyDrop;
use std::cell::RefCell;
#[cfg(feature = "in-process")]
use std::sync::Arc;
use std::sync::{MutexGuard, Once, TryLockError};
use std::time::Duration;

use os::clock::Deadline;

#[cfg(feature = "in-process")]
use super::state::{CompleteFile, LiveSession};
use super::state::{ForkLock, RUNTIME, Runtime, lock};
use crate::clock::snapshots::{self, Snapshots};
use crate::event::schema;
use crate::fork::{self, Held};
#[cfg(feature = "in-process")]
use crate::inside;
use crate::interceptor;
use crate::intern::{self, HeldNames};
#[cfg(feature = "tracing")]
use crate::layer::{self, LayerLocks, MaxLevel};
use crate::sequence::thread;
use crate::site::sticky;
#[cfg(feature = "tracing")]
use crate::source::changes::{self, Callbacks};
use crate::source::registry::{self, LockedRegistry};
use crate::track::process;

/// How long the end of a process may wait for a service that does not answer.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the end of a process may wait for a lock that other threads have for a moment each.
const LOCK_TIMEOUT: Duration = Duration::from_millis(100);
/// How often it tries at least: on a busy machine there are few tries in that time, and a thread that waits for a
/// processor keeps its lock.
const LOCK_TRIES: u32 = 100;
/// How long the end of a process may wait until the sessions inside it have ended and have written the rest of their
/// files, and as long again for a service that is told to end at once.
#[cfg(feature = "in-process")]
const FILES_TIMEOUT: Duration = Duration::from_secs(5);

/// What the thread that forks holds meanwhile. [`before_fork`] has the order.
struct Locks {
    runtime: MutexGuard<'static, Runtime>,
    registry: LockedRegistry,
    sources: Vec<Box<dyn ForkLock>>,
    _sticky: Held<sticky::List>,
    _names: HeldNames,
    _interceptors: Held<interceptor::List>,
    _clocks: Held<Snapshots>,
    _schemas: Held<schema::Sets>,
    #[cfg(feature = "log")]
    _log: Held<crate::log::Literals>,
    #[cfg(feature = "tracing")]
    _rebuilding: Held<MaxLevel>,
    #[cfg(feature = "tracing")]
    layer: LayerLocks,
    #[cfg(feature = "tracing")]
    _changes: Held<Callbacks>,
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
    let Some(runtime) = lock_at_exit() else { return };
    let system = runtime.system.clone();
    drop(runtime);
    if let Some(producer) = system.filter(|producer| producer.is_connected()) {
        producer.sync(EXIT_TIMEOUT);
        // The process ends with its threads.
        core::mem::forget(producer);
    }
    #[cfg(feature = "in-process")]
    complete_files();
}

/// The lock, unless another thread keeps it: such a thread may wait for this one.
pub(super) fn lock_at_exit() -> Option<MutexGuard<'static, Runtime>> {
    let deadline = Deadline::after(Some(LOCK_TIMEOUT));
    let mut tries = 0;
    loop {
        match RUNTIME.try_lock() {
            Ok(runtime) => return Some(runtime),
            Err(TryLockError::Poisoned(runtime)) => return Some(runtime.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
        tries += 1;
        if tries >= LOCK_TRIES && deadline.left().is_none_or(|left| left.is_zero()) {
            return None;
        }
        std::thread::yield_now();
    }
}

/// Completes the files of sessions inside the program.
#[cfg(feature = "in-process")]
fn complete_files() {
    let Some(runtime) = lock_at_exit() else { return };
    let sessions: Vec<_> = runtime.sessions.iter().filter_map(LiveSession::writer).collect();
    drop(runtime);
    if sessions.is_empty() {
        return;
    }
    let complete = move || {
        let each = |session: &Arc<dyn CompleteFile>| session.complete_file(FILES_TIMEOUT);
        // All of them, also after one that failed.
        let complete = sessions.iter().filter(|&session| each(session)).count() == sessions.len();
        // The process ends, and so do they.
        core::mem::forget(sessions);
        complete
    };
    // A session waits for callbacks of the program, so it cannot end in one.
    if !inside::in_callback() && within_timeout(complete) {
        return;
    }
    let Some(mut runtime) = lock_at_exit() else { return };
    let in_process = runtime.in_process.take();
    drop(runtime);
    if let Some(in_process) = in_process {
        within_timeout(move || {
            in_process.end_service();
            true
        });
    }
}

/// Runs `work` on another thread: it may wait for a lock that this one has. False if it says so, or takes too long.
#[cfg(feature = "in-process")]
fn within_timeout(work: impl FnOnce() -> bool + Send + 'static) -> bool {
    let (done, wait) = os::queue::queue();
    let run = move || {
        done.send(work());
    };
    let thread = os::thread::spawn("tracing-exit", Box::new(run));
    thread.is_ok() && wait.recv_timeout(FILES_TIMEOUT) == Some(true)
}

extern "C" fn before_fork() {
    // In this order everywhere.
    #[cfg(feature = "tracing")]
    let rebuilding = layer::lock_rebuilding_for_fork();
    let runtime = lock();
    #[cfg(feature = "tracing")]
    let (layer, changes) = (layer::lock_for_fork(), changes::lock_for_fork());
    let registry = registry::lock_for_fork();
    let locks = Locks {
        sources: runtime.sources.iter().map(|source| (source.lock)()).collect(),
        runtime,
        registry,
        _sticky: sticky::lock_for_fork(),
        _names: intern::lock_for_fork(),
        _interceptors: interceptor::lock_for_fork(),
        _clocks: snapshots::lock_for_fork(),
        _schemas: schema::lock_for_fork(),
        #[cfg(feature = "log")]
        _log: crate::log::lock_for_fork(),
        #[cfg(feature = "tracing")]
        _rebuilding: rebuilding,
        #[cfg(feature = "tracing")]
        layer,
        #[cfg(feature = "tracing")]
        _changes: changes,
    };
    // A thread that forks while it ends has no thread locals; then the locks are released at once.
    let _ = LOCKS.try_with(|held| *held.borrow_mut() = Some(locks));
}

extern "C" fn in_parent() {
    let _ = LOCKS.try_with(|held| held.borrow_mut().take());
}

extern "C" fn in_child() {
    let Ok(Some(mut locks)) = LOCKS.try_with(|held| held.borrow_mut().take()) else { return };
    if let Some(system) = &locks.runtime.system {
        system.leave_to_parent();
    }
    core::mem::forget((locks.runtime.system.take(), locks.runtime.in_process.take()));
    #[cfg(feature = "session")]
    {
        let sessions = ManuallyDrop::new(core::mem::take(&mut locks.runtime.sessions));
        for session in sessions.iter() {
            session.leave_to_parent();
        }
    }
    locks.registry.forget_instances();
    // What follows takes the locks.
    let mut sources = ManuallyDrop::new(core::mem::take(&mut locks.sources));
    sources.iter_mut().for_each(|source| source.unlock());
    #[cfg(feature = "tracing")]
    locks.layer.unlock_slots();
    drop(locks);
    fork::forked();
    thread::forget_after_fork();
    process::forget_after_fork();
}

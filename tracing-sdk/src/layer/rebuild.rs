//! Sessions start and stop, and call sites ask again whether anybody wants them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::callsite::rebuild_interest_cache;
use tracing::dispatcher::{Dispatch, WeakDispatch, with_default};

use crate::source::changes;

/// The subscribers with one of our layers.
static SUBSCRIBERS: Mutex<Vec<WeakDispatch>> = Mutex::new(Vec::new());

/// Held while call sites ask again: `tracing` has locks meanwhile that a forked process could not release.
static REBUILDING: Mutex<()> = Mutex::new(());

/// What a fork waits for, before it takes other locks.
pub(crate) struct Locked(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

pub(crate) fn lock_for_fork() -> Locked {
    Locked(REBUILDING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The subscribers, while the process forks.
pub(crate) struct LockedSubscribers(
    #[expect(dead_code, reason = "it is held")] MutexGuard<'static, Vec<WeakDispatch>>,
);

pub(super) fn lock_subscribers_for_fork() -> LockedSubscribers {
    LockedSubscribers(SUBSCRIBERS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Makes every call site ask again at each start and stop of a session.
pub(super) fn enable() {
    changes::add(rebuild);
}

/// A subscriber with one of our layers is in use.
pub(super) fn add(subscriber: &Dispatch) {
    let mut subscribers = SUBSCRIBERS.lock().unwrap_or_else(PoisonError::into_inner);
    subscribers.retain(|subscriber| subscriber.upgrade().is_some());
    subscribers.push(subscriber.downgrade());
}

fn rebuild() {
    let live = || {
        let subscribers = SUBSCRIBERS.lock().unwrap_or_else(PoisonError::into_inner);
        subscribers.iter().rev().find_map(WeakDispatch::upgrade)
    };
    let _rebuilding = REBUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    match live() {
        // While there is one subscriber, `tracing` asks that of the calling thread alone.
        Some(subscriber) => with_default(&subscriber, rebuild_interest_cache),
        // It may be inside another one that does not say so.
        None => rebuild_interest_cache(),
    }
}

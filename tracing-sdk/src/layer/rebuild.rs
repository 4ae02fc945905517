//! Sessions start and stop, and call sites ask again whether anybody wants them.
//!
//! While there is one subscriber, `tracing` asks that of the calling thread, which here is a thread of the library. So
//! ours would not be asked if it is the default of another thread. It cannot say which subscriber it is part of: behind
//! an `Option` or in a `Vec` a layer never learns that. Another subscriber that is registered for a moment makes
//! `tracing` ask all there are:
//!
//! ```text
//!   a subscriber that wants nothing is registered:    all are asked, and it is one of them
//!   it is dropped, and call sites ask again:          all that are left are asked
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::callsite::rebuild_interest_cache;
use tracing::dispatcher::Dispatch;
use tracing::subscriber::NoSubscriber;

use crate::source::changes;

/// Held while call sites ask again: `tracing` has locks meanwhile that a forked process could not release.
static REBUILDING: Mutex<()> = Mutex::new(());

/// What a fork waits for, before it takes other locks.
pub(crate) struct Locked(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, ()>);

pub(crate) fn lock_for_fork() -> Locked {
    Locked(REBUILDING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Makes every call site ask again at each start and stop of a session.
pub(super) fn enable() {
    changes::add(rebuild);
}

fn rebuild() {
    let _rebuilding = REBUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    drop(Dispatch::new(NoSubscriber::default()));
    rebuild_interest_cache();
}

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

use std::sync::{Mutex, PoisonError};

use tracing::callsite::rebuild_interest_cache;
use tracing::dispatcher::Dispatch;
use tracing::subscriber::NoSubscriber;

#[cfg(feature = "log")]
use super::filter;
#[cfg(feature = "log")]
use super::log_record;
use super::log_record::MaxLevel;
use crate::callback;
use crate::fork::Held;
use crate::source::changes;

/// Held while call sites ask again: `tracing` has locks meanwhile that a forked process could not release.
static REBUILDING: Mutex<MaxLevel> = Mutex::new(MaxLevel::new());

/// What a fork waits for, before it takes other locks.
pub(crate) fn lock_for_fork() -> Held<MaxLevel> {
    REBUILDING.lock().unwrap_or_else(PoisonError::into_inner).into()
}

/// Makes every call site ask again at each start and stop of a session.
pub(super) fn enable() {
    changes::add(rebuild);
}

fn rebuild() {
    let mut max_level = REBUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    contained(|| {
        ask_all();
        max_level.follow_sessions();
    });
}

/// Runs what asks all subscribers, and the layers of the program in them.
fn contained<R>(work: impl FnOnce() -> R) -> Option<R> {
    callback::run(format_args!("a layer that was asked for its interest"), work)
}

fn ask_all() {
    drop(Dispatch::new(NoSubscriber::default()));
    rebuild_interest_cache();
}

/// Whether the logger of the program passes its records to the layer or the subscriber of this library. Makes them want
/// everything for a moment: else they may not be asked. False if a layer of the program panics.
#[cfg(feature = "log")]
pub(crate) fn gets_log_records() -> bool {
    let _rebuilding = REBUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let wants_all = filter::WantsAll::begin();
    let leads_here = contained(|| {
        ask_all();
        log_record::leads_here()
    });
    drop(wants_all);
    contained(ask_all);
    leads_here.unwrap_or(false)
}

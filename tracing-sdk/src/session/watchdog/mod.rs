//! Work that may hang. A thread of the recorder saves a trace while the work still goes on.
//!
//! ```text
//!   watchdog ──> list of work ──> thread: sleeps until the first one is due ──> saves a trace, once
//!   drop     ──> no longer in the list
//! ```
//!
//! A server may watch each of its many requests. So the list is sorted, and work that is not due first wakes nobody.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::fork;
use os::thread::Thread;

#[cfg(test)]
mod tests;

/// Watches work until it is dropped: see [`FlightRecorder::watchdog`](super::FlightRecorder::watchdog). It may be sent
/// to another thread, and may live while a task waits.
///
/// ```
/// # fn main() -> Result<(), tracing_sdk::session::SessionError> {
/// use std::time::Duration;
/// use tracing_sdk::session::{Config, FlightRecorder, Watchdog};
///
/// struct Request {
///     number: u64,
///     _watchdog: Watchdog,
/// }
///
/// let recorder = FlightRecorder::start(Config::new().track_events(&["net"]))?;
/// let path = std::env::temp_dir().join("hangs.pftrace");
/// let watchdog = recorder.watchdog(Duration::from_secs(5), path);
/// let request = Request { number: 7, _watchdog: watchdog };
/// println!("{} is done in time", request.number);
/// drop(request);
/// # Ok(())
/// # }
/// ```
#[must_use = "the work is watched until this is dropped, at once by `let _ =`: name it, `let _watchdog = ..`"]
#[derive(Debug)]
pub struct Watchdog {
    all: Arc<Watchdogs>,
    /// None: it is not in the list.
    key: Option<Key>,
}

/// The work that a recorder watches.
#[derive(Debug)]
pub(super) struct Watchdogs {
    state: Mutex<State>,
    changed: Condvar,
    /// The value of [`fork::count`] in the process that they belong to.
    forks: u32,
}

#[derive(Debug, Default)]
struct State {
    list: List,
    thread: Option<Thread>,
    /// The recorder is dropped.
    is_over: bool,
}

/// When work is due, and a number that no other work has.
type Key = (Instant, u64);

/// The work that is not done, and of which no trace was saved.
#[derive(Debug, Default)]
struct List {
    entries: BTreeMap<Key, PathBuf>,
    last_number: u64,
}

/// What the thread does next.
#[derive(Debug, PartialEq)]
enum Next {
    Save(PathBuf),
    /// Until something changes, but so long at most.
    Sleep(Option<Duration>),
}

impl List {
    fn add(&mut self, due: Instant, path: PathBuf) -> Key {
        self.last_number += 1;
        let key = (due, self.last_number);
        self.entries.insert(key, path);
        key
    }

    fn is_first(&self, key: Key) -> bool {
        self.entries.first_key_value().is_some_and(|(first, _)| *first == key)
    }

    fn remove(&mut self, key: Key) {
        self.entries.remove(&key);
    }

    /// Takes the work that is due out of the list.
    fn next(&mut self, now: Instant) -> Next {
        let Some(first) = self.entries.first_entry() else { return Next::Sleep(None) };
        let (due, _) = *first.key();
        match due.checked_duration_since(now).filter(|left| !left.is_zero()) {
            Some(left) => Next::Sleep(Some(left)),
            None => Next::Save(first.remove()),
        }
    }
}

impl Watchdogs {
    pub(super) fn new() -> Arc<Self> {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Arc::new(Self { state, changed, forks: fork::count() })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches work from now on. If the work takes longer than `limit`, a thread calls `save` with `path`.
    pub(super) fn add(
        self: &Arc<Self>,
        limit: Duration,
        path: PathBuf,
        save: impl Fn(&Path) + Send + 'static,
    ) -> Watchdog {
        // None: later than any time that there is, so never.
        let due = Instant::now().checked_add(limit);
        // In a forked process the lock may be that of a thread which this process does not have.
        let Some(due) = due.filter(|_| self.forks == fork::count()) else {
            return Watchdog { all: self.clone(), key: None };
        };
        let mut state = self.lock();
        let key = state.list.add(due, path);
        if state.thread.is_none() {
            let all = self.clone();
            match os::thread::spawn("tracing-watchdog", Box::new(move || all.run(save))) {
                Ok(thread) => state.thread = Some(thread),
                Err(error) => {
                    crate::report::report!(
                        "work that hangs is not saved: cannot start a thread: {error}"
                    );
                }
            }
        }
        if state.list.is_first(key) {
            self.changed.notify_one();
        }
        Watchdog { all: self.clone(), key: Some(key) }
    }

    /// What the thread does.
    fn run(&self, save: impl Fn(&Path)) {
        let mut state = self.lock();
        while !state.is_over {
            state = match state.list.next(Instant::now()) {
                Next::Sleep(None) => {
                    self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
                }
                Next::Sleep(Some(left)) => {
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                Next::Save(path) => {
                    drop(state);
                    save(&path);
                    self.lock()
                }
            };
        }
    }

    /// The recorder is dropped. Waits for a trace that is being saved.
    pub(super) fn end(&self) {
        let thread = {
            let mut state = self.lock();
            state.is_over = true;
            state.thread.take()
        };
        self.changed.notify_one();
        if let Some(thread) = thread {
            thread.join();
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if self.all.forks != fork::count() {
            // They are those of the parent process.
            core::mem::forget(self.all.clone());
        } else if let Some(key) = self.key {
            self.all.lock().list.remove(key);
        }
    }
}

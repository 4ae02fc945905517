//! Work that may hang. A thread of the recorder saves a trace while the work still goes on.
//!
//! ```text
//!   watchdog ──> list of work ──> thread: sleeps until the first one is due ──> saves a trace, once
//!   drop     ──> no longer in the list
//! ```

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
    number: u64,
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

/// The work that is not done, and of which no trace was saved.
#[derive(Debug, Default)]
struct List {
    entries: Vec<Entry>,
    last_number: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    /// None: later than any time.
    due: Option<Instant>,
    path: PathBuf,
}

/// What the thread does next.
#[derive(Debug, PartialEq)]
enum Next {
    Save(PathBuf),
    /// Until something changes, but so long at most.
    Sleep(Option<Duration>),
}

impl List {
    fn add(&mut self, due: Option<Instant>, path: PathBuf) -> u64 {
        self.last_number += 1;
        self.entries.push(Entry { number: self.last_number, due, path });
        self.last_number
    }

    fn remove(&mut self, number: u64) {
        self.entries.retain(|entry| entry.number != number);
    }

    /// Takes the work that is due out of the list.
    fn next(&mut self, now: Instant) -> Next {
        let due = |(at, entry): (usize, &Entry)| Some((entry.due?, at));
        let Some((due, at)) = self.entries.iter().enumerate().filter_map(due).min() else {
            return Next::Sleep(None);
        };
        match due.checked_duration_since(now).filter(|left| !left.is_zero()) {
            Some(left) => Next::Sleep(Some(left)),
            None => Next::Save(self.entries.swap_remove(at).path),
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
        if self.forks != fork::count() {
            // The lock may be that of a thread which this process does not have. 0 is the number of nothing.
            return Watchdog { all: self.clone(), number: 0 };
        }
        let due = Instant::now().checked_add(limit);
        let mut state = self.lock();
        let number = state.list.add(due, path);
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
        self.changed.notify_one();
        Watchdog { all: self.clone(), number }
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
        if self.all.forks == fork::count() {
            self.all.lock().list.remove(self.number);
        } else {
            // They are those of the parent process.
            core::mem::forget(self.all.clone());
        }
    }
}

//! The thread that writes the log, and the queue of lines before it.
//!
//! The function of the program may block, for example on a pipe that nobody reads. Then lines wait, up to a number,
//! and further ones are counted; once there is place again, a line tells how many are missing. The thread starts with
//! the first line.

use core::fmt;
use std::collections::VecDeque;
use std::time::Duration;

use crate::limits::{LOG_LINE_BYTES_MAX, LOG_LINES_WAITING_MAX};
use abi::sync::{Arc, Condvar, Mutex, lock};
use service::LogLevel;

/// Takes the lines of the log.
///
/// A service with threads calls it on a thread of the log, at most [1024](crate::limits::LOG_LINES_WAITING_MAX) lines
/// late, and waits one second for it at the end. [`EmbeddedService`](crate::embed::EmbeddedService) calls it on the
/// thread that polls.
pub type Log = Box<dyn FnMut(LogLevel, &str) + Send>;

/// How long the end of the service waits for the reader of the log.
const LAST_LINES: Duration = Duration::from_secs(1);

#[derive(Default)]
struct State {
    /// Until the thread has it.
    log: Option<Log>,
    lines: VecDeque<(LogLevel, String)>,
    /// Lines that found the queue full.
    dropped: u64,
    /// The thread runs, and has the function.
    is_running: bool,
    /// No line comes any more.
    ended: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// A line came, or the last one has come.
    work: Condvar,
    /// The thread ends.
    ended: Condvar,
}

/// Where lines are put, from any thread.
#[derive(Clone)]
pub(crate) struct Lines(Arc<Shared>);

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").finish_non_exhaustive()
    }
}

/// See the [module](self). Dropping it is [`finish`](Self::finish).
pub(crate) struct Writer(Lines);

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

impl Writer {
    pub(crate) fn new(log: Log) -> Self {
        let shared = Arc::<Shared>::default();
        lock(&shared.state).log = Some(log);
        Self(Lines(shared))
    }

    pub(crate) fn lines(&self) -> &Lines {
        &self.0
    }

    /// Waits until all lines are written, but not for long.
    pub(crate) fn finish(&mut self) {
        let mut state = lock(&self.0.0.state);
        state.ended = true;
        self.0.0.work.notify_one();
        let running = |state: &mut State| state.is_running;
        drop(self.0.0.ended.wait_timeout_while(state, LAST_LINES, running));
    }
}

impl Lines {
    /// Gives a line to the thread. Never waits.
    pub(crate) fn write(&self, level: LogLevel, text: &str) {
        let mut state = lock(&self.0.state);
        let is_gone = !state.is_running && state.log.is_none();
        if state.lines.len() >= LOG_LINES_WAITING_MAX || is_gone {
            state.dropped = state.dropped.saturating_add(1);
            return;
        }
        let end = text.floor_char_boundary(LOG_LINE_BYTES_MAX);
        state.lines.push_back((level, text.get(..end).unwrap_or_default().to_owned()));
        if !state.is_running {
            // Without a thread the line waits: the next one tries again.
            state.is_running = self.start();
        }
        self.0.work.notify_one();
    }

    fn start(&self) -> bool {
        let shared = Arc::clone(&self.0);
        os::thread::spawn("traced-log", Box::new(move || run(&shared))).is_ok()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Tells the end of the thread, also if the function panics.
struct Running<'a>(&'a Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).is_running = false;
        self.0.ended.notify_all();
    }
}

fn run(shared: &Shared) {
    let _running = Running(shared);
    // Dropped before that: who waits for the end may expect that the function is gone.
    let Some(mut log) = lock(&shared.state).log.take() else { return };
    while let Some((level, text)) = next(shared) {
        log(level, &text);
    }
}

/// Waits for a line. None when the last one is written.
fn next(shared: &Shared) -> Option<(LogLevel, String)> {
    let mut state = lock(&shared.state);
    loop {
        if let Some(line) = state.lines.pop_front() {
            return Some(line);
        }
        let dropped = std::mem::take(&mut state.dropped);
        if dropped > 0 {
            let text = format!("{dropped} messages not shown: the log was not read in time");
            return Some((LogLevel::Error, text));
        }
        if state.ended {
            return None;
        }
        state = shared.work.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
    }
}

#[cfg(test)]
mod tests;

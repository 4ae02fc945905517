//! What can interrupt a recording: a signal, or the end of the command it was for.
//!
//! Both are found by threads that wait for nothing else; they leave a note and wake the consumer. Who
//! does not look, because a pipe takes nothing or a service does not answer, is ended at the second signal.

use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing_core::client::connection::ConnectionWaker;

use crate::console;
use crate::failure::{Context, Failure};
use crate::recording::INTERRUPTED;

/// One interruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nudge {
    /// SIGINT or SIGTERM: which.
    Interrupt(Signal),
    /// The command ended.
    Exited(ExitStatus),
}

/// How long a note of a second signal may lie there before the program is ended without it.
const NOT_LOOKING: Duration = Duration::from_secs(1);

/// How long after one signal another means the same one.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// Counts interruptions. One Ctrl-C may come twice: wrappers such as `timeout` send it to us and then
/// to our whole group.
#[derive(Debug, Default)]
pub struct Interrupts {
    count: u32,
    last: Option<Instant>,
}

impl Interrupts {
    /// Counts one at `now`; none if it is the same as the last.
    pub fn count(&mut self, now: Instant) -> Option<u32> {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < SAME_SIGNAL) {
            return None;
        }
        self.last = Some(now);
        self.count += 1;
        Some(self.count)
    }
}

/// Where interruptions are left.
#[derive(Debug)]
pub struct Nudges {
    notes: Receiver<Nudge>,
    nudger: Nudger,
}

/// Leaves them there, from any thread.
#[derive(Clone, Debug)]
pub struct Nudger {
    notes: Sender<Nudge>,
    /// Notes that were left and not taken.
    waiting: Arc<Waiting>,
    waker: Arc<Mutex<Option<ConnectionWaker>>>,
}

#[derive(Debug, Default)]
struct Waiting {
    count: Mutex<usize>,
    /// There are fewer.
    taken: Condvar,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does somebody take them all in `time`?
    fn are_taken(&self, time: Duration) -> bool {
        let left = self.taken.wait_timeout_while(self.lock(), time, |count| *count != 0);
        *left.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

impl Nudger {
    /// Leaves a note and wakes whoever waits.
    pub fn nudge(&self, nudge: Nudge) {
        // Counted before the waker is looked for: one that is set meanwhile sees it.
        *self.waiting.lock() += 1;
        // If that fails nobody looks any more: the program is ending.
        let _ = self.notes.send(nudge);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake();
        }
    }
}

impl Nudges {
    /// Catches SIGINT and SIGTERM from now on.
    ///
    /// # Errors
    /// When the system has no descriptor or thread left.
    pub fn catch_signals() -> Result<Self, Failure> {
        let (sender, notes) = channel();
        let nudger = Nudger { notes: sender, waiting: Arc::default(), waker: Arc::default() };
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot catch signals")?;
        let from_thread = nudger.clone();
        let run = move || {
            let mut interrupts = Interrupts::default();
            for number in signals.forever() {
                let signal = if number == SIGINT { Signal::INT } else { Signal::TERM };
                from_thread.nudge(Nudge::Interrupt(signal));
                let again = interrupts.count(Instant::now()).is_some_and(|count| count > 1);
                if again && !from_thread.waiting.are_taken(NOT_LOOKING) {
                    console::say("interrupted again, the trace is not complete");
                    std::process::exit(INTERRUPTED.into());
                }
            }
        };
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(run)
            .context("cannot start a thread")?;
        Ok(Self { notes, nudger })
    }

    /// Wakes `waker` for every note from now on, and for those that wait; for nothing else.
    pub fn set_waker(&self, waker: ConnectionWaker) {
        *self.nudger.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
        if *self.nudger.waiting.lock() != 0 {
            self.nudger.wake();
        }
    }

    /// Something for other threads to leave notes with.
    #[must_use]
    pub fn nudger(&self) -> Nudger {
        self.nudger.clone()
    }

    /// The next note that waits, if any.
    #[must_use]
    pub fn take(&self) -> Option<Nudge> {
        self.taken(self.notes.try_recv().ok())
    }

    fn taken(&self, nudge: Option<Nudge>) -> Option<Nudge> {
        if nudge.is_some() {
            *self.nudger.waiting.lock() -= 1;
            self.nudger.waiting.taken.notify_all();
        }
        nudge
    }

    /// The next note; waits for it.
    #[must_use]
    pub fn wait(&self) -> Option<Nudge> {
        self.taken(self.notes.recv().ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_twice_counts_once() {
        let start = Instant::now();
        let mut interrupts = Interrupts::default();
        let counts: Vec<_> = [0, 1, 999, 1000, 1001, 5000]
            .map(|ms| interrupts.count(start + Duration::from_millis(ms)))
            .into();
        assert_eq!(counts, [Some(1), None, None, Some(2), None, Some(3)]);
    }
}

//! What can interrupt a recording: a signal, or the end of the command it was for.
//!
//! Both are found by threads that wait for nothing else; they leave a note and wake the consumer.

use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tracing_core::client::connection::ConnectionWaker;
use tracing_core::os::poll::Poller;
use tracing_core::os::signal::StopSignals;

use crate::failure::{Context, Failure};

/// One interruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nudge {
    /// SIGINT or SIGTERM.
    Interrupt,
    /// The command ended.
    Exited(ExitStatus),
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
    waker: Arc<Mutex<Option<ConnectionWaker>>>,
}

impl Nudger {
    /// Leaves a note and wakes whoever waits.
    pub fn nudge(&self, nudge: Nudge) {
        // Nobody looks any more: the program is ending.
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
        let nudger = Nudger { notes: sender, waker: Arc::default() };
        let mut signals = StopSignals::catch().context("cannot catch signals")?;
        let poller = Poller::new().context("cannot catch signals")?;
        poller.add(&signals, 0, true, false).context("cannot catch signals")?;
        let from_thread = nudger.clone();
        let run = move || {
            let mut ready = Vec::new();
            while poller.wait(&mut ready, None).is_ok() {
                ready.clear();
                for _ in 0..signals.take() {
                    from_thread.nudge(Nudge::Interrupt);
                }
            }
        };
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(run)
            .context("cannot start a thread")?;
        Ok(Self { notes, nudger })
    }

    /// Wakes `waker` for every note from now on, and for those that wait.
    pub fn set_waker(&self, waker: ConnectionWaker) {
        *self.nudger.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
        self.nudger.wake();
    }

    /// Something for other threads to leave notes with.
    #[must_use]
    pub fn nudger(&self) -> Nudger {
        self.nudger.clone()
    }

    /// The next note that waits, if any.
    #[must_use]
    pub fn take(&self) -> Option<Nudge> {
        self.notes.try_recv().ok()
    }

    /// The next note; waits for it.
    #[must_use]
    pub fn wait(&self) -> Option<Nudge> {
        self.notes.recv().ok()
    }
}

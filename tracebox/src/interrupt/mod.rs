//! What can interrupt a recording: a signal, or the end of the command that is recorded.
//!
//! A thread waits for signals, another one for the command. Each puts an [`Interrupt`] into the queue and
//! wakes the consumer. If nothing takes a second signal out of the queue, because the recorder is blocked in
//! a write or waits for a service that hangs, the signal thread ends the program.

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tracing_core::client::connection::ConnectionWaker;
use tracing_core::daemon::system::signal::is_ignored;

use crate::console;
use crate::failure::{Context, EXIT_INTERRUPTED, Failure};

/// One interruption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupt {
    /// SIGINT, SIGTERM or SIGHUP came at this time. It may be handled much later.
    Signal(Signal, Instant),
    /// The command ended.
    CommandExited(ExitStatus),
}

/// How long a second signal may stay in the queue before the program is ended.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(1);

/// A signal this soon after another one counts as the same.
const SAME_SIGNAL: Duration = Duration::from_secs(1);

/// Why a recording ends with a second signal.
pub const INTERRUPTED_AGAIN: &str = "interrupted again, the trace is not complete";

/// Counts signals. One Ctrl-C may come twice: wrappers such as `timeout` send it to this process and then
/// to its whole group.
#[derive(Debug, Default)]
pub struct SignalCounter {
    count: u32,
    /// When each signal, by its number, was counted last.
    last: BTreeMap<i32, Instant>,
}

impl SignalCounter {
    /// Counts a signal that came at `now`. `None`: it is the same as the last one, whatever its number: who ends a
    /// session of a user sends SIGTERM and SIGHUP at once.
    pub fn count(&mut self, signal: Signal, now: Instant) -> Option<u32> {
        let is_same = self.last.values().any(|last| is_soon(*last, now));
        (!is_same).then(|| self.add(signal, now))
    }

    /// As [`count`](Self::count) for a command, which tells signals apart: only one of the same number is the same.
    pub fn count_each(&mut self, signal: Signal, now: Instant) -> Option<u32> {
        let is_same = self.last.get(&signal.as_raw()).is_some_and(|last| is_soon(*last, now));
        (!is_same).then(|| self.add(signal, now))
    }

    fn add(&mut self, signal: Signal, now: Instant) -> u32 {
        self.last.insert(signal.as_raw(), now);
        self.count += 1;
        self.count
    }

    /// Counts from 1 again. A signal soon after the last one still counts as the same.
    pub fn restart(&mut self) {
        self.count = 0;
    }
}

fn is_soon(last: Instant, now: Instant) -> bool {
    now.saturating_duration_since(last) < SAME_SIGNAL
}

/// The queue of interruptions.
#[derive(Debug)]
pub struct InterruptQueue {
    receiver: Receiver<Interrupt>,
    sender: InterruptSender,
}

/// Puts interruptions into the queue, from any thread.
#[derive(Clone, Debug)]
pub struct InterruptSender {
    sender: Sender<Interrupt>,
    pending: Arc<Pending>,
    waker: Arc<Mutex<Option<ConnectionWaker>>>,
}

/// The number of interruptions in the queue.
#[derive(Debug, Default)]
struct Pending {
    count: Mutex<usize>,
    /// Signalled when the number falls.
    taken: Condvar,
}

impl Pending {
    fn lock(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the queue is empty. False: it was not within `timeout`.
    fn wait_until_empty(&self, timeout: Duration) -> bool {
        let left = self.taken.wait_timeout_while(self.lock(), timeout, |count| *count != 0);
        *left.unwrap_or_else(PoisonError::into_inner).0 == 0
    }
}

impl InterruptSender {
    /// Puts `interrupt` into the queue and wakes the consumer.
    pub fn send(&self, interrupt: Interrupt) {
        // Counted before the waker is read, so that `set_waker` sees the interruption if this does not
        // see the waker.
        *self.pending.lock() += 1;
        // It fails only when the queue is gone: the program is ending.
        let _ = self.sender.send(interrupt);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake();
        }
    }
}

impl InterruptQueue {
    /// A queue into which only senders put something.
    #[must_use]
    pub fn without_signals() -> Self {
        let (sender, receiver) = channel();
        let sender = InterruptSender { sender, pending: Arc::default(), waker: Arc::default() };
        Self { receiver, sender }
    }

    /// Catches SIGINT, SIGTERM and SIGHUP from now on. SIGHUP stays ignored if it is: `nohup` asks for that.
    ///
    /// # Errors
    /// When the system has no descriptor or thread left.
    pub fn catch_signals() -> Result<Self, Failure> {
        let queue = Self::without_signals();
        let mut numbers = vec![SIGINT, SIGTERM];
        if !is_ignored(SIGHUP) {
            numbers.push(SIGHUP);
        }
        let mut signals = Signals::new(numbers).context("cannot catch signals")?;
        let from_thread = queue.sender();
        let run = move || {
            let mut counter = SignalCounter::default();
            for number in signals.forever() {
                let signal = match number {
                    SIGINT => Signal::INT,
                    SIGHUP => Signal::HUP,
                    _ => Signal::TERM,
                };
                let now = Instant::now();
                from_thread.send(Interrupt::Signal(signal, now));
                let again = counter.count(signal, now).is_some_and(|count| count > 1);
                if again && !from_thread.pending.wait_until_empty(QUEUE_TIMEOUT) {
                    console::log(INTERRUPTED_AGAIN);
                    std::process::exit(EXIT_INTERRUPTED.into());
                }
            }
        };
        std::thread::Builder::new()
            .name("signals".into())
            .spawn(run)
            .context("cannot start a thread")?;
        Ok(queue)
    }

    /// Wakes `waker` at every interruption from now on, and for those in the queue; for nothing else.
    pub fn set_waker(&self, waker: ConnectionWaker) {
        *self.sender.waker.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
        if *self.sender.pending.lock() != 0 {
            self.sender.wake();
        }
    }

    /// A sender for another thread.
    #[must_use]
    pub fn sender(&self) -> InterruptSender {
        self.sender.clone()
    }

    /// The next interruption, if there is one in the queue.
    #[must_use]
    pub fn take(&self) -> Option<Interrupt> {
        self.counted(self.receiver.try_recv().ok())
    }

    /// The next interruption; waits for it.
    #[must_use]
    pub fn wait(&self) -> Option<Interrupt> {
        self.counted(self.receiver.recv().ok())
    }

    fn counted(&self, interrupt: Option<Interrupt>) -> Option<Interrupt> {
        if interrupt.is_some() {
            *self.sender.pending.lock() -= 1;
            self.sender.pending.taken.notify_all();
        }
        interrupt
    }
}

#[cfg(test)]
mod tests;

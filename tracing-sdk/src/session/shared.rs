//! One consumer for several threads: a thread that waits for the end of the session gives way to those that ask for
//! something.
//!
//! ```text
//!   wait ──> locked, in the consumer ──(woken)──> stands back ──> locked again ...
//!                                        ^            │
//!   stop, flush ... ── wanted + 1, wake ─┘            └─> locked, request, wanted - 1
//! ```
//!
//! A thread that reads takes the consumer for each reply of the service, and not while it writes what is in it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use client::connection::ConnectionWaker;
use client::consumer::{Consumer, ConsumerError, Waited};
use protos::TrackEventConfig;

use super::categories;
use super::error::{NOT_STARTED, OF_PARENT, SessionError};
use super::file::NewFile;
use crate::fork;
use os::clock::Deadline;

/// How long a service may take to answer.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);

/// How far a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    SetUp,
    /// Set up, for a trigger that starts it.
    Armed,
    Started,
    Stopped,
}

/// The consumer, and how far its session is.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) consumer: Consumer,
    pub(super) state: State,
    /// The file that the service writes, until the session has started.
    pub(super) new_file: Option<NewFile>,
    /// The service writes the trace into a file, and has no packets to read.
    pub(super) writes_file: bool,
    /// The categories that it wants, if it names them and the program knows all that it can record.
    pub(super) named: Vec<TrackEventConfig>,
}

impl Inner {
    /// Waits for what the service tells next. It tells the end of the session once, so all waits are here.
    pub(super) fn wait(&mut self, timeout: Option<Duration>) -> Result<Waited, SessionError> {
        let waited = self.consumer.wait(timeout);
        match &waited {
            Ok(Waited::Ended) => {
                self.state = State::Stopped;
                categories::tell_if_none(&self.named);
            }
            Err(ConsumerError::Service(_)) => self.state = State::Stopped,
            Ok(_) | Err(_) => {}
        }
        Ok(waited?)
    }
}

/// What the handles of one session share.
#[derive(Debug)]
pub(super) struct Shared {
    /// One read after the other. It is locked before `inner`.
    read_turn: Mutex<()>,
    inner: Mutex<Inner>,
    turns: Mutex<Turns>,
    changed: Condvar,
    waker: ConnectionWaker,
    /// The value of [`fork::count`] in the process that the session belongs to.
    forks: u32,
}

#[derive(Debug, Default)]
struct Turns {
    /// Threads with a request.
    wanted: usize,
    /// A thread waits in the consumer for the end of the session.
    waiting: bool,
    /// The session was dropped.
    dropped: bool,
}

impl Shared {
    pub(super) fn new(consumer: Consumer, state: State, new_file: Option<NewFile>) -> Self {
        Self {
            waker: consumer.waker(),
            read_turn: Mutex::new(()),
            inner: Mutex::new(Inner {
                consumer,
                state,
                new_file,
                writes_file: false,
                named: Vec::new(),
            }),
            turns: Mutex::default(),
            changed: Condvar::new(),
            forks: fork::count(),
        }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the process was forked since: then the session is that of its parent.
    pub(super) fn is_of_parent(&self) -> bool {
        self.forks != fork::count()
    }

    /// An error in a forked process. Its parent has the service, and threads that may hold the locks.
    pub(super) fn check_process(&self) -> Result<(), SessionError> {
        if self.is_of_parent() { Err(SessionError::Order(OF_PARENT)) } else { Ok(()) }
    }

    /// The consumer, for a request.
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, Inner>, SessionError> {
        self.check_process()?;
        Ok(self.lock_here())
    }

    /// As [`lock`](Self::lock), of a caller that knows that the session is of this process.
    pub(super) fn lock_here(&self) -> MutexGuard<'_, Inner> {
        {
            let mut turns = self.turns();
            turns.wanted += 1;
            if turns.waiting {
                self.waker.wake();
            }
        }
        let inner = self.inner();
        self.turns().wanted -= 1;
        self.changed.notify_all();
        inner
    }

    /// Waits until no other thread reads. None in a forked process, where nothing can be read.
    pub(super) fn begin_reading(&self) -> Option<MutexGuard<'_, ()>> {
        let lock = || self.read_turn.lock().unwrap_or_else(PoisonError::into_inner);
        (!self.is_of_parent()).then(lock)
    }

    /// Whether no thread has the consumer.
    #[cfg(all(test, feature = "in-process", not(feature = "off")))]
    pub(super) fn is_free(&self) -> bool {
        self.inner.try_lock().is_ok()
    }

    /// Whether the session has ended, as far as the service has told. False while another thread has the consumer, and
    /// learns it itself: a thread that panics must not wait for one that flushes.
    #[cfg(feature = "in-process")]
    pub(super) fn has_ended(&self) -> Result<bool, SessionError> {
        self.check_process()?;
        let Ok(mut inner) = self.inner.try_lock() else { return Ok(false) };
        while inner.state == State::Started {
            if inner.wait(Some(Duration::ZERO))? == Waited::TimedOut {
                return Ok(false);
            }
        }
        Ok(inner.state == State::Stopped)
    }

    /// Waits for the end of the session. False after `timeout`.
    pub(super) fn wait_ended(&self, timeout: Option<Duration>) -> Result<bool, SessionError> {
        self.check_process()?;
        let deadline = Deadline::after(timeout);
        loop {
            let mut turns = self.turns();
            while turns.wanted != 0 && !turns.dropped {
                turns = self.changed.wait(turns).unwrap_or_else(PoisonError::into_inner);
            }
            if turns.dropped {
                return Err(SessionError::Order("the session was dropped"));
            }
            drop(turns);
            let mut inner = self.inner();
            match inner.state {
                State::SetUp | State::Armed => {
                    return Err(SessionError::Order(NOT_STARTED));
                }
                State::Stopped => return Ok(true),
                State::Started => {}
            }
            if !self.begin_waiting() {
                continue;
            }
            let waited = inner.wait(deadline.left());
            self.end_waiting();
            match waited? {
                Waited::Ended => return Ok(true),
                Waited::TimedOut => return Ok(false),
                _ => {}
            }
        }
    }

    /// False if another thread has a request.
    fn begin_waiting(&self) -> bool {
        let mut turns = self.turns();
        turns.waiting = turns.wanted == 0 && !turns.dropped;
        turns.waiting
    }

    fn end_waiting(&self) {
        let mut turns = self.turns();
        turns.waiting = false;
        // A wake-up that came too late must not interrupt the next request.
        self.waker.take();
    }

    /// Ends a wait for ever.
    pub(super) fn drop_session(&self) {
        let mut turns = self.turns();
        turns.dropped = true;
        if turns.waiting {
            self.waker.wake();
        }
        self.changed.notify_all();
    }
}

//! The producers of this process, under one lock.

#[cfg(feature = "in-process")]
use std::sync::Weak;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
#[cfg(feature = "in-process")]
use std::time::Duration;

use client::producer::{Producer, ProducerError};
#[cfg(feature = "session")]
use os::socket::OpenSocket;

#[cfg(feature = "in-process")]
use super::in_process::InProcess;
use super::options::Options;

pub(super) static RUNTIME: Mutex<Runtime> = Mutex::new(Runtime {
    system: None,
    system_options: None,
    in_process: None,
    #[cfg(feature = "in-process")]
    in_process_options: None,
    sources: Vec::new(),
    #[cfg(feature = "session")]
    sessions: Vec::new(),
});

pub(super) struct Runtime {
    /// A thread that waits for it holds a reference, and not the lock.
    pub(super) system: Option<Arc<Producer>>,
    /// What was chosen for it.
    pub(super) system_options: Option<Options>,
    pub(super) in_process: Option<InProcess>,
    #[cfg(feature = "in-process")]
    pub(super) in_process_options: Option<Options>,
    /// Data sources of the program's own.
    pub(super) sources: Vec<Offer>,
    /// Sessions of the program's own that need something at its end, or at a fork.
    #[cfg(feature = "session")]
    pub(super) sessions: Vec<LiveSession>,
}

/// A session of the program's own.
#[cfg(feature = "session")]
pub(crate) enum LiveSession {
    /// With the service inside the program, which writes a file: the end of the program completes it.
    #[cfg(feature = "in-process")]
    WritesFile(Weak<dyn CompleteFile>),
    /// With a service outside: a forked child leaves the socket to its parent.
    Outside(OpenSocket),
}

#[cfg(feature = "session")]
impl LiveSession {
    /// The session, if the end of the program completes its file.
    #[cfg(feature = "in-process")]
    pub(super) fn writer(&self) -> Option<Arc<dyn CompleteFile>> {
        match self {
            Self::WritesFile(session) => session.upgrade(),
            Self::Outside(_) => None,
        }
    }

    /// In a forked child.
    pub(super) fn leave_to_parent(&self) {
        match self {
            #[cfg(feature = "in-process")]
            Self::WritesFile(_) => {}
            Self::Outside(socket) => socket.leave_to_parent(),
        }
    }
}

/// A session that writes a file.
#[cfg(feature = "in-process")]
pub(crate) trait CompleteFile: Send + Sync {
    /// Ends the session, which writes the rest of its file. True if the file is complete then.
    fn complete_file(&self, timeout: Duration) -> bool;
}

/// Offers a data source to the service of a producer.
pub(crate) type Register = Box<dyn Fn(&Producer) -> Result<(), ProducerError> + Send + Sync>;

/// A data source of the program's own.
pub(crate) struct Offer {
    pub(crate) register: Register,
    /// Locks its instances, while the process forks.
    pub(crate) lock: Box<dyn Fn() -> Box<dyn ForkLock> + Send + Sync>,
}

/// A lock that is held while the process forks: until it is dropped.
pub(crate) trait ForkLock {
    /// Releases it before that, without a change of memory: a forked child must not free any.
    fn unlock(&mut self);
}

/// None if it was released.
impl<T> ForkLock for Option<MutexGuard<'_, T>> {
    fn unlock(&mut self) {
        *self = None;
    }
}

/// In place of the service inside the program: there is none.
#[cfg(not(feature = "in-process"))]
pub(super) enum InProcess {}

#[cfg(not(feature = "in-process"))]
impl InProcess {
    pub(super) fn producer(&self) -> &Arc<Producer> {
        match *self {}
    }
}

pub(super) fn lock() -> MutexGuard<'static, Runtime> {
    RUNTIME.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Runtime {
    pub(super) fn producers(&self) -> impl Iterator<Item = &Arc<Producer>> {
        self.system.iter().chain(self.in_process.as_ref().map(InProcess::producer))
    }
}

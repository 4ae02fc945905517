//! The producers of this process, under one lock.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client::producer::{Producer, ProducerError};

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
}

/// Offers a data source to the service of a producer.
pub(crate) type Register = Box<dyn Fn(&Producer) -> Result<(), ProducerError> + Send + Sync>;

/// A data source of the program's own.
pub(crate) struct Offer {
    pub(crate) register: Register,
    /// Locks its instances, while the process forks.
    pub(crate) lock: Box<dyn Fn() -> Box<dyn Any> + Send + Sync>,
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

//! The running instances of one data source.
//!
//! One [`word`](super::word) says which slots are in use; a trace point loads it and does nothing else while it is
//! zero. The slots themselves are behind a lock, which a thread takes when the generation has changed since its last
//! packet.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use client::data_source::Instance;

use super::word::{NEW, Word};
use crate::fork;
use crate::interceptor::ForThreads;
use crate::slots::{COUNT, Slots};

/// One running instance.
pub(super) struct Running<S> {
    pub(super) serial: u32,
    pub(super) instance: Instance,
    pub(super) value: S,
    /// Its packets go to it, and not to the service.
    pub(super) interceptor: Option<ForThreads>,
    /// How many times the service asked to clear incremental state.
    pub(super) clears: AtomicU32,
    /// It was told to stop, and its [`StopGuard`](super::guard::StopGuard) was not dropped yet.
    pub(super) is_stopping: AtomicBool,
}

/// See the [module](self).
pub(super) struct Instances<S> {
    pub(super) name: &'static str,
    word: Word,
    slots: Mutex<Slots<Running<S>>>,
    /// The value of [`fork::count`] in the process that its instances belong to.
    forks: AtomicU32,
}

impl<S> Instances<S> {
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            word: Word { bits: AtomicU32::new(NEW), generation: AtomicU32::new(0) },
            slots: Mutex::new(Slots::new()),
            forks: AtomicU32::new(0),
        }
    }

    /// Held while the process forks.
    pub(super) fn lock_for_fork(&self) -> MutexGuard<'_, Slots<Running<S>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Slots<Running<S>>> {
        let mut slots = self.lock_for_fork();
        let forks = fork::count();
        if self.forks.swap(forks, Ordering::Relaxed) != forks {
            // They belong to the parent process. No destructor runs.
            self.word.stop_all();
            (0..COUNT).for_each(|slot| core::mem::forget(slots.take(slot)));
        }
        slots
    }

    /// Not zero if an instance runs, or the data source is not registered.
    #[inline(always)]
    pub(super) fn load(&self) -> u32 {
        self.word.load()
    }

    pub(super) fn is_new(&self) -> bool {
        self.load() & NEW != 0
    }

    /// The first call returns true.
    pub(super) fn set_registered(&self) -> bool {
        self.word.set_registered()
    }

    /// The slots in use, and the generation that is current for them.
    pub(super) fn current(&self) -> (u32, u32) {
        if self.forks.load(Ordering::Relaxed) != fork::count() {
            drop(self.lock());
        }
        self.word.current()
    }

    /// All instances, and their generation.
    pub(super) fn all(&self) -> (u32, [Option<Arc<Running<S>>>; crate::slots::COUNT]) {
        let slots = self.lock();
        (self.word.generation(), slots.all())
    }

    /// Starts an instance. Gives the value back if all slots are taken: it is of the program, and must not be dropped
    /// under the lock.
    pub(super) fn start(
        &self,
        instance: Instance,
        value: S,
        interceptor: Option<ForThreads>,
    ) -> Result<(usize, Arc<Running<S>>), S> {
        let mut slots = self.lock();
        let make = |value, serial| Running {
            serial,
            instance,
            value,
            interceptor,
            clears: AtomicU32::new(0),
            is_stopping: AtomicBool::new(false),
        };
        let started = slots.put(value, make)?;
        self.word.start(started.0);
        Ok(started)
    }

    /// Makes every thread begin anew in the instance.
    pub(super) fn clear(&self, slot: usize) {
        let slots = self.lock();
        if let Some(running) = slots.get(slot) {
            running.clears.fetch_add(1, Ordering::Relaxed);
            self.word.change();
        }
    }

    /// If all slots are taken: ends an instance that was told to stop, so that a program that never drops a guard does
    /// not lose the slot for ever. Drop it without a lock: it is of the program.
    pub(super) fn make_room(&self) -> Option<Arc<Running<S>>> {
        let mut slots = self.lock();
        let is_full = (0..COUNT).all(|slot| slots.get(slot).is_some());
        let is_stopping = |running: &Arc<Running<S>>| running.is_stopping.load(Ordering::Relaxed);
        let slot = (0..COUNT).find(|slot| slots.get(*slot).is_some_and(is_stopping))?;
        let ended = is_full.then(|| slots.take(slot)).flatten()?;
        self.word.stop(slot);
        drop(slots);
        Some(ended)
    }

    /// Ends the instance `serial`, which may have lost its slot to another one.
    pub(super) fn stop(&self, slot: usize, serial: u32) {
        let mut slots = self.lock();
        if slots.get(slot).is_none_or(|running| running.serial != serial) {
            return;
        }
        let stopped = slots.take(slot);
        self.word.stop(slot);
        drop(slots);
        // The value is of the program: it must not be dropped under the lock.
        drop(stopped);
    }
}

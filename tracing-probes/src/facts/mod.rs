//! What the events of ftrace tell to the other data sources of their session: threads that ran or began, names that
//! changed, files that were opened.
//!
//! ```text
//!  thread of ftrace                                       thread of a kind (linux.process_stats)
//!   a pass ─> its facts, for each session ─> Exchange ─> inbox: the order of each instance ─> Probe::facts
//!
//!  thread of the producer
//!   flush of that instance ─> Exchange ─> ftrace reads its rings ─> inbox: flush      facts first
//! ```
//!
//! The thread of ftrace copies the facts of a pass, which are a set, once for each instance that wants them, and waits
//! for nobody: what the other thread has not taken yet is joined. So there is no work for each event, and what waits is
//! bounded by the instances and by [`FACTS_MAX`].

#[cfg(test)]
mod tests;

use std::fmt;

use abi::map::SortedMap;
use abi::sync::{Mutex, Weak, lock};

use crate::limits::FACTS_MAX;

/// The kinds of facts that an instance wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Threads that ran, and those that are new or have a new name.
    pub(crate) threads: bool,
    /// Descriptors that threads opened.
    pub(crate) fds: bool,
    /// Inodes that events name.
    pub(crate) inodes: bool,
}

impl Wanted {
    pub(crate) fn any(self) -> bool {
        self != Self::default()
    }
}

/// The facts of one or several passes. Each list is sorted, and has nothing twice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    /// Threads.
    pub(crate) pids: Vec<i32>,
    /// Threads that are new, or have a new name.
    pub(crate) renamed: Vec<i32>,
    /// Threads, and the descriptors that they opened.
    pub(crate) fds: Vec<(i32, u64)>,
    /// Devices as user space numbers them, 0 for an unknown one, and inodes on them.
    pub(crate) inodes: Vec<(u64, u64)>,
}

impl Facts {
    pub(crate) fn is_empty(&self) -> bool {
        self.pids.is_empty()
            && self.renamed.is_empty()
            && self.fds.is_empty()
            && self.inodes.is_empty()
    }

    /// Adds those of a later pass. What is beyond [`FACTS_MAX`] of a kind is dropped.
    pub(crate) fn join(&mut self, later: Self) {
        join(&mut self.pids, later.pids);
        join(&mut self.renamed, later.renamed);
        join(&mut self.fds, later.fds);
        join(&mut self.inodes, later.inodes);
    }
}

fn join<T: Ord>(all: &mut Vec<T>, later: Vec<T>) {
    if all.is_empty() {
        *all = later;
    } else {
        all.extend(later);
        all.sort_unstable();
        all.dedup();
    }
    all.truncate(FACTS_MAX);
}

/// Takes facts: the instances of a kind.
pub(crate) trait Listener: Send + Sync {
    /// Gives each instance of `session` what it wants of the facts, which `facts` copies. It does not block.
    fn tell(&self, session: u64, facts: &dyn Fn(Wanted) -> Facts);
}

/// Has facts: the instances of ftrace.
pub(crate) trait Reader: Send + Sync {
    /// Is there an instance in this session?
    fn has(&self, session: u64) -> bool;

    /// Makes its thread look for flushes that wait.
    fn wake(&self);
}

/// Connects ftrace with the kinds that take facts.
#[derive(Default)]
pub(crate) struct Exchange {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    listeners: Vec<Weak<dyn Listener>>,
    reader: Option<Weak<dyn Reader>>,
    /// Flushes of instances, by the name of their kind and a number there. One for each instance.
    waiting: SortedMap<(&'static str, u64), Waiting>,
}

/// A flush that waits until ftrace has read its rings.
pub(crate) struct Waiting {
    pub(crate) session: u64,
    /// Hands the flush to the thread of its kind.
    pub(crate) flush: Box<dyn FnOnce() + Send>,
}

impl Exchange {
    /// The instances of a kind take facts from now on.
    pub(crate) fn add(&self, listener: Weak<dyn Listener>) {
        let mut state = lock(&self.state);
        state.listeners.retain(|listener| listener.strong_count() > 0);
        state.listeners.push(listener);
    }

    /// Tells the facts of a pass to all instances of a session.
    pub(crate) fn tell(&self, session: u64, facts: &dyn Fn(Wanted) -> Facts) {
        // Outside of the lock, because each takes a lock of its own.
        let listeners: Vec<_> = lock(&self.state).listeners.iter().map(Weak::upgrade).collect();
        listeners.iter().flatten().for_each(|listener| listener.tell(session, facts));
    }

    /// The thread of ftrace, which takes flushes that wait.
    pub(crate) fn set_reader(&self, reader: Weak<dyn Reader>) {
        lock(&self.state).reader = Some(reader);
    }

    /// Calls `flush` when the facts of all events until now have been told: at once if ftrace does not record in the
    /// session. An earlier flush of the instance that was not begun covers this one, which is dropped.
    pub(crate) fn after_pass(
        &self,
        session: u64,
        instance: (&'static str, u64),
        flush: Box<dyn FnOnce() + Send>,
    ) {
        let mut state = lock(&self.state);
        let reader = state.reader.as_ref().and_then(Weak::upgrade);
        let Some(reader) = reader.filter(|reader| reader.has(session)) else {
            drop(state);
            return flush();
        };
        let mut covered = None;
        if state.waiting.contains_key(&instance) {
            covered = Some(flush);
        } else {
            state.waiting.insert(instance, Waiting { session, flush });
        }
        drop(state);
        reader.wake();
        // It acknowledges the flush.
        drop(covered);
    }

    /// Takes the flushes that wait.
    pub(crate) fn take_waiting(&self) -> Vec<Waiting> {
        std::mem::take(&mut lock(&self.state).waiting).into_values().collect()
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").finish_non_exhaustive()
    }
}

/// The thread of ftrace. At its end, flushes wait no longer.
pub(crate) struct ReaderThread<'a>(pub(crate) &'a Exchange);

impl Drop for ReaderThread<'_> {
    fn drop(&mut self) {
        self.0.take_waiting().into_iter().for_each(|waiting| (waiting.flush)());
    }
}

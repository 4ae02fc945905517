//! A higher priority for the producer, while an instance asks for it (`DataSourceConfig.priority_boost`).
//!
//! The kernel schedules threads, not programs. The packets of an instance need several: the thread of its kind reads
//! files, and two threads of the producer hand over what was written and take requests. All of them are raised, and
//! those of other kinds: as in upstream's program, which has one thread.
//!
//! ```text
//!   instance 1: SCHED_OTHER 5 ─┐                                          ┌─> the threads of the producer
//!   instance 2: SCHED_FIFO 10 ─┼─> the highest, real-time before niceness ┼─> the thread of each kind
//!   instance 3: none          ─┘   none: as the threads were before       └─> one that begins meanwhile
//! ```
//!
//! A priority that the system refuses is a line in the log, and the instance records without it.

use abi::error::OsError;
use abi::map::{SortedMap, SortedSet};
use abi::sync::{Arc, Mutex, lock};
use os::thread::{self, Running, Scheduling};
use protos::DataSourceConfig;

use crate::Root;

/// What a config asks for. Later ones are higher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Boost {
    /// `SCHED_OTHER` with minus this nice value, 0 to 20.
    Other(u32),
    /// `SCHED_FIFO` with this priority, 1 to 99.
    Fifo(u32),
}

impl Boost {
    /// Of a config. The error is a text for the log.
    fn of(config: &DataSourceConfig) -> Result<Option<Self>, String> {
        let Some(boost) = &config.priority_boost else { return Ok(None) };
        let priority = boost.priority.unwrap_or(0);
        match (boost.policy.map_or(0, |policy| policy.0), priority) {
            (1, 0..=20) => Ok(Some(Self::Other(priority))),
            (2, 1..=99) => Ok(Some(Self::Fifo(priority))),
            (1, _) => Err(format!("POLICY_SCHED_OTHER takes 0 to 20, not {priority}")),
            (2, _) => Err(format!("POLICY_SCHED_FIFO takes 1 to 99, not {priority}")),
            (policy, _) => {
                Err(format!("policy {policy} is neither POLICY_SCHED_OTHER nor POLICY_SCHED_FIFO"))
            }
        }
    }
}

/// Changes how a thread is scheduled.
type Schedule = dyn Fn(u32, Scheduling) -> Result<(), OsError> + Send + Sync;

/// What the instances of a producer ask for, and its threads.
pub(crate) struct Boosts {
    root: Root,
    schedule: Box<Schedule>,
    /// Of all threads, without an instance that asks.
    usual_nice: i32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The threads of the producer.
    producer: Vec<Running>,
    /// The threads of kinds.
    kinds: SortedSet<u32>,
    asked: SortedMap<u64, Boost>,
    last_key: u64,
    granted: Option<Boost>,
    /// A thread that begins may have another priority than the usual one: raised threads do not hand on theirs.
    was_granted: bool,
}

impl Boosts {
    /// For the threads of a producer, and those that [`join`](Self::join). Refusals are logged to `root`. The calling
    /// thread tells the usual priority.
    pub(crate) fn new(root: &Root, producer: impl Into<Vec<Running>>) -> Self {
        Self::with(root, producer.into(), thread::nice(), Box::new(thread::schedule))
    }

    /// For sources that no producer has.
    #[cfg(test)]
    pub(crate) fn ignored(root: &Root) -> Arc<Self> {
        Arc::new(Self::with(root, Vec::new(), 0, Box::new(|_, _| Ok(()))))
    }

    fn with(root: &Root, producer: Vec<Running>, usual_nice: i32, schedule: Box<Schedule>) -> Self {
        let state = Mutex::new(State { producer, ..State::default() });
        Self { root: root.clone(), schedule, usual_nice, state }
    }

    /// Raises the threads, if the config of an instance asks for that, until the value is dropped.
    pub(crate) fn raise(self: &Arc<Self>, config: &DataSourceConfig) -> Option<Raised> {
        let raised = Boost::of(config).and_then(|boost| {
            let Some(boost) = boost else { return Ok(None) };
            let key = self.add(boost).map_err(|error| {
                format!("{error}; the program that records needs CAP_SYS_NICE, or root")
            })?;
            Ok(Some(Raised { boosts: Arc::clone(self), key }))
        });
        raised.unwrap_or_else(|why| {
            let name = config.name.as_deref().unwrap_or_default();
            self.root.warn(&format!("{name}: records without its priority_boost: {why}"));
            None
        })
    }

    /// The calling thread is one of a kind, until the value is dropped.
    pub(crate) fn join(self: &Arc<Self>) -> Joined {
        let id = thread::id();
        let mut state = lock(&self.state);
        state.kinds.insert(id);
        if state.was_granted {
            // What was granted to the others is granted to this one.
            _ = (self.schedule)(id, self.scheduling(state.granted));
        }
        drop(state);
        Joined { boosts: Arc::clone(self), id }
    }

    /// A request that the system refuses counts as none.
    fn add(&self, boost: Boost) -> Result<u64, OsError> {
        let mut state = lock(&self.state);
        state.last_key += 1;
        let key = state.last_key;
        state.asked.insert(key, boost);
        let result = self.apply(&mut state);
        if result.is_err() {
            state.asked.remove(&key);
            // Of some threads it may have been changed.
            _ = self.schedule_all(&state, state.granted);
        }
        result.map(|()| key)
    }

    fn apply(&self, state: &mut State) -> Result<(), OsError> {
        let highest = state.asked.values().copied().max();
        if highest != state.granted {
            self.schedule_all(state, highest)?;
            state.granted = highest;
            state.was_granted = true;
        }
        Ok(())
    }

    fn schedule_all(&self, state: &State, boost: Option<Boost>) -> Result<(), OsError> {
        let producer = state.producer.iter().filter_map(Running::id);
        let scheduling = self.scheduling(boost);
        producer
            .chain(state.kinds.iter().copied())
            .try_for_each(|id| (self.schedule)(id, scheduling))
    }

    fn scheduling(&self, boost: Option<Boost>) -> Scheduling {
        match boost {
            None => Scheduling::Nice(self.usual_nice),
            Some(Boost::Other(priority)) => Scheduling::raised(self.usual_nice, priority),
            Some(Boost::Fifo(priority)) => Scheduling::Fifo(priority),
        }
    }
}

impl core::fmt::Debug for Boosts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("Boosts").field("asked", &state.asked).finish_non_exhaustive()
    }
}

/// The request of an instance. Its end takes it back.
#[derive(Debug)]
pub(crate) struct Raised {
    boosts: Arc<Boosts>,
    key: u64,
}

impl Drop for Raised {
    fn drop(&mut self) {
        let mut state = lock(&self.boosts.state);
        state.asked.remove(&self.key);
        let result = self.boosts.apply(&mut state);
        drop(state);
        if let Err(error) = result {
            let root = &self.boosts.root;
            root.warn(&format!("threads keep the priority_boost of an instance: {error}"));
        }
    }
}

/// A thread of a kind.
#[derive(Debug)]
pub(crate) struct Joined {
    boosts: Arc<Boosts>,
    id: u32,
}

impl Drop for Joined {
    fn drop(&mut self) {
        lock(&self.boosts.state).kinds.remove(&self.id);
    }
}

#[cfg(test)]
mod tests;

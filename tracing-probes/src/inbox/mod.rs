//! What the instances of a kind are to do, handed from the thread of the producer to that of the kind.
//!
//! It is no queue: each instance has one [`Order`], which takes further requests until the thread of the kind takes it.
//! So it is bounded by the number of instances, also while that thread reads a file that does not answer. An instance
//! counts until its stop was carried out, not until it was asked for.
//!
//! ```text
//!   admit ──> order: start ──> ( flush | clear )* ──> stop     thread of the producer
//!               │       ^ facts                         │      thread of ftrace
//!               │ take                                  │
//!               └───────────> carried out ──────────────┴──> release     thread of the kind
//! ```

use std::fmt;
use std::time::Duration;

use abi::map::SortedMap;
use abi::sync::{Condvar, Mutex, MutexGuard, lock};
use client::data_source::{Ack, Instance};
use os::poll::Wake;

use crate::facts::{Facts, Listener, Reader, Wanted};
use crate::limits::{INSTANCES_MAX, INSTANCES_PER_SESSION_MAX};

/// An instance in this process. The service gives its number again after it was started anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u64);

impl Key {
    /// No other instance of the process has it.
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// What an instance is to do, in this order.
#[derive(Debug)]
pub(crate) struct Order<W> {
    pub(crate) start: Option<(Instance, W)>,
    pub(crate) clear: bool,
    /// What ftrace has told since the last order.
    pub(crate) facts: Facts,
    pub(crate) flush: Option<Ack>,
    pub(crate) stop: Option<Ack>,
}

impl<W> Default for Order<W> {
    fn default() -> Self {
        Self { start: None, clear: false, facts: Facts::default(), flush: None, stop: None }
    }
}

/// Why there is no further instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The session has as many as one may have.
    Session,
    /// All sessions together have as many as there may be.
    All,
    /// The thread of the kind is gone.
    Gone,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Session => {
                write!(
                    f,
                    "{INSTANCES_PER_SESSION_MAX} instances are the most that one session may have"
                )
            }
            Self::All => write!(f, "{INSTANCES_MAX} instances are the most that there may be"),
            Self::Gone => f.write_str("its thread is gone"),
        }
    }
}

/// What [`Inbox::take`] returns.
#[derive(Debug)]
pub(crate) enum Taken<W> {
    /// Orders, those of older instances first. Empty if none came in time.
    Orders(SortedMap<Key, Order<W>>),
    /// There are none, and there will be none.
    Finished,
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Inbox<W> {
    state: Mutex<State<W>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<W> {
    orders: SortedMap<Key, Order<W>>,
    /// The session of each instance.
    instances: SortedMap<Key, u64>,
    /// What those want that take facts.
    listeners: SortedMap<Key, Wanted>,
    last_key: u64,
    /// The thread is to look around, without an order.
    is_woken: bool,
    /// Ends another wait of the thread.
    wake: Option<Wake>,
    /// No further orders come.
    is_finished: bool,
    /// Nobody takes orders any more.
    is_gone: bool,
}

impl<W> Default for Inbox<W> {
    fn default() -> Self {
        let state = State {
            orders: SortedMap::new(),
            instances: SortedMap::new(),
            listeners: SortedMap::new(),
            last_key: 0,
            is_woken: false,
            wake: None,
            is_finished: false,
            is_gone: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<W> Inbox<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        lock(&self.state)
    }

    // ------------------------------------------------------------ for the thread of the producer

    /// One more instance, of `session`.
    pub(crate) fn admit(&self, session: u64) -> Result<Key, Refused> {
        let mut state = self.lock();
        if state.is_gone {
            return Err(Refused::Gone);
        }
        let of_session = state.instances.values().filter(|of| **of == session).count();
        if of_session >= INSTANCES_PER_SESSION_MAX {
            return Err(Refused::Session);
        }
        if state.instances.len() >= INSTANCES_MAX {
            return Err(Refused::All);
        }
        state.last_key += 1;
        let key = Key(state.last_key);
        state.instances.insert(key, session);
        Ok(key)
    }

    /// An admitted instance takes facts of its session from now on.
    pub(crate) fn listen(&self, key: Key, wanted: Wanted) {
        self.lock().listeners.insert(key, wanted);
    }

    /// Starts an admitted instance, whose packets go to `out`.
    pub(crate) fn start(&self, key: Key, instance: Instance, out: W) {
        self.order(key, |order| order.start = Some((instance, out)));
    }

    /// Flushes an instance, then drops `done`.
    ///
    /// If an earlier flush was not begun, that one covers this one, and `done` is dropped at once: the producer
    /// acknowledges flushes in order, so the earlier one holds the answer back.
    pub(crate) fn flush(&self, key: Key, done: Ack) {
        let mut done = Some(done);
        self.order(key, |order| {
            if order.flush.is_none() {
                order.flush = done.take();
            }
        });
        // Outside of the lock, because it calls the producer.
        drop(done);
    }

    /// Clears the incremental state of an instance.
    pub(crate) fn clear(&self, key: Key) {
        self.order(key, |order| order.clear = true);
    }

    /// Stops an instance, then drops `done`.
    pub(crate) fn stop(&self, key: Key, done: Ack) {
        let mut done = Some(done);
        self.order(key, |order| order.stop = done.take());
        drop(done);
    }

    fn order(&self, key: Key, change: impl FnOnce(&mut Order<W>)) {
        let mut state = self.lock();
        if !state.instances.contains_key(&key) {
            return;
        }
        change(state.orders.get_or_insert_with(key, Order::default));
        self.notify(state);
    }

    fn notify(&self, state: MutexGuard<'_, State<W>>) {
        if let Some(wake) = &state.wake {
            wake.wake();
        }
        drop(state);
        self.changed.notify_one();
    }

    /// There will be no further orders.
    pub(crate) fn finish(&self) {
        let mut state = self.lock();
        state.is_finished = true;
        self.notify(state);
    }

    // ------------------------------------------------------------ for the thread of the kind

    /// Orders, and the end, also end the wait for this one.
    pub(crate) fn wake_by(&self, wake: Wake) {
        self.lock().wake = Some(wake);
    }

    /// Takes all orders. Waits for one or to be woken, up to `timeout`; `None` has no end.
    pub(crate) fn take(&self, timeout: Option<Duration>) -> Taken<W> {
        let mut state = self.lock();
        if state.orders.is_empty() && !state.is_finished && !state.is_woken {
            // One wait: if it ends early, the caller waits again.
            state = match timeout {
                Some(timeout) => {
                    let waited = self.changed.wait_timeout(state, timeout);
                    waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
                }
                None => self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner()),
            };
        }
        state.is_woken = false;
        if state.orders.is_empty() && state.is_finished {
            return Taken::Finished;
        }
        Taken::Orders(std::mem::take(&mut state.orders))
    }

    /// An instance has stopped: another one can take its place.
    pub(crate) fn release(&self, key: Key) {
        let mut state = self.lock();
        state.instances.remove(&key);
        state.listeners.remove(&key);
    }

    /// Nobody takes orders any more. Those that wait are dropped, and with them their acknowledgements.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.is_gone = true;
        state.instances.clear();
        state.listeners.clear();
        let orders = std::mem::take(&mut state.orders);
        drop(state);
        drop(orders);
    }

    /// How many orders wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.lock().orders.len()
    }
}

impl<W: Send> Listener for Inbox<W> {
    fn tell(&self, session: u64, facts: &dyn Fn(Wanted) -> Facts) {
        let state = self.lock();
        let is_of_session = |key: &Key| state.instances.get(key) == Some(&session);
        let listeners = state.listeners.iter().filter(|(key, _)| is_of_session(key));
        let listeners: Vec<_> = listeners.map(|(key, wanted)| (*key, *wanted)).collect();
        drop(state);
        for (key, wanted) in listeners {
            let facts = facts(wanted);
            if !facts.is_empty() {
                self.order(key, |order| order.facts.join(facts));
            }
        }
    }
}

impl<W: Send> Reader for Inbox<W> {
    fn has(&self, session: u64) -> bool {
        self.lock().instances.values().any(|of| *of == session)
    }

    fn wake(&self) {
        let mut state = self.lock();
        state.is_woken = true;
        self.notify(state);
    }
}

#[cfg(test)]
mod tests;

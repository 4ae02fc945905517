//! Counters and states whose names are made at run time, and what their tracks say of them.

use super::sticky::{Counter, State};
use crate::source::registry::{self, Interned};
use crate::track::Track;

/// # Names that are made at run time
///
/// [`dynamic`](Self::dynamic) makes a counter of any text, which lives as long as the text. It is a small value: make
/// one whenever there is something to record. [`interned`](Self::interned) makes a static of it, which has all that a
/// static has: it remembers its value, and can be kept in the data of the program.
///
/// ```
/// use tracing_sdk::{Counter, Order, Track, Unit, categories};
///
/// categories! { JOBS = "jobs"; }
///
/// static QUEUES: Track = Track::named("queues").order(Order::Explicit);
///
/// struct Queue {
///     jobs: Vec<u32>,
///     depth: &'static Counter<'static>,
/// }
///
/// impl Queue {
///     fn new(tenant: &str, rank: i32) -> Self {
///         let depth = Counter::dynamic(tenant).parent(&QUEUES).unit(Unit::Count).rank(rank);
///         Self { jobs: Vec::new(), depth: depth.interned() }
///     }
///
///     fn push(&mut self, job: u32) {
///         self.jobs.push(job);
///         self.depth.set(&JOBS, self.jobs.len());
///     }
/// }
///
/// impl Drop for Queue {
///     /// Later sessions do not begin with its value.
///     fn drop(&mut self) {
///         self.depth.forget();
///     }
/// }
///
/// Queue::new("blue", 1).push(7);
///
/// // Recorded and forgotten: one counter for each processor.
/// for (cpu, load) in [0.5, 0.25].into_iter().enumerate() {
///     Counter::dynamic(&format!("cpu {cpu}")).id(cpu as u64).record(&JOBS, load);
/// }
/// ```
impl<'a> Counter<'a> {
    /// A counter below the process, with a name that is made at run time.
    #[must_use]
    pub const fn dynamic(name: &'a str) -> Self {
        Self::of(Track::dynamic_counter(name))
    }

    /// Tells apart counters of one name and parent: see [`Track::id`].
    #[must_use]
    pub const fn id(mut self, id: u64) -> Self {
        self.track = self.track.id(id);
        self
    }

    /// Its place below a parent with [`Order::Explicit`](crate::Order::Explicit): lower ones come first.
    #[must_use]
    pub const fn rank(mut self, rank: i32) -> Self {
        self.track = self.track.rank(rank);
        self
    }

    /// A text that is shown with the counter.
    #[must_use]
    pub const fn description(mut self, text: &'a str) -> Self {
        self.track = self.track.description(text);
        self
    }

    /// The static of this counter, with copies of its texts and of the tracks above it.
    ///
    /// Counters with equal names, ids and parents give the same static, with the unit and the other options of the
    /// first; also in a forked process, which finds those of its parent. It stays in memory until the program ends;
    /// after 16,384 different ones, states among them, all further ones are the counter `other`.
    ///
    /// Keep the result: this looks the counter up under a lock.
    #[must_use]
    pub fn interned(&self) -> &'static Counter<'static> {
        static OTHER: Counter<'static> = Counter::new("other");
        let make = || -> Interned { Box::leak(Box::new(Counter::of(self.track.leaked_copy()))) };
        let interned = registry::interned(self.track.key(), make);
        interned.and_then(|counter| counter.downcast_ref()).unwrap_or(&OTHER)
    }
}

/// # Names that are made at run time
///
/// As those of a [`Counter`].
///
/// ```
/// use tracing_sdk::{State, categories, now_ns};
///
/// categories! { NET = "net"; }
///
/// fn connect(peer: &str) -> &'static State<'static> {
///     let link = State::dynamic(peer).description("The connection").interned();
///     link.set(&NET, "up");
///     link
/// }
///
/// let link = connect("10.0.0.7");
/// link.clear(&NET);
/// link.forget();
///
/// // What a device tells later: for each of its lanes, what it did a millisecond ago.
/// for lane in 0..2 {
///     let lane = State::dynamic("lane").id(lane).rank(1);
///     lane.record_at(&NET, now_ns() - 1_000_000, Some("sent"));
/// }
/// ```
impl<'a> State<'a> {
    /// A state below the process, with a name that is made at run time.
    #[must_use]
    pub const fn dynamic(name: &'a str) -> Self {
        Self::of(Track::dynamic_state(name))
    }

    /// Tells apart states of one name and parent: see [`Track::id`].
    #[must_use]
    pub const fn id(mut self, id: u64) -> Self {
        self.track = self.track.id(id);
        self
    }

    /// Its place below a parent with [`Order::Explicit`](crate::Order::Explicit): lower ones come first.
    #[must_use]
    pub const fn rank(mut self, rank: i32) -> Self {
        self.track = self.track.rank(rank);
        self
    }

    /// A text that is shown with the state.
    #[must_use]
    pub const fn description(mut self, text: &'a str) -> Self {
        self.track = self.track.description(text);
        self
    }

    /// The static of this state, as [`Counter::interned`] gives that of a counter.
    #[must_use]
    pub fn interned(&self) -> &'static State<'static> {
        static OTHER: State<'static> = State::new("other");
        let make = || -> Interned { Box::leak(Box::new(State::of(self.track.leaked_copy()))) };
        let interned = registry::interned(self.track.key(), make);
        interned.and_then(|state| state.downcast_ref()).unwrap_or(&OTHER)
    }
}

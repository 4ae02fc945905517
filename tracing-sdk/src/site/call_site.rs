//! Counters and states of call sites: what `counter!` and `state!` leave behind.
//!
//! The last value is that of a track, wherever the program sets it. So the call sites of a track share what they
//! remember: the first that is used puts it into the list of [`sticky`](super::sticky), and others find it there.

use std::sync::OnceLock;

use super::sticky::{Counter, Entry, State, all, find};
use crate::category::{CategoryRef, Members};
use crate::event::counter_value::CounterValue;

/// A counter of a call site. All call sites with its track and categories share the last value. Its categories are
/// those of the first call.
#[derive(Debug)]
pub struct CounterSite {
    counter: Counter<'static>,
    shared: OnceLock<&'static Counter<'static>>,
}

impl CounterSite {
    /// A call site with this counter.
    #[must_use]
    pub const fn new(counter: Counter<'static>) -> Self {
        Self { counter, shared: OnceLock::new() }
    }

    /// Records and remembers a value, while a session records the category.
    #[inline]
    pub fn set(&'static self, category: impl CategoryRef, value: impl Into<CounterValue>) {
        let value = value.into();
        let shared = match self.shared.get() {
            Some(shared) => shared,
            None => self.list(category.members()),
        };
        shared.last.set(value);
        shared.last.changed();
        self.counter.record(category, value);
    }

    #[cold]
    fn list(&'static self, members: Members) -> &'static Counter<'static> {
        // A fork waits for this lock, so it finds no half of the shared one.
        let mut all = all();
        let (own, track) = (&self.counter, self.counter.track());
        self.shared.get_or_init(|| {
            find(&all, track, members).unwrap_or_else(|| {
                all.push(Entry::of_call_sites(own, members));
                own
            })
        })
    }
}

/// A state of a call site. All call sites with its track and categories share the last value. Its categories are those
/// of the first call.
#[derive(Debug)]
pub struct StateSite {
    state: State<'static>,
    shared: OnceLock<&'static State<'static>>,
}

impl StateSite {
    /// A call site with this state.
    #[must_use]
    pub const fn new(state: State<'static>) -> Self {
        Self { state, shared: OnceLock::new() }
    }

    /// Records and remembers a value, while a session records the category.
    pub fn set(&'static self, category: impl CategoryRef, value: Option<&str>) {
        let members = category.members();
        let shared = match self.shared.get() {
            Some(shared) => shared,
            None => self.list(members),
        };
        shared.remember(members, value);
        self.state.record(category, value);
    }

    #[cold]
    fn list(&'static self, members: Members) -> &'static State<'static> {
        // As for counters.
        let mut all = all();
        let (own, track) = (&self.state, self.state.track());
        self.shared.get_or_init(|| {
            find(&all, track, members).unwrap_or_else(|| {
                own.list(&mut all, members, Entry::of_call_sites);
                own
            })
        })
    }
}

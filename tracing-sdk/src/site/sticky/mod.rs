//! Counters and states. Their last value is remembered, and every session gets it when it starts and after each clear:
//! otherwise a value that rarely changes would be missing in most traces.
//!
//! | | remembered | forgotten |
//! |---|---|---|
//! | static | always | by `forget` |
//! | call site of `counter!` and `state!` | while a session records it | when a session starts before which none did |
//!
//! A call site that no session records does not look at its value, so what was recorded before is not known to be true
//! any more.
//!
//! What is remembered belongs to the category of the first call: a comparison of categories at each call would cost too
//! much.
//!
//! The thread of the data source writes the remembered values, on its own sequence. Another thread may change a value
//! meanwhile. So a remembered value is written with a time at which it was true.
//!
//! | module | what |
//! |---|---|
//! | [`counter`] | counters |
//! | [`state`] | states |
//!
//! This file has the list of what is remembered, which both share.

mod counter;
mod state;

use core::any::Any;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use self::counter::Counter;
pub use self::state::{State, StateValue};
use crate::category::Members;
use crate::fork::Held;
use crate::track::Track;

/// What can be replayed. Only what sets such a static names its type, so a program contains the code of those it has.
pub(super) trait Sticky: Any + Sync {
    /// Its track.
    fn track(&self) -> &Track<'static>;

    /// Writes the last value to the instances in `bits`.
    fn replay(&self, bits: u32, members: Members);

    /// Forgets what is not in the list.
    fn forget(&self) {}
}

/// One lock for all statics: a fork must take it, and cannot find others.
static ALL: Mutex<List> = Mutex::new(Vec::new());

pub(crate) type List = Vec<Entry>;

#[derive(Clone)]
pub(crate) struct Entry {
    sticky: &'static dyn Sticky,
    members: Members,
    last: Last,
    /// Call sites have it: they do not set it while no session records it.
    is_of_sites: bool,
}

impl Entry {
    /// A static that the program sets.
    fn new(sticky: &'static dyn Sticky, members: Members) -> Self {
        Self { sticky, members, last: Last::default(), is_of_sites: false }
    }

    /// One that call sites set.
    pub(super) fn of_call_sites(sticky: &'static dyn Sticky, members: Members) -> Self {
        Self { is_of_sites: true, ..Self::new(sticky, members) }
    }

    /// Whether a call site with this track and these categories shares it.
    fn is_of(&self, track: &Track<'_>, members: Members) -> bool {
        let names = |members: &Members| {
            members.as_slice().iter().map(|category| category.name()).collect::<Vec<_>>()
        };
        self.sticky.track().uuid() == track.uuid() && names(&self.members) == names(&members)
    }
}

/// The last value of a state. The memory of the text is kept, so that a change allocates nothing.
#[derive(Clone, Debug, Default)]
struct Last {
    /// It was set or cleared, and is not forgotten.
    is_known: bool,
    /// It is in no state.
    is_cleared: bool,
    text: String,
}

/// The list, while the process forks.
pub(crate) fn lock_for_fork() -> Held<List> {
    all().into()
}

pub(super) fn all() -> MutexGuard<'static, List> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is remembered for a track and these categories, if it is of this type: what call sites of one track share.
pub(super) fn find<T: Sticky>(
    list: &[Entry],
    track: &Track<'_>,
    members: Members,
) -> Option<&'static T> {
    let found: &'static dyn Any = list.iter().find(|entry| entry.is_of(track, members))?.sticky;
    found.downcast_ref()
}

/// Forgets what call sites have set and no session records. Called before a session starts, while no other one can.
pub(crate) fn forget_unrecorded() {
    for entry in all().iter_mut() {
        if entry.is_of_sites && entry.members.known_instances() == 0 {
            entry.last = Last::default();
            entry.sticky.forget();
        }
    }
}

/// Writes the last values to the instances in `bits`.
pub(crate) fn replay(bits: u32) {
    let entries: Vec<_> = all().iter().map(|entry| (entry.sticky, entry.members)).collect();
    for (sticky, members) in entries {
        let bits = bits & members.instances();
        if bits != 0 {
            sticky.replay(bits, members);
        }
    }
}

//! Memory of a thread for the values of a span that it writes.

use std::cell::Cell;

use super::slot::{Details, Slot};
use super::values::Values;
use crate::flow::Flow;

/// A span at one moment.
#[derive(PartialEq, Eq)]
struct Version {
    slot: u32,
    generation: u32,
    changes: u32,
}

impl Version {
    fn of(slot: &Slot) -> Self {
        Self { slot: slot.number, generation: slot.generation(), changes: slot.changes() }
    }
}

/// See the [module](self).
#[derive(Default)]
pub(super) struct Scratch {
    /// What it has all values of, and no flow.
    version: Option<Version>,
    pub(super) values: Values,
    pub(super) flows: Vec<Flow>,
}

thread_local! {
    /// A span inside of a value of another one finds none, and makes its own.
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Scratch {
    /// That of the calling thread, with what it had when it was [kept](Self::keep).
    pub(super) fn take() -> Box<Self> {
        SCRATCH.try_with(Cell::take).ok().flatten().unwrap_or_default()
    }

    /// Keeps it for the next one.
    pub(super) fn keep(self: Box<Self>) {
        let _ = SCRATCH.try_with(|cell| cell.set(Some(self)));
    }

    pub(super) fn clear(&mut self) {
        self.version = None;
        self.values.clear();
        self.flows.clear();
    }

    /// Its values are those of a new span.
    pub(super) fn set_values_of(&mut self, slot: &Slot) {
        self.version = Some(Version::of(slot));
    }

    /// Whether it has the values of the span, which has no flow.
    pub(super) fn has_values_of(&self, slot: &Slot) -> bool {
        self.version.as_ref().is_some_and(|version| *version == Version::of(slot))
    }

    /// Takes values and flows.
    pub(super) fn copy(&mut self, details: &Details) {
        self.copy_values(details);
        self.flows.clone_from(&details.flows);
    }

    pub(super) fn copy_values(&mut self, details: &Details) {
        self.version = None;
        self.values.copy(&details.values);
    }

    /// Takes flows, so that the span has none.
    pub(super) fn take_flows(&mut self, details: &mut Details) {
        self.version = None;
        self.flows.clear();
        core::mem::swap(&mut self.flows, &mut details.flows);
    }
}

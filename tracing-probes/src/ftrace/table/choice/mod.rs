//! The plans of one session, chosen while it is set up.
//!
//! The mux gives the format of each event that the session has; the table learns it, and the session gets the plan that
//! its config asks for. What it gets is a copy: sessions that run are not changed.

use crate::ftrace::config::{EventName, KnownEvents};
use crate::ftrace::event::COMMON_PID;
use crate::ftrace::mux::{EventKind, EventTable, KprobeKind};
use crate::ftrace::schema;

use super::plan::Plan;
use super::plans::Plans;
use super::{FieldIds, Origin, Probe, Table, Unfit};

/// A table that notes the plans of a session.
#[derive(Debug)]
pub(crate) struct Choice<'t> {
    table: &'t mut Table,
    ids: &'t mut FieldIds,
    plans: Vec<(u16, Plan)>,
}

impl<'t> Choice<'t> {
    /// Nothing is chosen yet. `ids` are those of all tables.
    pub(crate) fn new(table: &'t mut Table, ids: &'t mut FieldIds) -> Self {
        Self { table, ids, plans: Vec::new() }
    }

    /// The table, with the session's events.
    pub(crate) fn table(&self) -> &Table {
        self.table
    }

    /// The plans of the session. Compact sched is used if `wants_compact` and the session has `sched_switch`; the
    /// reason why the kernel's formats do not allow it comes beside.
    pub(crate) fn finish(self, wants_compact: bool) -> (Plans, Option<Unfit>) {
        let switch = self.table.find("sched", "sched_switch").map(|event| event.id);
        let has_switch = self.plans.iter().any(|(id, _)| Some(*id) == switch);
        let layout = (wants_compact && has_switch).then(|| self.table.compact_sched());
        let (layout, unfit) = match layout {
            Some(Ok(layout)) => (Some(layout), None),
            Some(Err(unfit)) => (None, Some(unfit)),
            None => (None, None),
        };
        let mut plans = Plans::new(self.table.common().pid.unwrap_or(COMMON_PID), layout);
        for (id, plan) in self.plans {
            plans.insert(id, plan);
        }
        (plans, unfit)
    }
}

impl KnownEvents for Choice<'_> {
    /// Groups of the schema, and of other events that were recorded before.
    fn groups_of(&self, name: &str) -> Vec<String> {
        let known = schema::EVENTS.iter().filter(|event| event.name() == name);
        let mut groups: Vec<String> = known.map(|event| event.group().to_owned()).collect();
        let here = self.table.events().filter(|event| event.name == name);
        groups.extend(here.map(|event| event.group.clone().into_owned()));
        groups.sort_unstable();
        groups.dedup();
        groups
    }

    fn names_of(&self, group: &str) -> Vec<String> {
        let known = schema::EVENTS.iter().filter(|event| event.group() == group);
        known.map(|event| event.name().to_owned()).collect()
    }

    fn is_known(&self, event: &EventName) -> bool {
        schema::find(&event.group, &event.name).is_some()
    }
}

impl EventTable for Choice<'_> {
    fn add(&mut self, event: &EventName, kind: EventKind, format: &[u8]) -> Option<u16> {
        let (group, name) = (&event.group, &event.name);
        let id = match kind {
            EventKind::Kprobe(_) => self.table.add_kprobe(group, name, Some(format)),
            EventKind::Known | EventKind::Generic { .. } => {
                self.table.add(group, name, Some(format), self.ids)
            }
        };
        let id = id.ok()?;
        let event = self.table.event(id)?;
        let plan = match (&event.origin, kind) {
            (Origin::Generic { legacy }, EventKind::Generic { is_dense: false }) => legacy,
            (Origin::Kprobe { plans }, EventKind::Kprobe(kind)) => {
                let probe = match kind {
                    KprobeKind::Begin => Probe::Begin,
                    KprobeKind::End => Probe::End,
                    KprobeKind::Instant => Probe::Instant,
                };
                &plans[probe as usize]
            }
            _ => &event.plan,
        };
        self.plans.push((id, plan.clone()));
        Some(id)
    }
}

#[cfg(test)]
mod tests;

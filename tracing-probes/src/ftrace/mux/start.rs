//! The start of a session, step by step. A step that refuses undoes nothing itself: the transaction does.

use std::collections::BTreeMap;

use super::change::Change;
use super::events::{EnabledEvents, EventKind, EventTable, set_syscall_filter};
use super::instance::{InstanceState, Machine, begin};
use super::journal::{Transaction, Until};
use super::kprobes::{self, KprobeKind};
use super::{exclusive, filters, graph};
use crate::ftrace::RUN_AS_ROOT;
use crate::ftrace::config::{Config, EventName, GenericEvents, Graph, Refusal, Syscalls};
use crate::ftrace::tracefs::{CpuStats, Directory, ring_stats};

/// How full the ring is when a reader that waits is woken, percent.
pub(super) const PERCENT: &str = "buffer_percent";

/// What the kernel does for the started sessions.
#[derive(Debug, Default)]
pub(super) struct Kernel {
    /// `None`: no session is started.
    pub(super) instance: Option<InstanceState>,
    pub(super) on: EnabledEvents,
    /// The filter of system calls. `None`: as found.
    pub(super) syscall_filter: Option<String>,
    pub(super) graph: Option<Graph>,
    pub(super) percent: Option<u32>,
}

/// What a started session records.
#[derive(Clone, Debug)]
pub(crate) struct Active {
    /// Its events.
    pub(crate) events: BTreeMap<EventName, Recorded>,
    /// Its system calls, if it has `raw_syscalls` events.
    pub(crate) syscalls: Syscalls,
    /// Entries of the config that this kernel has nothing for.
    pub(crate) unknown: Vec<String>,
    /// Events that exist and cannot be recorded.
    pub(crate) failed: Vec<String>,
    /// What else its user should know.
    pub(crate) notes: Vec<String>,
    /// Counters of the rings before its events were on, by CPU.
    pub(crate) rings: Vec<(u32, CpuStats)>,
}

/// An event that a session records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// What its records begin with.
    pub(crate) id: u16,
    /// What they become.
    pub(crate) kind: EventKind,
}

/// What a start depends on.
pub(super) struct Parts<'a> {
    pub(super) directory: &'a Directory,
    pub(super) machine: &'a Machine,
    pub(super) config: &'a Config,
    pub(super) before: &'a Kernel,
    /// What all sessions want, with this one.
    pub(super) graph: Option<Graph>,
    pub(super) percent: Option<u32>,
    /// What the others want of system calls.
    pub(super) syscalls: Option<Syscalls>,
}

/// Makes the kernel record for a session.
pub(super) fn start(
    transaction: &mut Transaction<'_>,
    parts: &Parts<'_>,
    table: &mut dyn EventTable,
) -> Result<(Kernel, Active), Refusal> {
    let (directory, config) = (parts.directory, parts.config);
    let (syscalls, unknown) = Syscalls::of_names(parts.machine.arch, &config.syscalls);
    let mut active = Active {
        events: BTreeMap::new(),
        syscalls,
        unknown,
        failed: Vec::new(),
        notes: config.notes.clone(),
        rings: Vec::new(),
    };
    let instance = match parts.before.instance {
        Some(instance) => {
            instance.note_unmet(config, parts.machine, &mut active.notes);
            instance
        }
        None => begin(transaction, directory, config, parts.machine, &mut active.notes)?,
    };
    // A small ring may lose events before the start is over.
    active.rings = ring_stats(transaction.tracefs(), directory);
    let mut kernel = Kernel {
        instance: Some(instance),
        on: parts.before.on.clone(),
        syscall_filter: parts.before.syscall_filter.clone(),
        graph: parts.graph.clone(),
        percent: parts.before.percent,
    };
    exclusive::set(transaction, directory, &config.exclusive)?;
    let wanted = config.wanted(table, transaction.tracefs(), directory, &active.syscalls);
    active.unknown.extend(wanted.unknown);
    let mut adding = Adding { parts, table, kernel: &mut kernel, active: &mut active };
    adding.add_kprobes(transaction)?;
    for event in &wanted.events {
        adding.add_event(transaction, event)?;
    }
    if active.events.keys().any(EventName::is_raw_syscall) {
        let mut all = active.syscalls.clone();
        parts.syscalls.iter().for_each(|others| all.add(others));
        let filter = all.filter();
        set_syscall_filter(transaction, directory, kernel.syscall_filter.as_deref(), &filter)?;
        kernel.syscall_filter = Some(filter);
    }
    if let Some(after) = &parts.graph {
        if parts.before.graph.is_none() && !instance.is_preserved {
            filters::let_functions_pass(transaction, directory, &mut active.notes)?;
        }
        graph::set(transaction, directory, parts.before.graph.as_ref(), after)?;
    }
    set_percent(transaction, parts, &mut kernel, &mut active)?;
    if parts.before.instance.is_none() {
        let path = directory.path("tracing_on");
        let (on, off) = (Change::write(path.clone(), "1"), Change::write(path, "0"));
        // A ring that is preserved is put back to what was found: that is remembered.
        let off = if config.is_preserving { on.clone() } else { off };
        transaction.must(&on, off, Until::Kept, RUN_AS_ROOT)?;
    }
    Ok((kernel, active))
}

/// A failure costs latency alone, so it is told and not more.
fn set_percent(
    transaction: &mut Transaction<'_>,
    parts: &Parts<'_>,
    kernel: &mut Kernel,
    active: &mut Active,
) -> Result<(), Refusal> {
    let Some(percent) = parts.percent.filter(|p| Some(*p) != kernel.percent) else { return Ok(()) };
    let path = parts.directory.path(PERCENT);
    let (undo, until) = match kernel.percent {
        Some(before) => (before.to_string(), Until::Kept),
        None => match transaction.text(&path) {
            Ok(found) => (found, Until::LastSession),
            Err(Refusal(text)) => {
                active.notes.push(format!("drain_buffer_percent is not used: {text}"));
                return Ok(());
            }
        },
    };
    let change = Change::write(path.clone(), &percent.to_string());
    match transaction.change(&change, Change::write(path, &undo), until)? {
        Ok(()) => kernel.percent = Some(percent),
        Err(error) => active.notes.push(format!("drain_buffer_percent is not used: {error}")),
    }
    Ok(())
}

/// Events of a session that starts.
struct Adding<'a> {
    parts: &'a Parts<'a>,
    table: &'a mut dyn EventTable,
    kernel: &'a mut Kernel,
    active: &'a mut Active,
}

impl Adding<'_> {
    fn add_kprobes(&mut self, transaction: &mut Transaction<'_>) -> Result<(), Refusal> {
        for kprobe in &self.parts.config.kprobes {
            for (event, kind) in kprobes::events(kprobe) {
                if self.active.events.contains_key(&event) {
                    continue;
                }
                if !kprobe.is_plain() {
                    self.active.failed.push(event.to_string());
                    continue;
                }
                self.add_kprobe(transaction, &event, kind)?;
            }
        }
        Ok(())
    }

    fn add_kprobe(
        &mut self,
        transaction: &mut Transaction<'_>,
        event: &EventName,
        kind: KprobeKind,
    ) -> Result<(), Refusal> {
        if !kprobes::create(transaction, self.parts.directory, event)? {
            self.active.failed.push(event.to_string());
            return Ok(());
        }
        self.enable(transaction, event, EventKind::Kprobe(kind))
    }

    fn add_event(
        &mut self,
        transaction: &mut Transaction<'_>,
        event: &EventName,
    ) -> Result<(), Refusal> {
        // Those are asked for as kprobes.
        if kprobes::GROUPS.contains(&event.group.as_str()) {
            return Ok(());
        }
        let kind = match (self.table.is_known(event), self.parts.config.generic) {
            (true, _) => EventKind::Known,
            (false, GenericEvents::Dense) => EventKind::Generic { is_dense: true },
            (false, GenericEvents::Legacy) => EventKind::Generic { is_dense: false },
            (false, GenericEvents::Off) => {
                let format = self.parts.directory.path(&event.file("format"));
                if transaction.tracefs().exists(&format) {
                    self.leave_out(event);
                } else {
                    self.active.unknown.push(event.to_string());
                }
                return Ok(());
            }
        };
        self.enable(transaction, event, kind)
    }

    /// The config does not want this event, which the kernel has. Failed events have no reasons: a note has it, once.
    fn leave_out(&mut self, event: &EventName) {
        const WHY: &str =
            "events outside the schema are not recorded, because disable_generic_events is set";
        let Active { failed, notes, .. } = &mut *self.active;
        failed.push(event.to_string());
        if !notes.iter().any(|note| note == WHY) {
            notes.push(WHY.to_owned());
        }
    }

    /// Reads the format, each time anew, and switches the event on.
    fn enable(
        &mut self,
        transaction: &mut Transaction<'_>,
        event: &EventName,
        kind: EventKind,
    ) -> Result<(), Refusal> {
        let path = self.parts.directory.path(&event.file("format"));
        let format = transaction.tracefs().read(&path).ok();
        let Some(id) = format.and_then(|format| self.table.add(event, kind, &format)) else {
            self.active.unknown.push(event.to_string());
            return Ok(());
        };
        let instance = self.kernel.instance;
        if instance.is_some_and(|i| !i.is_preserved) {
            let (directory, notes) = (self.parts.directory, &mut self.active.notes);
            filters::tell_trigger(transaction.tracefs(), directory, event, notes);
            // The filter of system calls is ours, if another session has them.
            if !event.is_raw_syscall() {
                filters::let_event_pass(transaction, directory, event, notes)?;
            }
        }
        let is_all_off = instance.is_some_and(|i| i.is_all_off);
        match self.kernel.on.enable(transaction, self.parts.directory, event, is_all_off)? {
            Ok(()) => _ = self.active.events.insert(event.clone(), Recorded { id, kind }),
            Err(error) => {
                self.active.failed.push(event.to_string());
                self.active.notes.push(format!("{event} cannot be switched on: {error}"));
            }
        }
        Ok(())
    }
}

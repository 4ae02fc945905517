//! The sessions of one instance of tracefs, and what the kernel records for all of them.
//!
//! ```text
//! set_up(id, config)    checks; the kernel is not touched
//! start(id)             one transaction: all of its changes, or none
//!   first session         tracer is `nop` ─ recording off ─ events off ─ ring cleared ─ clock ─ size
//!                         ─ filters of others
//!   each session          threads, options, CPUs ─ kprobes ─ events ─ filter of system calls ─ function graph
//!                         ─ percent ─ (first) recording on
//! stop(id)              what no other session wants goes off; after the last one, every file has the value found
//! ```
//!
//! The kernel records the union of what started sessions want; each session knows the ids that it asked for, and keeps
//! its part. A session that is set up and not started costs nothing and disturbs nobody.
//!
//! Each value that is changed is first read, and remembered in a [`Journal`]; it is put back in reverse order after the
//! last session, after a failure, and from the journal's copy after a crash. A session that preserves the ring leaves
//! its contents, its size, its clock and the filters of others.

mod change;
mod events;
mod exclusive;
mod filters;
mod graph;
mod instance;
mod journal;
mod kprobes;
mod lines;
mod record;
mod reset;
mod start;

#[cfg(test)]
mod tests;

pub(crate) use self::events::{EventKind, EventTable};
pub(crate) use self::instance::{InstanceState, Machine};
pub(crate) use self::journal::Journal;
#[cfg(test)]
pub(crate) use self::journal::RecordStore;
pub(crate) use self::kprobes::KprobeKind;
pub(crate) use self::lines::header as record_header;
pub(crate) use self::record::{Records, RecordsError, SUFFIX as RECORD_SUFFIX};
pub(crate) use self::reset::hard_reset;
pub(crate) use self::start::{Active, Recorded};

use std::collections::BTreeMap;

use self::change::Change;
use self::journal::Transaction;
use self::start::Kernel;
use super::config::{Config, EventName, Graph, Refusal, Syscalls};
use super::tracefs::{Directory, Tracefs};

/// A session of ftrace: an instance of the data source.
pub(crate) type SessionId = u64;

/// The sessions of one instance of tracefs.
#[derive(Debug)]
pub(crate) struct Mux {
    directory: Directory,
    journal: Journal,
    sessions: BTreeMap<SessionId, Session>,
    kernel: Kernel,
}

/// A session that is set up.
#[derive(Debug)]
pub(crate) struct Session {
    config: Config,
    active: Option<Active>,
}

impl Session {
    /// `None`: it is not started.
    pub(crate) fn active(&self) -> Option<&Active> {
        self.active.as_ref()
    }
}

impl Mux {
    /// No session in this instance yet.
    pub(crate) fn new(directory: Directory, journal: Journal) -> Self {
        Self { directory, journal, sessions: BTreeMap::new(), kernel: Kernel::default() }
    }

    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// A session that is set up.
    #[cfg(test)]
    pub(crate) fn session(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(&id)
    }

    /// The clock and the size of the ring. `None`: no session is started.
    pub(crate) fn instance(&self) -> Option<&InstanceState> {
        self.kernel.instance.as_ref()
    }

    /// Adds a session. The kernel is not touched.
    ///
    /// # Errors
    /// Another program uses the instance, or a session wants to be alone in it.
    pub(crate) fn set_up(
        &mut self,
        tracefs: &dyn Tracefs,
        id: SessionId,
        config: Config,
    ) -> Result<(), Refusal> {
        if self.sessions.contains_key(&id) {
            return Err(Refusal(format!("session {id} is set up already")));
        }
        self.check_exclusive(&config)?;
        if !config.is_preserving && self.kernel.instance.is_none() {
            instance::check_tracer(tracefs, &self.directory)?;
        }
        self.sessions.insert(id, Session { config, active: None });
        Ok(())
    }

    /// Could a session with this config be beside those that are there? The session that came first stays.
    ///
    /// # Errors
    /// One of them must be alone.
    pub(crate) fn check_exclusive(&self, config: &Config) -> Result<(), Refusal> {
        let wishes = config.exclusive.fields();
        if !wishes.is_empty() && !self.sessions.is_empty() {
            return Err(Refusal(format!(
                "{} change what others record, and {} has another session; stop it first, or use another \
                 instance_name",
                wishes.join(", "),
                self.directory.name()
            )));
        }
        let alone = self.sessions.values().find(|s| !s.config.exclusive.fields().is_empty());
        if let Some(session) = alone {
            return Err(Refusal(format!(
                "a session is alone in {} because of its {}; stop it first, or use another instance_name",
                self.directory.name(),
                session.config.exclusive.fields().join(", ")
            )));
        }
        let mut graphs = self.sessions.values().filter_map(|session| session.config.graph.as_ref());
        match &config.graph {
            Some(wanted) => graphs.try_for_each(|other| graph::check_beside(wanted, other)),
            None => Ok(()),
        }
    }

    /// The functions that sessions ask for, of each that will have records of others as soon as this one is started.
    pub(crate) fn functions_apart(&self, id: SessionId) -> Vec<(SessionId, &[String])> {
        if self.sessions.get(&id).is_none_or(|session| session.config.graph.is_none()) {
            return Vec::new();
        }
        let sessions = || self.sessions.iter().filter(|(of, s)| **of == id || s.active.is_some());
        let all = union_graph(sessions().map(|(_, session)| session)).unwrap_or_default();
        let own = sessions().filter_map(|(of, session)| {
            Some((*of, session.config.graph.as_ref()?.filters.as_slice()))
        });
        let has_others = |own: &[String]| !own.is_empty() && !graph::is_same(own, &all.filters);
        own.filter(|(_, own)| has_others(own)).collect()
    }

    /// Must the pipes of this instance be closed while this session starts? The kernel changes no tracer else.
    pub(crate) fn needs_closed_pipes_to_start(&self, id: SessionId) -> bool {
        let wants_graph = self.sessions.get(&id).is_some_and(|s| s.config.graph.is_some());
        wants_graph && self.kernel.graph.is_none()
    }

    /// Must the pipes of this instance be closed while this session stops?
    pub(crate) fn needs_closed_pipes_to_stop(&self, id: SessionId) -> bool {
        self.kernel.graph.is_some() && !self.others(id).any(|s| s.config.graph.is_some())
    }

    /// The sessions that are started.
    fn started(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values().filter(|session| session.active.is_some())
    }

    /// The sessions that are started, without this one.
    fn others(&self, id: SessionId) -> impl Iterator<Item = &Session> {
        let others =
            self.sessions.iter().filter(move |(of, _)| **of != id).map(|(_, session)| session);
        others.filter(|session| session.active.is_some())
    }

    /// Starts a session that is set up: the kernel records for it when this returns. What of its config has no effect
    /// is in [`Active`].
    ///
    /// # Errors
    /// What the kernel refused. Then each file has the value that it had before, and the session is not started;
    /// `notes` has what could not be put back.
    pub(crate) fn start(
        &mut self,
        tracefs: &dyn Tracefs,
        machine: &Machine,
        table: &mut dyn EventTable,
        id: SessionId,
        notes: &mut Vec<String>,
    ) -> Result<&Active, Refusal> {
        let others: Vec<&Session> = self.others(id).collect();
        let Some(session) = self.sessions.get(&id).filter(|s| s.active.is_none()) else {
            return Err(Refusal(format!("session {id} is not set up, or started already")));
        };
        let parts = start::Parts {
            directory: &self.directory,
            machine,
            config: &session.config,
            before: &self.kernel,
            graph: union_graph(others.iter().copied().chain([session])),
            percent: union_percent(others.iter().copied().chain([session])),
            syscalls: union_syscalls(others.iter().copied()),
        };
        let mut transaction = Transaction::new(tracefs, &mut self.journal);
        match start::start(&mut transaction, &parts, table) {
            Err(refusal) => {
                transaction.roll_back(notes);
                Err(refusal)
            }
            Ok((kernel, active)) => {
                transaction.keep();
                self.kernel = kernel;
                let missing = || Refusal(format!("session {id} is gone"));
                let session = self.sessions.get_mut(&id).ok_or_else(missing)?;
                Ok(session.active.insert(active))
            }
        }
    }

    /// Ends a session, started or not. What could not be put back is told in `notes`.
    pub(crate) fn stop(&mut self, tracefs: &dyn Tracefs, id: SessionId, notes: &mut Vec<String>) {
        let Some(session) = self.sessions.remove(&id) else { return };
        if session.active.is_none() {
            return;
        }
        if self.others(id).next().is_none() {
            self.reset(tracefs, notes);
            return;
        }
        self.release_events(tracefs, notes);
        self.release_syscalls(tracefs, notes);
        self.release_graph(tracefs, notes);
        self.release_percent(tracefs, notes);
    }

    /// Ends the recording for all sessions and puts everything back: for the end of the process.
    pub(crate) fn reset(&mut self, tracefs: &dyn Tracefs, notes: &mut Vec<String>) {
        self.journal.put_back_all(tracefs, notes);
        self.kernel = Kernel::default();
        self.sessions.values_mut().for_each(|session| session.active = None);
    }

    fn release_events(&mut self, tracefs: &dyn Tracefs, notes: &mut Vec<String>) {
        let sessions = &self.sessions;
        let is_wanted = |event: &EventName| {
            sessions.values().filter_map(Session::active).any(|a| a.events.contains_key(event))
        };
        self.kernel.on.release(tracefs, &self.directory, is_wanted, notes);
    }

    fn release_syscalls(&mut self, tracefs: &dyn Tracefs, notes: &mut Vec<String>) {
        let Some(syscalls) = union_syscalls(self.started()) else { return };
        let filter = syscalls.filter();
        if self.kernel.syscall_filter.as_ref() == Some(&filter) {
            return;
        }
        for path in events::filter_paths(&self.directory) {
            note(Change::write(path, &filter).apply(tracefs), "the filter of system calls", notes);
        }
        self.kernel.syscall_filter = Some(filter);
    }

    fn release_graph(&mut self, tracefs: &dyn Tracefs, notes: &mut Vec<String>) {
        let after = union_graph(self.started());
        if after == self.kernel.graph {
            return;
        }
        match &after {
            None => self.journal.put_back(tracefs, &graph::paths(&self.directory), notes),
            Some(after) => {
                for change in graph::changes(&self.directory, after) {
                    note(change.apply(tracefs), "function graph", notes);
                }
            }
        }
        self.kernel.graph = after;
    }

    fn release_percent(&mut self, tracefs: &dyn Tracefs, notes: &mut Vec<String>) {
        let after = union_percent(self.started());
        if after == self.kernel.percent {
            return;
        }
        let path = self.directory.path(start::PERCENT);
        match after {
            None => self.journal.put_back(tracefs, &[path], notes),
            Some(percent) => {
                let change = Change::write(path, &percent.to_string());
                note(change.apply(tracefs), "drain_buffer_percent", notes);
            }
        }
        self.kernel.percent = after;
    }
}

fn note(result: std::io::Result<()>, what: &str, notes: &mut Vec<String>) {
    if let Err(error) = result {
        notes.push(format!("{what} of a session that ended stays: {error}"));
    }
}

/// What started sessions, and the one that starts, want of function graph.
fn union_graph<'a>(sessions: impl Iterator<Item = &'a Session>) -> Option<Graph> {
    sessions.filter_map(|s| s.config.graph.as_ref()).cloned().reduce(graph::union)
}

/// The smallest percentage that sessions want.
fn union_percent<'a>(sessions: impl Iterator<Item = &'a Session>) -> Option<u32> {
    sessions.filter_map(|s| s.config.drain_percent).min()
}

/// What sessions with events of system calls want. `None`: there are no such sessions.
fn union_syscalls<'a>(sessions: impl Iterator<Item = &'a Session>) -> Option<Syscalls> {
    let has_events = |active: &&Active| active.events.keys().any(EventName::is_raw_syscall);
    let wanted = sessions.filter_map(Session::active).filter(has_events);
    let wanted = wanted.map(|active| active.syscalls.clone());
    wanted.reduce(|mut all, one| {
        all.add(&one);
        all
    })
}

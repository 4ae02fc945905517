//! The owner of tracefs: all instances of the data source go through it.
//!
//! ```text
//! start(session, config, output) ─> mux: the kernel records ─> subscriber: plans for the session's events
//! pass ─> each instance of tracefs that is in use ─> each CPU ─> batches ─> subscribers ─> packets
//! pass_ready ─> the same, for instances with a ring that is as full as their sessions asked for
//! flush(session) ─> a pass over whole rings ─> statistics ─> commit
//! stop(session) ─> mux: what nobody wants any more goes off
//! ```
//!
//! It knows no threads, and takes the time as a value. Its files are behind [`Tracefs`] and [`System`].

mod directory;
mod events;
mod functions;
mod stats;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use protos::DataSourceConfig;

pub(crate) use self::directory::{commit_width, subbuf_bytes};
pub(crate) use self::stats::write_refusal;

use self::directory::{InUse, Session};
use self::events::Events;
use self::functions::functions_apart;
use super::NAME;
use super::config::{Config, Refusal, Symbols as SymbolsWish};
use super::facts::Facts;
use super::mux::{Journal, Machine, Mux, SessionId};
use super::pace;
use super::subscriber::{Subscriber, Wishes};
use super::symbols::Symbols;
use super::table::kind::Pointers;
use super::tracefs::{CpuStats, Directory, Tracefs, ring_stats};
use crate::output::Output;

/// What the controller needs beside tracefs.
pub(crate) trait System {
    /// Takes tracefs for this program, before the first session: two that set it would put back what they found of each
    /// other, and take pages from each other. Puts back what a program that was killed has left.
    ///
    /// # Errors
    /// Another program has it: which, and what to do.
    fn claim(&self, tracefs: &dyn Tracefs) -> Result<(), String>;

    /// Gives it back, after the last session.
    fn release(&self);

    /// The machine, when a session starts.
    fn machine(&self) -> Machine;

    /// The journal of an instance of tracefs, with its copy for the next start.
    fn journal(&self, directory: &Directory) -> Journal;

    /// Names of the kernel's functions.
    ///
    /// # Errors
    /// Why there are none, and what to do.
    fn symbols(&self) -> Result<Symbols, String>;

    /// What is written of addresses of the kernel.
    fn pointers(&self) -> Pointers;

    /// Does the kernel tell when a ring fills? Before 6.9, `poll` of a pipe misses that, or waits for more.
    fn has_polls(&self) -> bool;

    /// The threads of this program, by the kernel's numbers, sorted.
    fn own_threads(&self) -> Vec<i32>;

    /// Tells the user of the daemon.
    fn log(&self, line: &str);

    /// The boot clock, ns.
    fn boot_ns(&self) -> u64;
}

/// Why a session does not start.
struct Refused {
    refusal: Refusal,
    /// Because a session wants to be alone.
    is_exclusive: bool,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, is_exclusive: false }
    }
}

/// See the [module](self).
pub(crate) struct Controller<W> {
    tracefs: Box<dyn Tracefs>,
    system: Box<dyn System>,
    events: Events,
    symbols: Option<Symbols>,
    /// A session asked for symbols that stay.
    retains_symbols: bool,
    directories: BTreeMap<Directory, InUse<W>>,
    /// When the next pass is due, by the monotonic clock.
    due_ns: Option<u64>,
    /// When rings may be waited for, by the same clock.
    polls_ns: u64,
}

impl<W: Output> Controller<W> {
    pub(crate) fn new(tracefs: Box<dyn Tracefs>, system: Box<dyn System>) -> Self {
        let events = Events::default();
        Self {
            tracefs,
            system,
            events,
            symbols: None,
            retains_symbols: false,
            directories: BTreeMap::new(),
            due_ns: None,
            polls_ns: 0,
        }
    }

    /// Starts a session: when this returns, the kernel records for it. A refusal is told to the user of the session,
    /// in statistics that it gets at once.
    ///
    /// # Errors
    /// What was refused, and what to do. All files are as they were.
    pub(crate) fn start(
        &mut self,
        id: SessionId,
        config: &DataSourceConfig,
        mut out: W,
        mono_ns: u64,
    ) -> Result<(), Refusal> {
        match self.try_start(id, config) {
            Ok((directory, session)) => {
                let mut session = session(out);
                if session.setup.is_preserved {
                    // A reader drops events from before the start, unless it knows.
                    stats::write_start(&mut session.out, &session.setup);
                }
                if let Some(in_use) = self.directories.get_mut(&directory) {
                    in_use.sessions.insert(id, session);
                }
                // What started now is read with the others.
                self.plan_pass(mono_ns);
                Ok(())
            }
            Err(Refused { refusal, is_exclusive }) => {
                stats::write_refusal(&mut out, NAME, &refusal, is_exclusive);
                out.commit();
                Err(refusal)
            }
        }
    }

    /// Starts a session without its output: a function that takes it makes the session.
    fn try_start(
        &mut self,
        id: SessionId,
        config: &DataSourceConfig,
    ) -> Result<(Directory, impl FnOnce(W) -> Session<W> + use<W>), Refused> {
        let config = config.ftrace_config.as_ref();
        let config = Config::new(config.unwrap_or(&protos::FtraceConfig::default()))?;
        let tracefs = &*self.tracefs;
        let directory = match &config.instance {
            None => Directory::root(),
            Some(name) => Directory::instance(tracefs, name).map_err(Refusal)?,
        };
        let (has_symbols, retains) =
            (config.symbols != SymbolsWish::Off, config.symbols == SymbolsWish::Retained);
        let (is_compact, print_filter) = (config.compact_sched, config.print_filter.clone());
        let graph = config.graph.clone();
        let (period_ms, has_kprobes) = (config.drain_period_ms, !config.kprobes.is_empty());
        let mut wants_polls = config.wants_polls;
        if self.directories.is_empty() {
            self.system.claim(tracefs).map_err(Refusal)?;
        }
        let machine = self.system.machine();
        let in_use = self.directories.entry(directory.clone()).or_insert_with(|| {
            let mux = Mux::new(directory.clone(), self.system.journal(&directory));
            InUse::new(mux, machine.page_kb as usize * 1024)
        });
        let (mut notes, mut apart) = (Vec::new(), Vec::new());
        let is_exclusive = in_use.mux.check_exclusive(&config).is_err();
        let started = in_use.mux.set_up(tracefs, id, config).and_then(|()| {
            apart = functions_apart(&in_use.mux, id, &self.symbols, &|| self.system.symbols())?;
            if in_use.mux.needs_closed_pipes_to_start(id) {
                in_use.close_pipes();
            }
            let mut choice = self.events.choose(tracefs, machine.arch, self.system.pointers());
            let active = in_use.mux.start(tracefs, &machine, &mut choice, id, &mut notes)?;
            Ok(events::recorded(choice, active, is_compact, &print_filter, graph.as_ref()))
        });
        let started = started.and_then(|mut events| {
            in_use.open_pipes(tracefs, &mut events.errors)?;
            in_use.keep_functions(id, events.filter.as_mut(), apart);
            Ok(events)
        });
        notes.iter().for_each(|note| self.system.log(&format!("linux.ftrace: {note}")));
        let mut events = match started {
            Ok(events) => events,
            Err(refusal) => {
                self.release(id, &directory);
                return Err(Refused { refusal, is_exclusive });
            }
        };
        if has_symbols {
            self.read_symbols(&mut events.errors);
        }
        wants_polls &= self.check_polls(&directory, wants_polls, &mut events.errors);
        self.retains_symbols |= retains && self.symbols.is_some();
        let subscriber =
            Subscriber::new(Wishes { plans: events.plans, has_symbols, filter: events.filter });
        let (is_preserved, before) = self.found(&directory, events.rings);
        let setup = stats::Setup {
            unknown: events.unknown,
            failed: events.failed,
            errors: events.errors,
            is_preserved,
            has_kprobes,
            before,
        };
        let session =
            move |out| Session { subscriber, out, setup, period_ms, has_symbols, wants_polls };
        Ok((directory, session))
    }

    /// What a session that starts finds: whether the ring was taken as it was, and its statistics.
    fn found(&self, directory: &Directory, rings: Vec<(u32, CpuStats)>) -> (bool, stats::Now) {
        let Some(in_use) = self.directories.get(directory) else {
            return (false, stats::Now::default());
        };
        let is_preserved = in_use.mux.instance().is_some_and(|state| state.is_preserved);
        let (sizes, symbols) = (in_use.ring_sizes(), self.symbols.as_ref());
        (is_preserved, stats::Now::read(&*self.tracefs, rings, sizes, symbols))
    }

    /// Reads the kernel's symbols, if they have not been read.
    fn read_symbols(&mut self, errors: &mut Vec<String>) {
        if self.symbols.is_some() {
            return;
        }
        match self.system.symbols() {
            Ok(symbols) => self.symbols = Some(symbols),
            Err(why) => {
                self.system.log(&format!("linux.ftrace: {why}"));
                errors.push(why);
            }
        }
    }

    /// Whether rings can be waited for. If that is wanted and impossible, it is an error for the user.
    fn check_polls(&self, directory: &Directory, wanted: bool, errors: &mut Vec<String>) -> bool {
        let can_poll = self.directories.get(directory).is_some_and(InUse::can_poll);
        let has_polls = can_poll && self.system.has_polls();
        if wanted && !has_polls {
            errors.push(
                "drain_buffer_percent is not used: it takes Linux 6.9 or later; drain_period_ms counts"
                    .to_owned(),
            );
        }
        has_polls
    }

    /// Reads all instances of tracefs in use once. `hand_on` takes what each session's events tell.
    pub(crate) fn pass(&mut self, mono_ns: u64, hand_on: &mut dyn FnMut(SessionId, &Facts)) {
        let (mut has_more, own) = (false, self.system.own_threads());
        for (directory, in_use) in &mut self.directories {
            let clocks =
                stats::clocks(&*self.tracefs, directory, &in_use.mux, || self.system.boot_ns());
            let symbols = self.symbols.as_ref();
            has_more |= in_use.pass(None, clocks, symbols, self.events.printk(), &own, hand_on);
        }
        if has_more {
            self.due_ns = Some(mono_ns);
        } else {
            self.plan_pass(mono_ns);
        }
    }

    /// Reads those instances of tracefs once that have a ring as full as their sessions asked for.
    pub(crate) fn pass_ready(&mut self, mono_ns: u64, hand_on: &mut dyn FnMut(SessionId, &Facts)) {
        if mono_ns < self.polls_ns {
            return;
        }
        let mut has_more = false;
        for (directory, in_use) in &mut self.directories {
            if !in_use.is_polled() || !in_use.is_ready() {
                continue;
            }
            let own = self.system.own_threads();
            let clocks =
                stats::clocks(&*self.tracefs, directory, &in_use.mux, || self.system.boot_ns());
            let symbols = self.symbols.as_ref();
            has_more |= in_use.pass(None, clocks, symbols, self.events.printk(), &own, hand_on);
            self.polls_ns = pace::next_poll_ns(mono_ns);
        }
        if has_more {
            self.due_ns = Some(mono_ns);
        }
    }

    /// The rings to wait for. None before [`polls_ns`](Self::polls_ns).
    pub(crate) fn polled(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.directories.values().flat_map(InUse::polled)
    }

    /// When rings may be waited for, by the monotonic clock. `None`: no session asks for it.
    pub(crate) fn polls_ns(&self) -> Option<u64> {
        self.directories.values().any(InUse::is_polled).then_some(self.polls_ns)
    }

    /// When the next pass is due, by the monotonic clock.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    /// Reads everything that was recorded until now for these sessions.
    pub(crate) fn drain(&mut self, ids: &[SessionId], hand_on: &mut dyn FnMut(SessionId, &Facts)) {
        let (symbols, own) = (self.symbols.as_ref(), self.system.own_threads());
        for (directory, in_use) in &mut self.directories {
            if !ids.iter().any(|id| in_use.sessions.contains_key(id)) {
                continue;
            }
            let clocks =
                stats::clocks(&*self.tracefs, directory, &in_use.mux, || self.system.boot_ns());
            let pages = in_use.ring_pages();
            in_use.pass(Some(pages), clocks, symbols, self.events.printk(), &own, hand_on);
        }
    }

    /// Commits everything that was recorded until now for these sessions, with statistics.
    pub(crate) fn flush(&mut self, ids: &[SessionId], hand_on: &mut dyn FnMut(SessionId, &Facts)) {
        self.drain(ids, hand_on);
        let symbols = self.symbols.as_ref();
        for (directory, in_use) in &mut self.directories {
            if !ids.iter().any(|id| in_use.sessions.contains_key(id)) {
                continue;
            }
            let sizes = in_use.ring_sizes();
            let rings = ring_stats(&*self.tracefs, directory);
            let now = stats::Now::read(&*self.tracefs, rings, sizes, symbols);
            for (id, session) in &mut in_use.sessions {
                if ids.contains(id) {
                    stats::write(&mut session.out, &session.setup, &now, &session.subscriber);
                    session.out.commit();
                }
            }
        }
    }

    /// Ends a session, and puts back what no other session needs.
    pub(crate) fn stop(&mut self, id: SessionId) {
        let found = self.directories.iter().find(|(_, in_use)| in_use.sessions.contains_key(&id));
        if let Some(directory) = found.map(|(directory, _)| directory.clone()) {
            self.release(id, &directory);
        }
        let sessions = || self.directories.values().flat_map(|in_use| in_use.sessions.values());
        if sessions().next().is_none() {
            self.due_ns = None;
        }
        if !self.retains_symbols && !sessions().any(|session| session.has_symbols) {
            self.symbols = None;
        }
    }

    /// Ends all sessions, and puts everything back: for the end of the process.
    pub(crate) fn reset(&mut self) {
        let ids: Vec<SessionId> =
            self.directories.values().flat_map(|in_use| in_use.sessions.keys().copied()).collect();
        ids.into_iter().for_each(|id| self.stop(id));
    }

    /// Ends a session that may not have been started.
    fn release(&mut self, id: SessionId, directory: &Directory) {
        let Some(in_use) = self.directories.get_mut(directory) else { return };
        let session = in_use.sessions.remove(&id);
        let invalid = session.as_ref().map_or(0, |session| session.subscriber.invalid());
        if let Some(lost) = session.and_then(|session| lost(&*self.tracefs, directory, &session)) {
            self.system.log(&format!(
                "linux.ftrace: the kernel lost {lost} events while a session recorded; \
                 ask for a larger buffer_size_kb, or a shorter drain_period_ms"
            ));
        }
        if invalid > 0 {
            self.system.log(&format!(
                "linux.ftrace: {invalid} records did not fit the formats of their events, and were left out"
            ));
        }
        if in_use.mux.needs_closed_pipes_to_stop(id) || in_use.sessions.is_empty() {
            in_use.close_pipes();
        }
        let mut notes = Vec::new();
        in_use.mux.stop(&*self.tracefs, id, &mut notes);
        if in_use.sessions.is_empty() {
            self.directories.remove(directory);
            if self.directories.is_empty() {
                self.system.release();
            }
        } else if let Err(refusal) = in_use.open_pipes(&*self.tracefs, &mut notes) {
            notes.push(refusal.0);
        }
        notes.iter().for_each(|note| self.system.log(&format!("linux.ftrace: {note}")));
    }

    fn plan_pass(&mut self, mono_ns: u64) {
        let sessions = self.directories.values().flat_map(|in_use| in_use.sessions.values());
        let all_polled = self.directories.values().all(InUse::is_polled);
        let period_ms = pace::period_ms(sessions.map(|session| session.period_ms), all_polled);
        let is_used = self.directories.values().any(|in_use| !in_use.sessions.is_empty());
        self.due_ns = is_used.then(|| pace::next_pass_ns(mono_ns, period_ms));
    }
}

/// The events that the kernel lost while a session recorded, for its user. The rings count them; what their pages tell
/// is less, because a full page has no place for a number. `None`: nothing was lost.
fn lost<W>(tracefs: &dyn Tracefs, directory: &Directory, session: &Session<W>) -> Option<String> {
    let counted = session.setup.before.lost_until(&ring_stats(tracefs, directory));
    match (counted, session.subscriber.lost()) {
        (0, 0) => None,
        (counted, marked) if counted >= marked => Some(counted.to_string()),
        // Somebody emptied the ring, or its counters cannot be read.
        (_, marked) => Some(format!("at least {marked}")),
    }
}

//! An instance of tracefs that sessions use.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;

use abi::map::SortedMap;
use protos::FtraceParseStatus as Status;

use super::stats::Setup;
use crate::ftrace::RUN_AS_ROOT;
use crate::ftrace::bundle::Clocks;
use crate::ftrace::config::Refusal;
use crate::ftrace::drain::{self, Batch, PAGES_MAX, Pipe, Take};
use crate::ftrace::facts::Facts;
use crate::ftrace::filter::{Functions, RecordFilter};
use crate::ftrace::mux::{Mux, SessionId};
use crate::ftrace::page::Commit;
use crate::ftrace::subscriber::{Shared, Subscriber};
use crate::ftrace::symbols::Symbols;
use crate::ftrace::tracefs::{Directory, Polled, PolledPipe, Tracefs};
use crate::output::Output;

/// See the [module](self).
pub(super) struct InUse<W> {
    pub(super) mux: Mux,
    pub(super) sessions: BTreeMap<SessionId, Session<W>>,
    /// One for each CPU; none for one whose pipe does not open.
    pipes: Vec<Option<CpuPipe>>,
    /// What the user should know of the latter.
    unopened: Option<String>,
    /// Made with the first pipes, and given back with them.
    batch: Option<Batch>,
    commit: Commit,
    /// Of a page of memory.
    memory_page_bytes: usize,
}

/// A started session.
pub(super) struct Session<W> {
    pub(super) subscriber: Subscriber,
    pub(super) out: W,
    pub(super) setup: Setup,
    pub(super) period_ms: Option<u32>,
    pub(super) has_symbols: bool,
    /// It wants its ring to be read when that fills.
    pub(super) wants_polls: bool,
}

/// The pipe of a CPU.
struct CpuPipe {
    pipe: Box<dyn PolledPipe>,
    /// `poll` works. If it does not, it would never wait.
    is_polled: bool,
}

impl Pipe for CpuPipe {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        self.pipe.read(page)
    }
}

impl<W: Output> InUse<W> {
    pub(super) fn new(mux: Mux, memory_page_bytes: usize) -> Self {
        Self {
            mux,
            sessions: BTreeMap::new(),
            pipes: Vec::new(),
            unopened: None,
            batch: None,
            commit: Commit::Eight,
            memory_page_bytes,
        }
    }

    /// Opens the pipes of all CPUs, if they are not open. `notes` gets what cannot be read.
    ///
    /// # Errors
    /// None can be opened.
    pub(super) fn open_pipes(
        &mut self,
        tracefs: &dyn Tracefs,
        notes: &mut Vec<String>,
    ) -> Result<(), Refusal> {
        if self.pipes.is_empty() {
            self.open_all_pipes(tracefs)?;
        }
        notes.extend(self.unopened.clone());
        Ok(())
    }

    fn open_all_pipes(&mut self, tracefs: &dyn Tracefs) -> Result<(), Refusal> {
        let directory = self.mux.directory();
        let (cpus, mut first_error, mut failed) = (directory.cpus(tracefs), None, 0);
        let mut pipes = Vec::new();
        for cpu in 0..cpus {
            match tracefs.open_pipe(&directory.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"))) {
                Ok(pipe) => {
                    let is_polled = pipe.polled() != Polled::Broken;
                    pipes.push(Some(CpuPipe { pipe, is_polled }));
                }
                Err(error) => {
                    // A folder without a pipe is that of no ring.
                    let is_failure = error.kind() != io::ErrorKind::NotFound;
                    if first_error.is_none() || is_failure && failed == 0 {
                        first_error = Some(error);
                    }
                    failed += usize::from(is_failure);
                    pipes.push(None);
                }
            }
        }
        if pipes.iter().all(Option::is_none) {
            let why = first_error.map_or_else(|| "there are none".to_owned(), |e| e.to_string());
            return Err(Refusal(format!("no pipe of a CPU can be opened: {why}; {RUN_AS_ROOT}")));
        }
        self.unopened = first_error.filter(|_| failed > 0).map(|error| {
            let of = pipes.len();
            format!(
                "events of {failed} of {of} CPUs are not recorded: their pipes cannot be opened: {error}"
            )
        });
        self.batch = Some(Batch::new(subbuf_bytes(tracefs, directory, self.memory_page_bytes)));
        self.commit = commit_width(tracefs, directory);
        self.pipes = pipes;
        Ok(())
    }

    /// Tells sessions which of the recorded functions are theirs. `filter` is that of the session that starts.
    pub(super) fn keep_functions(
        &mut self,
        starting: SessionId,
        filter: Option<&mut RecordFilter>,
        apart: Vec<(SessionId, Functions)>,
    ) {
        let mut filter = filter;
        for (id, functions) in apart {
            match (&mut filter, self.sessions.get_mut(&id)) {
                (Some(filter), _) if id == starting => filter.keep_functions(functions),
                (_, Some(session)) => session.subscriber.keep_functions(functions),
                _ => {}
            }
        }
    }

    pub(super) fn close_pipes(&mut self) {
        self.pipes.clear();
        self.batch = None;
    }

    /// Can a pipe be waited for?
    pub(super) fn can_poll(&self) -> bool {
        self.pipes.iter().flatten().any(|pipe| pipe.is_polled)
    }

    /// Is the reader woken when a ring fills? Then passes by time are for what stays below the percentage.
    pub(super) fn is_polled(&self) -> bool {
        self.can_poll() && self.sessions.values().any(|session| session.wants_polls)
    }

    /// What is waited for.
    pub(super) fn polled(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let pipes = self.pipes.iter().flatten().filter(|pipe| pipe.is_polled);
        pipes.filter_map(|pipe| pipe.pipe.fd()).filter(|_| self.is_polled())
    }

    /// Is a ring as full as sessions asked for? Another pass may have emptied it since the reader was woken.
    pub(super) fn is_ready(&mut self) -> bool {
        let mut is_ready = false;
        for pipe in self.pipes.iter_mut().flatten().filter(|pipe| pipe.is_polled) {
            match pipe.pipe.polled() {
                Polled::Waits => {}
                Polled::Ready => is_ready = true,
                Polled::Broken => pipe.is_polled = false,
            }
        }
        is_ready
    }

    /// Pages of the ring of a CPU, as the kernel says, and as the first session wished.
    pub(super) fn ring_sizes(&self) -> [usize; 2] {
        let page_bytes = self.batch.as_ref().map_or(self.memory_page_bytes, Batch::page_bytes);
        let state = self.mux.instance();
        let kb = state.map_or([0; 2], |state| [state.buffer_kb, state.wish_kb]);
        kb.map(|kb| {
            usize::try_from(kb.saturating_mul(1024)).unwrap_or(usize::MAX).div_ceil(page_bytes)
        })
    }

    /// Pages that a reader can find there. The page that is read is not a part of the ring.
    pub(super) fn ring_pages(&self) -> usize {
        let [pages, _] = self.ring_sizes();
        pages.saturating_add(1)
    }

    /// Reads all CPUs. True if one had more pages than a pass reads.
    pub(super) fn pass(
        &mut self,
        pages_max: Option<usize>,
        clocks: Option<Clocks>,
        symbols: Option<&Symbols>,
        printk: &SortedMap<u64, Box<[u8]>>,
        own_threads: &[i32],
        hand_on: &mut dyn FnMut(SessionId, &Facts),
    ) -> bool {
        let Some(batch) = &mut self.batch else { return false };
        let shared = Shared { commit: self.commit, printk, clocks, symbols, own_threads };
        let mut all = All { sessions: &mut self.sessions, shared };
        let pages_max = pages_max.unwrap_or(PAGES_MAX);
        let passed = drain::pass(&mut self.pipes, batch, self.commit, pages_max, &mut all);
        for (id, session) in &mut self.sessions {
            session.subscriber.end_pass(&mut |facts| hand_on(*id, facts));
        }
        passed.has_more
    }
}

/// All sessions of an instance, in a pass.
struct All<'a, W> {
    sessions: &'a mut BTreeMap<SessionId, Session<W>>,
    shared: Shared<'a>,
}

impl<W: Output> Take for All<'_, W> {
    fn batch(&mut self, cpu: u32, batch: &Batch) {
        for session in self.sessions.values_mut() {
            session.subscriber.batch(cpu, batch, &self.shared, &mut session.out);
        }
    }

    fn failed(&mut self, _: u32, status: Status) {
        self.sessions.values_mut().for_each(|session| session.subscriber.failed(status));
    }
}

/// The size of a page of the ring. Before Linux 6.8 the kernel does not tell it: there it is that of a page of memory.
pub(crate) fn subbuf_bytes(
    tracefs: &dyn Tracefs,
    directory: &Directory,
    memory_page_bytes: usize,
) -> usize {
    let kb = tracefs.read(&directory.path("buffer_subbuf_size_kb")).ok();
    let kb = kb.and_then(|text| std::str::from_utf8(&text).ok()?.trim().parse::<usize>().ok());
    kb.map_or(memory_page_bytes, |kb| kb.saturating_mul(1024))
}

/// How wide a part of the page headers is.
pub(crate) fn commit_width(tracefs: &dyn Tracefs, directory: &Directory) -> Commit {
    let header = tracefs.read(&directory.path("events/header_page")).unwrap_or_default();
    if is_narrow(&header) { Commit::Four } else { Commit::Eight }
}

/// Whether `events/header_page` says that `commit` has four bytes.
fn is_narrow(header: &[u8]) -> bool {
    let text = String::from_utf8_lossy(header);
    let line = text.lines().find(|line| line.contains(" commit;"));
    line.is_some_and(|line| line.contains("size:4;"))
}

//! Formats and pages become packets without a kernel: for fuzzing and for tests of this crate. No part of the API.
//!
//! What is here is the way from `trace_pipe_raw` to packets as a session has it: table, plans, passes, bundles.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use abi::map::SortedMap;
use protos::{
    FtraceConfigPrintFilter, FtraceConfigPrintFilterRule, FtraceConfigPrintFilterRuleMatch,
    FtraceParseStatus as Status, TracePacketWriter,
};
use protozero::{HeapSink, Writer};

use super::config::{EventName, PrintFilter, Syscalls};
use super::drain::{self, Batch, Pipe, Take};
use super::filter::RecordFilter;
use super::mux::{Active, EventKind, EventTable, Recorded};
use super::page::Commit;
use super::schema;
use super::subscriber::{Shared, Subscriber, Wishes};
use super::table::choice::Choice;
use super::table::{FieldIds, Options, Table};
use crate::output::Output;

/// The thread that reads.
const OWN_PID: i32 = 1;

/// An event of a kernel, which the session has.
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// The folder in `events`.
    pub group: &'a str,
    /// The folder in that of the group.
    pub name: &'a str,
    /// The text of `format`.
    pub format: &'a [u8],
}

/// How pages are read.
#[derive(Clone, Debug)]
pub struct Setup<'a> {
    /// Compact sched is used, if the formats allow it.
    pub is_compact: bool,
    /// Events outside the schema have descriptors.
    pub is_dense: bool,
    /// The kernel has 64 bits.
    pub is_wide: bool,
    /// The size of a page; rounded into what a kernel has.
    pub page_bytes: usize,
    /// Most pages of a pass.
    pub pages_max: usize,
    /// Strings of `printk_formats`.
    pub printk: &'a [(u64, &'a [u8])],
}

/// What a session keeps of pages that others read, too.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its events: indices into those of the kernel.
    pub events: Vec<usize>,
    /// As in [`Setup`].
    pub is_compact: bool,
    /// As in [`Setup`].
    pub is_dense: bool,
    /// Numbers of the system calls that it keeps. `None`: all.
    pub calls: Option<Vec<u32>>,
    /// Prints that begin so are left out. `None`: none is.
    pub drops: Option<String>,
}

/// What one pass read and wrote.
#[derive(Clone, Debug, Default)]
pub struct Pass {
    /// Reads that gave something.
    pub reads: usize,
    /// `TracePacket` messages.
    pub packets: Vec<Vec<u8>>,
}

/// What all pages became.
#[derive(Clone, Debug)]
pub struct Read {
    /// All passes, until there was nothing to read.
    pub passes: Vec<Pass>,
    /// Records that did not fit the formats.
    pub invalid: u64,
    /// `FtraceParseStatus` of pages and reads, sorted.
    pub errors: Vec<i32>,
}

/// Reads pages of one CPU. An empty page is a read that gives nothing; a page of another size is cut off by the read,
/// or is a short read.
#[must_use]
pub fn read(events: &[Event<'_>], setup: &Setup<'_>, pages: &[Vec<u8>]) -> Read {
    let session = Session {
        events: (0..events.len()).collect(),
        is_compact: setup.is_compact,
        is_dense: setup.is_dense,
        calls: None,
        drops: None,
    };
    let mut reads = read_each(events, &[session], setup, pages);
    reads.pop().unwrap_or_else(|| Read { passes: Vec::new(), invalid: 0, errors: Vec::new() })
}

/// The same for sessions beside each other, which start one after the other. `setup` says how pages are read.
#[must_use]
pub fn read_each(
    events: &[Event<'_>],
    sessions: &[Session],
    setup: &Setup<'_>,
    pages: &[Vec<u8>],
) -> Vec<Read> {
    let format = |group: &str, name: &str| {
        let event = events.iter().find(|event| (event.group, event.name) == (group, name))?;
        Some(event.format.to_vec())
    };
    let mut table = Table::new(Options::default(), &mut { format });
    let mut ids = FieldIds::default();
    let mut subscribers: Vec<_> =
        sessions.iter().map(|session| start(session, events, &mut table, &mut ids)).collect();
    let mut printk = SortedMap::new();
    for (address, text) in setup.printk {
        printk.insert(*address, Box::from(*text));
    }
    let commit = if setup.is_wide { Commit::Eight } else { Commit::Four };
    let shared =
        Shared { commit, printk: &printk, clocks: None, symbols: None, own_threads: &[OWN_PID] };
    let mut pipes = [Some(Pages(pages.iter().collect()))];
    let mut batch = Batch::new(setup.page_bytes);
    let mut passes = vec![Vec::new(); sessions.len()];
    while let [Some(Pages(left))] = &pipes
        && !left.is_empty()
    {
        let before = left.len();
        let packets = sessions.iter().map(|_| Packets::default()).collect();
        let mut all = All { subscribers: &mut subscribers, shared: &shared, packets };
        drain::pass(&mut pipes, &mut batch, commit, setup.pages_max.max(1), &mut all);
        let packets = all.packets;
        let left = pipes.iter().flatten().map(|pages| pages.0.len()).sum::<usize>();
        for ((passes, packets), subscriber) in passes.iter_mut().zip(packets).zip(&mut subscribers)
        {
            subscriber.end_pass(&mut |_| {});
            passes.push(Pass { reads: before - left, packets: packets.0 });
        }
    }
    let read = |(subscriber, passes): (&Subscriber, Vec<Pass>)| {
        let errors = subscriber.errors().map(|status| status.0).collect();
        Read { passes, invalid: subscriber.invalid(), errors }
    };
    subscribers.iter().zip(passes).map(read).collect()
}

/// Starts a session.
fn start(
    session: &Session,
    events: &[Event<'_>],
    table: &mut Table,
    ids: &mut FieldIds,
) -> Subscriber {
    let mut choice = Choice::new(table, ids);
    let mut recorded = BTreeMap::new();
    for event in session.events.iter().filter_map(|at| events.get(*at)) {
        let kind = match schema::find(event.group, event.name) {
            Some(_) => EventKind::Known,
            None => EventKind::Generic { is_dense: session.is_dense },
        };
        let name = EventName::new(event.group, event.name);
        // Without an id the event has no plan: its records are left out.
        if let Some(id) = choice.add(&name, kind, event.format) {
            recorded.insert(name, Recorded { id, kind });
        }
    }
    let calls = session.calls.iter().flatten().copied();
    let active = Active {
        events: recorded,
        syscalls: if session.calls.is_some() {
            Syscalls::Only(calls.collect())
        } else {
            Syscalls::All
        },
        unknown: Vec::new(),
        failed: Vec::new(),
        notes: Vec::new(),
        rings: Vec::new(),
    };
    let rule = |prefix: &String| FtraceConfigPrintFilterRule {
        r#match: Some(FtraceConfigPrintFilterRuleMatch::Prefix(prefix.clone())),
        allow: Some(false),
        ..Default::default()
    };
    let rules = session.drops.iter().map(rule).collect();
    let prints = FtraceConfigPrintFilter { rules, ..Default::default() };
    let prints = PrintFilter::new(&prints);
    let filter = RecordFilter::new(choice.table(), &active, &prints, None, &mut Vec::new());
    let (plans, _) = choice.finish(session.is_compact);
    Subscriber::new(Wishes { plans, has_symbols: false, filter })
}

/// Plays pages.
struct Pages<'p>(VecDeque<&'p Vec<u8>>);

impl Pipe for Pages<'_> {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        let Some(next) = self.0.pop_front() else { return Err(io::ErrorKind::WouldBlock.into()) };
        let len = next.len().min(page.len());
        if let (Some(to), Some(from)) = (page.get_mut(..len), next.get(..len)) {
            to.copy_from_slice(from);
        }
        Ok(len)
    }
}

/// Collects packets.
#[derive(Default)]
struct Packets(Vec<Vec<u8>>);

impl Output for Packets {
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>)) {
        let mut stream = HeapSink::stream();
        fill(&mut TracePacketWriter::from_scope(stream.root()));
        self.0.extend(stream.finish());
    }

    fn commit(&mut self) {}

    fn clock(&self) -> fn() -> u64 {
        || 0
    }
}

/// The sessions, in a pass.
struct All<'a> {
    subscribers: &'a mut [Subscriber],
    shared: &'a Shared<'a>,
    packets: Vec<Packets>,
}

impl Take for All<'_> {
    fn batch(&mut self, cpu: u32, batch: &Batch) {
        for (subscriber, packets) in self.subscribers.iter_mut().zip(&mut self.packets) {
            subscriber.batch(cpu, batch, self.shared, packets);
        }
    }

    fn failed(&mut self, _: u32, status: Status) {
        self.subscribers.iter_mut().for_each(|subscriber| subscriber.failed(status));
    }
}

//! Formats and pages become packets without a kernel: for fuzzing and for tests of this crate. No part of the API.
//!
//! What is here is the way from `trace_pipe_raw` to packets as a session has it: table, plans, passes, bundles.

use std::collections::VecDeque;
use std::io;

use abi::map::SortedMap;
use protos::{FtraceParseStatus as Status, TracePacketWriter};
use protozero::{HeapSink, Writer};

use super::config::EventName;
use super::drain::{self, Batch, Pipe, Take};
use super::mux::{EventKind, EventTable};
use super::page::Commit;
use super::schema;
use super::subscriber::{Shared, Subscriber, Wishes};
use super::table::choice::Choice;
use super::table::{FieldIds, Options, Table};
use crate::output::Output;

/// The process that reads.
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
    let format = |group: &str, name: &str| {
        let event = events.iter().find(|event| (event.group, event.name) == (group, name))?;
        Some(event.format.to_vec())
    };
    let mut table = Table::new(Options::default(), &mut { format });
    let mut ids = FieldIds::default();
    let mut choice = Choice::new(&mut table, &mut ids);
    for event in events {
        let kind = match schema::find(event.group, event.name) {
            Some(_) => EventKind::Known,
            None => EventKind::Generic { is_dense: setup.is_dense },
        };
        // Without an id the event has no plan: its records are left out.
        _ = choice.add(&EventName::new(event.group, event.name), kind, event.format);
    }
    let (plans, _) = choice.finish(setup.is_compact);
    let mut subscriber = Subscriber::new(Wishes { plans, has_symbols: false, filter: None });
    let mut printk = SortedMap::new();
    for (address, text) in setup.printk {
        printk.insert(*address, Box::from(*text));
    }
    let commit = if setup.is_wide { Commit::Eight } else { Commit::Four };
    let shared = Shared { commit, printk: &printk, clocks: None, symbols: None, own_pid: OWN_PID };
    let mut pipes = [Some(Pages(pages.iter().collect()))];
    let mut batch = Batch::new(setup.page_bytes);
    let mut passes = Vec::new();
    while let [Some(Pages(left))] = &pipes
        && !left.is_empty()
    {
        let before = left.len();
        let mut one =
            One { subscriber: &mut subscriber, shared: &shared, packets: Packets::default() };
        drain::pass(&mut pipes, &mut batch, commit, setup.pages_max.max(1), &mut one);
        let packets = one.packets.0;
        subscriber.end_pass(&mut |_| {});
        let left = pipes.iter().flatten().map(|pages| pages.0.len()).sum::<usize>();
        passes.push(Pass { reads: before - left, packets });
    }
    let errors = subscriber.errors().map(|status| status.0).collect();
    Read { passes, invalid: subscriber.invalid(), errors }
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

/// The session, in a pass.
struct One<'a> {
    subscriber: &'a mut Subscriber,
    shared: &'a Shared<'a>,
    packets: Packets,
}

impl Take for One<'_> {
    fn batch(&mut self, cpu: u32, batch: &Batch) {
        self.subscriber.batch(cpu, batch, self.shared, &mut self.packets);
    }

    fn failed(&mut self, _: u32, status: Status) {
        self.subscriber.failed(status);
    }
}

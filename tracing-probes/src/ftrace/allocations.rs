//! No event allocates: after the first passes, a pass with many events allocates no more than one with few.

use std::io;

use abi::map::SortedMap;
use protos::{FtraceParseStatus as Status, TracePacketWriter};
use protozero::{FixedSink, Writer};

use super::config::EventName;
use super::drain::{self, Batch, PAGES_MAX, Pipe, Take};
use super::mux::{EventKind, EventTable};
use super::page::Commit;
use super::page::made::Made;
use super::recorded::{self, FORMATS};
use super::schema;
use super::subscriber::{Shared, Subscriber, Wishes};
use super::table::choice::Choice;
use super::table::{FieldIds, Options, Table};
use crate::output::Output;

/// Events of each kind of field: columns, texts, arrays, system calls, addresses, devices, inodes, and generic ones.
const EVENTS: [(&str, &str); 12] = [
    ("ftrace", "print"),
    ("sched", "sched_switch"),
    ("sched", "sched_waking"),
    ("task", "task_rename"),
    ("raw_syscalls", "sys_enter"),
    ("raw_syscalls", "sys_exit"),
    ("irq", "irq_handler_entry"),
    ("timer", "hrtimer_start"),
    ("ext4", "ext4_da_write_begin"),
    ("block", "block_rq_issue"),
    ("syscalls", "sys_enter_openat"),
    ("net", "net_dev_queue"),
];

/// Packets into memory that is used again.
struct Memory(Vec<u8>, usize);

impl Output for Memory {
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>)) {
        let mut stream = FixedSink::stream(&mut self.0[..]);
        fill(&mut TracePacketWriter::from_scope(stream.root()));
        self.1 += stream.finish().unwrap_or_else(|error| panic!("{error}")).len();
    }

    fn commit(&mut self) {}

    fn clock(&self) -> fn() -> u64 {
        || 0
    }
}

/// The same page, so many times.
struct Pages<'p>(&'p [u8], usize);

impl Pipe for Pages<'_> {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        self.1 = self.1.checked_sub(1).ok_or(io::ErrorKind::WouldBlock)?;
        page.copy_from_slice(self.0);
        Ok(page.len())
    }
}

struct One<'a>(&'a mut Subscriber, Shared<'a>, &'a mut Memory);

impl Take for One<'_> {
    fn batch(&mut self, cpu: u32, batch: &Batch) {
        self.0.batch(cpu, batch, &self.1, self.2);
    }

    fn failed(&mut self, _: u32, status: Status) {
        panic!("{status:?}");
    }
}

/// A full page with records of all events.
fn page(ids: &[u16]) -> Vec<u8> {
    let mut made = Made::new(1 << 40);
    for id in ids.iter().cycle() {
        // No array lies anywhere, and each text ends.
        let mut body = [0; 108];
        body[..2].copy_from_slice(&id.to_le_bytes());
        body[4..8].copy_from_slice(&(u32::from(*id) % 50).to_le_bytes());
        body[16..19].copy_from_slice(b"abc");
        let next = made.clone().event(1000, &body);
        if next.records.len() > 4080 {
            return made.page(4096, Commit::Eight);
        }
        made = next;
    }
    Vec::new()
}

#[test]
fn no_event_allocates() {
    for is_compact in [true, false] {
        let (mut table, mut ids) =
            (Table::new(Options::default(), &mut recorded::read), FieldIds::default());
        let mut choice = Choice::new(&mut table, &mut ids);
        let chosen = EVENTS.map(|(group, name)| {
            let kind = match schema::find(group, name) {
                Some(_) => EventKind::Known,
                None => EventKind::Generic { is_dense: true },
            };
            let format = &FORMATS[&(group.to_owned(), name.to_owned())];
            choice.add(&EventName::new(group, name), kind, format).unwrap()
        });
        let (plans, unfit) = choice.finish(is_compact);
        assert_eq!(unfit, None);
        let mut subscriber = Subscriber::new(Wishes { plans, has_symbols: false, filter: None });
        let (page, mut out) = (page(&chosen), Memory(vec![0; 1 << 20], 0));
        let (printk, mut batch) = (SortedMap::new(), Batch::new(4096));
        let mut pass = |pages: usize| {
            let shared = Shared {
                commit: Commit::Eight,
                printk: &printk,
                clocks: None,
                symbols: None,
                own_pid: 1,
            };
            let before = out.1;
            let measured = allocation_counter::measure(|| {
                let mut one = One(&mut subscriber, shared, &mut out);
                let mut pipes = [Some(Pages(&page, pages))];
                let passed =
                    drain::pass(&mut pipes, &mut batch, Commit::Eight, PAGES_MAX, &mut one);
                assert_eq!(passed.pages, pages);
                subscriber.end_pass(&mut |_| {});
            });
            (measured.count_total, out.1 - before)
        };
        pass(200);
        let (few, (many, bytes)) = (pass(1), pass(200));
        assert!(bytes > 100_000, "{bytes} bytes of events");
        assert_eq!((few, many), (pass(1), few.0), "of one page, and of 200");
        assert_eq!(subscriber.invalid(), 0);
        assert!(few.0 < 10, "a pass allocates {} times", few.0);
    }
}

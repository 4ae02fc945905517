use std::collections::VecDeque;
use std::io;

use abi::map::SortedMap;
use protos::{FtraceParseStatus as Status, TracePacket, TracePacketData, TracePacketWriter};
use protozero::wire::tag::{LEN, VARINT};
use protozero::{FixedSink, Message, Writer};

use super::super::compact::tests::LAYOUT;
use super::super::drain::{self, Batch, PAGES_MAX, Pipe, Take};
use super::super::page::made::Made;
use super::super::page::{Commit, Lost};
use super::super::symbols::{Parser, Symbols};
use super::super::table::plan::{Body, Fact, Plan, Step, Tag, What};
use super::super::table::plans::Plans;
use super::{Shared, Subscriber, Wishes};
use crate::output::Output;

/// A timer with a function, and a mark.
const TIMER: u16 = 40;
const MARK: u16 = 41;

fn plans(ids: &[u16]) -> Plans {
    let plan = |number, steps: &[(u32, u16, What, u32)]| Plan {
        body: Body::Message(Tag::of(number, LEN)),
        size: 8,
        fact: Fact::None,
        descriptor: None,
        steps: steps
            .iter()
            .map(|(n, offset, what, kind)| Step {
                tag: Tag::of(*n, *kind),
                offset: *offset,
                what: *what,
            })
            .collect(),
    };
    let mut plans = Plans::new(4, None);
    let timer = (TIMER, plan(100, &[(2, 8, What::Address64, VARINT)]));
    let mark = (MARK, plan(3, &[(2, 8, What::TextToEnd, LEN)]));
    for (id, plan) in [timer, mark].into_iter().filter(|(id, _)| ids.contains(id)) {
        plans.insert(id, plan);
    }
    plans
}

/// Collects packets.
#[derive(Default)]
struct Packets(Vec<TracePacket>);

impl Output for Packets {
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>)) {
        let mut memory = vec![0; 256 * 1024];
        let mut stream = FixedSink::stream(&mut memory[..]);
        fill(&mut TracePacketWriter::from_scope(stream.root()));
        let bytes = stream.finish().unwrap_or_else(|error| panic!("{error}"));
        self.0.push(TracePacket::decode(bytes).unwrap_or_else(|error| panic!("{error}")));
    }

    fn clock(&self) -> fn() -> u64 {
        || 0
    }

    fn commit(&mut self) {}
}

/// Plays pages.
struct Pages(VecDeque<Vec<u8>>);

impl Pipe for Pages {
    fn read(&mut self, page: &mut [u8]) -> io::Result<usize> {
        let Some(next) = self.0.pop_front() else { return Err(io::ErrorKind::WouldBlock.into()) };
        page.copy_from_slice(&next);
        Ok(page.len())
    }
}

/// One subscriber of one pass.
struct One<'a> {
    subscriber: &'a mut Subscriber,
    shared: Shared<'a>,
    out: &'a mut Packets,
}

impl Take for One<'_> {
    fn batch(&mut self, cpu: u32, batch: &Batch) {
        self.subscriber.batch(cpu, batch, &self.shared, self.out);
    }

    fn failed(&mut self, _: u32, status: Status) {
        self.subscriber.failed(status);
    }
}

/// Reads the pages of some CPUs in a pass, and returns its packets.
fn pass(
    subscriber: &mut Subscriber,
    cpus: &[Vec<Made>],
    symbols: Option<&Symbols>,
) -> Vec<TracePacket> {
    let (printk, mut out) = (SortedMap::new(), Packets::default());
    let pages = |made: &Vec<Made>| made.iter().map(|made| made.page(4096, Commit::Eight)).collect();
    let mut pipes: Vec<_> = cpus.iter().map(|made| Some(Pages(pages(made)))).collect();
    let shared =
        Shared { commit: Commit::Eight, printk: &printk, clocks: None, symbols, own_threads: &[] };
    let mut one = One { subscriber, shared, out: &mut out };
    drain::pass(&mut pipes, &mut Batch::new(4096), Commit::Eight, PAGES_MAX, &mut one);
    out.0
}

fn subscriber(ids: &[u16]) -> Subscriber {
    Subscriber::new(Wishes { plans: plans(ids), has_symbols: true, filter: None })
}

fn timer(function: u64) -> Vec<u8> {
    [&[40, 0, 0, 0, 9, 0, 0, 0][..], &function.to_le_bytes()].concat()
}

/// A full page of timers with these functions.
fn timers(functions: &[u64]) -> Made {
    let made =
        functions.iter().fold(Made::new(1), |made, function| made.event(1, &timer(*function)));
    (0..25).fold(made, |made, _| made.event(1, &[0xee; 100]))
}

fn symbols() -> Symbols {
    let mut parser = Parser::default();
    parser.push(b"1000 t one\n2000 t two\n3000 t three\n");
    parser.finish()
}

fn names(packet: &TracePacket) -> Vec<(u64, String)> {
    let interned = packet.interned_data.iter().flat_map(|interned| &interned.kernel_symbols);
    let text = |bytes: &Option<Vec<u8>>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    interned.map(|symbol| (symbol.iid.unwrap_or_default(), text(&symbol.str))).collect()
}

/// Upstream: a pass that began with addresses without names left those of the pass before in place.
#[test]
fn names_of_functions() {
    let (mut subscriber, symbols) = (subscriber(&[TIMER]), symbols());
    // Far from all functions, as an object on the heap is.
    let heap = 0x99_0000_0000;
    for _ in 0..2 {
        let cpus = [
            vec![timers(&[heap, 0x2001])],
            vec![timers(&[0x2004, 0x1000, heap])],
            vec![timers(&[heap])],
        ];
        let packets = pass(&mut subscriber, &cpus, Some(&symbols));
        assert_eq!(packets.len(), 3);
        // The first packet that has an index clears those of the pass before, even if it has no name.
        assert_eq!(
            packets.iter().map(|packet| packet.sequence_flags).collect::<Vec<_>>(),
            [Some(1), None, None]
        );
        let found: Vec<_> = packets.iter().map(names).collect();
        let second = vec![(3, "two".to_owned()), (4, "one".to_owned())];
        assert_eq!(found, [vec![(2, "two".to_owned())], second, vec![]]);
        subscriber.end_pass(&mut |_| {});
    }
    let packets = pass(&mut subscriber, &[vec![timers(&[heap])]], Some(&symbols));
    assert_eq!(
        (packets.len(), packets[0].sequence_flags, names(&packets[0])),
        (1, Some(1), vec![])
    );
}

#[test]
fn without_symbols_addresses_stay_hidden() {
    let mut subscriber = subscriber(&[TIMER]);
    let packets = pass(&mut subscriber, &[vec![timers(&[0x2000])]], None);
    assert_eq!((packets.len(), packets[0].sequence_flags, names(&packets[0])), (1, None, vec![]));
}

#[test]
fn each_gap_begins_a_packet() {
    // Three pages, a gap, one page, a gap, four pages.
    let page = |lost| Made { lost, ..timers(&[1]) };
    let lost = [3, 1, 4].iter().flat_map(|count: &usize| {
        let mut pages = vec![Lost::Nothing; *count];
        pages[0] = Lost::Some;
        pages
    });
    let packets = pass(&mut subscriber(&[TIMER]), &[lost.map(page).collect()], None);
    let bundles: Vec<_> = packets
        .iter()
        .filter_map(|packet| match &packet.data {
            Some(TracePacketData::FtraceEvents(bundle)) => Some(bundle),
            _ => None,
        })
        .collect();
    assert_eq!(bundles.len(), 3);
    assert!(bundles.iter().all(|bundle| bundle.lost_events == Some(true) && bundle.cpu == Some(0)));
}

/// Upstream: a session with compact sched had an empty bundle for each batch of others' events.
#[test]
fn nothing_of_interest_is_no_packet() {
    for layout in [None, Some(LAYOUT)] {
        let mut plans = plans(&[MARK]);
        plans.compact = layout;
        let wishes = Wishes { plans, has_symbols: true, filter: None };
        let cpus = [vec![timers(&[1])], vec![timers(&[2])]];
        let packets = pass(&mut Subscriber::new(wishes), &cpus, None);
        assert_eq!(packets, [], "{layout:?}");
    }
}

#[test]
fn facts_are_handed_on_once() {
    let mut subscriber = subscriber(&[TIMER]);
    let _ = pass(&mut subscriber, &[vec![timers(&[1])]], None);
    let mut pids = Vec::new();
    for _ in 0..2 {
        subscriber.end_pass(&mut |facts| pids.push(facts.pids.iter().copied().collect::<Vec<_>>()));
    }
    assert_eq!(pids, [vec![9], vec![]]);
}

#[test]
fn errors_of_all_cpus() {
    let mut subscriber = subscriber(&[TIMER]);
    let bad = |kind| timers(&[1]).pair(0, 1, kind);
    let _ = pass(&mut subscriber, &[vec![bad(0)], vec![bad(0)], vec![bad(1)]], None);
    subscriber.failed(Status::FTRACE_STATUS_PARTIAL_PAGE_READ);
    assert_eq!(subscriber.errors().map(|status| status.0).collect::<Vec<_>>(), [3, 12, 13]);
    assert_eq!(subscriber.invalid(), 0);
}

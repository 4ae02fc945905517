//! No event allocates: after the first passes, a pass with many events allocates no more than one with few.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use abi::map::SortedMap;
use client::data_source::{Ack, DataSource, Instance};
use client::producer::Producer;
use client::write::{BufferExhaustedPolicy, TraceWriter};
use daemon::in_process::InProcessService;
use daemon::serve::service_config;
use protos::{
    DataSourceConfig, DataSourceDescriptor, FtraceConfigPrintFilter, FtraceConfigPrintFilterRule,
    FtraceConfigPrintFilterRuleAtraceMessage, FtraceConfigPrintFilterRuleMatch,
    FtraceParseStatus as Status, TraceConfig, TraceConfigBufferConfig, TraceConfigDataSource,
    TracePacketWriter,
};
use protozero::{FixedSink, Writer};

use super::config::{EventName, Graph, PrintFilter, Syscalls};
use super::drain::{self, Batch, PAGES_MAX, Pipe, Take};
use super::filter::{Functions, RecordFilter};
use super::mux::{Active, EventKind, EventTable, Recorded};
use super::page::Commit;
use super::page::made::Made;
use super::recorded::{self, FORMATS};
use super::schema;
use super::subscriber::{Shared, Subscriber, Wishes};
use super::symbols::{Parser, Symbols};
use super::table::choice::Choice;
use super::table::{FieldIds, Options, Table};
use crate::output::Output;

/// Events of each kind of field: columns, texts, arrays, system calls, addresses, devices, inodes, and generic ones.
const EVENTS: [(&str, &str); 13] = [
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
    ("ftrace", "funcgraph_entry"),
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

struct One<'a>(&'a mut Subscriber, Shared<'a>, &'a mut dyn Output);

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

/// A session with all of it: columns or not, and names of functions and filters or not.
fn subscriber(is_compact: bool, has_all: bool) -> (Subscriber, Vec<u8>) {
    let (mut table, mut ids) =
        (Table::new(Options::default(), &mut recorded::read), FieldIds::default());
    let mut choice = Choice::new(&mut table, &mut ids);
    let mut events = BTreeMap::new();
    let chosen = EVENTS.map(|(group, name)| {
        let kind = match schema::find(group, name) {
            Some(_) => EventKind::Known,
            None => EventKind::Generic { is_dense: true },
        };
        let format = &FORMATS[&(group.to_owned(), name.to_owned())];
        let event = EventName::new(group, name);
        let id = choice.add(&event, kind, format).unwrap();
        events.insert(event, Recorded { id, kind });
        id
    });
    let syscalls = Syscalls::Only([0, 1, 2].into());
    let (unknown, failed, notes) = (Vec::new(), Vec::new(), Vec::new());
    let active = Active { events, syscalls, unknown, failed, notes, rings: Vec::new() };
    let rule = |kind: &str, allow| FtraceConfigPrintFilterRule {
        r#match: Some(FtraceConfigPrintFilterRuleMatch::AtraceMsg(
            FtraceConfigPrintFilterRuleAtraceMessage {
                r#type: Some(kind.to_owned()),
                prefix: Some("x".to_owned()),
                ..Default::default()
            },
        )),
        allow: Some(allow),
        ..Default::default()
    };
    let rules = vec![rule("C", true), rule("B", false)];
    let print = PrintFilter::new(&FtraceConfigPrintFilter { rules, ..Default::default() });
    let graph = Graph { depth_max: u32::MAX, ..Graph::default() };
    let mut failed = Vec::new();
    let filter = has_all.then(|| {
        let filter = RecordFilter::new(choice.table(), &active, &print, Some(&graph), &mut failed);
        let mut filter = filter.unwrap();
        filter.keep_functions(Functions::named(&["zero".to_owned()], &symbols()));
        filter
    });
    assert_eq!(failed, [""; 0]);
    let (plans, unfit) = choice.finish(is_compact);
    assert_eq!(unfit, None);
    (Subscriber::new(Wishes { plans, has_symbols: has_all, filter }), page(&chosen))
}

/// Functions around the addresses of the page.
fn symbols() -> Symbols {
    let mut parser = Parser::default();
    parser.push(b"1 t zero\n630000 T a_function\n640000 T another\n");
    parser.finish()
}

/// Passes with one page and with many allocate the same, whatever takes the packets.
fn check(out: &mut dyn Output) {
    let symbols = symbols();
    for (is_compact, has_all) in [(true, false), (false, false), (true, true), (false, true)] {
        let (mut subscriber, page) = subscriber(is_compact, has_all);
        let (printk, mut batch) = (SortedMap::new(), Batch::new(4096));
        let mut pass = |pages: usize| {
            let shared = Shared {
                commit: Commit::Eight,
                printk: &printk,
                clocks: None,
                symbols: Some(&symbols),
                own_threads: &[1],
            };
            let measured = allocation_counter::measure(|| {
                let mut one = One(&mut subscriber, shared, &mut *out);
                let mut pipes = [Some(Pages(&page, pages))];
                let passed =
                    drain::pass(&mut pipes, &mut batch, Commit::Eight, PAGES_MAX, &mut one);
                assert_eq!(passed.pages, pages);
                subscriber.end_pass(&mut |_| {});
            });
            measured.count_total
        };
        pass(200);
        let (few, many) = (pass(1), pass(200));
        assert_eq!((few, many), (pass(1), few), "of one page, and of 200");
        assert!(few < 10, "a pass allocates {few} times");
        assert_eq!(subscriber.invalid(), 0);
    }
}

#[test]
fn no_event_allocates() {
    let mut out = Memory(vec![0; 1 << 20], 0);
    check(&mut out);
    assert!(out.1 > 400_000, "{} bytes of events", out.1);
    let name = b"a_function";
    assert!(out.0.windows(name.len()).any(|bytes| bytes == name), "a function has its name");
}

/// Into shared memory, which a service empties in a thread of its own.
#[test]
fn no_event_allocates_on_its_way_to_a_service() {
    let service = service_config("test").unwrap();
    let service = InProcessService::start(service, Box::new(|_, _: &str| {})).unwrap();
    let producer = Producer::attach(service.producer(), crate::options()).unwrap();
    let (started, has_started) = channel();
    let name = Some("test".to_owned());
    let descriptor = DataSourceDescriptor { name: name.clone(), ..Default::default() };
    producer.register(descriptor, Writers(started)).unwrap();
    assert!(producer.sync(Duration::MAX));
    let mut consumer = service.consumer();
    let config = DataSourceConfig { name, ..Default::default() };
    let source = TraceConfigDataSource { config: Some(config), ..Default::default() };
    let buffer = TraceConfigBufferConfig { size_kb: Some(1024), ..Default::default() };
    let config =
        TraceConfig { buffers: vec![buffer], data_sources: vec![source], ..Default::default() };
    consumer.enable_tracing(&config, None).unwrap();
    let mut writer: TraceWriter = has_started.recv().unwrap();
    check(&mut writer);
    assert!(writer.written() > 400_000, "{} bytes of events", writer.written());
    assert_eq!(writer.drop_count(), 0);
    drop(writer);
    drop((consumer, producer));
}

/// A data source that gives its writer away.
struct Writers(Sender<TraceWriter>);

impl DataSource for Writers {
    fn start(&mut self, instance: &Instance) {
        self.0.send(instance.trace_writer(BufferExhaustedPolicy::StallThenDrop)).unwrap();
    }

    fn stop(&mut self, _: &Instance, _: Ack) {}
}

mod generic;
mod graph;
mod hostile;
mod pace;
mod told;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use protos::{
    DataSourceConfig, FtraceConfig, FtraceConfigKsymsMemPolicy as Policy, FtraceConfigPrintFilter,
    FtraceConfigPrintFilterRule, FtraceConfigPrintFilterRuleMatch, FtraceStats,
    FtraceStatsPhase as Phase, TracePacket, TracePacketData, TracePacketWriter,
};
use protozero::{FixedSink, Message, Writer};

use super::events::opens;
use super::{Controller, System};
use crate::ftrace::config::SyscallArch;
use crate::ftrace::mux::{Journal, Machine};
use crate::ftrace::page::made::Made;
use crate::ftrace::page::{Commit, Lost};
use crate::ftrace::symbols::{Parser, Symbols};
use crate::ftrace::table::kind::Pointers;
use crate::ftrace::tracefs::fake::{Fake, Next};
use crate::ftrace::tracefs::{Directory, PolledPipe, Tracefs};
use crate::output::Output;

const FREQUENCY: &str = "power/cpu_frequency";
const IDLE: &str = "power/cpu_idle";
const PRINT: &str = "ftrace/print";
const COMMON: &str = "\
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

/// Tracefs of a test, which the test keeps.
struct Through(Rc<Fake>);

impl Tracefs for Through {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }
    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.write(path, bytes)
    }
    fn append(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.append(path, bytes)
    }
    fn truncate(&self, path: &str) -> io::Result<()> {
        self.0.truncate(path)
    }
    fn exists(&self, path: &str) -> bool {
        self.0.exists(path)
    }
    fn folders(&self, path: &str) -> io::Result<Vec<String>> {
        self.0.folders(path)
    }
    fn make_folder(&self, path: &str) -> io::Result<()> {
        self.0.make_folder(path)
    }
    fn remove_folder(&self, path: &str) -> io::Result<()> {
        self.0.remove_folder(path)
    }
    fn open_pipe(&self, path: &str) -> io::Result<Box<dyn PolledPipe>> {
        self.0.open_pipe(path)
    }
}

#[derive(Clone, Default)]
struct Here {
    log: Rc<RefCell<Vec<String>>>,
    /// How often symbols were read.
    symbols: Rc<RefCell<usize>>,
    /// More of them.
    kallsyms: Rc<Cell<&'static str>>,
    /// The kernel does not tell where its functions are.
    is_hidden: Rc<Cell<bool>>,
    /// What is written of addresses of the kernel.
    pointers: Rc<Cell<Pointers>>,
    /// The kernel does not tell when a ring fills.
    is_old: Rc<RefCell<bool>>,
    /// Another program has tracefs.
    is_taken: Rc<Cell<bool>>,
    /// Kilobytes of a page of memory; 0: 4.
    page_kb: Rc<Cell<u32>>,
    /// How often tracefs was claimed, and given back.
    claims: Rc<Cell<[u32; 2]>>,
}

impl System for Here {
    fn claim(&self, _: &dyn Tracefs) -> Result<(), String> {
        if self.is_taken.get() {
            return Err("another program records".to_owned());
        }
        let [claimed, released] = self.claims.get();
        assert_eq!(claimed, released, "it is claimed once");
        self.claims.set([claimed + 1, released]);
        Ok(())
    }
    fn release(&self) {
        let [claimed, released] = self.claims.get();
        self.claims.set([claimed, released + 1]);
    }
    fn machine(&self) -> Machine {
        let page_kb = if self.page_kb.get() == 0 { 4 } else { self.page_kb.get() };
        Machine { offline_cpus: vec![], ram_bytes: 1 << 34, page_kb, arch: SyscallArch::X86_64 }
    }
    fn journal(&self, _: &Directory) -> Journal {
        Journal::new(None)
    }
    fn pointers(&self) -> Pointers {
        self.pointers.get()
    }
    fn symbols(&self) -> Result<Symbols, String> {
        *self.symbols.borrow_mut() += 1;
        if self.is_hidden.get() {
            return Err("addresses are hidden".to_owned());
        }
        let mut parser = Parser::default();
        parser.push(b"1000 T start_kernel\n");
        parser.push(self.kallsyms.get().as_bytes());
        Ok(parser.finish())
    }
    fn has_polls(&self) -> bool {
        !*self.is_old.borrow()
    }
    fn own_threads(&self) -> Vec<i32> {
        vec![7, 10]
    }
    fn log(&self, line: &str) {
        self.log.borrow_mut().push(line.to_owned());
    }
    fn boot_ns(&self) -> u64 {
        777
    }
}

/// The packets of a session, and how many of them were committed.
#[derive(Clone, Debug, Default)]
struct Packets(Rc<RefCell<(Vec<TracePacket>, usize)>>);

impl Output for Packets {
    fn packet(&mut self, fill: &mut dyn FnMut(&mut TracePacketWriter<'_>)) {
        let mut memory = vec![0; 256 * 1024];
        let mut stream = FixedSink::stream(&mut memory[..]);
        fill(&mut TracePacketWriter::from_scope(stream.root()));
        let bytes = stream.finish().unwrap_or_else(|error| panic!("{error}"));
        let packet = TracePacket::decode(bytes).unwrap_or_else(|error| panic!("{error}"));
        self.0.borrow_mut().0.push(packet);
    }
    fn clock(&self) -> fn() -> u64 {
        || 0
    }
    fn commit(&mut self) {
        let mut packets = self.0.borrow_mut();
        packets.1 = packets.0.len();
    }
}

impl Packets {
    fn take(&self) -> Vec<TracePacket> {
        std::mem::take(&mut *self.0.borrow_mut()).0
    }

    /// A copy, to look at them twice.
    fn clone_all(&self) -> Self {
        Self(Rc::new(RefCell::new(self.0.borrow().clone())))
    }

    /// The statistics among them.
    fn stats(&self) -> Vec<FtraceStats> {
        let stats = |packet| match packet {
            TracePacket { data: Some(TracePacketData::FtraceStats(stats)), .. } => Some(stats),
            _ => None,
        };
        self.take().into_iter().filter_map(stats).collect()
    }

    /// Events of all bundles: they are unknown fields here, so their number is counted by their time.
    fn events(&self) -> usize {
        let count = |packet: &TracePacket| match &packet.data {
            Some(TracePacketData::FtraceEvents(bundle)) => {
                let mut reader = protozero::Reader::new(bundle.unknown_fields.as_bytes());
                std::iter::from_fn(|| reader.next_field().ok().flatten()).count()
            }
            _ => 0,
        };
        self.take().iter().map(count).sum()
    }
}

struct World {
    fake: Rc<Fake>,
    here: Here,
    controller: Controller<Packets>,
    /// Did the last refusal tell that a session must be alone?
    is_exclusive_told: bool,
}

impl World {
    fn new() -> Self {
        let fake = Rc::new(Fake::new());
        for (event, id, fields) in [
            (FREQUENCY, 15, "\tfield:u32 state;\toffset:8;\tsize:4;\tsigned:0;\n"),
            (IDLE, 16, "\tfield:u32 state;\toffset:8;\tsize:4;\tsigned:0;\n"),
            (PRINT, 5, "\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"),
        ] {
            let name = event.split('/').next_back().unwrap_or_default();
            let text =
                format!("name: {name}\nID: {id}\nformat:\n{COMMON}{fields}\nprint fmt: \"\"\n");
            for prefix in ["", "instances/other/"] {
                fake.set(&format!("{prefix}events/{event}/format"), &text);
            }
        }
        let here = Here::default();
        let controller =
            Controller::new(Box::new(Through(Rc::clone(&fake))), Box::new(here.clone()));
        Self { fake, here, controller, is_exclusive_told: false }
    }

    fn start(&mut self, id: u64, config: FtraceConfig) -> Result<Packets, String> {
        let packets = Packets::default();
        let config = DataSourceConfig { ftrace_config: Some(config), ..Default::default() };
        let started = self.controller.start(id, &config, packets.clone(), 0);
        match started {
            Ok(()) => Ok(packets),
            Err(refusal) => {
                let stats = packets.stats();
                assert_eq!(stats.len(), 1, "the user of the session is told");
                let told = stats[0].atrace_errors.clone().unwrap_or_default();
                assert!(told.contains(&refusal.0), "{told}");
                let exclusive = &stats[0].exclusive_feature_error;
                assert!(exclusive.as_ref().is_none_or(|told| *told == refusal.0), "{exclusive:?}");
                self.is_exclusive_told = exclusive.is_some();
                Err(refusal.0)
            }
        }
    }

    /// What the next reads of a CPU give.
    fn play(&self, path: &str, pages: &[Made]) {
        let page = |made: &Made| Next::Page(made.page(4096, Commit::Eight));
        self.fake.script(path, pages.iter().map(page).collect::<Vec<_>>());
    }

    fn pass(&mut self) {
        self.controller.pass(0, &mut |_, _| {});
    }
}

fn wants(events: &[&str]) -> FtraceConfig {
    let ftrace_events = events.iter().map(|event| (*event).to_owned()).collect();
    FtraceConfig { ftrace_events, ..Default::default() }
}

/// A record of this id, of thread 9.
fn polls(percent: u32) -> FtraceConfig {
    FtraceConfig { drain_buffer_percent: Some(percent), ..wants(&[FREQUENCY]) }
}

fn record(id: u8) -> Vec<u8> {
    [&[id, 0, 0, 0, 9, 0, 0, 0][..], &[7, 0, 0, 0], &[0; 4], b"text\0"].concat()
}

fn page(ids: &[u8]) -> Made {
    ids.iter().fold(Made::new(100), |made, id| made.event(1, &record(*id)))
}

const CPU0: &str = "per_cpu/cpu0/trace_pipe_raw";

#[test]
fn each_session_gets_its_events_and_all_is_put_back() {
    let mut world = World::new();
    let found = world.fake.settings();
    let one = world.start(1, wants(&[FREQUENCY])).unwrap();
    let two = world.start(2, wants(&[FREQUENCY, IDLE])).unwrap();
    assert_eq!(world.fake.enabled("").len(), 2);
    world.play(CPU0, &[page(&[15, 16, 15, 16, 16])]);
    world.pass();
    assert_eq!((one.events(), two.events()), (2, 5));
    world.controller.stop(2);
    assert_eq!(world.fake.enabled("").into_iter().collect::<Vec<_>>(), [FREQUENCY]);
    world.play(CPU0, &[page(&[15, 16])]);
    world.pass();
    assert_eq!((one.events(), two.events()), (1, 0));
    world.controller.stop(1);
    assert_eq!(world.fake.settings(), found);
    assert_eq!(world.controller.due_ns(), None);
    assert_eq!(world.fake.open_pipes(), 0);
}

#[test]
fn instances_are_read_apart() {
    let mut world = World::new();
    let found = world.fake.settings();
    let root = world.start(1, wants(&[FREQUENCY])).unwrap();
    let other = FtraceConfig { instance_name: Some("other".to_owned()), ..wants(&[FREQUENCY]) };
    let other = world.start(2, other).unwrap();
    world.play(CPU0, &[page(&[15])]);
    world.play(&format!("instances/other/{CPU0}"), &[page(&[15, 15])]);
    world.pass();
    assert_eq!((root.events(), other.events()), (1, 2));
    world.controller.reset();
    assert_eq!(world.fake.settings(), found);
}

#[test]
fn a_flush_reads_whole_rings_and_writes_statistics() {
    let mut world = World::new();
    let one = world.start(1, wants(&[FREQUENCY, "no_such", "power/no_such"])).unwrap();
    let two = world.start(2, wants(&[FREQUENCY])).unwrap();
    // More pages than a pass reads, each so full that it is no page in writing.
    let full = (0..130).fold(Made::new(1), |made, _| made.event(1, &record(15)));
    let pages = vec![full.clone(); 300];
    world.play(CPU0, &pages);
    world.controller.flush(&[1], &mut |_, _| {});
    assert_eq!(one.0.borrow().1, one.0.borrow().0.len(), "everything is committed");
    let (events, others) = (one.0.borrow().0.len(), two.events());
    assert_eq!(others, 300 * 130);
    assert!(events > 2);
    let stats = one.stats();
    assert_eq!(
        stats.iter().map(|stats| stats.phase).collect::<Vec<_>>(),
        [Some(Phase::START_OF_TRACE), Some(Phase::END_OF_TRACE)]
    );
    let mut unknown = stats[0].unknown_ftrace_events.clone();
    unknown.extend(stats[0].failed_ftrace_events.clone());
    unknown.sort();
    assert_eq!(unknown, ["no_such", "power/no_such"]);
    assert_eq!(stats[1].unknown_ftrace_events, [""; 0]);
    let entries: Vec<_> = stats[1].cpu_stats.iter().map(|cpu| (cpu.cpu, cpu.entries)).collect();
    assert_eq!(entries, [(Some(0), Some(3)), (Some(1), Some(4))]);
    assert!(two.stats().is_empty(), "who was not asked to flush has none");
}

#[test]
fn refusals_leave_everything_as_it_was() {
    let mut world = World::new();
    let found = world.fake.settings();
    world.fake.set("current_tracer", "blk");
    assert!(world.start(1, wants(&[FREQUENCY])).is_err());
    world.fake.set("current_tracer", "nop");
    let missing = FtraceConfig { instance_name: Some("none".to_owned()), ..wants(&[FREQUENCY]) };
    assert!(world.start(2, missing).is_err());
    // Whatever change fails.
    let mut failed = 0;
    for changes in 0..40 {
        world.fake.fail_after(changes, 1);
        let refused = world.start(10 + changes as u64, wants(&[FREQUENCY])).is_err();
        world.fake.take_failure();
        failed += usize::from(refused);
        world.controller.reset();
        assert!(world.fake.settings() == found, "{changes}");
    }
    assert!(failed > 3);
    // No pipe opens.
    for cpu in 0..2 {
        world.fake.deny(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"), 13);
    }
    assert!(world.start(99, wants(&[FREQUENCY])).unwrap_err().contains("as root, or see"));
    assert_eq!(world.fake.settings(), found);
    assert_eq!(world.controller.due_ns(), None);
}

#[test]
fn texts_are_filtered() {
    let mut world = World::new();
    let rule = FtraceConfigPrintFilterRule {
        r#match: Some(FtraceConfigPrintFilterRuleMatch::Prefix("text".to_owned())),
        allow: Some(false),
        ..Default::default()
    };
    let print_filter = FtraceConfigPrintFilter { rules: vec![rule], ..Default::default() };
    let filtered = FtraceConfig { print_filter: Some(print_filter), ..wants(&[PRINT]) };
    let (filtered, all) =
        (world.start(1, filtered).unwrap(), world.start(2, wants(&[PRINT])).unwrap());
    let other = [&record(5)[..16], b"other\0"].concat();
    world.play(CPU0, &[page(&[5, 5]).event(1, &other)]);
    world.pass();
    assert_eq!((filtered.events(), all.events()), (1, 3));
}

#[test]
fn symbols_live_as_long_as_they_are_wanted() {
    let mut world = World::new();
    let with = |policy| FtraceConfig {
        symbolize_ksyms: Some(true),
        ksyms_mem_policy: policy,
        ..wants(&[FREQUENCY])
    };
    let parsed = |world: &mut World, packets: &Packets, id| {
        world.controller.flush(&[id], &mut |_, _| {});
        packets.stats()[1].kernel_symbols_parsed
    };
    let one = world.start(1, with(None)).unwrap();
    let two = world.start(2, with(None)).unwrap();
    assert_eq!((parsed(&mut world, &one, 1), parsed(&mut world, &two, 2)), (Some(1), Some(1)));
    world.controller.stop(1);
    assert_eq!(parsed(&mut world, &two, 2), Some(1));
    world.controller.stop(2);
    let three = world.start(3, wants(&[FREQUENCY])).unwrap();
    assert_eq!(parsed(&mut world, &three, 3), Some(0));
    assert_eq!(*world.here.symbols.borrow(), 1);
    // A session may ask that symbols stay: then they are read once for all sessions.
    for id in 4..7 {
        let packets = world.start(id, with(Some(Policy::KSYMS_RETAIN))).unwrap();
        assert_eq!(parsed(&mut world, &packets, id), Some(1));
        world.controller.stop(id);
    }
    assert_eq!(*world.here.symbols.borrow(), 2);
}

#[test]
fn facts_go_to_whom_they_belong() {
    let mut world = World::new();
    let _packets = world.start(1, wants(&[FREQUENCY])).unwrap();
    world.play(CPU0, &[page(&[15])]);
    let mut told = BTreeMap::new();
    world.controller.pass(0, &mut |id, facts| {
        told.insert(id, facts.pids.iter().copied().collect::<Vec<_>>());
    });
    assert_eq!(told, BTreeMap::from([(1, vec![9])]));
}

/// Upstream: a flush of a preserved ring read one page of each CPU.
#[test]
fn a_flush_reads_the_whole_of_a_preserved_ring() {
    let mut world = World::new();
    for cpu in 0..2 {
        world.fake.set(&format!("per_cpu/cpu{cpu}/buffer_size_kb"), "2000");
    }
    let preserve = FtraceConfig { preserve_ftrace_buffer: Some(true), ..wants(&[FREQUENCY]) };
    let packets = world.start(1, preserve).unwrap();
    let full = (0..130).fold(Made::new(1), |made, _| made.event(1, &record(15)));
    world.play(CPU0, &vec![full; 400]);
    world.controller.flush(&[1], &mut |_, _| {});
    let stats = packets.clone_all().stats();
    assert_eq!(stats[0].preserve_ftrace_buffer, Some(true));
    assert_eq!(packets.events(), 400 * 130);
}

/// A reader takes what a set-up could not do from the first statistics, and drops events from before the session unless
/// statistics tell otherwise.
#[test]
fn a_preserved_ring_is_told_at_the_start() {
    let mut world = World::new();
    let wants = wants(&[FREQUENCY, "power/none"]);
    let preserve = FtraceConfig { preserve_ftrace_buffer: Some(true), ..wants };
    let packets = world.start(1, preserve).unwrap();
    let [stats] = &packets.stats()[..] else { panic!("one packet") };
    assert_eq!(
        (stats.phase, stats.preserve_ftrace_buffer),
        (Some(Phase::START_OF_TRACE), Some(true))
    );
    assert_eq!(stats.unknown_ftrace_events, ["power/none"]);
    // A ring that was emptied has nothing from before.
    let packets = World::new().start(1, self::wants(&[FREQUENCY])).unwrap();
    assert_eq!(packets.take().len(), 0);
}

/// Upstream: a session had the system calls of all others.
#[test]
fn each_session_has_its_system_calls() {
    const ENTER: &str = "raw_syscalls/sys_enter";
    let mut world = World::new();
    let fields = "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n";
    let text = format!("name: sys_enter\nID: 17\nformat:\n{COMMON}{fields}\nprint fmt: \"\"\n");
    world.fake.set(&format!("events/{ENTER}/format"), &text);
    let calls = |names: &[&str]| FtraceConfig {
        syscall_events: names.iter().map(|name| (*name).to_owned()).collect(),
        ..wants(&[ENTER])
    };
    let reads = world.start(1, calls(&["sys_read"])).unwrap();
    let both = world.start(2, calls(&["sys_read", "sys_write"])).unwrap();
    let all = world.start(3, calls(&[])).unwrap();
    // read, write, and two more.
    let call = |number: u8| [&[17, 0, 0, 0, 9, 0, 0, 0, number][..], &[0; 7]].concat();
    let made = [0, 1, 0, 2, 39].iter().fold(Made::new(100), |made, n| made.event(1, &call(*n)));
    world.play(CPU0, &[made]);
    world.pass();
    assert_eq!((reads.events(), both.events(), all.events()), (2, 3, 5));
}

/// Two programs that set tracefs would put back what they found of each other.
#[test]
fn tracefs_is_claimed_for_all_sessions_together() {
    let mut world = World::new();
    let found = world.fake.settings();
    world.here.is_taken.set(true);
    assert_eq!(world.start(1, wants(&[FREQUENCY])).unwrap_err(), "another program records");
    assert_eq!(world.fake.take_log(), [""; 0], "nothing was changed");
    world.here.is_taken.set(false);
    let other = FtraceConfig { instance_name: Some("other".to_owned()), ..wants(&[FREQUENCY]) };
    _ = world.start(2, wants(&[FREQUENCY])).unwrap();
    _ = world.start(3, other).unwrap();
    world.controller.stop(2);
    assert_eq!(world.here.claims.get(), [1, 0]);
    world.controller.stop(3);
    assert_eq!((world.here.claims.get(), world.fake.settings()), ([1, 1], found));
    // A session that is refused later gives it back.
    world.fake.set("current_tracer", "blk");
    assert!(world.start(4, wants(&[FREQUENCY])).is_err());
    assert_eq!(world.here.claims.get(), [2, 2]);
}

/// Upstream never writes this field.
#[test]
fn who_must_be_alone_is_told() {
    let alone = || FtraceConfig { tids_to_trace: vec![9], ..wants(&[FREQUENCY]) };
    for (first, second) in [(alone(), wants(&[FREQUENCY])), (wants(&[FREQUENCY]), alone())] {
        let mut world = World::new();
        let _first = world.start(1, first).unwrap();
        assert!(world.start(2, second).unwrap_err().contains("tids_to_trace"));
        assert!(world.is_exclusive_told);
        // Any other reason is no such one.
        let named = FtraceConfig { instance_name: Some("none".to_owned()), ..wants(&[FREQUENCY]) };
        assert!(world.start(3, named).is_err());
        assert!(!world.is_exclusive_told);
    }
}

/// The kernel may fill rings faster than they are read: a flush ends.
#[test]
fn a_flush_reads_no_more_than_a_ring_has() {
    let mut world = World::new();
    let small = FtraceConfig { buffer_size_kb: Some(64), ..wants(&[FREQUENCY]) };
    let packets = world.start(1, small).unwrap();
    let full = (0..130).fold(Made::new(1), |made, _| made.event(1, &record(15)));
    world.play(CPU0, &vec![full; 300]);
    world.controller.flush(&[1], &mut |_, _| {});
    // 64 KiB are 17 pages of records, and one is the reader's.
    assert_eq!(packets.events(), 18 * 130);
}

/// The numbers are those of the names.
#[test]
fn system_calls_that_open() {
    let names = ["open", "openat", "socket", "dup", "dup2", "dup3"];
    for arch in [SyscallArch::X86_64, SyscallArch::X86, SyscallArch::Aarch64, SyscallArch::Arm] {
        let number = |name: &str| arch.number(&format!("sys_{name}"));
        let mut want: Vec<u32> = names.iter().filter_map(|name| number(name)).collect();
        let mut have: Vec<u32> = opens(arch).iter().map(|number| (*number).into()).collect();
        want.sort_unstable();
        have.sort_unstable();
        assert_eq!(have, want, "{arch:?}");
    }
}

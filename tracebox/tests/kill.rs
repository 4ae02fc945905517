//! A process that dies at any moment must not harm the other ones.
//!
//! Real programs in a folder of their own. The producers are this test binary, started with
//! [`PRODUCER_ENV`]: it writes a burst of packets for each line that it reads, and answers with a line. So
//! every moment at which a process is killed is a place in a sequence of events, never a point in time. The moments are
//! random; the seed is printed, and `KILL_SEED` replays it.

use protos::{LossLedgerEntry, LossLedgerUnit, Trace, TracePacketData};
use protozero::Message as _;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tracing_core::client::consumer::Consumer;
use tracing_core::client::data_source::{Ack, DataSource, FlushRequest, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::client::write::{BufferExhaustedPolicy, TraceWriter};
use tracing_core::os::socket::Address;

/// The name of the producer that this binary should be.
const PRODUCER_ENV: &str = "KILL_TEST_PRODUCER";
const ROUNDS: u64 = 6;
const SOURCE: &str = "kill.test";
const BURST_PACKETS: u64 = 20;
/// Memory that an allocator may keep in a process that leaks nothing.
const SLACK_KB: u64 = 4 * 1024;
/// Number of queries after which a process must have released the files and memory of a dead peer. It closes files on
/// other threads, so one answer is not enough.
const TURNS_MAX: u32 = 20_000;

/// Writes numbered packets, a burst at a time, for each session that runs.
#[derive(Clone, Default)]
struct Numbers(Arc<Mutex<BTreeMap<String, (TraceWriter, u64)>>>);

impl Numbers {
    fn with<T>(&self, f: impl FnOnce(&mut BTreeMap<String, (TraceWriter, u64)>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Answers once the packets are written, if the session runs.
    fn write(&self, session: &str) {
        self.with(|sessions| {
            let Some((writer, next)) = sessions.get_mut(session) else { return };
            let padding = "p".repeat(150);
            for counter in *next..*next + BURST_PACKETS {
                writer.new_packet().for_testing().counter(counter).str(&padding);
            }
            *next += BURST_PACKETS;
            answer(&format!("wrote {session}"));
        });
    }
}

/// The test harness captures `println!`. On a machine with one processor it has begun a line before the test runs.
fn answer(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "\n{line}");
}

fn session_of(instance: &Instance) -> String {
    instance.config().legacy_config.clone().unwrap_or_default()
}

impl DataSource for Numbers {
    fn start(&mut self, instance: &Instance) {
        let writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        self.with(|sessions| sessions.insert(session_of(instance), (writer, 0)));
        answer(&format!("started {}", session_of(instance)));
    }

    fn flush(&mut self, _: &Instance, _: &FlushRequest, _done: Ack) {
        self.with(|sessions| sessions.values_mut().for_each(|(writer, _)| writer.flush()));
    }

    fn stop(&mut self, instance: &Instance, _done: Ack) {
        self.with(|sessions| sessions.remove(&session_of(instance)));
    }
}

/// Not a test: the other tests start it as a producer.
#[test]
fn producer_process() {
    let Ok(name) = std::env::var(PRODUCER_ENV) else { return };
    let producer = Producer::connect(ProducerOptions::new(name)).expect("options");
    let descriptor =
        protos::DataSourceDescriptor { name: Some(SOURCE.into()), ..Default::default() };
    let numbers = Numbers::default();
    producer.register(descriptor, numbers.clone()).expect("registration");
    for line in std::io::stdin().lines() {
        numbers.write(&line.expect("a line of the test"));
    }
}

/// Killed when dropped.
struct Process(Child);

impl Process {
    fn kill(&mut self) {
        self.0.kill().expect("kill");
        self.0.wait().expect("wait");
    }

    fn runs(&mut self) -> bool {
        self.0.try_wait().expect("wait").is_none()
    }

    fn wait(&mut self) -> ExitStatus {
        self.0.wait().expect("wait")
    }

    /// Sends SIGINT, as Ctrl-C does.
    fn interrupt(&self) {
        kill_process(Pid::from_child(&self.0), Signal::INT).expect("signal");
    }

    fn proc(&self, file: &str) -> PathBuf {
        Path::new("/proc").join(self.0.id().to_string()).join(file)
    }

    /// Open descriptors, and mappings of shared memory.
    fn resources(&self) -> (usize, usize) {
        let descriptors = std::fs::read_dir(self.proc("fd")).map_or(0, Iterator::count);
        let maps = std::fs::read_to_string(self.proc("maps")).unwrap_or_default();
        (descriptors, maps.lines().filter(|l| l.contains("memfd:")).count())
    }

    fn rss_kb(&self) -> u64 {
        let status = std::fs::read_to_string(self.proc("status")).expect("status");
        let line = status.lines().find(|l| l.starts_with("VmRSS:")).expect("VmRSS");
        line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A producer process, which writes when the test requests it.
struct Writer {
    process: Process,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Writer {
    /// Waits for `answer`. Answers to earlier requests are skipped.
    fn wait_for(&mut self, answer: &str) {
        let mut line = String::new();
        while line.trim_end() != answer {
            line.clear();
            let len = self.answers.read_line(&mut line).expect("an answer");
            assert_ne!(len, 0, "the producer has ended; expected `{answer}`");
        }
    }

    /// Waits until `session` has started the data source. The producer may have to connect before.
    fn wait_until_started(&mut self, session: &str) {
        self.wait_for(&format!("started {session}"));
    }

    /// Requests bursts, and waits for each of them.
    fn write(&mut self, session: &str, bursts: u64) {
        for _ in 0..bursts {
            self.request(session);
            self.wait_for(&format!("wrote {session}"));
        }
    }

    /// Requests a burst, and does not wait.
    fn request(&mut self, session: &str) {
        writeln!(self.requests, "{session}").expect("the producer reads");
    }

    fn pid(&self) -> i32 {
        self.process.0.id().cast_signed()
    }
}

/// A folder with sockets, and the source of random moments.
struct World {
    folder: TempDir,
    random: u64,
    sessions: u64,
}

impl World {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos());
        let seed = std::env::var("KILL_SEED").ok().and_then(|s| s.parse().ok());
        let random = seed.unwrap_or(now as u64 | 1);
        eprintln!("KILL_SEED={random}");
        Self { folder: tempfile::tempdir().expect("folder"), random, sessions: 0 }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env("PERFETTO_PRODUCER_SOCK_NAME", self.path("producer"))
            .env("PERFETTO_CONSUMER_SOCK_NAME", self.path("consumer"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// A service that listens.
    fn traced(&self) -> Process {
        let mut command = self.command(env!("CARGO_BIN_EXE_traced"));
        let mut traced = command.stderr(Stdio::piped()).spawn().expect("traced");
        let log = BufReader::new(traced.stderr.take().expect("piped"));
        let mut lines = log.lines().map(|line| line.expect("a line of traced"));
        let mut log = String::new();
        let listens = lines.any(|line| {
            log.push_str(&line);
            log.push('\n');
            line.contains("listening on")
        });
        assert!(listens, "traced ended before it listened:\n{log}");
        // A full pipe of its log must not block it.
        std::thread::spawn(move || lines.for_each(drop));
        Process(traced)
    }

    fn producer(&self, name: &str) -> Writer {
        let binary = std::env::current_exe().expect("this binary");
        let mut command = self.command(&binary.to_string_lossy());
        command.args(["--exact", "producer_process"]).env(PRODUCER_ENV, name);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a producer");
        let requests = child.stdin.take().expect("piped");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Writer { process: Process(child), requests, answers }
    }

    /// A recording that runs until it is interrupted; the service writes the file if `into_file`. Returns the
    /// name of its session, too.
    fn record(&mut self, trace: &Path, into_file: bool) -> (Process, String) {
        self.sessions += 1;
        let session = format!("session-{}", self.sessions);
        let write = if into_file { "write_into_file: true file_write_period_ms: 100" } else { "" };
        let text = format!(
            "buffers {{ size_kb: 16384 }} {write}
             data_sources {{ config {{ name: \"{SOURCE}\" legacy_config: \"{session}\" }} }}"
        );
        let config = self.path("config");
        std::fs::write(&config, text).expect("config");
        let mut command = self.command(env!("CARGO_BIN_EXE_perfetto"));
        command.arg("--txt").arg("-c").arg(config).arg("-o").arg(trace);
        (Process(command.spawn().expect("perfetto")), session)
    }

    /// Records packets of each of `producers`, from start to end.
    fn record_all(&mut self, producers: &mut [&mut Writer]) {
        let path = self.path("all.pftrace");
        let (mut consumer, session) = self.record(&path, false);
        for producer in &mut *producers {
            producer.wait_until_started(&session);
            producer.write(&session, 3);
        }
        consumer.interrupt();
        assert!(consumer.wait().success());
        let counters = counters(&path);
        for producer in producers {
            assert_eq!(counters.get(&producer.pid()), Some(&(3 * BURST_PACKETS)));
        }
    }

    /// A number below `limit`.
    fn random(&mut self, limit: u64) -> u64 {
        // xorshift64: good enough, and a seed replays it.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit
    }

    fn consumer(&self) -> Consumer {
        let address = Address::Path(self.path("consumer"));
        Consumer::connect(&address).expect("a connection to traced")
    }
}

/// Queries `traced` until `process` has no more than the resources `expected` again. When these were counted, it may not
/// have closed yet what an earlier consumer had passed to it.
#[track_caller]
fn wait_for_holdings(world: &World, process: &Process, expected: (usize, usize)) {
    let mut consumer = world.consumer();
    // The connection for the query counts, too.
    consumer.query_service_state(true).expect("an answer");
    for _ in 0..TURNS_MAX {
        let (descriptors, mappings) = process.resources();
        if descriptors <= expected.0 && mappings <= expected.1 {
            return;
        }
        consumer.query_service_state(true).expect("an answer");
    }
    panic!("has {:?} descriptors and mappings, expected {expected:?}", process.resources());
}

/// The resources of `traced` during a query.
fn holdings_of_service(world: &World, traced: &Process) -> (usize, usize) {
    let mut consumer = world.consumer();
    consumer.query_service_state(true).expect("an answer");
    traced.resources()
}

/// How many packets each process has in the trace. Asserts that the file is a trace, and each sequence without holes.
fn counters(path: &Path) -> BTreeMap<i32, u64> {
    counters_of(&std::fs::read(path).unwrap_or_default())
}

/// Of a file whose writer may have been killed: the last packet may be cut.
fn counters_of_killed(path: &Path) -> BTreeMap<i32, u64> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let (mut reader, mut whole) = (protozero::Reader::new(&bytes), 0);
    while let Ok(Some(_)) = reader.next_field() {
        whole = reader.position();
    }
    counters_of(&bytes[..whole])
}

fn counters_of(bytes: &[u8]) -> BTreeMap<i32, u64> {
    let trace = Trace::decode(bytes).expect("a valid trace");
    let mut next: BTreeMap<i32, u64> = BTreeMap::new();
    for packet in &trace.packet {
        if let Some(TracePacketData::ForTesting(event)) = &packet.data {
            let pid = packet.trusted_pid.expect("trusted pid");
            let next = next.entry(pid).or_default();
            assert_eq!(event.counter, Some(*next), "a hole in what process {pid} wrote");
            *next += 1;
        }
    }
    next
}

/// How many packets of `pid` the ledger in the trace counts as lost, and whether it says that there may be more: a chunk
/// with a packet that was not finished keeps others that were.
fn told_as_lost(path: &Path, pid: i32) -> (u64, bool) {
    let bytes = std::fs::read(path).expect("the trace");
    let trace = Trace::decode(&bytes).expect("a valid trace");
    let mut stats = trace.packet.iter().filter_map(|packet| match &packet.data {
        Some(TracePacketData::TraceStats(stats)) => Some(stats),
        _ => None,
    });
    let ledger = stats.next_back().and_then(|stats| stats.loss_ledger.as_ref());
    let entries = ledger.iter().flat_map(|ledger| &ledger.entries);
    let is_of_process = |entry: &&LossLedgerEntry| {
        entry.pid == Some(pid) && entry.unit == Some(LossLedgerUnit::UNIT_PACKETS)
    };
    let told = entries.filter(is_of_process);
    told.fold((0, false), |(sum, is_more), entry| {
        (sum + entry.count.unwrap_or(0), is_more || entry.at_least == Some(true))
    })
}

#[track_caller]
fn check_growth(traced: &Process, before_kb: u64) {
    let after_kb = traced.rss_kb();
    assert!(after_kb < before_kb + SLACK_KB, "traced grew from {before_kb} kB to {after_kb} kB");
}

#[test]
fn a_killed_producer_harms_nobody() {
    let mut world = World::new();
    let mut traced = world.traced();
    let mut survivor = world.producer("survivor");
    let mut victim = world.producer("victim");
    world.record_all(&mut [&mut survivor, &mut victim]);
    let before = holdings_of_service(&world, &traced);
    let rss_kb = traced.rss_kb();
    for round in 0..ROUNDS {
        let path = world.path(&format!("{round}.pftrace"));
        let (mut consumer, session) = world.record(&path, round % 2 == 1);
        survivor.wait_until_started(&session);
        survivor.write(&session, 1);
        victim.wait_until_started(&session);
        let bursts = world.random(200);
        victim.write(&session, bursts);
        // It is killed while it writes these.
        (0..world.random(100)).for_each(|_| victim.request(&session));
        victim.process.kill();
        survivor.write(&session, 1);
        consumer.interrupt();
        assert!(consumer.wait().success(), "the consumer does not notice");
        let received = counters(&path);
        assert_eq!(received.get(&survivor.pid()), Some(&(2 * BURST_PACKETS)));
        let of_victim = received.get(&victim.pid()).unwrap_or(&0);
        let (lost, is_more) = told_as_lost(&path, victim.pid());
        let written = bursts * BURST_PACKETS;
        assert!(
            of_victim + lost >= written || is_more,
            "{of_victim} + {lost} of {written} packets, and nothing tells of the others"
        );
        assert!(traced.runs());
        victim = world.producer("victim");
        world.record_all(&mut [&mut survivor, &mut victim]);
        wait_for_holdings(&world, &traced, before);
    }
    check_growth(&traced, rss_kb);
}

#[test]
fn a_killed_consumer_harms_nobody() {
    let mut world = World::new();
    let mut traced = world.traced();
    let mut producer = world.producer("producer");
    world.record_all(&mut [&mut producer]);
    let before = holdings_of_service(&world, &traced);
    let (rss_kb, producer_before) = (traced.rss_kb(), producer.process.resources());
    for round in 0..ROUNDS {
        let path = world.path(&format!("{round}.pftrace"));
        let (mut consumer, session) = world.record(&path, round % 2 == 1);
        // Before it has connected, while it records, or while it reads.
        if world.random(6) != 0 {
            producer.wait_until_started(&session);
            producer.write(&session, world.random(200));
            (0..world.random(100)).for_each(|_| producer.request(&session));
            if world.random(2) == 0 {
                consumer.interrupt();
            }
        }
        consumer.kill();
        wait_for_holdings(&world, &traced, before);
        match round % 2 {
            // The service writes it, and lives.
            1 => counters(&path),
            _ => counters_of_killed(&path),
        };
        assert!(traced.runs() && producer.process.runs());
        world.record_all(&mut [&mut producer]);
    }
    wait_for_holdings(&world, &producer.process, producer_before);
    check_growth(&traced, rss_kb);
}

#[test]
fn a_killed_service_harms_nobody() {
    let mut world = World::new();
    let mut traced = world.traced();
    let mut producer = world.producer("producer");
    world.record_all(&mut [&mut producer]);
    let before = producer.process.resources();
    for round in 0..ROUNDS {
        let path = world.path(&format!("{round}.pftrace"));
        let (mut consumer, session) = world.record(&path, round % 2 == 1);
        if world.random(6) != 0 {
            producer.wait_until_started(&session);
            producer.write(&session, world.random(200));
            if world.random(2) == 0 {
                consumer.interrupt();
            }
        }
        traced.kill();
        consumer.wait();
        match round % 2 {
            1 => counters_of_killed(&path),
            // The consumer writes it, and lives.
            _ => counters(&path),
        };
        assert!(producer.process.runs());
        // The socket files of the killed service are still there, and the new service replaces them.
        traced = world.traced();
        world.record_all(&mut [&mut producer]);
        wait_for_holdings(&world, &producer.process, before);
    }
}

#[test]
fn a_second_service_refuses() {
    let mut world = World::new();
    let mut first = world.traced();
    let output = world
        .command(env!("CARGO_BIN_EXE_traced"))
        .stderr(Stdio::piped())
        .output()
        .expect("start the second");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it must not run beside the first");
    assert!(log.contains(&*world.path("producer").to_string_lossy()), "names the socket: {log}");
    assert!(first.runs());
    let mut producer = world.producer("producer");
    world.record_all(&mut [&mut producer]);
}

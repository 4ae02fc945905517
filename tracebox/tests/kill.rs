//! Processes that die at any moment, and services that meet: nobody takes anybody else along.
//!
//! Real programs in a folder of their own. The producers are this same test binary, which becomes one
//! when [`PRODUCER_ENV`] is set. Moments are random; the seed is printed, and `KILL_SEED` replays it.

use protos::{Trace, TracePacketData};
use protozero::Message as _;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use tracing_core::client::data_source::{Ack, DataSource, FlushRequest, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::client::write::{BufferExhaustedPolicy, TraceWriter};

/// Says under which name this binary is to be a producer.
const PRODUCER_ENV: &str = "KILL_TEST_PRODUCER";
/// How long a step may take before we call it hung; only a fault ever waits so long.
const PATIENCE: Duration = Duration::from_secs(30);
const ROUNDS: u64 = 6;
const SOURCE: &str = "kill.test";
/// What a process may have grown by and still be said to keep nothing: allocators hold some back.
const SLACK_KB: u64 = 4 * 1024;

/// Writes numbered packets in small bursts until it is stopped.
struct Numbers {
    writer: Arc<Mutex<Option<TraceWriter>>>,
}

impl DataSource for Numbers {
    fn start(&mut self, instance: &Instance) {
        let writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = Some(writer);
        let shared = Arc::clone(&self.writer);
        std::thread::spawn(move || {
            let padding = "p".repeat(150);
            let mut counter = 0;
            // A session of this test ends long before the last of them.
            for _ in 0..2000 {
                let mut guard = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let Some(writer) = guard.as_mut() else { return };
                for _ in 0..20 {
                    let mut packet = writer.new_packet();
                    packet.for_testing().counter(counter).str(&padding);
                    counter += 1;
                }
                drop(guard);
                std::thread::park_timeout(Duration::from_millis(1));
            }
        });
    }

    fn flush(&mut self, _: &Instance, _: &FlushRequest, _done: Ack) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.iter_mut().for_each(TraceWriter::flush);
    }

    fn stop(&mut self, _: &Instance, _done: Ack) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Not a test of its own: what the other tests start as producers.
#[test]
fn producer_process() {
    let Ok(name) = std::env::var(PRODUCER_ENV) else { return };
    let producer = Producer::connect(ProducerOptions::new(name)).expect("options");
    let descriptor =
        protos::DataSourceDescriptor { name: Some(SOURCE.into()), ..Default::default() };
    producer.register(descriptor, Numbers { writer: Arc::default() }).expect("registration");
    loop {
        std::thread::park();
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
        let mut status = None;
        wait_until("a process ends", || {
            status = self.0.try_wait().expect("wait");
            status.is_some()
        });
        status.expect("just seen")
    }

    fn proc(&self, file: &str) -> PathBuf {
        Path::new("/proc").join(self.0.id().to_string()).join(file)
    }

    /// Open descriptors, and mappings of shared memory.
    fn holdings(&self) -> (usize, usize) {
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

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(3));
    }
}

/// A folder with sockets, and the dice.
struct World {
    folder: TempDir,
    dice: u64,
}

impl World {
    fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos());
        let seed = std::env::var("KILL_SEED").ok().and_then(|s| s.parse().ok());
        let dice = seed.unwrap_or(now as u64 | 1);
        eprintln!("KILL_SEED={dice}");
        Self { folder: tempfile::tempdir().expect("folder"), dice }
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

    fn start(&self, mut command: Command) -> Process {
        Process(command.spawn().expect("start"))
    }

    fn traced(&self) -> Process {
        let traced = self.start(self.command(env!("CARGO_BIN_EXE_traced")));
        wait_until("traced listens", || {
            ["producer", "consumer"]
                .iter()
                .all(|s| std::os::unix::net::UnixStream::connect(self.path(s)).is_ok())
        });
        traced
    }

    fn producer(&self, name: &str) -> Process {
        let binary = std::env::current_exe().expect("this binary");
        let mut command = self.command(&binary.to_string_lossy());
        command.args(["--exact", "producer_process"]).env(PRODUCER_ENV, name);
        self.start(command)
    }

    /// A recording of `milliseconds`; the service writes the file if `into_file`.
    fn record(&self, trace: &Path, milliseconds: u32, into_file: bool) -> Process {
        let write = if into_file { "write_into_file: true file_write_period_ms: 100" } else { "" };
        let text = format!(
            "buffers {{ size_kb: 16384 }} duration_ms: {milliseconds} {write}
             data_sources {{ config {{ name: \"{SOURCE}\" }} }}"
        );
        let config = self.path("config");
        std::fs::write(&config, text).expect("config");
        let mut command = self.command(env!("CARGO_BIN_EXE_perfetto"));
        command.arg("--txt").arg("-c").arg(config).arg("-o").arg(trace);
        self.start(command)
    }

    /// A moment below `below_ms` goes by.
    fn moment(&mut self, below_ms: u64) {
        // xorshift64: any dice will do, as long as a seed replays it.
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        let end = Instant::now() + Duration::from_micros(self.dice % (below_ms * 1000));
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            std::thread::park_timeout(left);
        }
    }
}

/// The counters of each sequence. Asserts that the file is a trace, and each sequence without holes.
fn counters(path: &Path) -> BTreeMap<i32, u64> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let trace = Trace::decode(&bytes).expect("a valid trace");
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

/// Records until there is something of each of `producers`: they may still be connecting.
fn record_all(world: &World, producers: &[&Process]) {
    let path = world.path("all.pftrace");
    wait_until("all producers are in a trace", || {
        assert!(world.record(&path, 200, false).wait().success());
        let counters = counters(&path);
        producers.iter().all(|p| counters.contains_key(&p.0.id().cast_signed()))
    });
}

#[test]
fn a_killed_producer_harms_nobody() {
    let mut world = World::new();
    let mut traced = world.traced();
    let survivor = world.producer("survivor");
    let mut victim = world.producer("victim");
    record_all(&world, &[&survivor, &victim]);
    let (before, rss_kb) = (traced.holdings(), traced.rss_kb());
    for round in 0..ROUNDS {
        let path = world.path(&format!("{round}.pftrace"));
        let mut consumer = world.record(&path, 400, round % 2 == 1);
        world.moment(450);
        victim.kill();
        assert!(consumer.wait().success(), "the consumer does not care");
        let counters = counters(&path);
        assert!(counters.contains_key(&survivor.0.id().cast_signed()), "the survivor is there");
        assert!(traced.runs());
        victim = world.producer("victim");
        record_all(&world, &[&survivor, &victim]);
        wait_until("traced let go of the dead", || traced.holdings() == before);
    }
    eprintln!("traced: {rss_kb} kB before, {} kB after", traced.rss_kb());
    assert!(traced.rss_kb() < rss_kb + SLACK_KB, "{rss_kb} kB grew to {}", traced.rss_kb());
}

#[test]
fn a_killed_consumer_harms_nobody() {
    let mut world = World::new();
    let mut traced = world.traced();
    let mut producer = world.producer("producer");
    record_all(&world, &[&producer]);
    let (before, rss_kb) = (traced.holdings(), traced.rss_kb());
    let producer_before = producer.holdings();
    for round in 0..ROUNDS {
        let path = world.path(&format!("{round}.pftrace"));
        let mut consumer = world.record(&path, 400, round % 2 == 1);
        world.moment(450);
        consumer.kill();
        wait_until("traced let go of the dead", || traced.holdings() == before);
        counters(&path);
        assert!(traced.runs() && producer.runs());
        record_all(&world, &[&producer]);
    }
    wait_until("the producer is as before", || producer.holdings() == producer_before);
    eprintln!("traced: {rss_kb} kB before, {} kB after", traced.rss_kb());
    assert!(traced.rss_kb() < rss_kb + SLACK_KB, "{rss_kb} kB grew to {}", traced.rss_kb());
}

#[test]
fn a_killed_service_harms_nobody() {
    let mut world = World::new();
    let mut traced = world.traced();
    let mut producer = world.producer("producer");
    record_all(&world, &[&producer]);
    let before = producer.holdings();
    for round in 0..ROUNDS {
        let path = world.path(&format!("{round}.pftrace"));
        let mut consumer = world.record(&path, 400, round % 2 == 1);
        world.moment(350);
        traced.kill();
        consumer.wait();
        counters(&path);
        assert!(producer.runs());
        // The dead one's sockets are still there: a new one takes their place.
        traced = world.traced();
        record_all(&world, &[&producer]);
        wait_until("the producer is as before", || producer.holdings() == before);
    }
}

#[test]
fn a_second_service_refuses() {
    let world = World::new();
    let mut first = world.traced();
    let output = world
        .command(env!("CARGO_BIN_EXE_traced"))
        .stderr(Stdio::piped())
        .output()
        .expect("start the second");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "it must not run beside the first");
    assert!(said.contains(&*world.path("producer").to_string_lossy()), "names the socket: {said}");
    assert!(first.runs());
    let producer = world.producer("producer");
    record_all(&world, &[&producer]);
}

//! Processes that ftrace sees, recorded by `linux.process_stats` of the same session; rings that are read when they fill.
//! They need the right to use tracefs: without it, a test says that it was skipped.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use client::consumer::Consumer;
use client::producer::Producer;
use daemon::in_process::InProcessService;
use daemon::serve::service_config;
use protos::{
    DataSourceConfig, FtraceConfig, ProcessStatsConfig, ProcessStatsConfigQuirks as Quirks,
    ProcessTree, TraceConfig, TraceConfigBufferConfig, TraceConfigDataSource, TracePacket,
    TracePacketData,
};
use protozero::Message;

use super::restores::{changed, settings_with};
use super::{FOREVER, alone};

pub(super) const NAME: &str = "tracing_probes_demand";

/// An instance of tracefs, which is removed at the end. No other test on this machine uses tracefs until then; and at
/// the end every setting is as it was at the begin.
pub(super) struct Instance(pub(super) String, BTreeMap<String, String>, #[expect(dead_code)] File);

impl Instance {
    fn new() -> io::Result<Self> {
        let roots = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
        let root = roots.into_iter().find(|root| File::open(Path::new(root).join("trace")).is_ok());
        let root = root.ok_or_else(|| io::Error::other("there is no tracefs that can be read"))?;
        // Tests of other programs take the same lock.
        let lock = File::open(root)?;
        lock.lock()?;
        let path = format!("{root}/instances/{NAME}");
        // One that a run before was killed with.
        _ = std::fs::remove_dir(&path);
        std::fs::create_dir(&path)?;
        let found = settings_with(NAME);
        Ok(Self(path, found, lock))
    }

    /// An instance for a test, which is told if there is none.
    pub(super) fn of_test(test: &str) -> Option<Self> {
        let instance = Self::new();
        if let Err(error) = &instance {
            skip::test(test, &error.to_string());
        }
        instance.ok()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let now = settings_with(NAME);
            let changed = changed(&self.1, &now);
            assert!(changed.is_empty(), "they were {changed:?} before the test");
        }
        if let Err(error) = std::fs::remove_dir(&self.0) {
            assert!(std::thread::panicking(), "{}: {error}", self.0);
        }
    }
}

pub(super) fn source(config: DataSourceConfig) -> TraceConfigDataSource {
    TraceConfigDataSource { config: Some(config), ..Default::default() }
}

fn processes(quirks: Vec<Quirks>) -> TraceConfigDataSource {
    source(DataSourceConfig {
        name: Some("linux.process_stats".into()),
        process_stats_config: Some(ProcessStatsConfig { quirks, ..Default::default() }),
        ..Default::default()
    })
}

fn ftrace() -> TraceConfigDataSource {
    let events = ["task/task_newtask", "task/task_rename"];
    source(DataSourceConfig {
        name: Some("linux.ftrace".into()),
        ftrace_config: Some(FtraceConfig {
            ftrace_events: events.map(str::to_owned).to_vec(),
            instance_name: Some(NAME.to_owned()),
            // Only flushes read the rings.
            drain_period_ms: Some(60_000),
            buffer_size_kb: Some(64),
            ..Default::default()
        }),
        ..Default::default()
    })
}

/// A session, and the trees that it has recorded.
struct Session {
    consumer: Consumer,
    trees: Vec<ProcessTree>,
}

impl Session {
    fn new(service: &InProcessService, data_sources: Vec<TraceConfigDataSource>) -> Self {
        let buffer = TraceConfigBufferConfig { size_kb: Some(4096), ..Default::default() };
        let config = TraceConfig { buffers: vec![buffer], data_sources, ..Default::default() };
        let mut consumer = service.consumer();
        consumer.enable_tracing(&config, None).expect("the service is there");
        // The answer comes when all have started.
        consumer.flush(FOREVER).expect("the sources flush");
        Self { consumer, trees: Vec::new() }
    }

    /// Flushes once, and takes what was recorded.
    fn flush(&mut self) {
        self.consumer.flush(FOREVER).expect("the sources flush");
        let trees = &mut self.trees;
        let read = self.consumer.read_buffers(FOREVER, |packet| {
            let packet = TracePacket::decode(packet.bytes()).expect("a packet");
            if let Some(TracePacketData::ProcessTree(tree)) = packet.data {
                trees.push(tree);
            }
            Ok(())
        });
        read.expect("it reads");
    }

    /// Takes what there is, without a flush. Returns how many bundles of events it has.
    fn bundles(&mut self) -> usize {
        let mut bundles = 0;
        let read = self.consumer.read_buffers(FOREVER, |packet| {
            let packet = TracePacket::decode(packet.bytes()).expect("a packet");
            bundles += usize::from(matches!(packet.data, Some(TracePacketData::FtraceEvents(_))));
            Ok(())
        });
        read.expect("it reads");
        bundles
    }

    /// The command lines that were recorded of a process.
    fn command_lines(&self, pid: u32) -> Vec<Vec<String>> {
        let processes = self.trees.iter().flat_map(|tree| &tree.processes);
        let of_pid = processes.filter(|process| process.pid == Some(pid.cast_signed()));
        of_pid.map(|process| process.cmdline.clone()).collect()
    }
}

/// A process that lives until its input ends. It has answered: before, it may have the name of this one.
pub(super) fn cat() -> Child {
    let mut command = Command::new("cat");
    command.arg("-u").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("cat");
    child.stdin.as_mut().expect("a pipe").write_all(b"x").expect("cat reads");
    child.stdout.as_mut().expect("a pipe").read_exact(&mut [0]).expect("cat writes");
    child
}

pub(super) fn end(mut child: Child) {
    drop(child.stdin.take());
    child.wait().expect("it ends");
}

pub(super) fn start() -> (InProcessService, Producer) {
    let service = service_config("test").expect("this machine is known");
    let service = InProcessService::start(service, Box::new(|_, _: &str| {})).expect("a service");
    let producer = Producer::attach(service.producer(), tracing_probes::options());
    let producer = producer.expect("a producer");
    tracing_probes::register_all(&producer, tracing_probes::FtraceOptions::default())
        .expect("names are free");
    assert!(producer.sync(FOREVER), "the service takes the registrations");
    (service, producer)
}

#[test]
fn a_process_is_described_when_ftrace_sees_it() {
    let _alone = alone();
    let test = "a_process_is_described_when_ftrace_sees_it";
    let Some(_instance) = Instance::of_test(test) else { return };
    let (service, producer) = start();
    let mut session = Session::new(&service, vec![ftrace(), processes(vec![])]);
    let mut off =
        Session::new(&service, vec![ftrace(), processes(vec![Quirks::DISABLE_ON_DEMAND])]);
    let mut without = Session::new(&service, vec![processes(vec![])]);
    let before = cat();
    session.flush();
    // One flush is enough, and one description.
    assert_eq!(session.command_lines(before.id()), [["cat", "-u"]]);
    session.flush();
    assert_eq!(session.command_lines(before.id()).len(), 1);
    for other in [&mut off, &mut without] {
        other.flush();
        assert_eq!(other.trees, [], "nobody asked for it");
    }
    end(before);
    drop((session, off, without));
    drop(producer);
}

/// The minute of the monotonic clock: passes by time come when it changes.
fn minute() -> u64 {
    os::clock::now().mono_ns / 60_000_000_000
}

#[test]
fn a_ring_is_read_when_it_fills() {
    let _alone = alone();
    let Some(instance) = Instance::of_test("a_ring_is_read_when_it_fills") else { return };
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    let mut numbers = release.split(['.', '-']).map_while(|part| part.trim().parse::<u32>().ok());
    if (numbers.next(), numbers.next()) < (Some(6), Some(9)) {
        return skip::test("a_ring_is_read_when_it_fills", "the kernel is older than 6.9");
    }
    let (service, producer) = start();
    let ftrace = source(DataSourceConfig {
        name: Some("linux.ftrace".into()),
        ftrace_config: Some(FtraceConfig {
            ftrace_events: vec!["ftrace/print".to_owned()],
            instance_name: Some(NAME.to_owned()),
            drain_period_ms: Some(60_000),
            drain_buffer_percent: Some(25),
            buffer_size_kb: Some(64),
            ..Default::default()
        }),
        ..Default::default()
    });
    let mut session = Session::new(&service, vec![ftrace]);
    let marker =
        std::fs::OpenOptions::new().write(true).open(format!("{}/trace_marker", instance.0));
    let mut marker = marker.expect("the instance has a marker");
    // Data that comes within a minute came without a pass by time. Nothing else asks for it: there is no flush.
    let is_in_time = (0..3).any(|_| {
        let begin = minute();
        while session.bundles() == 0 {
            (0..100).for_each(|_| _ = marker.write(&[b'x'; 1000]));
        }
        begin == minute()
    });
    assert!(is_in_time, "rings are read by time alone");
    drop((session, marker));
    drop(producer);
}

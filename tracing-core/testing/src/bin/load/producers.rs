//! Many producers, some of which write, several sessions, and one consumer that never reads.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use client::consumer::{Consumer, Waited};
use client::data_source::{Ack, DataSource, Instance};
use client::producer::{Producer, ProducerOptions};
use client::write::BufferExhaustedPolicy;
use os::socket::Address;
use protos::{
    DataSourceConfig, DataSourceDescriptor, TestEventField, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource, TraceField, TracePacketField, TraceReader, TraceStats,
};

use crate::daemon::{Daemon, FOREVER, wait_until};
use crate::latency::{self, Meter, idle_producer};
use crate::unread::Unread;
use crate::{Outcome, Plan};

const MAIN: &str = "load.main";
pub const SIDE: &str = "load.side";
const UNREAD: &str = "load.unread";
const MAIN_KB: u32 = 64 * 1024;
const UNREAD_KB: u32 = 8 * 1024;
pub const SIDE_KB: u32 = 1024;
/// Unused user ids, and how many sessions each gets.
const OTHERS: [(u32, usize); 2] = [(65_534, 5), (65_533, 1)];
/// Memory that the daemon may use apart from buffers and shared memory, KiB.
const EXTRA_KB: u64 = 64 * 1024;

/// Writes numbered packets while it runs.
struct Numbers {
    index: u32,
    written: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl DataSource for Numbers {
    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::StallThenDrop);
        let (index, written) = (self.index, self.written.clone());
        let stop = Arc::new(AtomicBool::new(false));
        self.stop = stop.clone();
        self.thread = Some(std::thread::spawn(move || {
            let padding = "p".repeat(100);
            while !stop.load(Ordering::Relaxed) {
                let mut packet = writer.new_packet();
                let mut event = packet.for_testing();
                event.seq_value(index).counter(written.fetch_add(1, Ordering::Relaxed));
                event.str(&padding);
            }
        }));
    }

    fn stop(&mut self, _: &Instance, _done: Ack) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts and does nothing.
struct Idle;

impl DataSource for Idle {
    fn start(&mut self, _: &Instance) {}
    fn stop(&mut self, _: &Instance, _done: Ack) {}
}

pub fn descriptor(name: &str) -> DataSourceDescriptor {
    DataSourceDescriptor { name: Some(name.into()), ..Default::default() }
}

pub fn config(source: &str, kb: u32) -> TraceConfig {
    let config = DataSourceConfig { name: Some(source.into()), ..Default::default() };
    TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(kb), ..Default::default() }],
        data_sources: vec![TraceConfigDataSource { config: Some(config), ..Default::default() }],
        ..Default::default()
    }
}

fn session(address: &Address, source: &str, kb: u32) -> Outcome<Consumer> {
    let mut consumer = Consumer::connect(address).map_err(|error| error.to_string())?;
    consumer.enable_tracing(&config(source, kb), None).map_err(|error| error.to_string())?;
    // Answers come in order: a refusal would have come by now.
    consumer.query_capabilities().map_err(|error| error.to_string())?;
    match consumer.wait(Some(Duration::ZERO)) {
        Ok(Waited::TimedOut) => Ok(consumer),
        Ok(other) => Err(format!("a session ended at once: {other:?}")),
        Err(error) => Err(format!("a session: {error}")),
    }
}

/// `--sessions ADDRESS COUNT`: keeps sessions until its standard input ends.
pub fn side_sessions_process(address: &str, count: &str) -> Outcome {
    let address = Address::parse(address).map_err(|error| error.to_string())?;
    let count = count.parse().map_err(|_| "COUNT")?;
    let held = (0..count).map(|_| session(&address, SIDE, SIDE_KB)).collect::<Outcome<Vec<_>>>()?;
    println!("{}", held.len());
    let _ = std::io::stdin().read(&mut [0]);
    Ok(())
}

/// Starts sessions of other users, in processes of their own, as a user may have five. Returns how many.
fn other_users_sessions(daemon: &Daemon, plan: &Plan) -> Outcome<(Vec<Child>, usize)> {
    if os::process::effective_uid() != 0 {
        if !plan.is_short {
            return Err("ten sessions are of three users: run this as root, or with --short".into());
        }
        println!("not root: 4 sessions instead of 10");
        return Ok((Vec::new(), 0));
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut children = Vec::new();
    for (user, count) in OTHERS {
        let mut child = Command::new("/proc/self/exe")
            .arg0(&own)
            .args(["--sessions", &daemon.consumers.to_string(), &count.to_string()])
            .uid(user)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("a process of another user: {error}"))?;
        let stdout = child.stdout.as_mut().ok_or("no stdout")?;
        let ready = stdout.read_exact(&mut [0]);
        ready.map_err(|_| "the other user's sessions did not start")?;
        children.push(child);
    }
    Ok((children, OTHERS.iter().map(|(_, count)| count).sum()))
}

/// Connects producers that write. Returns the count of packets that each has written.
fn connect_writers(daemon: &Daemon, plan: &Plan) -> Outcome<(Vec<Producer>, Vec<Arc<AtomicU64>>)> {
    let (mut written, mut writers) = (Vec::new(), Vec::new());
    for index in 0..plan.writers {
        let mut options = ProducerOptions::new(format!("writer-{index}"));
        options.address = Some(daemon.producers.clone());
        options.reconnect = false;
        let producer = Producer::connect(options).map_err(|error| error.to_string())?;
        let count = Arc::new(AtomicU64::new(0));
        written.push(count.clone());
        let numbers =
            |written| Numbers { index: index as u32, written, stop: Arc::default(), thread: None };
        producer.register(descriptor(MAIN), numbers(count)).map_err(|error| error.to_string())?;
        if index == 0 {
            producer.register(descriptor(SIDE), Idle).map_err(|error| error.to_string())?;
            let unread = numbers(Arc::default());
            producer.register(descriptor(UNREAD), unread).map_err(|error| error.to_string())?;
        }
        if !producer.sync(FOREVER) {
            return Err("a producer is not answered".into());
        }
        writers.push(producer);
    }
    Ok((writers, written))
}

/// Runs this part.
pub fn run(daemon: &Daemon, plan: &Plan) -> Outcome {
    let idle = (0..plan.producers - plan.writers)
        .map(|index| idle_producer(&daemon.producers, index))
        .collect::<Outcome<Vec<_>>>()?;
    let (writers, written) = connect_writers(daemon, plan)?;
    let unread = Unread::start(daemon, &config(UNREAD, UNREAD_KB))?;
    let (others, other_count) = other_users_sessions(daemon, plan)?;
    let mut side =
        (0..2).map(|_| session(&daemon.consumers, SIDE, SIDE_KB)).collect::<Outcome<Vec<_>>>()?;
    let mut main = session(&daemon.consumers, MAIN, MAIN_KB)?;
    let sessions = side.len() + 2 + other_count;
    // The session of the consumer that never reads starts at any time.
    let mut asking = daemon.consumer()?;
    wait_until("all sessions run", || {
        let known = asking.query_service_state(true).map_err(|error| error.to_string())?;
        Ok(known.num_sessions_started == Some(sessions as i32))
    })?;
    drop(asking);
    println!(
        "{} producers, {} of them write for {:?}, {sessions} sessions, one consumer never reads",
        plan.producers, plan.writers, plan.time
    );

    let mut meter = Meter::new(daemon);
    let peak_kb = latency::ask(&mut meter, plan, (&mut side[0], &mut main))?;
    main.disable_tracing().map_err(|error| error.to_string())?;
    while main.wait(Some(FOREVER)).map_err(|error| error.to_string())? != Waited::Ended {}
    let mut trace = Vec::new();
    main.read_into(&mut trace, FOREVER).map_err(|error| error.to_string())?;
    // Read before the session of the consumer that never reads ends: commits for its freed buffer would be counted.
    let stats = main.get_trace_stats().map_err(|error| error.to_string())?;
    unread.finish(daemon)?;
    account(&stats)?;
    let counts: Vec<u64> = written.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let lost = check(&trace, &counts)?;
    let total: u64 = counts.iter().sum();
    println!("{total} packets written, {lost} overwritten, {} MB read", trace.len() >> 20);
    latency::check(&meter.measured, plan.answer_within, plan)?;
    // 256 KiB for each producer that writes, and 2 MiB for the session that comes and goes.
    let allowed = u64::from(MAIN_KB + UNREAD_KB)
        + u64::from(SIDE_KB) * (sessions as u64 - 2)
        + 256 * plan.writers as u64
        + u64::from(SIDE_KB);
    println!("{peak_kb} KiB at most, of which {allowed} are buffers and shared memory");
    if peak_kb > allowed + EXTRA_KB {
        return Err(format!("{peak_kb} KiB of memory, {} are allowed", allowed + EXTRA_KB));
    }
    for mut child in others {
        drop(child.stdin.take());
        let _ = child.wait();
    }
    drop((idle, writers, side, main));
    wait_until("all clients are gone", || Ok(daemon.known()? == (0, 0)))
}

/// Checks that all chunks were read or overwritten, and that nothing was lost in another way. A patch may come for a
/// chunk that was overwritten meanwhile, which is no loss of another kind.
fn account(stats: &TraceStats) -> Outcome {
    let [buffer] = &stats.buffer_stats[..] else { return Err(format!("{stats:?}")) };
    let of = |counter: Option<u64>| counter.unwrap_or(0);
    let (written, read) = (of(buffer.chunks_written), of(buffer.chunks_read));
    let overwritten = of(buffer.chunks_overwritten);
    let bytes = of(buffer.bytes_read) + of(buffer.bytes_overwritten);
    let other_losses = [
        of(buffer.chunks_discarded),
        of(buffer.abi_violations),
        of(stats.patches_discarded),
        of(stats.invalid_packets),
    ];
    println!("{written} chunks written, {read} read, {overwritten} overwritten");
    if written == 0 || written != read + overwritten || of(buffer.bytes_written) != bytes {
        return Err(format!("chunks or bytes that are not counted: {buffer:?}"));
    }
    // All producers are there, and keep to the protocol.
    let in_ledger = stats.loss_ledger.iter().any(|ledger| !ledger.entries.is_empty());
    if other_losses != [0; 4] || in_ledger {
        return Err(format!("losses of another kind: {stats:?}"));
    }
    Ok(())
}

/// Checks that each writer's last packet is there and that each gap is marked. Returns how many packets are missing.
fn check(trace: &[u8], written: &[u64]) -> Outcome<u64> {
    let mut next: BTreeMap<u32, u64> = BTreeMap::new();
    // Sequences whose last packet is a mark.
    let mut marked: BTreeSet<u32> = BTreeSet::new();
    let mut missing = 0;
    for packet in TraceReader::new(trace) {
        let Ok(TraceField::Packet(packet)) = packet else { return Err("a broken trace".into()) };
        let (mut sequence, mut dropped, mut event) = (0, 0, None);
        for field in packet {
            match field.map_err(|error| error.to_string())? {
                TracePacketField::TrustedPacketSequenceId(id) => sequence = id,
                TracePacketField::PreviousPacketDropped(bits) => dropped = bits,
                TracePacketField::ForTesting(fields) => {
                    let (mut index, mut counter) = (None, None);
                    for field in fields {
                        match field.map_err(|error| error.to_string())? {
                            TestEventField::SeqValue(value) => index = Some(value),
                            TestEventField::Counter(value) => counter = Some(value),
                            _ => {}
                        }
                    }
                    event = index.zip(counter);
                }
                _ => {}
            }
        }
        let Some((index, counter)) = event else {
            if dropped != 0 {
                marked.insert(sequence);
            }
            continue;
        };
        let is_marked = marked.remove(&sequence) || dropped != 0;
        let expected = next.insert(index, counter + 1).unwrap_or(0);
        if counter < expected || (counter > expected && !is_marked) {
            return Err(format!("writer {index}: {counter} came after {expected}, unmarked"));
        }
        missing += counter - expected;
    }
    for (index, &count) in written.iter().enumerate() {
        let seen = next.get(&(index as u32)).copied().unwrap_or(0);
        if seen != count {
            return Err(format!("writer {index}: {count} packets, the last that came is {seen}"));
        }
    }
    Ok(missing)
}

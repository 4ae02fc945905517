//! Many producers, some that write, some sessions, and one consumer that never reads.

use std::collections::BTreeMap;
use std::io::{IoSlice, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use protos::producer_port::Request;
use protos::{
    CommitDataRequest, DataSourceConfig, DataSourceDescriptor, InitializeConnectionRequest,
    SyncRequest, TestEventField, TraceConfig, TraceConfigBufferConfig, TraceConfigDataSource,
    TraceField, TracePacketField, TraceReader, TraceStats,
};
use tracing_core::client::connection::{Attachment, Connection, Received, SocketConnection};
use tracing_core::client::consumer::{Consumer, ConsumerError, Waited};
use tracing_core::client::data_source::{Ack, DataSource, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::ipc::port::ProducerPort;
use tracing_core::os::socket::{Address, Stream};
use tracing_core::producer::BufferExhaustedPolicy;

use crate::daemon::{Daemon, PATIENCE, wait_until};
use crate::{Outcome, Plan};

const MAIN: &str = "load.main";
const SIDE: &str = "load.side";
const MAIN_KB: u32 = 64 * 1024;
const SIDE_KB: u32 = 1024;
/// A user that nobody is.
const OTHER_USER: u32 = 65_534;
/// What the daemon may use beside buffers and producers' memory, KiB.
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
    // Answers come in order: by then a refusal would be here.
    consumer.query_capabilities().map_err(|error| error.to_string())?;
    match consumer.wait(Some(Duration::ZERO)) {
        Ok(Waited::TimedOut) => Ok(consumer),
        Ok(other) => Err(format!("a session ended at once: {other:?}")),
        Err(error) => Err(format!("a session: {error}")),
    }
}

/// What `--sessions ADDRESS COUNT` does: holds sessions until its input ends.
pub fn side_sessions_process(address: &str, count: &str) -> Outcome {
    let address = Address::parse(address).map_err(|error| error.to_string())?;
    let count = count.parse().map_err(|_| "COUNT")?;
    let held = (0..count).map(|_| session(&address, SIDE, SIDE_KB)).collect::<Outcome<Vec<_>>>()?;
    println!("{}", held.len());
    let _ = std::io::stdin().read(&mut [0]);
    Ok(())
}

/// Sessions of another user, in another process, if we may have one.
fn other_users_sessions(daemon: &Daemon, count: usize) -> Outcome<(Option<Child>, usize)> {
    if tracing_core::os::process::effective_uid() != 0 {
        println!("not root: 5 sessions instead of {}", 5 + count);
        return Ok((None, 0));
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new("/proc/self/exe")
        .arg0(own)
        .args(["--sessions", &daemon.consumers.to_string(), &count.to_string()])
        .uid(OTHER_USER)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("a process of another user: {error}"))?;
    let mut ready = [0];
    let stdout = child.stdout.as_mut().ok_or("no stdout")?;
    stdout.read_exact(&mut ready).map_err(|_| "the other user's sessions did not start")?;
    Ok((Some(child), count))
}

/// A connection that is there and says nothing.
fn idle_producer(address: &Address, index: usize) -> Outcome<SocketConnection<ProducerPort>> {
    let mut connection = SocketConnection::connect(address).map_err(|error| error.to_string())?;
    let hello = InitializeConnectionRequest {
        producer_name: Some(format!("idle-{index}")),
        ..Default::default()
    };
    answer(&mut connection, Request::InitializeConnection(hello))?;
    let register = protos::RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor("load.idle")),
        ..Default::default()
    };
    answer(&mut connection, Request::RegisterDataSource(register))?;
    Ok(connection)
}

/// Calls, and how long the answer took.
fn answer(connection: &mut SocketConnection<ProducerPort>, request: Request) -> Outcome<Duration> {
    let since = Instant::now();
    let sent = connection.send(request, true, Attachment::None);
    let call = sent.map_err(|error| error.to_string())?;
    loop {
        match connection.receive(Some(PATIENCE)) {
            Received::Reply { call: of, .. } if of == call => return Ok(since.elapsed()),
            Received::Reply { .. } | Received::Woken => {}
            other => return Err(format!("no answer: {other:?}")),
        }
    }
}

/// A call with a reply, as a frame.
fn frame(method: u8, arguments: &[u8]) -> Vec<u8> {
    let length = |len: usize| [len as u8 | 0x80, (len >> 7) as u8];
    let invoke = [&[8, 1, 0x10, method, 0x1a][..], &length(arguments.len()), arguments].concat();
    let body = [&[0x10, method, 0x2a][..], &length(invoke.len()), &invoke].concat();
    [&(body.len() as u32).to_le_bytes(), &body[..]].concat()
}

/// Starts a session and asks for all there is, over and over, and reads nothing of it, until it is told to
/// stop.
fn never_reads(daemon: &Daemon, stop: Arc<AtomicBool>) -> Outcome<JoinHandle<usize>> {
    use protozero::Message as _;
    let stream = Stream::connect(&daemon.consumers).map_err(|error| error.to_string())?;
    let bind = b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cConsumerPort";
    let session = protos::EnableTracingRequest {
        trace_config: Some(config(SIDE, SIDE_KB)),
        ..Default::default()
    };
    let enable = frame(1, &session.encode_to_vec());
    // ReadBuffers {} and QueryServiceState {}.
    let questions = [frame(3, &[]), frame(12, &[])].concat();
    Ok(std::thread::spawn(move || {
        let begin = [IoSlice::new(bind), IoSlice::new(&enable)];
        let mut sent = stream.send(&begin, None).unwrap_or(0);
        let many = questions.repeat(64);
        while !stop.load(Ordering::Relaxed) {
            // Cut short is all the same: the rest would be out of step, so whole ones only.
            match stream.send(&[IoSlice::new(&many)], None) {
                Ok(0) | Err(_) => std::thread::park_timeout(Duration::from_millis(5)),
                Ok(more) => {
                    sent += more;
                    let mut rest = many.get(more..).unwrap_or_default();
                    while !rest.is_empty() && !stop.load(Ordering::Relaxed) {
                        match stream.send(&[IoSlice::new(rest)], None) {
                            Ok(0) => std::thread::park_timeout(Duration::from_millis(5)),
                            Ok(more) => rest = rest.get(more..).unwrap_or_default(),
                            Err(_) => break,
                        }
                    }
                }
            }
        }
        sent
    }))
}

/// Runs the act.
pub fn run(daemon: &Daemon, plan: &Plan) -> Outcome {
    let stop = Arc::new(AtomicBool::new(false));
    let idle = (0..plan.producers - plan.writers)
        .map(|index| idle_producer(&daemon.producers, index))
        .collect::<Outcome<Vec<_>>>()?;
    let mut written = Vec::new();
    let mut writers = Vec::new();
    for index in 0..plan.writers {
        let options = ProducerOptions {
            address: Some(daemon.producers.clone()),
            reconnect: false,
            ..ProducerOptions::new(format!("writer-{index}"))
        };
        let producer = Producer::connect(options).map_err(|error| error.to_string())?;
        let count = Arc::new(AtomicU64::new(0));
        written.push(count.clone());
        let stop = Arc::default();
        let source = Numbers { index: index as u32, written: count, stop, thread: None };
        producer.register(descriptor(MAIN), source).map_err(|error| error.to_string())?;
        if index == 0 {
            producer.register(descriptor(SIDE), Idle).map_err(|error| error.to_string())?;
        }
        if !producer.sync(PATIENCE) {
            return Err("a producer is not answered".into());
        }
        writers.push(producer);
    }
    let reader = never_reads(daemon, stop.clone())?;
    let (mut others, other_count) = other_users_sessions(daemon, 5)?;
    let mut side =
        (0..3).map(|_| session(&daemon.consumers, SIDE, SIDE_KB)).collect::<Outcome<Vec<_>>>()?;
    let mut main = session(&daemon.consumers, MAIN, MAIN_KB)?;
    let sessions = side.len() + 2 + other_count;
    // That of who never reads comes when it comes.
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

    let slowest = Arc::new(Mutex::new(Duration::ZERO));
    let (peak_kb, asked) = watch(daemon, plan, &mut side[0], &slowest)?;
    main.disable_tracing().map_err(|error| error.to_string())?;
    while main.wait(Some(PATIENCE)).map_err(|error| error.to_string())? != Waited::Ended {}
    let mut trace = Vec::new();
    main.read_into(&mut trace, PATIENCE).map_err(|error| error.to_string())?;
    stop.store(true, Ordering::Relaxed);
    let unread = reader.join().map_err(|_| "the reader that does not read panicked")?;
    account(&main.get_trace_stats().map_err(|error| error.to_string())?)?;
    let counts: Vec<u64> = written.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let lost = check(&trace, &counts)?;

    let slowest = *slowest.lock().unwrap_or_else(PoisonError::into_inner);
    let total: u64 = counts.iter().sum();
    println!(
        "{total} packets written, {lost} overwritten, {} MB read; {asked} questions, the slowest \
         answer after {slowest:?}; {unread} bytes of questions without a reader; {peak_kb} KiB at most",
        trace.len() >> 20
    );
    if plan.answer_within.is_some_and(|limit| slowest > limit) {
        return Err(format!("an answer took {slowest:?}"));
    }
    // 256 KiB for each producer that writes.
    let allowed = u64::from(MAIN_KB)
        + u64::from(SIDE_KB) * (sessions as u64 - 1)
        + 256 * plan.writers as u64
        + EXTRA_KB;
    if peak_kb > allowed {
        return Err(format!("{peak_kb} KiB of memory, {allowed} are allowed"));
    }
    if let Some(child) = &mut others {
        drop(child.stdin.take());
        let _ = child.wait();
    }
    drop((idle, writers, side, main));
    wait_until("everybody is forgotten", || Ok(daemon.known()? == (0, 0)))
}

/// Asks questions on both ports and looks at the memory until the time is over: the most memory, KiB, and how
/// many questions.
fn watch(
    daemon: &Daemon,
    plan: &Plan,
    with_session: &mut Consumer,
    slowest: &Mutex<Duration>,
) -> Outcome<(u64, u64)> {
    let mut consumer = daemon.consumer()?;
    let mut producer = idle_producer(&daemon.producers, usize::MAX)?;
    let (end, mut peak, mut asked) = (Instant::now() + plan.time, 0, 0);
    while Instant::now() < end {
        let timed = |question: &mut dyn FnMut() -> Result<(), ConsumerError>| {
            let since = Instant::now();
            question().map(|()| since.elapsed()).map_err(|error| error.to_string())
        };
        let took = timed(&mut || consumer.query_capabilities().map(drop))?
            .max(timed(&mut || consumer.query_service_state(false).map(drop))?)
            .max(timed(&mut || with_session.get_trace_stats().map(drop))?)
            .max(answer(&mut producer, Request::Sync(SyncRequest::default()))?)
            .max(answer(&mut producer, Request::CommitData(CommitDataRequest::default()))?);
        asked += 5;
        let mut slowest = slowest.lock().unwrap_or_else(PoisonError::into_inner);
        *slowest = took.max(*slowest);
        drop(slowest);
        peak = peak.max(daemon.holdings()?.rss_kb);
        std::thread::park_timeout(Duration::from_millis(20));
    }
    Ok((peak, asked))
}

/// What went into the buffer must have come out of it or be counted as overwritten, and nothing have been lost
/// in any other way.
fn account(stats: &TraceStats) -> Outcome {
    let [buffer] = &stats.buffer_stats[..] else { return Err(format!("{stats:?}")) };
    let of = |counter: Option<u64>| counter.unwrap_or(0);
    let (written, read) = (of(buffer.chunks_written), of(buffer.chunks_read));
    let overwritten = of(buffer.chunks_overwritten);
    let bytes = of(buffer.bytes_read) + of(buffer.bytes_overwritten);
    let other_losses = [
        of(buffer.chunks_discarded),
        of(buffer.patches_failed),
        of(buffer.abi_violations),
        of(stats.patches_discarded),
        of(stats.invalid_packets),
    ];
    println!("{written} chunks written, {read} read, {overwritten} overwritten");
    if written == 0 || written != read + overwritten || of(buffer.bytes_written) != bytes {
        return Err(format!("chunks or bytes that nobody counted: {buffer:?}"));
    }
    if other_losses != [0; 5] {
        return Err(format!("losses of another kind: {stats:?}"));
    }
    Ok(())
}

/// Each writer's packets must be there up to its last one, and each hole be told of. How many are missing.
fn check(trace: &[u8], written: &[u64]) -> Outcome<u64> {
    let mut next: BTreeMap<u32, u64> = BTreeMap::new();
    let mut missing = 0;
    for packet in TraceReader::new(trace) {
        let Ok(TraceField::Packet(packet)) = packet else { return Err("a broken trace".into()) };
        let (mut dropped, mut event) = (0, None);
        for field in packet {
            match field.map_err(|error| error.to_string())? {
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
        let Some((index, counter)) = event else { continue };
        let expected = next.insert(index, counter + 1).unwrap_or(0);
        if counter < expected || (counter > expected && dropped == 0) {
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

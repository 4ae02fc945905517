//! Producers that connect, send invalid data and disconnect.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use abi::ipc::port::ProducerPort;
use client::connection::{Attachment, Connection, Received, SocketConnection};
use client::consumer::Waited;
use os::shm;
use protos::producer_port::Request;
use protos::{
    GetAsyncCommandRequest, GetAsyncCommandResponse, InitializeConnectionRequest,
    InitializeConnectionRequestProducerSMBScrapingMode as Mode, TraceConfig,
};
use protozero::Message as _;

use crate::daemon::{Daemon, FOREVER, wait_until};
use crate::latency::{self, Meter, ask_once, idle_producer, pause};
use crate::producers::config;
use crate::requests::{self, Known, SOURCE};
use crate::victim::{self, Victim};
use crate::{ANSWER_BUSY, Outcome, Plan};

/// Memory that an allocator may hold back, KiB.
const SLACK_KB: u64 = 16 * 1024;

/// xorshift64: good enough.
pub struct Random(u64);

impl Random {
    /// Any two seeds give different numbers.
    pub fn new(seed: u64) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_add(1) << 20)
    }

    /// Less than `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    /// A number that is small for the most part, or none.
    pub fn small(&mut self) -> Option<u32> {
        let any = self.below(u64::from(u32::MAX) * 2) as u32;
        let value = match self.below(6) {
            0 => return None,
            1 => any,
            _ => any % 70,
        };
        Some(value)
    }

    /// Fewer than `below`.
    pub fn bytes(&mut self, below: u64) -> Vec<u8> {
        (0..self.below(below)).map(|_| self.below(256) as u8).collect()
    }
}

/// Connects a producer, sends invalid requests, and disconnects at any moment.
fn run_producer(daemon: &Daemon, random: &mut Random) -> Outcome {
    let connected = SocketConnection::<ProducerPort>::connect(&daemon.producers);
    let mut link =
        connected.map_err(|error| format!("the daemon accepts no connection: {error}"))?;
    let own = (random.below(3) == 0).then(|| shm::create(1 << 18).ok()).flatten();
    let page = if random.below(4) == 0 { 5000 } else { 4096 };
    let hello = InitializeConnectionRequest {
        producer_name: Some("hostile".into()),
        smb_scraping_mode: Some(Mode::SMB_SCRAPING_ENABLED),
        shared_memory_page_size_hint_bytes: Some(page),
        producer_provided_shmem: Some(own.is_some()),
        ..Default::default()
    };
    let attachment = own.map_or(Attachment::None, Attachment::Region);
    let _ = link.send(Request::InitializeConnection(hello), true, attachment);
    if random.below(10) > 0 {
        let commands = Request::GetAsyncCommand(GetAsyncCommandRequest::default());
        let _ = link.send(commands, true, Attachment::None);
    }
    // This user is that of the service, which trusts it.
    let mut known = Known { has_memory: true, ..Known::default() };
    for _ in 0..random.below(40) {
        let want_reply = random.below(2) == 0;
        let request = requests::request(random, &mut known);
        if link.send(request, want_reply, Attachment::None).is_err() {
            break;
        }
        while random.below(3) == 0 {
            match link.receive(Some(Duration::ZERO)) {
                Received::Reply { result, .. } => {
                    learn(&mut known, result.as_deref().unwrap_or_default());
                    drop(link.take_region());
                }
                _ => break,
            }
        }
    }
    Ok(())
}

/// Takes a reply. Those that are no commands have no data source in them.
pub fn learn(known: &mut Known, reply: &[u8]) {
    if let Ok(command) = GetAsyncCommandResponse::decode(reply) {
        known.learn(&command);
    }
}

/// A session with their data source, so that they get shared memory, and with that of the honest producer.
fn both() -> TraceConfig {
    let mut both = config(SOURCE, 1024);
    let mut honest = config(victim::SOURCE, victim::BUFFER_KB);
    for source in honest.data_sources.iter_mut().filter_map(|source| source.config.as_mut()) {
        source.target_buffer = Some(1);
    }
    both.buffers.append(&mut honest.buffers);
    both.data_sources.append(&mut honest.data_sources);
    both
}

/// Runs this part.
pub fn run(daemon: &Daemon, plan: &Plan) -> Outcome {
    let victim = Victim::start(daemon)?;
    let mut consumer = daemon.consumer()?;
    consumer.enable_tracing(&both(), None).map_err(|error| error.to_string())?;
    let mut asking = daemon.consumer()?;
    let mut producer = idle_producer(&daemon.producers, 0)?;
    // Once they have answered, the daemon has accepted these connections, whose descriptors are among those counted.
    for consumer in [&mut consumer, &mut asking] {
        consumer.query_capabilities().map_err(|error| error.to_string())?;
    }
    let mut meter = Meter::new(daemon);
    let mut ask = || ask_once(&mut meter, &mut asking, &mut producer);
    let count = AtomicU64::new(0);
    let descriptors = daemon.resources()?.descriptors;
    // The memory after a first round is the baseline, as allocators hold some back.
    attack(daemon, plan, plan.time / 10, (&count, descriptors), &mut ask)?;
    let before = daemon.resources()?;
    attack(daemon, plan, plan.time, (&count, descriptors), &mut ask)?;
    let after = daemon.resources()?;
    println!(
        "{} hostile producers: {before:?} before, {after:?} after",
        count.load(Ordering::Relaxed)
    );
    if after.rss_kb > before.rss_kb + SLACK_KB {
        return Err("the daemon keeps memory of hostile producers".into());
    }
    drop(producer);
    wait_until("the idle producer is gone", || Ok(daemon.known()? == (1, 1)))?;
    // The hostile producers need most of the processors: less than this tells nothing of the daemon.
    latency::check(&meter.measured, ANSWER_BUSY, plan)?;
    consumer.disable_tracing().map_err(|error| error.to_string())?;
    while consumer.wait(Some(FOREVER)).map_err(|error| error.to_string())? != Waited::Ended {}
    let mut trace = Vec::new();
    consumer.read_into(&mut trace, FOREVER).map_err(|error| error.to_string())?;
    // The session still works, and nothing of the producers is left.
    let stats = consumer.get_trace_stats().map_err(|error| error.to_string())?;
    victim.check(&trace, &stats)?;
    let known = (stats.tracing_sessions, stats.total_buffers, stats.data_sources_registered);
    if known != (Some(1), Some(2), Some(1)) {
        return Err(format!("the daemon keeps sessions or data sources: {stats:?}"));
    }
    drop(victim);
    wait_until("the honest producer is gone", || Ok(daemon.known()? == (0, 0)))
}

/// Runs hostile producers for some time, in which others `ask`, then waits until the daemon has no more than
/// `descriptors`.
fn attack(
    daemon: &Daemon,
    plan: &Plan,
    time: Duration,
    (count, descriptors): (&AtomicU64, usize),
    ask: &mut dyn FnMut() -> Outcome,
) -> Outcome {
    let end = Instant::now() + time;
    let outcome = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.hostile)
            .map(|index| {
                scope.spawn(move || {
                    let mut random = Random::new(index as u64);
                    while Instant::now() < end {
                        run_producer(daemon, &mut random)?;
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                    Outcome::Ok(())
                })
            })
            .collect();
        let mut asked = Ok(());
        while asked.is_ok() && Instant::now() < end {
            asked = ask();
            pause();
        }
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or(Err("panicked".into())))?;
        asked
    });
    // Some connections may not have been accepted yet.
    wait_until("the producers are forgotten and their descriptors closed", || {
        // Those of this test.
        Ok(daemon.known()? == (2, 2) && daemon.resources()?.descriptors <= descriptors)
    })?;
    outcome
}

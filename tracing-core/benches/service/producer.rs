//! The producer of a run, a process of its own: writes as fast as it can when it is told to.
//!
//! ```text
//!  stdout:  ready ─ (a session) ─ started ──────────── done NS DROPPED
//!  stdin:                                   go
//! ```

use std::io::BufRead as _;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use protos::{DataSourceDescriptor, TrackEventType};
use tracing_core::abi::sync::Arc;
use tracing_core::client::data_source::{Ack, DataSource, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::client::write::{BufferExhaustedPolicy, TraceWriter};
use tracing_core::os::clock;

/// The data source, and the producer.
pub const NAME: &str = "bench.service";

const TIMEOUT: Duration = Duration::from_secs(60);

/// What each thread writes.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub threads: u32,
    /// In all.
    pub events: u32,
    /// Bytes of a string in each; none for small events.
    pub text: u32,
    /// When shared memory is full: wait, or drop.
    pub stall: bool,
}

impl Load {
    pub fn to_args(self) -> [String; 4] {
        [self.threads, self.events, self.text, u32::from(self.stall)].map(|n| n.to_string())
    }

    fn from_args(args: &[String]) -> Option<Self> {
        let numbers: Vec<u32> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
        let [threads, events, text, stall] = numbers[..] else { return None };
        Some(Self { threads, events, text, stall: stall != 0 })
    }
}

/// Says that a session began, and hands out its writers.
struct Source {
    load: Load,
    begun: mpsc::Sender<Vec<TraceWriter>>,
}

impl DataSource for Source {
    fn start(&mut self, instance: &Instance) {
        let policy = match self.load.stall {
            true => BufferExhaustedPolicy::Stall,
            false => BufferExhaustedPolicy::Drop,
        };
        let writers = (0..self.load.threads).map(|_| instance.trace_writer(policy)).collect();
        // Nobody listens to a second session.
        let _ = self.begun.send(writers);
    }

    fn stop(&mut self, _instance: &Instance, done: Ack) {
        drop(done);
    }
}

/// Does what the arguments say, until standard input ends.
pub fn run(args: &[String]) -> Result<(), String> {
    let load = Load::from_args(args).ok_or("producer THREADS EVENTS TEXT STALL")?;
    let (begun, sessions) = mpsc::channel();
    let producer = Producer::connect(ProducerOptions::new(NAME)).map_err(|e| e.to_string())?;
    let descriptor = DataSourceDescriptor { name: Some(NAME.into()), ..Default::default() };
    producer.register(descriptor, Source { load, begun }).map_err(|e| e.to_string())?;
    if !producer.sync(TIMEOUT) {
        return Err("the service does not answer".into());
    }
    println!("ready");
    let writers: Vec<TraceWriter> =
        sessions.recv_timeout(TIMEOUT).map_err(|_| "no session".to_owned())?;
    println!("started");
    let mut words = std::io::stdin().lock().lines();
    words.next();
    let start = Instant::now();
    let each = load.events / load.threads;
    let threads: Vec<_> = writers
        .into_iter()
        .map(|writer| std::thread::spawn(move || write(writer, each, load.text)))
        .collect();
    let mut dropped = 0;
    let mut writers = Vec::new();
    for thread in threads {
        let (writer, lost) = thread.join().map_err(|_| "a thread panicked".to_owned())?;
        dropped += lost;
        writers.push(writer);
    }
    println!("done {} {dropped}", start.elapsed().as_nanos());
    // The session goes on until we are told to go.
    words.next();
    Ok(())
}

/// Writes `count` events and waits until the service has them. Counts those that were dropped.
fn write(mut writer: TraceWriter, count: u32, text: u32) -> (TraceWriter, u32) {
    let text: String = ('a'..='z').cycle().take(text as usize).collect();
    let mut last_ns = clock::boot_ns();
    for _ in 0..count {
        let now = clock::boot_ns();
        let mut packet = writer.new_packet();
        packet.timestamp(now - last_ns);
        last_ns = now;
        let mut event = packet.track_event();
        event.r#type(TrackEventType::TYPE_INSTANT).name_iid(7);
        if !text.is_empty() {
            event.debug_annotations().name_iid(1).string_value(&text);
        }
    }
    let (acked, all_committed) = mpsc::channel();
    let acked = Arc::new(acked);
    writer.flush_with(Some(Box::new(move || acked.send(()).unwrap_or_default())));
    // Without an answer the trace is short, which its reader notices.
    let _ = all_committed.recv_timeout(TIMEOUT);
    let lost = u32::try_from(writer.drop_count()).unwrap_or(u32::MAX);
    (writer, lost)
}

//! An honest producer of the session that hostile producers write to.
//!
//! Its packets have a buffer to themselves, which is large enough for all of them. Each of them must be in the trace,
//! with all its bytes, and nothing that others wrote.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use client::data_source::{Ack, DataSource, Instance};
use client::producer::{Producer, ProducerOptions};
use client::write::BufferExhaustedPolicy;
use protos::{TestEventField, TraceField, TracePacketField, TraceReader, TraceStats};

use crate::Outcome;
use crate::daemon::{Daemon, FOREVER};
use crate::producers::descriptor;

pub const SOURCE: &str = "load.victim";
const NAME: &str = "victim";
/// Its buffer, which is the second one of the session.
pub const BUFFER_KB: u32 = 64 * 1024;
/// Packets, at most: they fit into the buffer.
const PACKETS_MAX: u64 = 200_000;

/// Writes numbered packets at a moderate rate.
struct Numbered {
    written: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What packet `number` contains beside its number.
fn contents(number: u64) -> String {
    format!("{number:x}-").repeat(1 + number as usize % 40)
}

impl DataSource for Numbered {
    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::StallThenDrop);
        let (written, stop) = (self.written.clone(), self.stop.clone());
        self.thread = Some(std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) && written.load(Ordering::Relaxed) < PACKETS_MAX {
                let number = written.fetch_add(1, Ordering::Relaxed);
                let mut packet = writer.new_packet();
                let mut event = packet.for_testing();
                event.counter(number).str(&contents(number));
                drop(event);
                drop(packet);
                // The rate, so that the buffer is large enough. Nothing waits for this.
                std::thread::park_timeout(Duration::from_millis(1));
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

/// The producer.
pub struct Victim {
    written: Arc<AtomicU64>,
    _producer: Producer,
}

impl Victim {
    /// Connects it.
    pub fn start(daemon: &Daemon) -> Outcome<Self> {
        let mut options = ProducerOptions::new(NAME);
        options.address = Some(daemon.producers.clone());
        options.reconnect = false;
        let producer = Producer::connect(options).map_err(|error| error.to_string())?;
        let written = Arc::new(AtomicU64::new(0));
        let source = Numbered { written: written.clone(), stop: Arc::default(), thread: None };
        producer.register(descriptor(SOURCE), source).map_err(|error| error.to_string())?;
        match producer.sync(FOREVER) {
            true => Ok(Self { written, _producer: producer }),
            false => Err("the honest producer is not answered".into()),
        }
    }

    /// Checks the trace of its session.
    ///
    /// # Errors
    /// A packet is missing or changed, or its buffer has chunks of others.
    pub fn check(&self, trace: &[u8], stats: &TraceStats) -> Outcome {
        let written = self.written.load(Ordering::Relaxed);
        let (mut next, mut sequences) = (0, BTreeSet::new());
        for packet in TraceReader::new(trace) {
            let Ok(TraceField::Packet(packet)) = packet else {
                return Err("a broken trace".into());
            };
            let (mut sequence, mut event) = (0, None);
            for field in packet {
                match field.map_err(|error| error.to_string())? {
                    TracePacketField::TrustedPacketSequenceId(id) => sequence = id,
                    TracePacketField::ForTesting(fields) => {
                        let (mut counter, mut text) = (None, None);
                        for field in fields {
                            match field.map_err(|error| error.to_string())? {
                                TestEventField::Counter(value) => counter = Some(value),
                                TestEventField::Str(value) => text = Some(value),
                                _ => {}
                            }
                        }
                        event = counter.zip(text);
                    }
                    _ => {}
                }
            }
            // Hostile producers write such events, too, with other texts. One of ours that was changed is missing then.
            let Some((number, text)) = event.filter(|(_, text)| text.ends_with('-')) else {
                continue;
            };
            sequences.insert(sequence);
            if number != next || text != contents(number) {
                return Err(format!("packet {next} of the honest producer: {number}, {text:?}"));
            }
            next += 1;
        }
        println!("{next} of {written} packets of the honest producer, {sequences:?}");
        if next != written || written == 0 || sequences.len() != 1 {
            return Err(format!("{next} of {written} packets of the honest producer"));
        }
        let buffer = stats.buffer_stats.get(1).ok_or("the honest producer has no buffer")?;
        let others = [
            buffer.abi_violations,
            buffer.chunks_overwritten,
            buffer.chunks_discarded,
            buffer.trace_writer_packet_loss,
        ];
        let ledger = stats.loss_ledger.iter().flat_map(|ledger| &ledger.entries);
        if let Some(entry) = ledger.into_iter().find(|e| e.producer_name.as_deref() == Some(NAME)) {
            return Err(format!("all packets came, but the ledger says otherwise: {entry:?}"));
        }
        // A buffer of one sequence.
        let one = stats.writer_stats.iter().filter(|writer| writer.buffer == Some(1)).count();
        if others.iter().any(|count| count.unwrap_or(0) != 0) || one > 1 {
            return Err(format!(
                "chunks of others in the buffer of the honest producer: {stats:?}"
            ));
        }
        Ok(())
    }
}

//! A process that is killed while a session records it: each of its packets is in the trace, or the ledger of the
//! session counts it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use client::consumer::{Consumer, Waited};
use client::data_source::{Ack, DataSource, Instance};
use client::producer::{Producer, ProducerOptions, Scraping};
use client::write::BufferExhaustedPolicy;
use os::socket::Address;
use protos::{TestEventField, TraceField, TracePacketField, TraceReader};

use super::{SOURCES, content, entries_of, is_own, own_config};
use crate::Outcome;
use crate::daemon::FOREVER;
use crate::producers::descriptor;

/// Its process writes up to 600 KB.
pub const BUFFER_KB: u32 = 1024;

/// For how long a process is started again that the service refuses: sockets of hostile users that take a second to be
/// closed keep descriptors for as long.
const REFUSED_FOR_MAX: Duration = Duration::from_secs(10);
/// What a process that was refused waits before it is started again. The client library waits ten times as long.
const PAUSE: Duration = Duration::from_millis(10);

/// How many packets the process writes; up to the size of its shared memory and more.
fn packets(round: u64) -> u64 {
    1 + round * 331 % 2000
}

/// Writes packets, says so, and keeps its writer.
struct Leaver {
    packets: u64,
}

impl DataSource for Leaver {
    fn start(&mut self, instance: &Instance) {
        if !is_own(instance) {
            return;
        }
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        let packets = self.packets;
        std::thread::spawn(move || {
            for number in 0..packets {
                let mut packet = writer.new_packet();
                packet.for_testing().counter(number).str(&content(number));
            }
            println!("{packets}");
            loop {
                std::thread::park();
            }
        });
    }

    fn stop(&mut self, _: &Instance, _done: Ack) {}
}

/// `--leave PRODUCERS SOURCE PACKETS`: writes so many packets, and waits until it is killed. The service may take what
/// it left if the number is even.
pub fn process(producers: &str, source: &str, packets: &str) -> Outcome {
    let packets = packets.parse().map_err(|_| "PACKETS")?;
    // Only a producer of this name is asked for it.
    let mut options = ProducerOptions::new(source);
    options.address = Some(Address::parse(producers).map_err(|error| error.to_string())?);
    options.reconnect = false;
    options.scraping = if packets % 2 == 0 { Scraping::On } else { Scraping::Off };
    let producer = Producer::connect(options).map_err(|error| error.to_string())?;
    producer.register(descriptor(source), Leaver { packets }).map_err(|error| error.to_string())?;
    producer.wait_ended(FOREVER);
    Err("the service refused the connection".into())
}

/// Where the packets of a process are.
pub struct Left {
    pub written: u64,
    pub lost: u64,
    /// How often the service refused the process.
    pub refused: u64,
    /// For how long it did so.
    pub refused_for: Duration,
}

/// Starts a process, and waits until it says how much it wrote. `None`: it ended before.
fn start(producers: &Address, source: &str, written: u64) -> Outcome<(Child, Option<String>)> {
    let mut child = Command::new("/proc/self/exe")
        .args(["--leave", &producers.to_string(), source, &written.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // Why it was refused: see `end`.
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("a process that is to be killed: {error}"))?;
    let stdout = child.stdout.take().ok_or("no stdout")?;
    let printed = BufReader::new(stdout).lines().map_while(Result::ok).next();
    Ok((child, printed))
}

/// Ends a process, and returns why it ended before, if it has said so.
fn end(child: &mut Child) -> String {
    let _ = child.kill();
    let _ = child.wait();
    let mut text = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut text);
    }
    text
}

/// Records a process, kills it, and looks for its packets.
pub fn round(consumer: &mut Consumer, producers: &Address, round: u64) -> Outcome<Left> {
    let written = packets(round);
    let source = format!("{SOURCES}left.{}.{round}", std::process::id());
    consumer
        .enable_tracing(&own_config(&source, BUFFER_KB), None)
        .map_err(|e| format!("a session: {e}"))?;
    let (mut child, mut printed) = start(producers, &source, written)?;
    let (mut refused, began) = (0, Instant::now());
    while printed.is_none() && began.elapsed() < REFUSED_FOR_MAX {
        // While descriptors are short, a connection may be refused. A client tries again, then.
        end(&mut child);
        refused += 1;
        std::thread::sleep(PAUSE);
        (child, printed) = start(producers, &source, written)?;
    }
    let took = began.elapsed();
    let text = end(&mut child);
    if printed != Some(written.to_string()) {
        return Err(format!(
            "a process that is to be killed ended before, {refused} times in {took:?}: {printed:?}, {text}"
        ));
    }
    let pid = Some(child.id().cast_signed());
    let failed = |error| format!("a session of a process that was killed: {error}");
    // There is no event for this.
    while consumer
        .query_service_state(false)
        .map_err(failed)?
        .producers
        .iter()
        .any(|p| p.pid == pid)
    {}
    consumer.disable_tracing().map_err(failed)?;
    while consumer.wait(Some(FOREVER)).map_err(failed)? != Waited::Ended {}
    let mut trace = Vec::new();
    consumer.read_into(&mut trace, FOREVER).map_err(failed)?;
    let stats = consumer.get_trace_stats().map_err(failed)?;
    consumer.free_buffers().map_err(failed)?;
    let received = received(&trace, child.id())?;
    let entries: Vec<_> = entries_of(&stats, child.id()).collect();
    let in_ledger = entries.iter().filter_map(|entry| entry.count).sum::<u64>();
    // Behind a packet whose length is missing nothing can be read, and so not be counted.
    let is_exact = entries.iter().all(|entry| entry.at_least != Some(true));
    let told = received + in_ledger;
    if told > written || is_exact && told != written {
        let text = "a process that was killed";
        return Err(format!("{text}: {written} packets, {received} in the trace, {entries:?}"));
    }
    let refused_for = if refused == 0 { Duration::ZERO } else { took };
    Ok(Left { written, lost: written - received, refused, refused_for })
}

/// How many packets of process `pid` are there. A gap must have a mark: the process may be killed before it hands over
/// a chunk in which the length of a packet is missing, while later chunks are complete.
pub(super) fn received(trace: &[u8], pid: u32) -> Outcome<u64> {
    let (mut next, mut count, mut is_marked) = (0, 0, false);
    for packet in TraceReader::new(trace) {
        let Ok(TraceField::Packet(packet)) = packet else { return Err("a broken trace".into()) };
        let (mut of, mut event, mut dropped) = (None, None, 0);
        for field in packet {
            match field.map_err(|error| error.to_string())? {
                TracePacketField::TrustedPid(id) => of = Some(id),
                TracePacketField::PreviousPacketDropped(reasons) => dropped = reasons,
                TracePacketField::ForTesting(fields) => {
                    let (mut number, mut text) = (0, "");
                    for field in fields {
                        match field.map_err(|error| error.to_string())? {
                            TestEventField::Counter(value) => number = value,
                            TestEventField::Str(value) => text = value,
                            _ => {}
                        }
                    }
                    event = Some((number, text.to_owned()));
                }
                _ => {}
            }
        }
        if of != Some(pid.cast_signed()) {
            continue;
        }
        is_marked |= dropped > 0;
        let Some((number, text)) = event else { continue };
        let follows = number == next || number > next && is_marked;
        if !follows || text != content(number) {
            return Err(format!("packet {next} of a process that was killed: {number}, {text:?}"));
        }
        (next, count, is_marked) = (number + 1, count + 1, false);
    }
    Ok(count)
}

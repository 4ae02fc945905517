//! An honest user: a producer and a consumer, which check every byte, and a process that asks ([`asker`]).
//!
//! Rounds follow each other: a session starts, two writers write numbered packets whose bytes follow from their number,
//! the session stops, and the consumer reads. Each packet is there, or a mark in the trace says that some are missing.
//! There are as many marks as times that writers began to drop packets, and the service has counted as many at least.
//! The sessions take turns with what they need of the service ([`Kind`]): a file, compression, a clone, to be left and
//! taken up again. Between the rounds a process is killed ([`leaver`]).
//!
//! Hostile users register the data source, too, and ask for it. A session takes only the producer of its name, so that
//! its buffer is its own, except for those sessions that are open to all ([`Kind::Open`]). A producer writes numbered
//! packets for its own session alone, which has [`OWN`] in the config, and a few packets for each other one.

pub mod asker;
mod kind;
pub mod leaver;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::consumer::Consumer;
use client::data_source::{Ack, DataSource, Instance};
use client::producer::{Producer, ProducerOptions};
use client::write::{BufferExhaustedPolicy, TraceWriter};
use os::socket::Address;
use protos::{
    LossLedgerEntry, LossLedgerReason, TestEventField, TraceConfig, TraceField, TracePacketField,
    TraceReader, TraceStats,
};

use crate::Outcome;
use crate::daemon::FOREVER;
use crate::producers::{config, descriptor};
pub use kind::inflate;
use kind::{Kind, Recorded};

/// Descriptors of the daemon for one honest user: connections and shared memory.
pub const DESCRIPTORS: usize = 10;
/// Buffers and shared memory of one honest user: a session and a clone of it, a session of a process that is killed,
/// and two producers.
pub const BUFFER_BYTES: u64 =
    (2 * BUFFER_KB + leaver::BUFFER_KB) as u64 * 1024 + 2 * abi::limits::SMB_BYTES_DEFAULT as u64;
/// A round writes up to 6 MB.
const BUFFER_KB: u32 = 8 * 1024;
const WRITERS: usize = 2;
/// How long the writers write in a round.
const ROUND: Duration = Duration::from_millis(300);
/// Packets of one writer in a round: all of them fit into the buffer.
const PACKETS_MAX: u64 = 10_000;

/// How the names of data sources of honest users begin.
pub const SOURCES: &str = "siege.";
/// What the config of a data source has in it if the session is of the same user.
const OWN: &str = "own";
/// Packets for a session of another user.
const FOREIGN_PACKETS: u64 = 20;
/// A writer hands over its chunk after so many packets.
const FLUSHED_PACKETS: u64 = 256;

/// What an honest user has seen.
#[derive(Clone, Copy, Default)]
pub struct Report {
    pub rounds: u64,
    written: u64,
    /// Packets that are not in the trace; each gap has a mark.
    lost: u64,
    /// How often a process was refused, because descriptors were short.
    pub refused: u64,
    /// The longest time from a refusal to a connection.
    refused_for: Duration,
    answers: u64,
    /// How long answers took, without the time that the program was ready for them and had no processor.
    p50: Duration,
    pub p999: Duration,
    pub most: Duration,
    /// The same with that time.
    pub seen_p999: Duration,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, written, lost, refused, refused_for, answers, .. } = self;
        let Self { p50, p999, most, seen_p999, .. } = self;
        write!(f, "{rounds} sessions, {written} packets written, {lost} lost and told; ")?;
        write!(f, "{refused} connections refused, for {refused_for:?} at most; ")?;
        write!(f, "{answers} answers: half within {p50:?}, 999 of 1000 {p999:?}, all {most:?}; ")?;
        write!(f, "999 of 1000 within {seen_p999:?} as a program without a processor sees it")
    }
}

impl Report {
    /// The report that another process printed.
    pub fn parse(line: &str) -> Option<Self> {
        let numbers: Result<Vec<u64>, _> = line.split(' ').map(str::parse).collect();
        let &[rounds, written, lost, refused, answers, ref times @ ..] = &numbers.ok()?[..] else {
            return None;
        };
        let times: [u64; 5] = times.try_into().ok()?;
        let [refused_for, p50, p999, most, seen_p999] = times.map(Duration::from_micros);
        let counts = Self { rounds, written, lost, refused, answers, ..Self::default() };
        Some(Self { refused_for, p50, p999, most, seen_p999, ..counts })
    }

    fn line(&self) -> String {
        let Self { rounds, written, lost, refused, refused_for, answers, .. } = self;
        let times = [*refused_for, self.p50, self.p999, self.most, self.seen_p999];
        let times = times.map(|time| format!(" {}", time.as_micros())).concat();
        format!("{rounds} {written} {lost} {refused} {answers}{times}")
    }

    /// Adds that of another user; of times the longer one counts.
    pub fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.written += other.written;
        self.lost += other.lost;
        self.refused += other.refused;
        self.refused_for = self.refused_for.max(other.refused_for);
        self.answers += other.answers;
        self.p50 = self.p50.max(other.p50);
        self.p999 = self.p999.max(other.p999);
        self.most = self.most.max(other.most);
        self.seen_p999 = self.seen_p999.max(other.seen_p999);
    }
}

/// `--honest PRODUCERS CONSUMERS MILLISECONDS`: works for that time and prints a report.
pub fn process(producers: &str, consumers: &str, time_ms: &str) -> Outcome {
    let parse = |text| Address::parse(text).map_err(|error| error.to_string());
    let end = Instant::now() + Duration::from_millis(time_ms.parse().map_err(|_| "MILLISECONDS")?);
    let report = work(&parse(producers)?, &parse(consumers)?, end)?;
    println!("{}", report.line());
    Ok(())
}

/// Counts of the writers.
#[derive(Default)]
struct Counts {
    /// Packets that each has written.
    written: [AtomicU64; WRITERS],
    /// Packets of each that the service has for certain: it has answered, and none was dropped before.
    flushed: [Arc<AtomicU64>; WRITERS],
    /// How often packets began to be dropped.
    drops: AtomicU64,
}

impl Counts {
    fn clear(&self) {
        let flushed = self.flushed.iter().map(|count| &**count);
        let all = self.written.iter().chain(flushed).chain([&self.drops]);
        all.for_each(|count| count.store(0, Ordering::Relaxed));
    }

    fn flushed(&self) -> [u64; WRITERS] {
        self.flushed.each_ref().map(|count| count.load(Ordering::Acquire))
    }
}

/// Writes with two threads while its own session runs.
struct Numbers {
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Whether the session of an instance is of this user.
fn is_own(instance: &Instance) -> bool {
    instance.config().legacy_config.as_deref() == Some(OWN)
}

impl DataSource for Numbers {
    fn start(&mut self, instance: &Instance) {
        if !is_own(instance) {
            return write_foreign(instance);
        }
        self.stop = Arc::default();
        self.threads = (0..WRITERS)
            .map(|index| {
                let writer = instance.trace_writer(BufferExhaustedPolicy::StallThenDrop);
                let (counts, stop) = (self.counts.clone(), self.stop.clone());
                std::thread::spawn(move || write(writer, index, &counts, &stop))
            })
            .collect();
    }

    fn stop(&mut self, instance: &Instance, _done: Ack) {
        if !is_own(instance) {
            return;
        }
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Writes packets of writer `index` until it is to `stop`.
fn write(mut writer: TraceWriter, index: usize, counts: &Counts, stop: &AtomicBool) {
    for number in (0..PACKETS_MAX).take_while(|_| !stop.load(Ordering::Relaxed)) {
        counts.written[index].store(number + 1, Ordering::Relaxed);
        let mut packet = writer.new_packet();
        let mut event = packet.for_testing();
        event.seq_value(index as u32).counter(number).str(&content(number));
        drop(event);
        drop(packet);
        if number % FLUSHED_PACKETS == FLUSHED_PACKETS - 1 && writer.drop_count() == 0 {
            let flushed = counts.flushed[index].clone();
            writer.flush_with(Some(Box::new(move || flushed.store(number + 1, Ordering::Release))));
        }
    }
    counts.drops.fetch_add(writer.drop_count(), Ordering::Relaxed);
}

/// Writes a few packets for a session of another user, and waits for nothing.
fn write_foreign(instance: &Instance) {
    let mut writer = instance.trace_writer(BufferExhaustedPolicy::Drop);
    for number in 0..FOREIGN_PACKETS {
        writer.new_packet().for_testing().counter(number).str(&content(number));
    }
}

/// A session for a data source of this user. Only a producer of that name is asked for it.
fn own_config(source: &str, kb: u32) -> TraceConfig {
    let mut config = config(source, kb);
    for source in &mut config.data_sources {
        let name = source.config.as_ref().and_then(|config| config.name.clone());
        source.producer_name_filter.extend(name);
        if let Some(config) = &mut source.config {
            config.legacy_config = Some(OWN.into());
        }
    }
    config
}

/// The text of a packet: its length and its letters follow from the number.
fn content(number: u64) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    let length = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
    std::iter::repeat_n(letter, length as usize).collect()
}

/// Sessions until `end`.
fn work(producers: &Address, consumers: &Address, end: Instant) -> Outcome<Report> {
    let uid = os::process::effective_uid();
    // Another process of this user may be at work, when nobody is root.
    let source = format!("{SOURCES}{uid}.{}", std::process::id());
    // That of no hostile producer.
    let mut options = ProducerOptions::new(&source);
    options.address = Some(producers.clone());
    options.reconnect = false;
    let producer = Producer::connect(options).map_err(|error| error.to_string())?;
    let counts: Arc<Counts> = Arc::default();
    let numbers = Numbers { counts: counts.clone(), stop: Arc::default(), threads: Vec::new() };
    producer.register(descriptor(&source), numbers).map_err(|error| error.to_string())?;
    if !producer.sync(FOREVER) {
        return Err("the producer is not answered".into());
    }
    let connect = || Consumer::connect(consumers).map_err(|error| error.to_string());
    let mut both = [connect()?, connect()?];
    let mut report = Report::default();
    while Instant::now() < end {
        counts.clear();
        let kind = Kind::of(report.rounds, super::HONEST.contains(&uid));
        let recorded =
            kind.record(own_config(&source, BUFFER_KB), report.rounds, &mut both, &counts)?;
        let stats = &recorded.stats;
        let written = counts.written.each_ref().map(|count| count.load(Ordering::Relaxed));
        let failed = |error| format!("{kind:?}: {error}");
        let lost = check(&recorded, uid, &written).map_err(failed)?;
        let drops = counts.drops.load(Ordering::Relaxed);
        check_told(&lost, drops, recorded.is_overwritten(), stats).map_err(failed)?;
        report.rounds += 1;
        report.written += written.iter().sum::<u64>();
        report.lost += lost.packets;
        let left = leaver::round(&mut both[0], producers, report.rounds)?;
        report.written += left.written;
        report.lost += left.lost;
        report.refused += left.refused;
        report.refused_for = report.refused_for.max(left.refused_for);
    }
    Ok(report)
}

/// What is not in a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lost {
    packets: u64,
    /// Places where packets are missing, the ends of sequences included.
    gaps: u64,
    /// Packets that say so.
    marks: u64,
}

/// Checks that the trace has a mark for each gap, and the service has counted them. Where hostile producers overwrote
/// chunks, there may be more gaps, and a mark may be among what is overwritten.
fn check_told(lost: &Lost, drops: u64, is_overwritten: bool, stats: &TraceStats) -> Outcome {
    let counted = stats.buffer_stats.iter().filter_map(|buffer| buffer.trace_writer_packet_loss);
    let counted: u64 = counted.sum();
    if !is_overwritten && ((lost.gaps, lost.marks) != (drops, drops) || counted < drops) {
        return Err(format!("writers dropped packets {drops} times; {lost:?}, {counted} counted"));
    }
    let (mut in_ledger, mut is_more) = (0, is_overwritten);
    for entry in entries_of(stats, std::process::id()) {
        if entry.reason != Some(LossLedgerReason::REASON_DROPPED) {
            return Err(format!("nothing was lost so, but the ledger says so: {entry:?}"));
        }
        in_ledger += entry.count.unwrap_or_default();
        is_more |= entry.at_least == Some(true);
    }
    if in_ledger > lost.packets || in_ledger < lost.packets && !is_more {
        let packets = lost.packets;
        return Err(format!("{packets} packets were dropped, and the ledger has {in_ledger}"));
    }
    Ok(())
}

/// What the ledger of a session has of process `pid`.
fn entries_of(stats: &TraceStats, pid: u32) -> impl Iterator<Item = &LossLedgerEntry> {
    let ledger = stats.loss_ledger.iter().flat_map(|ledger| &ledger.entries);
    ledger.filter(move |entry| entry.pid == Some(pid.cast_signed()))
}

/// Where the check of a writer's packets is.
#[derive(Default)]
struct Seen {
    next: u64,
    /// The sequence ends with a mark.
    marked: bool,
    /// The number of the first packet that is missing.
    first_gap: Option<u64>,
}

/// Of a packet of an honest writer: the writer, the number, the text.
type Event = (usize, u64, String);

fn own_event<'a>(
    fields: impl IntoIterator<Item = Result<TestEventField<'a>, protozero::ReadError>>,
) -> Outcome<Event> {
    let (mut index, mut number, mut text) = (0, 0, String::new());
    for field in fields {
        match field.map_err(|error| error.to_string())? {
            TestEventField::SeqValue(value) => index = value as usize,
            TestEventField::Counter(value) => number = value,
            TestEventField::Str(value) => text = value.to_owned(),
            _ => {}
        }
    }
    Ok((index, number, text))
}

/// What is read of a trace so far.
#[derive(Default)]
struct Scan {
    seen: [Seen; WRITERS],
    /// Which writer a sequence is of.
    writers: BTreeMap<u32, usize>,
    /// Marks that came before the first packet of their sequence.
    early: BTreeMap<u32, bool>,
    lost: Lost,
    /// Packets that had compressed ones in them.
    bundles: u64,
}

impl Scan {
    /// Checks that a mark tells of each gap, and each packet has its bytes.
    fn trace(&mut self, trace: &[u8], uid: u32) -> Outcome {
        for packet in TraceReader::new(trace) {
            let Ok(TraceField::Packet(packet)) = packet else {
                return Err("a broken trace".into());
            };
            let (mut sequence, mut dropped, mut of) = (0, false, None);
            let (mut bundle, mut event) = (None, None);
            for field in packet {
                match field.map_err(|error| error.to_string())? {
                    TracePacketField::TrustedPacketSequenceId(id) => sequence = id,
                    TracePacketField::TrustedUid(id) => of = Some(id.cast_unsigned()),
                    TracePacketField::PreviousPacketDropped(bits) => dropped = bits != 0,
                    TracePacketField::CompressedPackets(bytes) => bundle = Some(bytes),
                    TracePacketField::ForTesting(fields) => event = Some(fields),
                    _ => {}
                }
            }
            // In a session that is open to all there may be packets of hostile producers, with anything in them.
            if of.is_some_and(|of| of != uid) {
                continue;
            }
            if let Some(bytes) = bundle {
                self.bundles += 1;
                self.trace(&kind::inflate(bytes)?, uid)?;
            }
            if of == Some(uid) {
                let event = event.map(own_event).transpose()?;
                self.packet(sequence, dropped, event)?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, sequence: u32, dropped: bool, event: Option<Event>) -> Outcome {
        let Some((index, number, text)) = event else {
            self.lost.marks += u64::from(dropped);
            match self.writers.get(&sequence) {
                Some(&index) => self.seen[index % WRITERS].marked |= dropped,
                None => _ = self.early.insert(sequence, dropped),
            }
            return Ok(());
        };
        if index >= WRITERS || text != content(number) {
            return Err(format!("packet {number} of writer {index} has other bytes"));
        }
        self.writers.insert(sequence, index);
        let writer = &mut self.seen[index];
        let told = dropped || writer.marked || self.early.remove(&sequence) == Some(true);
        if number < writer.next || (number > writer.next && !told) {
            let next = writer.next;
            return Err(format!("writer {index}: {number} came in place of {next}, and no mark"));
        }
        self.lost.packets += number - writer.next;
        self.lost.gaps += u64::from(number > writer.next);
        let gap = (number > writer.next).then_some(writer.next);
        let first_gap = writer.first_gap.or(gap);
        *writer = Seen { next: number + 1, marked: false, first_gap };
        Ok(())
    }

    /// Checks that a mark tells of what is missing at the end, unless chunks were overwritten: the end may be one.
    fn finish(mut self, written: &[u64; WRITERS], is_overwritten: bool) -> Outcome<Lost> {
        for (index, (writer, &count)) in self.seen.iter().zip(written).enumerate() {
            let marked = writer.marked || self.early.values().any(|&dropped| dropped);
            if writer.next > count || writer.next != count && !marked && !is_overwritten {
                let came = writer.next;
                return Err(format!("writer {index}: {count} packets, {came} came, no mark"));
            }
            self.lost.packets += count - writer.next;
            self.lost.gaps += u64::from(count > writer.next);
        }
        Ok(self.lost)
    }

    /// Checks that what the service had for certain is there, without a gap.
    fn has(&self, flushed: &[u64; WRITERS]) -> Outcome {
        for (index, (writer, &count)) in self.seen.iter().zip(flushed).enumerate() {
            let came = writer.first_gap.unwrap_or(writer.next);
            if came < count {
                return Err(format!(
                    "writer {index}: the service had {count} packets, {came} came"
                ));
            }
        }
        Ok(())
    }
}

/// Checks that every packet is there, or that a mark tells of the gap. Returns what is missing.
fn check(recorded: &Recorded, uid: u32, written: &[u64; WRITERS]) -> Outcome<Lost> {
    if let Some((clone, flushed)) = &recorded.clone {
        let failed = |error| format!("the clone: {error}");
        let mut scan = Scan::default();
        scan.trace(clone, uid).and_then(|()| scan.has(flushed)).map_err(failed)?;
    }
    let mut scan = Scan::default();
    scan.trace(&recorded.trace, uid)?;
    if scan.bundles == 0 && recorded.is_compressed {
        return Err("nothing is compressed".into());
    }
    scan.finish(written, recorded.is_overwritten())
}

#[cfg(test)]
mod tests;

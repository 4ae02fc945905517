//! What a trace consists of: kinds of packets, sequences, time, losses, slices.
//!
//! ```
//! # let mut bytes = Vec::new();
//! # let mut trace = tracing_file::write::TraceFile::create(&mut bytes)?;
//! # let worker = trace.thread(1, 7, "worker");
//! # trace.slice(&worker, 1_000, 250, "work");
//! # trace.finish()?;
//! let stats = tracing_file::stats::stats(bytes.as_slice());
//! assert_eq!((stats.packets, stats.events, stats.duration_ns()), (3, 2, 250));
//! assert_eq!(stats.slices["work"].total_ns, 250);
//! print!("{}", stats.table(10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The numbers are there for programs, too:
//!
//! ```
//! use tracing_file::stats::{SliceStats, Stats, kind_name};
//!
//! fn report(stats: &Stats) {
//!     for (name, SliceStats { count, total_ns, max_ns }) in stats.top_slices(3) {
//!         println!("{name}: {count} times, {total_ns} ns, {max_ns} ns at most");
//!     }
//!     for (kind, total) in &stats.kinds {
//!         println!("{}: {} bytes in {} packets", kind_name(*kind), total.bytes, total.packets);
//!     }
//!     for (id, sequence) in &stats.sequences {
//!         let (pid, uid) = (sequence.pid, sequence.uid);
//!         println!("sequence {} of process {pid:?}, user {uid:?}: {} losses", id.id, sequence.losses);
//!     }
//!     println!("{:?} ns, {} losses, {} rows left out", stats.span_ns, stats.losses, stats.left_out);
//!     for line in stats.lost.iter().flat_map(|lost| lost.lines("size_kb")) {
//!         println!("lost, as the service says: {line}");
//!     }
//!     println!("{} events lost by the kernel", stats.kernel_lost.events());
//!     println!("{:?} {:?}", stats.problems, stats.error);
//! }
//! # report(&tracing_file::stats::stats(&b""[..]));
//! ```
//!
//! The file is read once, with bounded memory: 65,536 names of slices and as many sequences are told apart.

mod kind;
mod print;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Read;

use protozero::{Reader, Value};

use crate::limits::{ROWS_MAX, STATS_NAME_BYTES_MAX};
use crate::losses::{KernelLosses, Losses, service_stats};
use crate::packets::{Packet, ReadError};
use crate::read::{EventKind, MEMORY_MAX, Problem, SequenceId, TraceReader};
use crate::slices::{OutcomeKind, Slices};

pub use kind::kind_name;

/// Packets of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Their number.
    pub packets: u64,
    /// Their bytes, without tags and lengths of the packets themselves.
    pub bytes: u64,
}

/// A sequence: the packets of one writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SequenceStats {
    /// Process of the writer, if the service knew it.
    pub pid: Option<i32>,
    /// User of the writer.
    pub uid: Option<i32>,
    /// Its packets.
    pub total: Total,
    /// How many of its packets follow a gap.
    pub losses: u64,
}

/// Slices of one name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceStats {
    /// How many have ended.
    pub count: u64,
    /// How long they were together. Slices within others count for both.
    pub total_ns: u64,
    /// How long the longest was.
    pub max_ns: u64,
}

/// What a trace consists of.
#[derive(Debug, Default)]
pub struct Stats {
    /// All packets, those in compressed packets included and unpacked.
    pub packets: u64,
    /// Bytes of these packets.
    pub bytes: u64,
    /// Packets that were compressed.
    pub compressed: Total,
    /// Events of tracks.
    pub events: u64,
    /// Times of the first and the last event, in ns of the trace's clock.
    pub span_ns: Option<(u64, u64)>,
    /// Packets that follow a gap.
    pub losses: u64,
    /// Packets by what they carry: the field of `TracePacket`, or 0 for none. [`kind_name`] has the names.
    pub kinds: BTreeMap<u32, Total>,
    /// Sequences.
    pub sequences: BTreeMap<SequenceId, SequenceStats>,
    /// Slices by name.
    pub slices: BTreeMap<Box<str>, SliceStats>,
    /// Sequences and names of slices that found no place.
    pub left_out: u64,
    /// What was wrong, as far as reading shows it.
    pub problems: BTreeMap<Problem, u64>,
    /// What the service says that the recording lost; none if the trace has no statistics of a service.
    pub lost: Option<Losses>,
    /// What the kernel lost of its events before they were read.
    pub kernel_lost: KernelLosses,
    /// The first error of the file. What is behind compressed packets that cannot be unpacked is counted.
    pub error: Option<ReadError>,
}

impl Stats {
    /// Time from the first to the last event.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.span_ns.map_or(0, |(first, last)| last - first)
    }

    /// The names of slices with the most time, most first.
    #[must_use]
    pub fn top_slices(&self, count: usize) -> Vec<(&str, SliceStats)> {
        let mut rows: Vec<_> = self.slices.iter().map(|(name, stats)| (&**name, *stats)).collect();
        rows.sort_by_key(|(_, stats)| std::cmp::Reverse(stats.total_ns));
        rows.truncate(count);
        rows
    }
}

/// Counts the trace in `input`.
pub fn stats(input: impl Read) -> Stats {
    let mut counter = Counting {
        reader: TraceReader::with_memory(input, MEMORY_MAX),
        slices: Slices::new(MEMORY_MAX),
        names: Vec::new(),
        numbers: BTreeMap::new(),
        stats: Stats::default(),
    };
    while counter.reader.next_readable_packet(&mut counter.stats.error) {
        counter.packet();
    }
    let Counting { reader, mut slices, mut names, mut stats, .. } = counter;
    slices.finish(|outcome| count(&mut names, outcome.kind));
    stats.slices = names.into_iter().filter(|(_, slices)| slices.count > 0).collect();
    stats.problems = reader.counts().clone();
    stats.losses = reader.counts().get(&Problem::Loss).copied().unwrap_or(0);
    stats
}

struct Counting<R> {
    reader: TraceReader<R>,
    slices: Slices,
    /// Names of slices by their numbers.
    names: Vec<(Box<str>, SliceStats)>,
    numbers: BTreeMap<Box<str>, u32>,
    stats: Stats,
}

/// The facts of a packet that are counted.
#[derive(Default)]
struct Origin {
    kind: u32,
    sequence: SequenceId,
    pid: Option<i32>,
    uid: Option<i32>,
}

impl Origin {
    fn read(packet: &[u8]) -> Self {
        let mut origin = Self::default();
        let mut reader = Reader::new(packet);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (3, Value::Varint(uid)) => origin.uid = Some(uid as i32),
                (10, Value::Varint(id)) => origin.sequence.id = id as u32,
                (98, Value::Varint(id)) => origin.sequence.machine = id as u32,
                (79, Value::Varint(pid)) => origin.pid = Some(pid as i32),
                (number, Value::Len(_)) if !kind_name(number).is_empty() => origin.kind = number,
                _ => {}
            }
        }
        origin
    }
}

impl Total {
    fn add(&mut self, bytes: u64) {
        self.packets += 1;
        self.bytes += bytes;
    }
}

impl<R: Read> Counting<R> {
    fn packet(&mut self) {
        let packet = self.reader.packets.bytes();
        self.stats.kernel_lost.add(Packet { place: self.reader.place(), bytes: packet });
        let (origin, bytes) = (Origin::read(packet), packet.len() as u64);
        if let Some(stats) = service_stats(packet) {
            // The last one counts all.
            self.stats.lost = Some(Losses::read(stats));
        }
        let has_loss = self.reader.findings().iter().any(|it| it.problem == Problem::Loss);
        let stats = &mut self.stats;
        stats.packets += 1;
        stats.bytes += bytes;
        if self.reader.place().unpacked_offset.is_some() {
            stats.compressed.add(bytes);
        }
        stats.kinds.entry(origin.kind).or_default().add(bytes);
        if stats.sequences.len() < ROWS_MAX || stats.sequences.contains_key(&origin.sequence) {
            let sequence = stats.sequences.entry(origin.sequence).or_default();
            sequence.pid = origin.pid.or(sequence.pid);
            sequence.uid = origin.uid.or(sequence.uid);
            sequence.total.add(bytes);
            sequence.losses += u64::from(has_loss);
        } else {
            stats.left_out += 1;
        }
        self.event();
    }

    fn event(&mut self) {
        let Some(event) = self.reader.event() else { return };
        let at = event.timestamp_ns();
        self.stats.events += 1;
        let (first, last) = self.stats.span_ns.unwrap_or((at, at));
        self.stats.span_ns = Some((first.min(at), last.max(at)));
        let mut tag = u32::MAX;
        if event.kind() == EventKind::SliceBegin {
            let name = event.name().unwrap_or_default();
            let end = name.floor_char_boundary(STATS_NAME_BYTES_MAX);
            let name = name.get(..end).unwrap_or_default();
            match self.numbers.get(name) {
                Some(number) => tag = *number,
                None if self.names.len() < ROWS_MAX => {
                    tag = self.names.len() as u32;
                    self.names.push((name.into(), SliceStats::default()));
                    self.numbers.insert(name.into(), tag);
                }
                None => self.stats.left_out += 1,
            }
        }
        let names = &mut self.names;
        self.slices.add(&event, tag, |outcome| count(names, outcome.kind));
    }
}

/// Counts a slice that is over.
fn count(names: &mut [(Box<str>, SliceStats)], outcome: OutcomeKind) {
    if let OutcomeKind::Closed { tag, duration_ns, .. } = outcome
        && let Some((_, slices)) = names.get_mut(tag as usize)
    {
        slices.count += 1;
        slices.total_ns = slices.total_ns.saturating_add(duration_ns);
        slices.max_ns = slices.max_ns.max(duration_ns);
    }
}

//! What the kernel lost of its events, as the probes say in the trace.
//!
//! The kernel has a ring of events for each processor, and overwrites what nobody has read in time. Its counters had
//! values at the start, too; the probes write them at each flush, with those of the start again. A bundle says that
//! events before it are missing, and not how many.
//!
//! ```text
//!   stats   start  cpu 0: overrun 100      of sessions before
//!   bundle         cpu 0: lost_events ─┐
//!   stats   end    cpu 0: overrun 170 <┘   70 events of cpu 0 are lost, those before the bundle included
//!   bundle         cpu 0: lost_events      and more, which no counter tells
//! ```
//!
//! Any program may write such packets, with any numbers.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use protozero::{Reader, Value};

use crate::json::Json;
use crate::limits::RINGS_MAX;
use crate::packets::{Packet, Place};
use crate::read::SequenceId;

/// What helps.
const ADVICE: &str =
    "raise buffer_size_kb of linux.ftrace, lower drain_period_ms, or record fewer events";

/// `FtraceStats.phase` of the counters at the start.
const START_OF_TRACE: u64 = 1;
/// The same of those at a flush and at the end.
const END_OF_TRACE: u64 = 2;

/// What the kernel lost of its events before they were read.
///
/// Data sources have sequences of their own. Those that record the same rings count the losses of these each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelLosses {
    rings: BTreeMap<RingId, Ring>,
    /// Data sources that record what was in their rings before they started.
    preserving: BTreeSet<SequenceId>,
    /// Counters and marks of rings that found no place.
    left_out: u64,
    /// The first packet with such.
    first_left_out: Option<(SequenceId, Place)>,
}

/// The ring of a processor, as one data source reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RingId {
    sequence: SequenceId,
    cpu: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Ring {
    /// The counters when a session started.
    start: Option<Counters>,
    /// How many events it had lost by the last counters of that session.
    lost_before: u64,
    /// Whether counters followed those of the start.
    is_counted: bool,
    /// Events lost in all sessions.
    lost: u64,
    /// The last counters that had grown.
    counted_at: Place,
    has_bundle: bool,
    /// Bundles with a mark, of a ring whose counters tell of no loss, or after its last counters.
    marks: u64,
    /// The first one.
    marked_at: Place,
}

/// An `FtraceCpuStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    cpu: u64,
    /// Events that the ring has lost since it is there or was emptied.
    lost: u64,
    /// The bits of the time when the kernel was asked.
    now: u64,
}

impl Counters {
    fn read(stats: &[u8]) -> Self {
        let mut counters = Self::default();
        let mut reader = Reader::new(stats);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (1, Value::Varint(cpu)) => counters.cpu = cpu,
                // What was overwritten, what was interrupted too often, and what found a ring full that is not
                // overwritten.
                (3 | 4 | 8, Value::Varint(count)) => {
                    counters.lost = counters.lost.saturating_add(count);
                }
                (7, Value::Fixed64(now)) => counters.now = now,
                _ => {}
            }
        }
        counters
    }
}

impl KernelLosses {
    /// Adds what a packet says. What is not valid is left out.
    pub fn add(&mut self, packet: Packet<'_>) {
        let (mut sequence, mut bundle, mut stats) = (SequenceId::default(), None, None);
        let mut reader = Reader::new(packet.bytes);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (1, Value::Len(body)) => bundle = Some(body),
                (34, Value::Len(body)) => stats = Some(body),
                (10, Value::Varint(id)) => sequence.id = id as u32,
                (98, Value::Varint(id)) => sequence.machine = id as u32,
                _ => {}
            }
        }
        if let Some(bundle) = bundle {
            self.add_bundle(sequence, packet.place, bundle);
        }
        if let Some(stats) = stats {
            self.add_stats(sequence, packet.place, stats);
        }
    }

    fn add_bundle(&mut self, sequence: SequenceId, place: Place, bundle: &[u8]) {
        let (mut cpu, mut is_marked) = (0, false);
        let mut reader = Reader::new(bundle);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => cpu = value,
                (3, Value::Varint(value)) => is_marked = value != 0,
                _ => {}
            }
        }
        let is_preserving = self.preserving.contains(&sequence);
        let Some(ring) = self.ring(RingId { sequence, cpu }) else {
            if is_marked {
                self.leave_out(sequence, place);
            }
            return;
        };
        let is_first = !std::mem::replace(&mut ring.has_bundle, true);
        // What a ring lost before the session is no loss of that.
        if is_marked && !(is_first && is_preserving) {
            if ring.marks == 0 {
                ring.marked_at = place;
            }
            ring.marks += 1;
        }
    }

    fn add_stats(&mut self, sequence: SequenceId, place: Place, stats: &[u8]) {
        // The phase may be behind the counters.
        let mut phase = 0;
        let mut reader = Reader::new(stats);
        while let Ok(Some(field)) = reader.next_field() {
            match (field.number, field.value) {
                (1, Value::Varint(value)) => phase = value,
                (8, Value::Varint(1..)) if self.preserving.len() < RINGS_MAX => {
                    self.preserving.insert(sequence);
                }
                _ => {}
            }
        }
        let mut reader = Reader::new(stats);
        while let Ok(Some(field)) = reader.next_field() {
            let (2, Value::Len(body)) = (field.number, field.value) else { continue };
            let counters = Counters::read(body);
            let id = RingId { sequence, cpu: counters.cpu };
            match phase {
                START_OF_TRACE => match self.ring(id) {
                    Some(ring) => ring.start(counters),
                    None => self.leave_out(sequence, place),
                },
                END_OF_TRACE => {
                    if let Some(ring) = self.rings.get_mut(&id) {
                        ring.count(counters, place);
                    }
                }
                _ => {}
            }
        }
    }

    fn ring(&mut self, id: RingId) -> Option<&mut Ring> {
        if self.rings.len() >= RINGS_MAX && !self.rings.contains_key(&id) {
            return None;
        }
        Some(self.rings.entry(id).or_default())
    }

    fn leave_out(&mut self, sequence: SequenceId, place: Place) {
        self.left_out += 1;
        self.first_left_out.get_or_insert((sequence, place));
    }

    /// Events that were lost, as far as the counters tell.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.rings.values().map(|ring| ring.lost).fold(0, u64::saturating_add)
    }

    /// Bundles that follow lost events which no counter tells, such as those of a recorder that was killed.
    #[must_use]
    pub fn marked_bundles(&self) -> u64 {
        self.rings.values().map(|ring| ring.marks).sum()
    }

    /// Whether the trace has events of the kernel, or counters of its rings.
    #[must_use]
    pub fn has_rings(&self) -> bool {
        !self.rings.is_empty()
    }

    /// Whether a ring has counters of its start and of later: else nobody knows what it lost.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.rings.values().any(|ring| ring.is_counted)
    }

    /// A line for each reason.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let counts = [
            (self.events(), "events of the kernel that its rings had no space for", ADVICE),
            (
                self.marked_bundles(),
                "bundles that follow lost events of the kernel, which nobody counted",
                ADVICE,
            ),
            (
                self.left_out,
                "counters and marks of the kernel's rings that were not looked at",
                "there are too many rings",
            ),
        ];
        let counts = counts.into_iter().filter(|(count, ..)| *count != 0);
        counts.map(|(count, what, why)| format!("{what}: {count} ({why})")).collect()
    }

    /// Its fields in an object of their own, with those rings that lost something.
    pub fn json(&self, json: &mut Json) {
        json.scalar("events", self.is_counted().then(|| self.events()));
        json.scalar("marked_bundles", Some(self.marked_bundles()));
        let rings = self.rings.iter().filter(|(_, ring)| ring.lost > 0 || ring.marks > 0);
        json.list("rings", &rings.collect::<Vec<_>>(), |json, (id, ring)| {
            json.scalar("sequence", Some(id.sequence.id));
            json.scalar("machine", Some(id.sequence.machine).filter(|machine| *machine != 0));
            json.scalar("cpu", Some(id.cpu));
            json.scalar("events", ring.is_counted.then_some(ring.lost));
            json.scalar("marked_bundles", Some(ring.marks));
        });
        json.scalar("left_out", Some(self.left_out));
    }

    /// The data sources that lost events: the last counters that tell it, and the number of events.
    pub(crate) fn by_sequence(&self) -> impl Iterator<Item = (Place, u64)> {
        let mut sources = BTreeMap::<SequenceId, (Place, u64)>::new();
        for (id, ring) in self.rings.iter().filter(|(_, ring)| ring.lost > 0) {
            let (place, lost) = sources.entry(id.sequence).or_default();
            *place = ring.counted_at.max(*place);
            *lost = lost.saturating_add(ring.lost);
        }
        sources.into_values()
    }

    /// Rings with marks that no counter tells: the first bundle with one, and the processor.
    pub(crate) fn marked(&self) -> impl Iterator<Item = (Place, u64)> {
        let rings = self.rings.iter().filter(|(_, ring)| ring.marks > 0);
        rings.map(|(id, ring)| (ring.marked_at, id.cpu))
    }

    /// The first counter or mark that found no place, and its sequence.
    pub(crate) fn first_left_out(&self) -> Option<(Place, u64)> {
        self.first_left_out.map(|(sequence, place)| (place, sequence.id.into()))
    }
}

impl Ring {
    /// The counters of the start come at each flush again; those of another session have another time.
    fn start(&mut self, counters: Counters) {
        if self.start != Some(counters) {
            self.start = Some(counters);
            self.lost_before = counters.lost;
        }
    }

    fn count(&mut self, counters: Counters, place: Place) {
        // Without the values of the start, nobody knows what the session lost.
        if self.start.is_none() {
            return;
        }
        // The counters of a ring that somebody emptied begin at 0 again.
        let lost = counters.lost.checked_sub(self.lost_before).unwrap_or(counters.lost);
        if lost > 0 {
            self.counted_at = place;
        }
        self.lost = self.lost.saturating_add(lost);
        self.lost_before = counters.lost;
        self.is_counted = true;
        // Probes that asked for the first counters late have the loss in both: then the marks alone tell of it.
        if self.lost > 0 {
            self.marks = 0;
        }
    }
}

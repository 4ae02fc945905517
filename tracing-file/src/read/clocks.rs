//! Clocks of a trace, and the snapshots that relate them to the time of the trace.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use protozero::Reader;

use super::budget::Budget;
use super::problem::Problem;
use super::sequence::SequenceId;
use crate::limits::{CLOCKS_PER_SNAPSHOT_MAX, SNAPSHOTS_PER_CLOCK_MAX};

/// `BUILTIN_CLOCK_BOOTTIME`.
const BOOTTIME: u32 = 6;

/// Ids of clocks that belong to one sequence.
const SEQUENCE_CLOCKS: std::ops::Range<u32> = 64..128;

/// Bytes that a clock takes at most, with its place in the map.
const CLOCK_COST: usize = 128 + SNAPSHOTS_PER_CLOCK_MAX * 16;

pub(super) fn is_of_sequence(id: u32) -> bool {
    SEQUENCE_CLOCKS.contains(&id)
}

/// All clocks. Those of a machine have its id in their key, and those of a sequence the id of that, too.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    trace_clock: Option<u32>,
    known: BTreeMap<(SequenceId, u32), Clock>,
}

#[derive(Debug)]
struct Clock {
    unit_ns: u64,
    is_incremental: bool,
    /// Where an incremental clock is.
    now_ns: u64,
    /// Times of this clock and of the trace at the same moments, in ns.
    points: VecDeque<(u64, u64)>,
    /// Hash of the clocks of its last snapshot.
    set: u64,
    /// It went back, so one of its times may be that of two moments.
    is_given_up: bool,
}

/// One clock of a snapshot.
#[derive(Clone, Copy, Default)]
struct SnapshotClock {
    id: u32,
    value: u64,
    is_incremental: bool,
    unit_ns: u64,
}

/// The clocks of a `ClockSnapshot`, and its primary one; 0 if it names none.
fn read(body: &[u8]) -> (Vec<SnapshotClock>, u32) {
    let (mut clocks, mut primary) = (Vec::new(), 0);
    let mut reader = Reader::new(body);
    while let Ok(Some(field)) = reader.next_field() {
        match (field.number, field.value.bytes(), field.value.uint32()) {
            (1, Ok(clock), _) if clocks.len() < CLOCKS_PER_SNAPSHOT_MAX => {
                clocks.push(SnapshotClock::read(clock));
            }
            (2, _, Ok(clock)) => primary = clock,
            _ => {}
        }
    }
    (clocks, primary)
}

impl Clocks {
    /// Reads a `ClockSnapshot`. An error comes with the id of the clock that is wrong. Times are compared with those of
    /// the snapshot before, if that had the same clocks. Upstream compares with the last one of the same clocks
    /// (`clock_synchronizer.cc`).
    pub(super) fn snapshot(
        &mut self,
        sequence: SequenceId,
        body: &[u8],
        budget: &mut Budget,
    ) -> Result<(), (Problem, u32)> {
        let (clocks, primary) = read(body);
        self.check(sequence, &clocks)?;
        if primary != 0 && self.trace_clock.is_none() {
            self.trace_clock = Some(primary);
        }
        let anchor = self.anchor(sequence, &clocks);
        let (trace_clock, set) = (self.trace_clock(), set(sequence, &clocks));
        let mut went_back = None;
        for clock in &clocks {
            let clock_ns = clock.value.saturating_mul(clock.unit_ns);
            let key = key(sequence, clock.id);
            if !self.known.contains_key(&key) && !budget.take(CLOCK_COST) {
                return Err((Problem::LimitReached, clock.id));
            }
            let known = self.known.entry(key).or_insert_with(|| Clock {
                unit_ns: clock.unit_ns,
                is_incremental: clock.is_incremental,
                now_ns: 0,
                points: VecDeque::new(),
                set,
                is_given_up: false,
            });
            known.now_ns = clock_ns;
            let latest = known.points.back().filter(|_| known.set == set);
            // Snapshots of upstream's service are not always in the order of the trace's time: no clock went back then.
            let went = |(latest_ns, latest_trace_ns): &(u64, u64)| {
                clock_ns < *latest_ns && anchor.is_none_or(|trace_ns| trace_ns >= *latest_trace_ns)
            };
            if clock.id != trace_clock && latest.is_some_and(went) {
                known.points.clear();
                known.is_given_up = true;
                went_back.get_or_insert(clock.id);
            }
            known.set = set;
            if let Some(trace_ns) = anchor.filter(|_| !known.is_given_up) {
                if known.points.len() >= SNAPSHOTS_PER_CLOCK_MAX {
                    known.points.pop_front();
                }
                known.points.push_back((clock_ns, trace_ns));
            }
        }
        went_back.map_or(Ok(()), |clock| Err((Problem::ClockWentBack, clock)))
    }

    /// Whether a snapshot of these clocks is valid.
    fn check(&self, sequence: SequenceId, clocks: &[SnapshotClock]) -> Result<(), (Problem, u32)> {
        for (at, clock) in clocks.iter().enumerate() {
            if is_of_sequence(clock.id) && sequence.id == 0 {
                return Err((Problem::FatalSequence, clock.id));
            }
            let is_twice = clocks.iter().skip(at + 1).any(|other| other.id == clock.id);
            let changed = self.known.get(&key(sequence, clock.id)).is_some_and(|known| {
                (known.unit_ns, known.is_incremental) != (clock.unit_ns, clock.is_incremental)
            });
            if is_twice || changed {
                return Err((Problem::InvalidSnapshot, clock.id));
            }
        }
        Ok(())
    }

    /// The time of the trace at a snapshot: that of its clock if it is there, else of a clock that is related.
    fn anchor(&self, sequence: SequenceId, clocks: &[SnapshotClock]) -> Option<u64> {
        let trace_clock = self.trace_clock();
        if let Some(clock) = clocks.iter().find(|clock| clock.id == trace_clock) {
            return Some(clock.value.saturating_mul(clock.unit_ns));
        }
        clocks.iter().find_map(|clock| {
            let known = self.known.get(&key(sequence, clock.id))?;
            known.trace_ns(clock.value.saturating_mul(clock.unit_ns))
        })
    }

    fn trace_clock(&self) -> u32 {
        self.trace_clock.unwrap_or(BOOTTIME)
    }

    /// The time of the trace at `value` of the clock `id`. An incremental clock advances by `value`.
    pub(super) fn trace_ns(
        &mut self,
        sequence: SequenceId,
        id: u32,
        value: u64,
    ) -> Result<u64, Problem> {
        if id == self.trace_clock() {
            return Ok(value);
        }
        let Some(clock) = self.known.get_mut(&key(sequence, id)) else {
            return if id == BOOTTIME { Ok(value) } else { Err(Problem::UnknownClock) };
        };
        let mut ns = value.checked_mul(clock.unit_ns).ok_or(Problem::InvalidTimestamp)?;
        if clock.is_incremental {
            ns = clock.now_ns.checked_add(ns).ok_or(Problem::InvalidTimestamp)?;
            clock.now_ns = ns;
        }
        if clock.points.is_empty() {
            return Err(Problem::NoClockPath);
        }
        clock.trace_ns(ns).ok_or(Problem::InvalidTimestamp)
    }
}

impl Clock {
    /// By the latest snapshot that is not after `ns`, or else by the first.
    fn trace_ns(&self, ns: u64) -> Option<u64> {
        let before = self.points.iter().rev().find(|(clock_ns, _)| *clock_ns <= ns);
        let (clock_ns, trace_ns) = before.or(self.points.front())?;
        let ns = i128::from(ns) - i128::from(*clock_ns) + i128::from(*trace_ns);
        u64::try_from(ns).ok()
    }
}

impl SnapshotClock {
    fn read(body: &[u8]) -> Self {
        let mut clock = Self { unit_ns: 1, ..Self::default() };
        let mut reader = Reader::new(body);
        while let Ok(Some(field)) = reader.next_field() {
            let Ok(value) = field.value.uint64() else { continue };
            match field.number {
                1 => clock.id = value as u32,
                2 => clock.value = value,
                3 => clock.is_incremental = value != 0,
                4 if value != 0 => clock.unit_ns = value,
                _ => {}
            }
        }
        clock
    }
}

/// Tells sets of clocks apart.
fn set(sequence: SequenceId, clocks: &[SnapshotClock]) -> u64 {
    let mut hasher = DefaultHasher::new();
    clocks.iter().for_each(|clock| key(sequence, clock.id).hash(&mut hasher));
    hasher.finish()
}

fn key(sequence: SequenceId, clock: u32) -> (SequenceId, u32) {
    let id = if is_of_sequence(clock) { sequence.id } else { 0 };
    (SequenceId { id, ..sequence }, clock)
}

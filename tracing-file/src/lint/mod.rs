//! Finds what readers of a trace drop, refuse or confuse.
//!
//! ```
//! use tracing_file::lint::lint;
//!
//! // One packet: {timestamp: 5, track_event {type: TYPE_SLICE_BEGIN}}.
//! let trace = b"\x0a\x06\x40\x05\x5a\x02\x48\x01";
//! let report = lint(trace.as_slice(), |finding| {
//!     assert_eq!(finding.problem.name(), "track_event_missing_sequence_id");
//!     assert_eq!((finding.place.packet, finding.place.offset), (0, 2));
//! });
//! assert_eq!(report.findings(), 1);
//! ```
//!
//! The reader of [`read`](crate::read) notes what it refuses. On top of that, `lint` follows the slices of each track
//! and the flows, and checks annotations and, at the end, the tracks. It reads the file once, in its order, with
//! bounded memory; so it compares a slice with the last 64 of its track only.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use crate::packets::ReadError;
use crate::read::{EventKind, Finding, MEMORY_MAX, Problem, Severity, TraceReader};
use crate::slices::{Outcome, Slices};

#[cfg(test)]
mod tests;

/// Flows that are remembered.
const FLOWS_MAX: usize = 1 << 20;

/// What a trace has.
#[derive(Debug)]
pub struct Report {
    /// Packets that were read, those in compressed packets included.
    pub packets: u64,
    /// Events that readers accept.
    pub events: u64,
    /// How often each problem was found.
    pub counts: BTreeMap<Problem, u64>,
    /// Why the rest of the file was not read.
    pub error: Option<ReadError>,
}

impl Report {
    /// Number of findings.
    #[must_use]
    pub fn findings(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The worst finding.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.counts.keys().map(|problem| problem.severity()).max()
    }
}

/// Checks the trace in `input`, and calls `found` for each finding. At most 64 of one packet are shown; all count.
pub fn lint(input: impl Read, found: impl FnMut(&Finding)) -> Report {
    lint_within(input, MEMORY_MAX, found)
}

/// As [`lint`], with at most `bytes` of memory for each of the reader's tables and the open slices.
pub fn lint_within(input: impl Read, bytes: usize, mut found: impl FnMut(&Finding)) -> Report {
    let mut linter = Linter {
        reader: TraceReader::with_memory(input, bytes),
        slices: Slices::new(bytes),
        flows: Flows::with_max(FLOWS_MAX),
        counts: BTreeMap::new(),
    };
    let (mut packets, mut events) = (0, 0);
    let error = loop {
        match linter.reader.next_packet() {
            Ok(true) => packets += 1,
            Ok(false) => break None,
            Err(error) if error.is_recoverable() => {}
            Err(error) => break Some(error),
        }
        linter.reader.check_body();
        let more = linter.follow();
        events += u64::from(linter.reader.event().is_some());
        linter.reader.findings().iter().chain(&more).for_each(&mut found);
    };
    linter.end(&mut found);
    let mut counts = linter.counts;
    for (problem, count) in linter.reader.counts() {
        *counts.entry(*problem).or_insert(0) += count;
    }
    Report { packets, events, counts, error }
}

/// Flows that were begun.
struct Flows {
    known: BTreeSet<u64>,
    max: usize,
}

impl Flows {
    fn with_max(max: usize) -> Self {
        Self { known: BTreeSet::new(), max }
    }

    fn begin(&mut self, flow: u64) {
        if self.known.len() < self.max {
            self.known.insert(flow);
        }
    }

    /// Whether no event has begun the flow. When flows were forgotten, that cannot be told.
    fn is_unknown(&self, flow: u64) -> bool {
        self.known.len() < self.max && !self.known.contains(&flow)
    }
}

struct Linter<R> {
    reader: TraceReader<R>,
    slices: Slices,
    flows: Flows,
    /// Findings beside those of the reader.
    counts: BTreeMap<Problem, u64>,
}

impl<R: Read> Linter<R> {
    /// Follows slices and flows with the last event.
    fn follow(&mut self) -> Vec<Finding> {
        let mut more = Vec::new();
        let Some(event) = self.reader.event() else { return more };
        let (place, track) = (event.place(), event.track_uuid());
        let mut find = |problem, value| {
            *self.counts.entry(problem).or_insert(0) += 1;
            more.push(Finding { problem, place, value });
        };
        let outcome = match event.kind() {
            EventKind::SliceBegin => self.slices.begin(&event, 0),
            EventKind::SliceEnd => self.slices.end(&event),
            _ => Outcome::Fine,
        };
        match outcome {
            Outcome::Fine | Outcome::Closed { is_crossing: false, .. } => {}
            Outcome::Closed { is_crossing: true, .. } => find(Problem::CrossingSlices, track),
            Outcome::Refused => find(Problem::LimitReached, event.sequence().into()),
            Outcome::TooDeep => find(Problem::SliceTooDeep, track),
            Outcome::NotOpen => find(Problem::EndWithoutBegin, track),
            Outcome::EndsBeforeBegin => find(Problem::EndBeforeBegin, track),
        }
        if matches!(event.kind(), EventKind::Counter(_) | EventKind::State) {
            return more;
        }
        event.flows().for_each(|flow| self.flows.begin(flow));
        if let Some(flow) = event.ended_flows().find(|flow| self.flows.is_unknown(*flow)) {
            find(Problem::UnknownFlowEnd, flow);
        }
        more
    }

    /// What only the end of the trace shows.
    fn end(&mut self, found: &mut impl FnMut(&Finding)) {
        let mut find = |finding: Finding| {
            *self.counts.entry(finding.problem).or_insert(0) += 1;
            found(&finding);
        };
        for (value, slice) in self.slices.open() {
            find(Finding { problem: Problem::SliceNotEnded, place: slice.place, value });
        }
        let tracks = self.reader.tracks();
        // A chain of parents is up to 100 long; each track is checked once.
        for track in tracks.iter() {
            if let (Some(place), None) = (track.first_event, track.described) {
                find(Finding { problem: Problem::NeverDescribed, place, value: track.uuid });
            }
            if let (Some(problem), Some(place)) =
                (tracks.hierarchy_problem(track.uuid), track.described)
            {
                find(Finding { problem, place, value: track.uuid });
            }
        }
    }
}

//! Finds what readers of a trace drop, refuse or confuse.
//!
//! ```
//! use tracing_file::lint::lint;
//!
//! // One packet: {timestamp: 5, track_event {type: TYPE_SLICE_BEGIN}}.
//! let trace = b"\x0a\x06\x40\x05\x5a\x02\x48\x01";
//! let report = lint(trace.as_slice(), |finding, _| {
//!     assert_eq!(finding.problem.name(), "track_event_missing_sequence_id");
//!     assert_eq!((finding.place.packet, finding.place.offset), (0, 2));
//! });
//! assert_eq!(report.findings(), 1);
//! ```
//!
//! A program of its own for a test may decide which findings count:
//!
//! ```
//! use tracing_file::lint::{Report, lint_within};
//! use tracing_file::read::{Finding, Severity, Tracks};
//! use tracing_file::timeline::track_path;
//!
//! fn print(finding: &Finding, tracks: &Tracks) {
//!     let Finding { problem, place, value } = finding;
//!     let (severity, subject) = (problem.severity().name(), problem.subject());
//!     let path = finding.track().and_then(|uuid| track_path(tracks, uuid)).unwrap_or_default();
//!     println!("{place}: {severity}: {} ({subject} {value} {path})", problem.name());
//!     println!("  {}", problem.advice());
//! }
//!
//! fn is_good(report: &Report) -> bool {
//!     report.error.is_none() && report.worst() < Some(Severity::Warning)
//! }
//!
//! # let mut bytes = Vec::new();
//! # let mut trace = tracing_file::write::TraceFile::create(&mut bytes)?;
//! # let worker = trace.thread(1, 7, "worker");
//! # trace.slice(&worker, 1_000, 250, "work");
//! # trace.finish()?;
//! // With at most a megabyte for each table.
//! let report = lint_within(bytes.as_slice(), 1 << 20, print);
//! assert!(is_good(&report), "{:?}", report.counts);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The reader of [`read`](crate::read) notes what it refuses. On top of that, `lint` follows the slices of each track
//! and the flows, and checks annotations and, at the end, the tracks. It reads the file once, in its order, with
//! bounded memory; so it compares a slice with the last 64 of its track only. Findings about slices and flows may
//! come later than the packets that they are about.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use self::session::Session;
use crate::limits::FLOWS_MAX;
use crate::losses::KernelLosses;
use crate::packets::{Packet, Place, ReadError};
use crate::read::{EventKind, Finding, MEMORY_MAX, Problem, Severity, TraceReader, Tracks};
use crate::slices::{Outcome, OutcomeKind, Slices};

mod session;
#[cfg(test)]
mod tests;

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

/// Checks the trace in `input`, and calls `found` for each finding, with the tracks that were described so far. At most
/// 64 of one packet are shown; all count.
pub fn lint(input: impl Read, found: impl FnMut(&Finding, &Tracks)) -> Report {
    lint_within(input, MEMORY_MAX, found)
}

/// As [`lint`], with at most `bytes` of memory for each of the reader's tables and the open slices.
pub fn lint_within(
    input: impl Read,
    bytes: usize,
    mut found: impl FnMut(&Finding, &Tracks),
) -> Report {
    let mut linter = Linter {
        reader: TraceReader::with_memory(input, bytes),
        slices: Slices::new(bytes),
        flows: Flows::with_max(FLOWS_MAX),
        session: Session::default(),
        kernel: KernelLosses::default(),
        counts: BTreeMap::new(),
    };
    let (mut packets, mut events) = (0, 0);
    let error = loop {
        match linter.reader.next_packet() {
            Ok(true) => {
                packets += 1;
                linter.packet();
            }
            Ok(false) => break None,
            Err(error) if error.is_recoverable() => {}
            Err(error) => break Some(error),
        }
        linter.reader.check_body();
        let more = linter.follow();
        events += u64::from(linter.reader.event().is_some());
        let (reader, tracks) = (&linter.reader, linter.reader.tracks());
        reader.findings().iter().chain(&more).for_each(|finding| found(finding, tracks));
    };
    linter.end(&mut found);
    let mut counts = linter.counts;
    for (problem, count) in linter.reader.counts() {
        *counts.entry(*problem).or_insert(0) += count;
    }
    Report { packets, events, counts, error }
}

/// Flows that were begun, and ends of others: of two sequences, that with the end may come first in the file.
struct Flows {
    begun: BTreeSet<u64>,
    ended: BTreeMap<u64, Place>,
    max: usize,
}

impl Flows {
    fn with_max(max: usize) -> Self {
        Self { begun: BTreeSet::new(), ended: BTreeMap::new(), max }
    }

    fn begin(&mut self, flow: u64) {
        self.ended.remove(&flow);
        if self.begun.len() < self.max {
            self.begun.insert(flow);
        }
    }

    /// When flows were forgotten, it cannot be told whether this one was begun.
    fn end(&mut self, flow: u64, place: Place) {
        let is_known = self.begun.len() >= self.max || self.begun.contains(&flow);
        if !is_known && self.ended.len() < self.max {
            self.ended.entry(flow).or_insert(place);
        }
    }
}

/// What is wrong with a slice, and the number that it is about.
fn problem_of(Outcome { track, kind, .. }: Outcome) -> Option<(Problem, u64)> {
    let problem = match kind {
        OutcomeKind::Closed { is_crossing: false, .. } => return None,
        OutcomeKind::Closed { is_crossing: true, .. } => Problem::CrossingSlices,
        OutcomeKind::Refused { sequence } => return Some((Problem::LimitReached, sequence.into())),
        OutcomeKind::TooDeep => Problem::SliceTooDeep,
        OutcomeKind::NotOpen => Problem::EndWithoutBegin,
        OutcomeKind::EndsBeforeBegin => Problem::EndBeforeBegin,
        OutcomeKind::SlicesOfTwoSequences => Problem::SlicesOfTwoSequences,
        OutcomeKind::NotEnded => Problem::SliceNotEnded,
    };
    Some((problem, track))
}

struct Linter<R> {
    reader: TraceReader<R>,
    slices: Slices,
    flows: Flows,
    session: Session,
    kernel: KernelLosses,
    /// Findings beside those of the reader.
    counts: BTreeMap<Problem, u64>,
}

impl<R: Read> Linter<R> {
    /// Notes what the last packet says of the session and of losses.
    fn packet(&mut self) {
        let packet = Packet { place: self.reader.place(), bytes: self.reader.packets.bytes() };
        self.session.packet(packet.bytes, packet.place);
        self.kernel.add(packet);
    }

    /// Follows slices and flows with the last event.
    fn follow(&mut self) -> Vec<Finding> {
        let mut more = Vec::new();
        let Some(event) = self.reader.event() else { return more };
        self.slices.add(&event, 0, |outcome| {
            if let Some((problem, value)) = problem_of(outcome) {
                *self.counts.entry(problem).or_insert(0) += 1;
                more.push(Finding { problem, place: outcome.place, value });
            }
        });
        if matches!(event.kind(), EventKind::Counter(_) | EventKind::State) {
            return more;
        }
        event.flows().for_each(|flow| self.flows.begin(flow));
        event.ended_flows().for_each(|flow| self.flows.end(flow, event.place()));
        more
    }

    /// What only the end of the trace shows.
    fn end(&mut self, found: &mut impl FnMut(&Finding, &Tracks)) {
        let tracks = self.reader.tracks();
        let mut find = |finding: Finding| {
            *self.counts.entry(finding.problem).or_insert(0) += 1;
            found(&finding, tracks);
        };
        self.slices.finish(|outcome| {
            if let Some((problem, value)) = problem_of(outcome) {
                find(Finding { problem, place: outcome.place, value });
            }
        });
        for (value, place) in std::mem::take(&mut self.flows.ended) {
            find(Finding { problem: Problem::UnknownFlowEnd, place, value });
        }
        if let Some(place) = self.session.without_events() {
            find(Finding { problem: Problem::NoTrackEvents, place, value: 0 });
        }
        if let Some((place, value)) = self.session.losses() {
            find(Finding { problem: Problem::ServiceLoss, place, value });
        }
        let kernel = &self.kernel;
        let counted = kernel.by_sequence().map(|found| (Problem::KernelLoss, found));
        let marked = kernel.marked().map(|found| (Problem::KernelGap, found));
        let left_out = kernel.first_left_out().map(|found| (Problem::KernelRingsLeftOut, found));
        for (problem, (place, value)) in counted.chain(marked).chain(left_out) {
            find(Finding { problem, place, value });
        }
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

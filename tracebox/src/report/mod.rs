//! Reports the result of a recording: the size of the trace, what was lost, how to open it.

use std::time::Duration;

use protos::{LossLedgerReason, TraceStats, TraceStatsFinalFlushOutcome};
use tracing_file::losses::{Losses, UNANSWERED};

use crate::config::parts::FTRACE;
use crate::console;
use crate::failure::{EXIT_LOST, Failure};
use crate::ftrace_notes::FtraceNotes;
use crate::loss_scanner::{LossScanner, NotSearched, SEQUENCES_MAX};
use crate::output::Written;

/// The snapshots of a session with `CLONE_SNAPSHOT` triggers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SnapshotResults {
    /// The snapshots that were written.
    pub outcomes: Vec<Outcome>,
    /// The number of snapshots that failed; each failure has been printed.
    pub failed: usize,
}

/// Data sources that did not record all the time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SourceReport {
    /// No producer registered them.
    pub absent: Vec<String>,
    /// Those of the machine whose producers went away.
    pub stopped: Vec<StoppedSource>,
    /// How many more of these there were.
    pub stopped_left_out: u64,
}

impl SourceReport {
    fn absent_line(&self) -> Option<String> {
        let names = self.absent.join(", ");
        (!names.is_empty()).then(|| format!("Not recorded, because no producer offers it: {names}"))
    }

    /// A text for each data source that stopped.
    fn losses(&self) -> impl Iterator<Item = String> {
        let more = match self.stopped_left_out {
            0 => None,
            1 => Some("1 more data source stopped".to_owned()),
            more => Some(format!("{more} more data sources stopped")),
        };
        self.stopped.iter().map(StoppedSource::to_string).chain(more)
    }
}

/// What the packets of a trace say of others that are missing before them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GapCounts {
    /// See [`LossScanner::gaps`].
    pub found: u64,
    /// See [`LossScanner::undecided`].
    pub undecided: u64,
}

impl GapCounts {
    /// What a scanner of the whole trace found.
    #[must_use]
    pub const fn of(scanner: &LossScanner) -> Self {
        Self { found: scanner.gaps, undecided: scanner.undecided }
    }

    fn losses(self) -> impl Iterator<Item = String> {
        let found = format!("packets that follow a gap in their sequence: {}", self.found);
        let undecided = format!(
            "packets that may follow a gap, which is not known of sequences behind the first {SEQUENCES_MAX}: {}",
            self.undecided
        );
        let lines = [(self.found, found), (self.undecided, undecided)];
        lines.into_iter().filter(|(count, _)| *count != 0).map(|(_, line)| line)
    }
}

/// A data source whose producer went away while it recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoppedSource {
    /// Its name.
    pub name: String,
    /// When, counted from the beginning of the session, or from when this consumer took it over.
    pub after: Duration,
}

impl std::fmt::Display for StoppedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, after } = self;
        write!(f, "{name} stopped at {:.1} s: its producer went away", after.as_secs_f64())
    }
}

/// Why a trace has no track events though its config asks for them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoEvents {
    /// No program with track events connected.
    NotConnected,
    /// The programs that connected recorded none.
    NotRecorded,
}

impl std::fmt::Display for NoEvents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotConnected => {
                "No track events: no program that records them has connected (with tracing-sdk it calls \
                 `tracing_sdk::init()`: docs/sdk.md shows how)"
            }
            Self::NotRecorded => {
                "No track events: programs connected, but recorded no event after that, or none of a category that \
                 the config enables"
            }
        })
    }
}

/// The outcome of a recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// The name of the output.
    pub name: String,
    /// The output is a file that can be opened.
    pub is_file: bool,
    /// The service wrote the output.
    pub by_service: bool,
    /// The size of the trace, if it is known.
    pub written: Option<Written>,
    /// Marks of losses in the trace, if it was searched.
    pub gaps: Result<GapCounts, NotSearched>,
    /// The counters of the service, if it has sent them.
    pub stats: Option<TraceStats>,
    /// A producer did not answer the flush before the end.
    pub flush_failed: bool,
    /// The session waited for a trigger: without one the trace is empty.
    pub waited_for_triggers: bool,
    /// Data sources that did not record all the time.
    pub sources: SourceReport,
    /// Why there are no track events, if they are missed.
    pub no_events: Option<NoEvents>,
    /// Which events of the kernel are missing, if the trace was scanned.
    pub ftrace: FtraceNotes,
    /// How to make the buffers larger: an option, or a field of the config.
    pub buffer_setting: &'static str,
    /// The snapshots, if the session was to take any.
    pub snapshots: Option<SnapshotResults>,
}

/// Setting of the buffer size for sessions with a config of their own.
pub const BUFFER_SETTING_CONFIG: &str = "size_kb in the config";

/// Setting of the buffer size in light mode.
pub const BUFFER_SETTING_OPTION: &str = "-b";

/// Data that was written and is not in the trace, a line per reason. The counters of the whole service are
/// left out: they may count losses of other sessions.
#[must_use]
pub fn losses(stats: &TraceStats, buffer_setting: &str) -> Vec<String> {
    Losses::of(stats).lines(buffer_setting)
}

/// The data sources that their programs have refused so far, a line for each program.
#[must_use]
pub fn refusals(stats: &TraceStats) -> Vec<String> {
    let refused = with_reason(stats, LossLedgerReason::REASON_INSTANCE_REFUSED);
    losses(&refused, BUFFER_SETTING_CONFIG)
}

impl Outcome {
    /// The lines to print.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        if let Some(taken) = self.snapshots_alone() {
            let missed = self.stats.as_ref().map(snapshots_not_taken).unwrap_or_default();
            let missed = missed.loss_ledger.is_some_and(|ledger| !ledger.entries.is_empty());
            let mut lines = vec![match (&taken.outcomes[..], taken.failed) {
                ([], 0) if missed => "No snapshot was written".into(),
                ([], 0) => "No trigger came: no snapshot was written".into(),
                ([_], _) => "1 snapshot was written".into(),
                (taken, _) => format!("{} snapshots were written", taken.len()),
            }];
            lines.extend((!self.losses().is_empty()).then(|| self.lost()));
            lines.extend(self.sources.absent_line());
            return lines;
        }
        let mut lines = vec![self.wrote()];
        if self.waited_for_triggers && self.is_empty() {
            lines.push("No trigger came: there is nothing in it".into());
            return lines;
        }
        lines.push(self.lost());
        lines.extend(self.sources.absent_line());
        lines.extend(self.ftrace.lines());
        lines.extend(self.no_events.iter().map(NoEvents::to_string));
        if self.is_file {
            lines.push(format!("Open {} at https://ui.perfetto.dev", self.name));
        }
        lines
    }

    /// The lines to print for a snapshot that `trigger` asked for.
    #[must_use]
    pub fn lines_of_snapshot(&self, trigger: &str) -> Vec<String> {
        vec![format!("Trigger {trigger:?}: {}", self.wrote()), self.lost()]
    }

    fn is_empty(&self) -> bool {
        self.written.is_some_and(|written| written.bytes == 0)
    }

    /// The snapshots, if all that there is of the session is in them.
    fn snapshots_alone(&self) -> Option<&SnapshotResults> {
        self.snapshots.as_ref().filter(|_| self.is_empty())
    }

    /// Decides whether the outcome is a failure: a snapshot that could not be written is one, and with `strict`
    /// every loss is.
    ///
    /// # Errors
    /// The failure.
    pub fn verdict(&self, strict: bool) -> Result<(), Failure> {
        if let Some(taken) = &self.snapshots {
            if taken.failed != 0 {
                let failed = console::count(taken.failed as u64, "snapshot");
                return Err(Failure::new(format_args!("{failed} failed")));
            }
            taken.outcomes.iter().try_for_each(|outcome| outcome.verdict(strict))?;
        }
        if !strict {
            return Ok(());
        }
        if !self.losses().is_empty() {
            return Err(
                Failure::new("data was lost, and --strict was asked for").with_code(EXIT_LOST)
            );
        }
        if !self.sources.absent.is_empty() {
            let absent = self.sources.absent.join(", ");
            let text = format!("no producer offers {absent}, and --strict was asked for");
            return Err(Failure::new(text).with_code(EXIT_LOST));
        }
        if self.stats.is_none() {
            let text = "the service did not tell whether data was lost, and --strict was asked for";
            return Err(Failure::new(text).with_code(EXIT_LOST));
        }
        if self.snapshots_alone().is_some() {
            return Ok(());
        }
        if let Err(NotSearched { why, is_failure: true }) = &self.gaps {
            let text = format!(
                "the trace was not searched for gaps, because {why}, and --strict was asked for"
            );
            return Err(Failure::new(text).with_code(EXIT_LOST));
        }
        Ok(())
    }

    fn wrote(&self) -> String {
        match (self.by_service, self.written) {
            (false, Some(Written { bytes, packets })) => {
                format!("Wrote {bytes} bytes into {}{}", self.name, count(packets))
            }
            (true, Some(Written { bytes, packets })) => format!(
                "Trace written into the output file: {bytes} bytes into {}{}",
                self.name,
                count(packets)
            ),
            (_, None) => format!("Trace written into {}", self.name),
        }
    }

    fn losses(&self) -> Vec<String> {
        if self.snapshots_alone().is_some() {
            // Other losses of the session are in its snapshots, or came after them.
            let not_taken = self.stats.as_ref().map(snapshots_not_taken).unwrap_or_default();
            let not_taken = losses(&not_taken, self.buffer_setting).into_iter();
            return not_taken.chain(self.sources.losses()).collect();
        }
        let stats = self.stats.clone().map(|stats| self.without_refusals(stats));
        let mut lost = stats.map(|stats| losses(&stats, self.buffer_setting)).unwrap_or_default();
        lost.extend(self.ftrace.refusals());
        lost.extend(self.ftrace.lost.lines());
        if self.stats.as_ref().is_some_and(|stats| self.own_flush_lost(stats)) {
            lost.push(UNANSWERED.into());
        }
        lost.extend(self.sources.losses());
        lost.extend(self.gaps.iter().flat_map(|gaps| gaps.losses()));
        lost
    }

    /// The service knows how many data sources refused, and not why. If the trace says why, that is enough.
    fn without_refusals(&self, mut stats: TraceStats) -> TraceStats {
        let mut told = self.ftrace.refused_count(FTRACE);
        let Some(ledger) = stats.loss_ledger.as_mut().filter(|_| told != 0) else { return stats };
        ledger.entries.retain_mut(|entry| {
            if told == 0
                || entry.reason != Some(LossLedgerReason::REASON_INSTANCE_REFUSED)
                || entry.data_source_name.as_deref() != Some(FTRACE)
            {
                return true;
            }
            let count = entry.count.unwrap_or(0);
            let left = count.saturating_sub(told);
            told = told.saturating_sub(count);
            // The name is that of the first one: what is left may be others of that producer.
            (entry.data_source_name, entry.count) = (None, Some(left));
            left != 0
        });
        stats
    }

    /// Whether the recorder's own flush lost data that the service does not report. It has not if the service
    /// flushed after it, or counts no flushes at all because it is too old.
    fn own_flush_lost(&self, stats: &TraceStats) -> bool {
        let of_service = stats.final_flush_outcome.unwrap_or_default();
        self.flush_failed
            && of_service == TraceStatsFinalFlushOutcome::FINAL_FLUSH_UNSPECIFIED
            && stats.flushes_requested.is_some_and(|count| count != 0)
    }

    fn lost(&self) -> String {
        let lost = match (self.losses(), &self.stats) {
            (lost, _) if !lost.is_empty() => lost.join("; "),
            (_, Some(_)) => "0".into(),
            (_, None) => return "Lost: not known, the service did not tell".into(),
        };
        match &self.gaps {
            Err(NotSearched { why, .. }) if self.snapshots_alone().is_none() => {
                format!(
                    "Lost: {lost} (as the service counted; the trace was not searched for gaps, because {why})"
                )
            }
            _ => format!("Lost: {lost}"),
        }
    }
}

/// Of what the ledger tells, the triggers for which no snapshot was taken.
fn snapshots_not_taken(stats: &TraceStats) -> TraceStats {
    with_reason(stats, LossLedgerReason::REASON_SNAPSHOT_NOT_TAKEN)
}

/// The entries of the ledger with this reason, and nothing else.
fn with_reason(stats: &TraceStats, reason: LossLedgerReason) -> TraceStats {
    let mut loss_ledger = stats.loss_ledger.clone();
    if let Some(ledger) = &mut loss_ledger {
        ledger.entries.retain(|entry| entry.reason == Some(reason));
    }
    TraceStats { loss_ledger, ..TraceStats::default() }
}

fn count(packets: Option<u64>) -> String {
    packets.map(|packets| format!(", {}", console::count(packets, "packet"))).unwrap_or_default()
}

#[cfg(test)]
mod tests;

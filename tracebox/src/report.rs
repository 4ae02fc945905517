//! What became of a trace: how much, what is missing, how to look at it.

use std::time::Duration;

use protos::{TraceStats, TraceStatsFinalFlushOutcome};

use crate::console;
use crate::failure::{EXIT_LOST, Failure};
use crate::output::Written;

/// What came of the snapshots of a session with `CLONE_SNAPSHOT` triggers.
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
    /// Their producers went away.
    pub stopped: Vec<StoppedSource>,
}

/// A data source whose producer went away while it recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoppedSource {
    /// Its name.
    pub name: String,
    /// When, counted from the beginning of the session.
    pub after: Duration,
}

impl std::fmt::Display for StoppedSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, after } = self;
        write!(f, "{name} stopped at {:.1} s: its producer went away", after.as_secs_f64())
    }
}

/// What a finished recording left.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// What the trace was written to.
    pub name: String,
    /// It can be opened.
    pub is_file: bool,
    /// The service wrote it.
    pub by_service: bool,
    /// How much, if it is known.
    pub written: Option<Written>,
    /// Packets that follow a gap in their sequence, if we saw them.
    pub gaps: Option<u64>,
    /// The service's counters, if it told them.
    pub stats: Option<TraceStats>,
    /// Not everybody answered when we asked for the last data.
    pub flush_failed: bool,
    /// Without a trigger there is nothing in it.
    pub waited_for_triggers: bool,
    /// Data sources that did not record all the time.
    pub sources: SourceReport,
    /// How to make the buffers larger: an option, or a field of the config.
    pub buffer_setting: &'static str,
    /// What triggers left, if that is what the session was for.
    pub snapshots: Option<SnapshotResults>,
}

/// The last flush failed.
const UNANSWERED: &str = "the last data of a producer that did not answer in time";

/// Setting of the buffer size for sessions with a config of their own.
pub const BUFFER_SETTING_CONFIG: &str = "size_kb in the config";

/// Setting of the buffer size in light mode.
pub const BUFFER_SETTING_OPTION: &str = "-b";

/// Data that was written and is not in the trace, a line per reason. The counters of the whole service are
/// left out: they may count losses of other sessions.
#[must_use]
pub fn losses(stats: &TraceStats, buffer_setting: &str) -> Vec<String> {
    let sum = |count: fn(&protos::TraceStatsBufferStats) -> Option<u64>| {
        stats.buffer_stats.iter().filter_map(count).fold(0, u64::saturating_add)
    };
    let counts = [
        (
            sum(|buffer| buffer.chunks_overwritten),
            format!(
                "chunks overwritten by newer ones, which a larger buffer keeps ({buffer_setting})"
            ),
        ),
        (
            sum(|buffer| buffer.chunks_discarded),
            format!(
                "chunks that found the buffer full, which a larger one takes ({buffer_setting})"
            ),
        ),
        (
            sum(|buffer| buffer.trace_writer_packet_loss),
            "gaps where a producer's shared memory was full".into(),
        ),
        (sum(|buffer| buffer.patches_failed), "patches that came too late".into()),
        (sum(|buffer| buffer.abi_violations), "chunks that broke the protocol".into()),
        (stats.invalid_packets.unwrap_or(0), "packets that are not valid".into()),
    ];
    let mut lines: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count != 0)
        .map(|(count, what)| format!("{what}: {count}"))
        .collect();
    if stats.final_flush_outcome == Some(TraceStatsFinalFlushOutcome::FINAL_FLUSH_FAILED) {
        lines.push(UNANSWERED.into());
    }
    lines
}

impl Outcome {
    /// The lines to print.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let is_empty = self.written.is_some_and(|written| written.bytes == 0);
        if let Some(taken) = self.snapshots.as_ref().filter(|_| is_empty) {
            return vec![match (&taken.outcomes[..], taken.failed) {
                ([], 0) => "No trigger came: no snapshot was written".into(),
                ([_], _) => "1 snapshot was written".into(),
                (taken, _) => format!("{} snapshots were written", taken.len()),
            }];
        }
        let mut lines = vec![self.wrote()];
        if self.waited_for_triggers && is_empty {
            lines.push("No trigger came: there is nothing in it".into());
            return lines;
        }
        lines.push(self.lost());
        if !self.sources.absent.is_empty() {
            let absent = self.sources.absent.join(", ");
            lines.push(format!("Not recorded, since no producer offers it: {absent}"));
        }
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

    /// What of it is a failure: a snapshot that could not be written, and with `strict` everything
    /// that was lost on the way into the trace, or may have been.
    ///
    /// # Errors
    /// That.
    pub fn verdict(&self, strict: bool) -> Result<(), Failure> {
        if let Some(taken) = &self.snapshots {
            if taken.failed != 0 {
                let failed = console::count(taken.failed as u64, "snapshot");
                return Err(Failure::new(format_args!("{failed} failed")));
            }
            // What the session itself has lost by now the snapshots may have.
            return taken.outcomes.iter().try_for_each(|outcome| outcome.verdict(strict));
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
        let mut lost =
            self.stats.as_ref().map(|stats| losses(stats, self.buffer_setting)).unwrap_or_default();
        if self.stats.as_ref().is_some_and(|stats| self.own_flush_lost(stats)) {
            lost.push(UNANSWERED.into());
        }
        lost.extend(self.sources.stopped.iter().map(StoppedSource::to_string));
        if let Some(gaps @ 1..) = self.gaps {
            lost.push(format!("packets that follow a gap in their sequence: {gaps}"));
        }
        lost
    }

    /// Has our flush lost something that the service says nothing of? Not if its own was the last after
    /// all, nor if it knows of none: then it is too old to have been asked.
    fn own_flush_lost(&self, stats: &TraceStats) -> bool {
        let of_service = stats.final_flush_outcome.unwrap_or_default();
        self.flush_failed
            && of_service == TraceStatsFinalFlushOutcome::FINAL_FLUSH_UNSPECIFIED
            && stats.flushes_requested.is_some_and(|count| count != 0)
    }

    fn lost(&self) -> String {
        let lost = self.losses();
        if !lost.is_empty() {
            format!("Lost: {}", lost.join("; "))
        } else if self.stats.is_some() {
            "Lost: 0".into()
        } else {
            "Lost: not known, the service did not tell".into()
        }
    }
}

fn count(packets: Option<u64>) -> String {
    packets.map(|packets| format!(", {}", console::count(packets, "packet"))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use protos::TraceStatsBufferStats;

    use super::*;

    fn outcome(stats: Option<TraceStats>) -> Outcome {
        Outcome {
            name: "a.pftrace".into(),
            is_file: true,
            by_service: false,
            written: Some(Written { bytes: 12, packets: Some(3) }),
            gaps: Some(0),
            stats,
            flush_failed: false,
            waited_for_triggers: false,
            sources: SourceReport::default(),
            buffer_setting: BUFFER_SETTING_OPTION,
            snapshots: None,
        }
    }

    #[test]
    fn nothing_lost() {
        let stats = TraceStats {
            buffer_stats: vec![TraceStatsBufferStats {
                chunks_written: Some(9),
                chunks_overwritten: Some(0),
                ..TraceStatsBufferStats::default()
            }],
            ..TraceStats::default()
        };
        assert_eq!(
            outcome(Some(stats)).lines(),
            [
                "Wrote 12 bytes into a.pftrace, 3 packets",
                "Lost: 0",
                "Open a.pftrace at https://ui.perfetto.dev",
            ]
        );
    }

    #[test]
    fn every_loss_is_named() {
        let buffer = |lost| TraceStatsBufferStats {
            trace_writer_packet_loss: Some(lost),
            ..TraceStatsBufferStats::default()
        };
        let stats = TraceStats {
            buffer_stats: vec![buffer(1), buffer(u64::MAX)],
            invalid_packets: Some(2),
            final_flush_outcome: Some(TraceStatsFinalFlushOutcome::FINAL_FLUSH_FAILED),
            ..TraceStats::default()
        };
        assert_eq!(
            losses(&stats, BUFFER_SETTING_OPTION),
            [
                "gaps where a producer's shared memory was full: 18446744073709551615",
                "packets that are not valid: 2",
                "the last data of a producer that did not answer in time",
            ]
        );
    }

    #[test]
    fn gaps_are_losses() {
        let outcome = Outcome { gaps: Some(5), ..outcome(Some(TraceStats::default())) };
        assert_eq!(outcome.lines()[1], "Lost: packets that follow a gap in their sequence: 5");
    }

    #[test]
    fn a_flush_of_ours_that_failed() {
        let lost = |failed, of_service, flushes| {
            let stats = TraceStats {
                final_flush_outcome: of_service,
                flushes_requested: flushes,
                ..TraceStats::default()
            };
            Outcome { flush_failed: failed, ..outcome(Some(stats)) }.losses()
        };
        let none: [&str; 0] = [];
        assert_eq!(lost(true, None, Some(1)), [UNANSWERED]);
        assert_eq!(lost(false, None, Some(1)), none);
        assert_eq!(lost(true, None, None), none, "a service without flushes");
        let (good, bad) = (
            TraceStatsFinalFlushOutcome::FINAL_FLUSH_SUCCEEDED,
            TraceStatsFinalFlushOutcome::FINAL_FLUSH_FAILED,
        );
        assert_eq!(lost(true, Some(good), Some(2)), none, "that of the service came after it");
        assert_eq!(lost(true, Some(bad), Some(2)), [UNANSWERED], "once");
    }

    #[test]
    fn what_is_not_known_is_not_claimed() {
        let outcome =
            Outcome { written: None, is_file: false, name: "stdout".into(), ..outcome(None) };
        assert_eq!(
            outcome.lines(),
            ["Trace written into stdout", "Lost: not known, the service did not tell",]
        );
    }
    #[test]
    fn what_strict_makes_a_failure() {
        let good = || outcome(Some(TraceStats::default()));
        let code =
            |outcome: &Outcome, strict| outcome.verdict(strict).map_err(|failure| failure.code);
        assert_eq!(code(&good(), true), Ok(()));
        assert_eq!(code(&outcome(None), false), Ok(()));
        assert_eq!(code(&outcome(None), true), Err(EXIT_LOST), "nobody knows");
        let gap = Outcome { gaps: Some(1), ..good() };
        assert_eq!((code(&gap, false), code(&gap, true)), (Ok(()), Err(EXIT_LOST)));
        let overwritten = TraceStats {
            buffer_stats: vec![TraceStatsBufferStats {
                chunks_overwritten: Some(1),
                ..TraceStatsBufferStats::default()
            }],
            ..TraceStats::default()
        };
        assert_eq!(code(&outcome(Some(overwritten.clone())), true), Err(EXIT_LOST));
        // Of a session that triggers copied, the copies count.
        let taken = |outcomes, failed| Outcome {
            snapshots: Some(SnapshotResults { outcomes, failed }),
            ..outcome(Some(overwritten.clone()))
        };
        assert_eq!(code(&taken(vec![good()], 0), true), Ok(()));
        assert_eq!(code(&taken(vec![good(), gap], 0), true), Err(EXIT_LOST));
        assert_eq!(code(&taken(vec![], 1), false), Err(1));
    }

    #[test]
    fn sources_that_did_not_record() {
        let absent = SourceReport { absent: vec!["a".into(), "b".into()], stopped: Vec::new() };
        let outcome = |sources| Outcome { sources, ..outcome(Some(TraceStats::default())) };
        let lines = outcome(absent.clone()).lines();
        assert_eq!(lines[1..3], ["Lost: 0", "Not recorded, since no producer offers it: a, b"]);
        assert_eq!(outcome(absent.clone()).verdict(false), Ok(()));
        assert_eq!(outcome(absent).verdict(true).unwrap_err().code, EXIT_LOST);
        let after = Duration::from_millis(1940);
        let stopped = vec![StoppedSource { name: "linux.sys_stats".into(), after }];
        let stopped = SourceReport { absent: Vec::new(), stopped };
        let lines = outcome(stopped.clone()).lines();
        assert_eq!(lines[1], "Lost: linux.sys_stats stopped at 1.9 s: its producer went away");
        assert_eq!(outcome(stopped).verdict(true).unwrap_err().code, EXIT_LOST);
    }

    #[test]
    fn without_a_trigger() {
        let empty = || Outcome {
            written: Some(Written { bytes: 0, packets: Some(0) }),
            waited_for_triggers: true,
            ..outcome(Some(TraceStats::default()))
        };
        assert_eq!(
            empty().lines(),
            ["Wrote 0 bytes into a.pftrace, 0 packets", "No trigger came: there is nothing in it"]
        );
        let taken = |taken| Outcome { snapshots: Some(taken), ..empty() };
        assert_eq!(
            taken(SnapshotResults::default()).lines(),
            ["No trigger came: no snapshot was written"]
        );
        let some = SnapshotResults { outcomes: vec![outcome(None)], failed: 1 };
        assert_eq!(taken(some).lines(), ["1 snapshot was written"]);
        let lines = outcome(None).lines_of_snapshot("t");
        assert_eq!(lines[0], "Trigger \"t\": Wrote 12 bytes into a.pftrace, 3 packets");
    }
}

//! What became of a trace: how much, what is missing, how to look at it.

use protos::{TraceStats, TraceStatsFinalFlushOutcome};

use crate::output::Written;

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
}

/// Data the trace does not have although somebody wrote it, by reason; in the words of people. The
/// counters of the whole service are left out: what they count may be another session's, long ago.
#[must_use]
pub fn losses(stats: &TraceStats) -> Vec<String> {
    let sum = |count: fn(&protos::TraceStatsBufferStats) -> Option<u64>| {
        stats.buffer_stats.iter().filter_map(count).fold(0, u64::saturating_add)
    };
    let counts = [
        (
            sum(|buffer| buffer.chunks_overwritten),
            "chunks overwritten by newer ones, which a larger buffer (-b) keeps",
        ),
        (
            sum(|buffer| buffer.chunks_discarded),
            "chunks that found the buffer full, which a larger one (-b) takes",
        ),
        (
            sum(|buffer| buffer.trace_writer_packet_loss),
            "gaps where a producer's shared memory was full",
        ),
        (sum(|buffer| buffer.patches_failed), "patches that came too late"),
        (sum(|buffer| buffer.abi_violations), "chunks that broke the protocol"),
        (stats.invalid_packets.unwrap_or(0), "packets that are not valid"),
    ];
    let mut lines: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count != 0)
        .map(|(count, what)| format!("{what}: {count}"))
        .collect();
    if stats.final_flush_outcome == Some(TraceStatsFinalFlushOutcome::FINAL_FLUSH_FAILED) {
        lines.push("the last data of a producer that did not answer in time".into());
    }
    lines
}

impl Outcome {
    /// The lines to print.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![match (self.by_service, self.written) {
            (false, Some(Written { bytes, packets })) => {
                format!("Wrote {bytes} bytes into {}{}", self.name, count(packets))
            }
            (true, Some(Written { bytes, packets })) => format!(
                "Trace written into the output file: {bytes} bytes into {}{}",
                self.name,
                count(packets)
            ),
            (_, None) => format!("Trace written into {}", self.name),
        }];
        let mut lost = self.stats.as_ref().map(losses).unwrap_or_default();
        match self.gaps {
            Some(gaps) if gaps > 0 => {
                lost.push(format!("packets that follow a gap in their sequence: {gaps}"))
            }
            _ => {}
        }
        lines.push(if !lost.is_empty() {
            format!("Lost: {}", lost.join("; "))
        } else if self.stats.is_some() {
            "Lost: 0".into()
        } else {
            "Lost: not known, the service did not tell".into()
        });
        if self.is_file {
            lines.push(format!("Open {} at https://ui.perfetto.dev", self.name));
        }
        lines
    }
}

fn count(packets: Option<u64>) -> String {
    packets.map(|packets| format!(", {packets} packets")).unwrap_or_default()
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
            losses(&stats),
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
    fn what_is_not_known_is_not_claimed() {
        let outcome =
            Outcome { written: None, is_file: false, name: "stdout".into(), ..outcome(None) };
        assert_eq!(
            outcome.lines(),
            ["Trace written into stdout", "Lost: not known, the service did not tell",]
        );
    }
}

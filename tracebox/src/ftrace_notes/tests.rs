use protos::{FtraceCpuStats, FtraceStats, FtraceStatsPhase};
use protozero::Message;

use super::*;

fn notes(errors: &str, unknown: &[&str], failed: &[&str]) -> FtraceNotes {
    let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let stats = FtraceStats {
        atrace_errors: Some(errors.to_owned()),
        unknown_ftrace_events: strings(unknown),
        failed_ftrace_events: strings(failed),
        ..FtraceStats::default()
    };
    let mut notes = FtraceNotes::default();
    // They come at each flush.
    notes.add(1, &stats.encode_to_vec());
    notes.add(1, &stats.encode_to_vec());
    notes
}

#[test]
fn what_is_missing() {
    let refused = notes("linux.ftrace records nothing: no rights", &[], &[]);
    assert_eq!(refused.refused.as_deref(), Some("no rights"));
    assert!(refused.lines().is_empty());
    let remarks = notes("no symbols\ndrain_period_ms 0 is not used: 1 to 60000 are\n", &[], &[]);
    assert_eq!(
        remarks.lines(),
        ["linux.ftrace: drain_period_ms 0 is not used: 1 to 60000 are", "linux.ftrace: no symbols"]
    );
    assert_eq!(
        notes("", &["mmc", "a/b"], &["c/d"]).lines(),
        [
            "Not recorded, because this kernel does not have it: a/b, mmc",
            "Not recorded, because the kernel does not let it be recorded: c/d",
        ]
    );
}

#[test]
fn many_names_and_bytes_that_are_no_message() {
    let names: Vec<String> = (0..200).map(|number| format!("{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let many = notes("", &names, &[]);
    assert_eq!(many.unknown.len(), NAMES_MAX);
    assert!(
        many.lines()[0].ends_with(": 000, 001, 002, 003, 004, 005, 006, 007 and 92 more"),
        "{many:?}"
    );
    let mut notes = FtraceNotes::default();
    notes.add(1, b"\x2a\xff\xff");
    assert_eq!(notes, FtraceNotes::default());
}

/// `FtraceStats` with the counters of rings: processor, overrun, commit overrun, dropped events.
fn counters(phase: FtraceStatsPhase, rings: &[[u64; 4]]) -> Vec<u8> {
    let ring = |[cpu, overrun, commit_overrun, dropped_events]: &[u64; 4]| FtraceCpuStats {
        cpu: Some(*cpu),
        overrun: Some(*overrun),
        commit_overrun: Some(*commit_overrun),
        dropped_events: Some(*dropped_events),
        entries: Some(1000),
        ..FtraceCpuStats::default()
    };
    let cpu_stats = rings.iter().map(ring).collect();
    FtraceStats { phase: Some(phase), cpu_stats, ..FtraceStats::default() }.encode_to_vec()
}

#[test]
fn what_the_rings_lost() {
    let (start, end) = (FtraceStatsPhase::START_OF_TRACE, FtraceStatsPhase::END_OF_TRACE);
    let mut notes = FtraceNotes::default();
    notes.add(1, &counters(start, &[[0, 100, 0, 0], [1, 0, 0, 0]]));
    assert_eq!(notes.lost_events(), 0);
    notes.add(1, &counters(end, &[[0, 110, 0, 0], [1, 0, 0, 0]]));
    assert_eq!(notes.lost_events(), 10);
    // What counts is the last value.
    notes.add(1, &counters(end, &[[0, 120, 3, 0], [1, 0, 0, 5]]));
    assert_eq!(notes.lost_events(), 28);
    // Another data source, a ring that was emptied, and one whose start is not in the trace.
    notes.add(2, &counters(start, &[[0, 120, 0, 0]]));
    notes.add(2, &counters(end, &[[0, 121, 0, 0], [7, 1000, 0, 0]]));
    notes.add(3, &counters(start, &[[0, 50, 0, 0]]));
    notes.add(3, &counters(end, &[[0, 10, 0, 0]]));
    notes.add(4, &counters(end, &[[0, 500, 0, 0]]));
    assert_eq!(notes.lost_events(), 29);
    assert!(notes.lines().is_empty());
}

#[test]
fn counters_of_many_rings_are_bounded() {
    let mut notes = FtraceNotes::default();
    let rings: Vec<_> = (0..2 * RINGS_MAX as u64).map(|cpu| [cpu, 0, 0, 0]).collect();
    notes.add(1, &counters(FtraceStatsPhase::START_OF_TRACE, &rings));
    notes.add(2, &counters(FtraceStatsPhase::START_OF_TRACE, &rings));
    assert_eq!(notes.rings.len(), RINGS_MAX);
}

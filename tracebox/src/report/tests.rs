use protos::{
    FtraceCpuStats, FtraceStats, FtraceStatsPhase, LossLedger, LossLedgerEntry, LossLedgerReason,
    TracePacket, TracePacketData, TraceStatsBufferStats,
};
use protozero::Message as _;

use crate::loss_scanner::LossScanner;

use super::*;

fn outcome(stats: Option<TraceStats>) -> Outcome {
    Outcome {
        name: "a.pftrace".into(),
        is_file: true,
        by_service: false,
        written: Some(Written { bytes: 12, packets: Some(3) }),
        gaps: Ok(GapCounts::default()),
        stats,
        flush_failed: false,
        waited_for_triggers: false,
        sources: SourceReport::default(),
        no_events: None,
        ftrace: FtraceNotes::default(),
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
fn no_track_events() {
    let outcome =
        Outcome { no_events: Some(NoEvents::NotRecorded), ..outcome(Some(TraceStats::default())) };
    let lines = outcome.lines();
    assert!(lines[2].starts_with("No track events: programs connected, but"), "{lines:?}");
    assert_eq!(lines.len(), 4);
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
    let outcome = |found, undecided| Outcome {
        gaps: Ok(GapCounts { found, undecided }),
        ..outcome(Some(TraceStats::default()))
    };
    assert_eq!(outcome(5, 0).lines()[1], "Lost: packets that follow a gap in their sequence: 5");
    let lines = outcome(0, 2).lines();
    assert!(lines[1].ends_with("not known of sequences behind the first 1048576: 2"), "{lines:?}");
    assert_eq!(outcome(0, 2).verdict(true).unwrap_err().code, EXIT_LOST);
    assert_eq!(outcome(0, 0).verdict(true), Ok(()));
}

/// What was not looked at is not claimed.
#[test]
fn a_trace_that_was_not_searched() {
    let outcome = |why: NotSearched, stats| Outcome { gaps: Err(why), ..outcome(stats) };
    let stats = || Some(TraceStats::default());
    let into_pipe = || NotSearched::impossible("it went into a pipe");
    let told = "(as the service counted; the trace was not searched for gaps, because it went into a pipe)";
    assert_eq!(outcome(into_pipe(), stats()).lines()[1], format!("Lost: 0 {told}"));
    assert_eq!(outcome(into_pipe(), stats()).verdict(true), Ok(()), "nobody could search it");
    let lost = TraceStats { invalid_packets: Some(2), ..TraceStats::default() };
    let lines = outcome(into_pipe(), Some(lost)).lines();
    assert_eq!(lines[1], format!("Lost: packets that are not valid: 2 {told}"));
    assert_eq!(outcome(into_pipe(), None).lines()[1], "Lost: not known, the service did not tell");

    let broken = outcome(NotSearched::failed("it cannot be read: no"), stats());
    assert!(broken.lines()[1].starts_with("Lost: 0 (as the service counted; "), "{broken:?}");
    assert_eq!(broken.verdict(false), Ok(()));
    let failure = broken.verdict(true).unwrap_err();
    assert_eq!(failure.code, EXIT_LOST);
    assert!(failure.text.contains("because it cannot be read: no, and --strict"), "{failure}");
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
    let outcome = Outcome { written: None, is_file: false, name: "stdout".into(), ..outcome(None) };
    assert_eq!(
        outcome.lines(),
        ["Trace written into stdout", "Lost: not known, the service did not tell",]
    );
}
#[test]
fn what_strict_makes_a_failure() {
    let good = || outcome(Some(TraceStats::default()));
    let code = |outcome: &Outcome, strict| outcome.verdict(strict).map_err(|failure| failure.code);
    assert_eq!(code(&good(), true), Ok(()));
    assert_eq!(code(&outcome(None), false), Ok(()));
    assert_eq!(code(&outcome(None), true), Err(EXIT_LOST), "nobody knows");
    let gap = Outcome { gaps: Ok(GapCounts { found: 1, undecided: 0 }), ..good() };
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
        written: Some(Written { bytes: 0, packets: Some(0) }),
        ..outcome(Some(overwritten.clone()))
    };
    assert_eq!(code(&taken(vec![good()], 0), true), Ok(()));
    // What has no copy is in the ledger.
    let entry = LossLedgerEntry {
        reason: Some(LossLedgerReason::REASON_SNAPSHOT_NOT_TAKEN),
        producer_name: Some("game".into()),
        count: Some(2),
        ..LossLedgerEntry::default()
    };
    let ledger = LossLedger { entries: vec![entry], ..LossLedger::default() };
    let stats = TraceStats { loss_ledger: Some(ledger), ..overwritten.clone() };
    let missed = Outcome { stats: Some(stats), ..taken(vec![good()], 0) };
    assert_eq!(code(&missed, true), Err(EXIT_LOST));
    let line = "2 snapshots that triggers of game asked for: too many waited, or nobody took them";
    assert_eq!(missed.losses(), [line]);
    let missed = Outcome { snapshots: taken(vec![], 0).snapshots, ..missed };
    assert_eq!(missed.lines(), ["No snapshot was written".to_owned(), format!("Lost: {line}")]);
    assert_eq!(code(&taken(vec![good(), gap], 0), true), Err(EXIT_LOST));
    assert_eq!(code(&taken(vec![], 1), false), Err(1));
    // A service that is too old for copies stopped at the trigger: this is the trace.
    let trace =
        |bytes| Outcome { written: Some(Written { bytes, packets: None }), ..taken(vec![], 0) };
    assert_eq!((code(&trace(1), true), code(&trace(1), false)), (Err(EXIT_LOST), Ok(())));
    assert_eq!(code(&trace(0), true), Ok(()));
}

#[test]
fn sources_that_did_not_record() {
    let absent = SourceReport { absent: vec!["a".into(), "b".into()], ..SourceReport::default() };
    let outcome = |sources| Outcome { sources, ..outcome(Some(TraceStats::default())) };
    let lines = outcome(absent.clone()).lines();
    assert_eq!(lines[1..3], ["Lost: 0", "Not recorded, because no producer offers it: a, b"]);
    assert_eq!(outcome(absent.clone()).verdict(false), Ok(()));
    assert_eq!(outcome(absent).verdict(true).unwrap_err().code, EXIT_LOST);
    let after = Duration::from_millis(1940);
    let stopped = vec![StoppedSource { name: "linux.sys_stats".into(), after }];
    let stopped = SourceReport { stopped, ..SourceReport::default() };
    let lines = outcome(stopped.clone()).lines();
    let told = "Lost: linux.sys_stats stopped at 1.9 s: its producer went away";
    assert_eq!(lines[1], told);
    assert_eq!(outcome(stopped.clone()).verdict(true).unwrap_err().code, EXIT_LOST);
    for (more, end) in [(1, "; 1 more data source stopped"), (7, "; 7 more data sources stopped")] {
        let lines = outcome(SourceReport { stopped_left_out: more, ..stopped.clone() }).lines();
        assert_eq!(lines[1], format!("{told}{end}"));
    }
}

/// As without snapshots: they lack what the session did not record.
#[test]
fn sources_that_did_not_record_in_a_session_with_snapshots() {
    let snapshot = || outcome(Some(TraceStats::default()));
    let check_with = |stats, sources, taken: Vec<Outcome>, lines: &[&str]| {
        let outcome = Outcome {
            sources,
            written: Some(Written { bytes: 0, packets: Some(0) }),
            snapshots: Some(SnapshotResults { outcomes: taken, failed: 0 }),
            ..outcome(stats)
        };
        assert_eq!(outcome.lines(), lines);
        assert_eq!(outcome.verdict(false), Ok(()));
        outcome.verdict(true).map_err(|failure| failure.code)
    };
    let check = |sources, taken, lines: &[&str]| {
        check_with(Some(TraceStats::default()), sources, taken, lines)
    };
    let absent = SourceReport { absent: vec!["a".into()], ..SourceReport::default() };
    let told = "Not recorded, because no producer offers it: a";
    let written = "1 snapshot was written";
    let none = "No trigger came: no snapshot was written";
    assert_eq!(check(absent.clone(), vec![snapshot()], &[written, told]), Err(EXIT_LOST));
    assert_eq!(check(absent, vec![], &[none, told]), Err(EXIT_LOST));
    let stopped = StoppedSource { name: "linux.x".into(), after: Duration::from_secs(2) };
    let stopped = SourceReport { stopped: vec![stopped], ..SourceReport::default() };
    let told = "Lost: linux.x stopped at 2.0 s: its producer went away";
    assert_eq!(check(stopped, vec![snapshot()], &[written, told]), Err(EXIT_LOST));
    assert_eq!(check(SourceReport::default(), vec![snapshot()], &[written]), Ok(()));
    // Only the service knows whether a snapshot was not taken.
    let untold = |taken, lines: &[&str]| check_with(None, SourceReport::default(), taken, lines);
    assert_eq!(untold(vec![], &[none]), Err(EXIT_LOST));
    assert_eq!(untold(vec![snapshot()], &[written]), Err(EXIT_LOST));
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

/// The service has all that the probes wrote, and the kernel lost events before that.
#[test]
fn events_that_the_kernel_lost() {
    let stats = |phase, overrun| {
        let ring = FtraceCpuStats { overrun: Some(overrun), ..FtraceCpuStats::default() };
        let stats =
            FtraceStats { phase: Some(phase), cpu_stats: vec![ring], ..FtraceStats::default() };
        let data = Some(TracePacketData::FtraceStats(stats));
        TracePacket { data, ..TracePacket::default() }.encode_to_vec()
    };
    let mut scanner = LossScanner::default();
    scanner.scan_packet(&stats(FtraceStatsPhase::START_OF_TRACE, 1));
    scanner.scan_packet(&stats(FtraceStatsPhase::END_OF_TRACE, 8));
    let lost = Outcome { ftrace: scanner.ftrace, ..outcome(Some(TraceStats::default())) };
    assert_eq!(
        lost.lines()[1],
        "Lost: events of the kernel that its rings had no space for: 7 (raise buffer_size_kb of \
         linux.ftrace, lower drain_period_ms, or record fewer events)"
    );
    assert_eq!(lost.verdict(true).unwrap_err().code, EXIT_LOST);
}

/// The reasons of the probes stand in place of those that the service guesses, for as many as there are.
#[test]
fn data_sources_that_the_probes_of_the_kernel_refused() {
    let entry = |name: &str, count: u64| LossLedgerEntry {
        reason: Some(LossLedgerReason::REASON_INSTANCE_REFUSED),
        data_source_name: Some(name.to_owned()),
        count: Some(count),
        ..LossLedgerEntry::default()
    };
    let stats = |count| TraceStats {
        loss_ledger: Some(LossLedger {
            entries: vec![entry("linux.ftrace", count), entry("other", 1)],
            ..LossLedger::default()
        }),
        ..TraceStats::default()
    };
    let twice = TraceStats {
        loss_ledger: Some(LossLedger {
            entries: vec![entry("linux.ftrace", 2), entry("linux.ftrace", 1)],
            ..LossLedger::default()
        }),
        ..TraceStats::default()
    };
    let mut ftrace = FtraceNotes::default();
    for (sequence, why) in [(1, "no rights"), (2, "no name")] {
        let errors = Some(format!("linux.ftrace records nothing: {why}"));
        let stats = FtraceStats { atrace_errors: errors, ..FtraceStats::default() };
        ftrace.add(sequence, &stats.encode_to_vec());
    }
    let refused = |count| Outcome { ftrace: ftrace.clone(), ..outcome(Some(stats(count))) };
    let lines = refused(2).lines();
    let told = "; linux.ftrace recorded nothing: no name; linux.ftrace recorded nothing: no rights";
    assert!(lines[1].ends_with(told), "{lines:?}");
    assert!(lines[1].starts_with("Lost: other of a program: "), "{lines:?}");
    assert_eq!(refused(2).verdict(true).unwrap_err().code, EXIT_LOST);
    // One of another program, which left no reason.
    let lines = Outcome { ftrace: ftrace.clone(), ..outcome(Some(twice)) }.lines();
    assert!(lines[1].starts_with("Lost: linux.ftrace of a program: "), "{lines:?}");
    // Two more, which left no reason. The name is that of the first of all.
    let lines = refused(4).lines();
    assert!(lines[1].starts_with("Lost: data sources of a program and 1 more: "), "{lines:?}");
    assert!(lines[1].ends_with(told), "{lines:?}");
    let lines = outcome(Some(stats(4))).lines();
    assert!(lines[1].starts_with("Lost: linux.ftrace of a program and 3 more: "), "{lines:?}");
}

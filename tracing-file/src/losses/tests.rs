use protos::{LossLedger, LossLedgerReason as Reason, LossLedgerUnit as Unit};

use super::*;

fn with_ledger(entries: Vec<LossLedgerEntry>) -> TraceStats {
    let ledger = LossLedger { entries, ..LossLedger::default() };
    TraceStats { loss_ledger: Some(ledger), ..TraceStats::default() }
}

#[test]
fn counters_of_all_buffers() {
    let buffer = TraceStatsBufferStats {
        chunks_overwritten: Some(2),
        chunks_discarded: Some(3),
        trace_writer_packet_loss: Some(4),
        patches_failed: Some(5),
        abi_violations: Some(u64::MAX),
        ..Default::default()
    };
    let stats = TraceStats {
        buffer_stats: vec![buffer.clone(), buffer],
        filter_stats: Some(TraceStatsFilterStats { errors: Some(11), ..Default::default() }),
        final_flush_outcome: Some(Outcome::FINAL_FLUSH_FAILED),
        ..Default::default()
    };
    let losses = Losses::of(&stats);
    assert_eq!(
        losses.lines("size_kb"),
        [
            "chunks overwritten by newer ones, which a larger buffer keeps (size_kb): 4",
            "chunks that found the buffer full, which a larger one takes (size_kb): 6",
            "gaps where a producer's shared memory was full: 8",
            "patches that came too late: 10",
            "chunks that broke the protocol: 18446744073709551615",
            "packets that the filter of the config could not take and left empty: 11",
            UNANSWERED,
        ]
    );
    assert!(!losses.is_empty() && Losses::of(&TraceStats::default()).is_empty());
}

/// A packet that is not valid is told once: by the ledger, which knows its producer, if there is one.
#[test]
fn invalid_packets_are_told_once() {
    let entry = |count| LossLedgerEntry {
        reason: Some(Reason::REASON_PACKETS_INVALID),
        producer_name: Some("game".into()),
        count: Some(count),
        ..Default::default()
    };
    let lines = |entries| {
        let stats = TraceStats { invalid_packets: Some(3), ..with_ledger(entries) };
        Losses::of(&stats).lines("")
    };
    assert_eq!(lines(vec![]), ["packets that are not valid: 3"]);
    assert_eq!(
        lines(vec![entry(3)]),
        ["3 packets of game that are not valid, or too long for the service or its user"]
    );
    let both = [
        "packets that are not valid: 2",
        "1 packet of game that are not valid, or too long for the service or its user",
    ];
    assert_eq!(lines(vec![entry(1)]), both);
}

#[test]
fn a_ledger_has_a_bound_and_may_be_broken() {
    let entries = vec![LossLedgerEntry::default(); LEDGER_ENTRIES_MAX + 2];
    let losses = Losses::of(&with_ledger(entries));
    assert_eq!((losses.ledger.len(), losses.entries_left_out), (LEDGER_ENTRIES_MAX, 2));
    assert_eq!(losses.lines("").last().unwrap(), "more entries of the ledger: 2");
    assert!(Losses::read(b"\x0a\x7f").is_empty());
}

#[test]
fn json_has_the_names_of_the_schema() {
    let known = LossLedgerEntry {
        reason: Some(Reason::REASON_OTHERS),
        count: Some(7),
        unit: Some(Unit::UNIT_LOSSES),
        ..Default::default()
    };
    let newer =
        LossLedgerEntry { reason: Some(Reason(99)), unit: Some(Unit(98)), ..Default::default() };
    let mut json = Json::default();
    json.object(|json| Losses::of(&with_ledger(vec![known, newer])).json(json));
    let text = json.finish();
    for shown in [
        "\"trace_writer_packet_loss\": 0",
        "\"reason\": \"REASON_OTHERS\"",
        "\"count\": 7",
        "\"unit\": \"UNIT_LOSSES\"",
        "\"reason\": 99",
        "\"unit\": 98",
    ] {
        assert!(text.contains(shown), "{shown}: {text}");
    }
}

#[test]
fn each_reason_has_words() {
    for (name, number) in <Reason as protozero::Enumeration>::VALUES {
        let entry = LossLedgerEntry { reason: Some(Reason(*number)), ..Default::default() };
        let is_unknown = entry_line(&entry).contains("for reason");
        assert_eq!(is_unknown, *number == 0, "{name} has no words in entry.rs");
    }
}

#[test]
fn losses_of_the_ledger() {
    let line = |reason, count, at_least, source: Option<&str>| {
        let entry = LossLedgerEntry {
            reason: Some(reason),
            producer_name: Some("game".into()),
            pid: Some(7),
            uid: Some(1000),
            data_source_name: source.map(Into::into),
            count: Some(count),
            at_least: Some(at_least),
            ..LossLedgerEntry::default()
        };
        let mut lines = Losses::of(&with_ledger(vec![entry])).lines("-b");
        assert_eq!(lines.len(), 1);
        lines.remove(0)
    };
    let left = Reason::REASON_LEFT_UNFINISHED;
    assert_eq!(
        [line(left, 1, false, None), line(left, 2, true, None), line(left, 0, true, None)],
        [
            "1 packet that game (pid 7) had not handed over when it was gone",
            "at least 2 packets that game (pid 7) had not handed over when it was gone",
            "perhaps packets that game (pid 7) had not handed over when it was gone",
        ]
    );
    assert_eq!(
        line(Reason::REASON_CUT_PROTOCOL, 1, true, None),
        "what game (pid 7) wrote after the service had disconnected it, because it broke the protocol"
    );
    let absent = ", because the session has as many data sources as it may have";
    for (count, source, expected) in [
        (1, Some("ds"), "ds of game (pid 7): not recorded"),
        (3, Some("ds"), "ds of game (pid 7) and 2 more: not recorded"),
    ] {
        let line = line(Reason::REASON_SESSION_FULL, count, false, source);
        assert_eq!(line, format!("{expected}{absent}"));
    }
    assert_eq!(
        line(Reason::REASON_USER_FULL, 0, true, None),
        "perhaps data sources of game (pid 7): not recorded, because programs of its user, or of all users, have as \
         many as they may have"
    );
    assert_eq!(
        line(Reason::REASON_INSTANCE_REFUSED, 2, false, Some("ds")),
        "ds of game (pid 7) and 1 more: not recorded, because its program refused: it cannot record this, did not \
         start in time, or records as often as it may"
    );
    assert_eq!(
        line(Reason::REASON_CHUNKS_REFUSED, 3, false, None),
        "3 chunks of game (pid 7) for a buffer that is not its own, or in memory that its user may not have"
    );
    let patches = line(Reason::REASON_PATCHES_REFUSED, 2, false, None);
    assert!(
        patches.starts_with("2 patches of game (pid 7), which broke the protocol"),
        "{patches}"
    );
    let patches = line(Reason::REASON_PATCHES_REFUSED, 0, true, None);
    assert!(patches.starts_with("perhaps patches of game"), "{patches}");
    assert_eq!(
        line(Reason::REASON_LOCKED_OUT, 1, false, None),
        "data sources of game (pid 7): not recorded, because a session lets programs of the service's user record \
         only (lockdown_mode)"
    );
    assert_eq!(
        line(Reason::REASON_DROPPED, 2, false, None),
        "2 packets that game (pid 7) dropped because its shared memory was full"
    );
    assert_eq!(
        line(Reason::REASON_TRIGGERS_DROPPED, 1, false, None),
        "1 trigger of game (pid 7): the session had as many as it keeps until it is read"
    );
    assert_eq!(
        line(Reason::REASON_DROPPED_AT_END, 0, true, None),
        "perhaps packets that game (pid 7) dropped just before the session ended"
    );
    assert_eq!(
        line(Reason::REASON_SNAPSHOT_NOT_TAKEN, 2, false, None),
        "2 snapshots that triggers of game (pid 7) asked for: too many waited, or nobody took them"
    );
    assert_eq!(
        line(Reason::REASON_STOPPED_LATE, 0, true, Some("ds")),
        "perhaps packets of ds of game (pid 7), which had not stopped in time (data_source_stop_timeout_ms)"
    );
    assert_eq!(
        line(Reason::REASON_CLONE_FAILED, 0, true, None),
        "perhaps packets of buffers that went to a clone that failed or was not read (transfer_on_clone)"
    );
    assert_eq!(
        line(Reason::REASON_TRIGGER_NOT_MATCHED, 1, false, None),
        "1 trigger of game (pid 7) had no effect, perhaps wrongly: matching its name took too long"
    );
    assert_eq!(
        line(Reason::REASON_EVENTS_DROPPED, 1, false, None),
        "1 event of the service (clocks, other sessions): the session had as many as it keeps until it is read"
    );
    let full = line(Reason::REASON_FILE_FULL, 0, true, None);
    assert_eq!(full, "what came after the file was as long as it may be (max_file_size_bytes)");
    assert_eq!(line(Reason::REASON_OTHERS, 4, false, None), "4 losses of other programs");
    assert_eq!(line(Reason::REASON_OTHERS, 0, true, None), "perhaps losses of other programs");
    assert_eq!(line(Reason(99), 4, false, None), "game (pid 7), for reason 99: 4");
}

//! What writers of a producer dropped, as it tells.

use protos::CommitDataRequestDroppedPackets;

use super::*;

/// The producer tells of drops: (buffer, packets).
fn tell(w: &mut World, drops: &[(u32, u64)]) {
    let of = |&(buffer, packets): &(u32, u64)| CommitDataRequestDroppedPackets {
        target_buffer: Some(buffer),
        packets: Some(packets),
        ..Default::default()
    };
    let dropped_packets = drops.iter().map(of).collect();
    let request = CommitDataRequest { dropped_packets, ..Default::default() };
    w.producer.call(&mut w.shell, Request::CommitData(request));
}

fn dropped(w: &mut World) -> Vec<(Option<Reason>, Option<Unit>, Option<u64>)> {
    let entries = ledger(&mut w.shell, &w.consumer);
    entries.into_iter().map(|entry| (entry.reason, entry.unit, entry.count)).collect()
}

const fn packets(count: u64) -> (Option<Reason>, Option<Unit>, Option<u64>) {
    (Some(Reason::REASON_DROPPED), Some(Unit::UNIT_PACKETS), Some(count))
}

#[test]
fn what_writers_dropped_is_in_the_ledger() {
    let mut w = world(true, V1);
    tell(&mut w, &[(1, 3), (1, 4)]);
    tell(&mut w, &[(1, 5)]);
    assert_eq!(dropped(&mut w), [packets(12)]);
    tell(&mut w, &[(1, u64::MAX), (1, 1)]);
    assert_eq!(dropped(&mut w), [packets(u64::MAX)]);
}

fn is_lower_bound(entries: &[LossLedgerEntry]) -> Vec<(u64, bool)> {
    let dropped = entries.iter().filter(|e| e.reason == Some(Reason::REASON_DROPPED));
    dropped.map(|e| (e.count.unwrap(), e.at_least == Some(true))).collect()
}

/// The writer has memory again: a chunk comes behind the mark.
fn write_behind_mark(w: &mut World) {
    w.chunks = 5;
    w.commit(&["a"], NONE);
}

fn flush(w: &mut World) {
    let call = w.consumer.flush(&mut w.shell, 0);
    w.producer.ack_flush(&mut w.shell, 1);
    assert_eq!(w.consumer.flushed(&mut w.shell, call), Some(true));
}

/// A producer tells marks at once, and counts at flushes: one that is killed may have dropped more.
#[test]
fn a_producer_that_is_killed_may_have_dropped_more() {
    for (marks, has_writer, goes_on, is_flushed, told) in [
        (0, true, false, false, (3, false)),
        (1, true, false, false, (3, true)),
        // Each writer tells at its end.
        (1, false, false, false, (3, false)),
        // The flush came behind the gap.
        (1, true, true, true, (3, false)),
        // It told a part of the gap.
        (1, true, false, true, (3, true)),
    ] {
        let mut w = world(true, V1);
        let smb = w.producer.smb.clone().unwrap();
        (0..marks).for_each(|_| smb.note_loss());
        (0..marks).for_each(|at| w.commit_mark(at));
        drop(smb);
        tell(&mut w, &[(1, 3)]);
        if goes_on {
            write_behind_mark(&mut w);
        }
        if is_flushed {
            flush(&mut w);
        }
        if !has_writer {
            let request = protos::UnregisterTraceWriterRequest {
                trace_writer_id: Some(WRITER.get().into()),
                ..Default::default()
            };
            w.producer.call(&mut w.shell, Request::UnregisterTraceWriter(request));
        }
        let mut later = MockConsumer::connect(&mut w.shell, 0);
        later.enable(&mut w.shell, config(&["ds"]), None);
        w.producer.disconnect(&mut w.shell);
        let is_flushed = if is_flushed { "flushed" } else { "not flushed" };
        let entries = ledger(&mut w.shell, &w.consumer);
        assert_eq!(is_lower_bound(&entries), [told], "{marks} marks, {is_flushed}");
        // It dropped nothing since a later session began.
        assert_eq!(is_lower_bound(&ledger(&mut w.shell, &later)), []);
    }
}

/// The same at the end of a session, unless the producer acknowledged a flush since, behind the gap.
#[test]
fn a_session_that_ends_without_a_flush_may_have_lost_more() {
    for (is_flushed, goes_on, told) in
        [(false, true, (3, true)), (true, true, (3, false)), (true, false, (3, true))]
    {
        let mut w = world(true, V1);
        let smb = w.producer.smb.clone().unwrap();
        tell(&mut w, &[(1, 3)]);
        smb.note_loss();
        w.commit_mark(0);
        if goes_on {
            write_behind_mark(&mut w);
        }
        if is_flushed {
            flush(&mut w);
        }
        w.consumer.disable(&mut w.shell);
        assert_eq!(is_lower_bound(&ledger(&mut w.shell, &w.consumer)), [told], "{is_flushed}");
    }
}

/// A writer that is not done with its chunk has memory again, too: the service looks at the chunk in a flush.
#[test]
fn a_chunk_that_is_not_committed_ends_a_gap() {
    let mut w = world(true, V1);
    let smb = w.producer.smb.clone().unwrap();
    tell(&mut w, &[(1, 3)]);
    smb.note_loss();
    w.commit_mark(0);
    w.chunks = 5;
    w.chunk(&["a", "b"], NONE, End::Reserved);
    flush(&mut w);
    // That the gap is over, the service learns when all have answered; that it was told, with the next flush.
    let call = w.consumer.flush(&mut w.shell, 0);
    w.producer.ack_flush(&mut w.shell, 2);
    assert_eq!(w.consumer.flushed(&mut w.shell, call), Some(true));
    w.consumer.disable(&mut w.shell);
    assert_eq!(is_lower_bound(&ledger(&mut w.shell, &w.consumer)), [(3, false)]);
}

/// What a writer to the buffer of one session drops says nothing about another session.
#[test]
fn a_gap_concerns_the_session_of_its_buffer() {
    for is_registered in [true, false] {
        let mut w = world(true, V1);
        let mut other = MockConsumer::connect(&mut w.shell, 0);
        other.enable(&mut w.shell, config(&["ds"]), None);
        if !is_registered {
            let request = protos::UnregisterTraceWriterRequest {
                trace_writer_id: Some(WRITER.get().into()),
                ..Default::default()
            };
            w.producer.call(&mut w.shell, Request::UnregisterTraceWriter(request));
        }
        let smb = w.producer.smb.clone().unwrap();
        smb.note_loss();
        w.commit_mark(0);
        tell(&mut w, &[(1, 3), (2, 4)]);
        w.consumer.disable(&mut w.shell);
        other.disable(&mut w.shell);
        assert_eq!(is_lower_bound(&ledger(&mut w.shell, &w.consumer)), [(3, true)]);
        // Whose gap it is, is not known of a writer that is not registered.
        assert_eq!(is_lower_bound(&ledger(&mut w.shell, &other)), [(4, !is_registered)]);
    }
}

/// A producer can tell only of sessions that it records into.
#[test]
fn drops_for_buffers_of_others_are_left_out() {
    let mut w = world(true, V1);
    let mut other = MockConsumer::connect(&mut w.shell, 0);
    other.enable(&mut w.shell, config(&["none"]), None);
    tell(&mut w, &[(2, 7), (0, 7), (99, 7), (0x1_0002, 7), (1, 0)]);
    assert_eq!(dropped(&mut w), []);
    assert_eq!(ledger(&mut w.shell, &other), []);
    // Writers may end after their session.
    w.consumer.disable(&mut w.shell);
    tell(&mut w, &[(1, 7)]);
    assert_eq!(dropped(&mut w), [packets(7)]);
}

/// Each costs the producer work, and what is too much for one turn comes in the next ones.
#[test]
fn many_drops_come_in_pieces() {
    let mut w = world(true, V1);
    w.shell.work_waits = true;
    tell(&mut w, &vec![(1, 1); 1_000]);
    let first = w.shell.service.work();
    w.shell.work_waits = false;
    while w.shell.service.has_work() {
        w.shell.turn();
    }
    assert!(w.shell.service.work() > 2 * first, "{first} of {}", w.shell.service.work());
    assert_eq!(dropped(&mut w), [packets(1_000)]);
}

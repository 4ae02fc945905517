use super::*;
use crate::packets::Packets;
use crate::testing::trace_bytes;

/// What a trace of these packets tells: events, marked bundles.
#[track_caller]
fn check(packets: &str, expected: (u64, u64)) -> KernelLosses {
    let lost = read(&trace_bytes(packets));
    assert_eq!((lost.events(), lost.marked_bundles()), expected, "{packets}");
    lost
}

fn read(trace: &[u8]) -> KernelLosses {
    let (mut packets, mut lost) = (Packets::new(trace), KernelLosses::default());
    while let Some(packet) = packets.next_packet().unwrap() {
        lost.add(packet);
    }
    lost
}

fn packet(sequence: u32, fields: &str) -> String {
    format!("packet {{ trusted_packet_sequence_id: {sequence} {fields} }}")
}

/// Counters: processor, overrun, commit overrun, dropped events.
fn stats(sequence: u32, phase: &str, now: u32, rings: &[[u64; 4]]) -> String {
    let ring = |[cpu, overrun, commit, dropped]: &[u64; 4]| {
        format!(
            "cpu_stats {{ cpu: {cpu} entries: 1000 overrun: {overrun} commit_overrun: {commit} now_ts: {now} \
             dropped_events: {dropped} read_events: 9 }}"
        )
    };
    let rings: String = rings.iter().map(ring).collect();
    // The phase may stand behind them.
    packet(sequence, &format!("ftrace_stats {{ {rings} phase: {phase} }}"))
}

fn start(sequence: u32, rings: &[[u64; 4]]) -> String {
    stats(sequence, "START_OF_TRACE", 1, rings)
}

fn end(sequence: u32, rings: &[[u64; 4]]) -> String {
    stats(sequence, "END_OF_TRACE", 2, rings)
}

fn bundle(sequence: u32, cpu: u32, is_marked: bool) -> String {
    packet(
        sequence,
        &format!(
            "ftrace_events {{ cpu: {cpu} error {{ timestamp: 1 }} lost_events: {is_marked} }}"
        ),
    )
}

#[test]
fn the_counters_of_the_start_are_those_of_sessions_before() {
    let begin = start(1, &[[0, 100, 0, 0], [1, 0, 0, 0]]);
    let none = check(&begin, (0, 0));
    assert!(none.has_rings() && none.lines().is_empty());
    check(&(begin.clone() + &end(1, &[[0, 110, 0, 0], [1, 0, 0, 0]])), (10, 0));
    let all = begin + &end(1, &[[0, 120, 3, 0], [1, 0, 0, 5]]);
    assert_eq!(
        check(&all, (28, 0)).lines(),
        [
            "events of the kernel that its rings had no space for: 28 (raise buffer_size_kb of linux.ftrace, lower \
          drain_period_ms, or record fewer events)"
        ]
    );
}

#[test]
fn a_flush_writes_both_counters_again() {
    let begin = start(1, &[[0, 100, 0, 0]]);
    let first = begin.clone() + &end(1, &[[0, 110, 0, 0]]) + &begin;
    // The file ends behind the counters of a start, or behind those of an end.
    check(&first, (10, 0));
    check(&(first.clone() + &end(1, &[[0, 125, 0, 0]])), (25, 0));
    check(&(first + &end(1, &[[0, 110, 0, 0]])), (10, 0));
}

#[test]
fn each_data_source_has_counters_of_its_own() {
    let one = start(1, &[[0, 100, 0, 0]]) + &end(1, &[[0, 103, 0, 0]]);
    let two = start(2, &[[0, 103, 0, 0]]) + &end(2, &[[0, 104, 0, 0], [7, 1000, 0, 0]]);
    check(&(one.clone() + &two), (4, 0));
    let elsewhere = one.replace("packet {", "packet { machine_id: 9");
    check(&(one.clone() + &elsewhere), (6, 0));
    // The start is missing, for a ring of the second one, too.
    check(&end(1, &[[0, 500, 0, 0]]), (0, 0));
    // Counters without a phase are not compared.
    check(&(one + &stats(1, "UNSPECIFIED", 3, &[[0, 900, 0, 0]])), (3, 0));
}

#[test]
fn files_of_two_sessions_may_be_joined() {
    let session = |now, [begin, end]: [u64; 2]| {
        stats(1, "START_OF_TRACE", now, &[[0, begin, 0, 0]])
            + &stats(1, "END_OF_TRACE", now + 1, &[[0, end, 0, 0]])
    };
    check(&(session(1, [0, 10]) + &session(5, [0, 30])), (40, 0));
    check(&(session(1, [0, 10]) + &session(5, [10, 30])), (30, 0));
    check(&(session(1, [5, 10]) + &session(5, [1000, 1001])), (6, 0));
}

#[test]
fn a_ring_that_was_emptied_counts_from_zero() {
    let begin = start(1, &[[0, 100, 0, 0]]) + &end(1, &[[0, 150, 0, 0]]);
    check(&(begin.clone() + &end(1, &[[0, 10, 0, 0]])), (60, 0));
    check(&(begin + &end(1, &[[0, 10, 0, 0]]) + &end(1, &[[0, 12, 0, 0]])), (62, 0));
}

#[test]
fn marks_count_where_no_counters_follow() {
    let marked =
        bundle(1, 0, true) + &bundle(1, 0, false) + &bundle(1, 1, true) + &bundle(1, 0, true);
    let lost = check(&marked, (0, 3));
    assert_eq!(
        lost.lines(),
        [
            "bundles that follow lost events of the kernel, which nobody counted: 3 (raise buffer_size_kb of \
          linux.ftrace, lower drain_period_ms, or record fewer events)"
        ]
    );
    assert!(check(&bundle(1, 0, false), (0, 0)).has_rings());
    // The end counts those before it, in its own ring.
    let begin = start(1, &[[0, 0, 0, 0]]);
    let end = end(1, &[[0, 70, 0, 0]]);
    check(&(begin.clone() + &marked + &end), (70, 1));
    check(&(begin.clone() + &end + &marked), (70, 3));
    check(&(begin + &bundle(2, 0, true) + &end), (70, 1));
    // The loss came before the probes asked for the first counters.
    let late = stats(1, "START_OF_TRACE", 1, &[[0, 70, 0, 0]]);
    check(&(late + &bundle(1, 0, true) + &end + &end), (0, 1));
    // Without a start, it counts nothing.
    check(&(marked + &end), (0, 3));
}

/// A ring that was there before is full: what it lost is not what the session lost.
#[test]
fn the_first_mark_of_a_ring_that_was_there_before() {
    let begin = packet(1, "ftrace_stats { phase: START_OF_TRACE preserve_ftrace_buffer: true }");
    let first = begin.clone() + &bundle(1, 0, true) + &bundle(1, 1, true);
    check(&first, (0, 0));
    check(&(first + &bundle(1, 1, true)), (0, 1));
    check(&(begin.clone() + &bundle(2, 0, true)), (0, 1));
    check(&(begin.replace("true", "false") + &bundle(1, 0, true)), (0, 1));
}

#[test]
fn numbers_may_be_anything() {
    let max = u64::MAX;
    let both = |sequence| {
        start(sequence, &[[max, 0, 0, 0]]) + &end(sequence, &[[max, max, max, max], [max, 1, 0, 0]])
    };
    check(&both(1), (max, 0));
    let lost = check(&(both(1) + &both(2)), (max, 0));
    assert_eq!(lost.lines().len(), 1);
    // {ftrace_stats {cpu_stats, cut off}}, {ftrace_events, cut off}
    assert_eq!(read(b"\x0a\x05\x92\x02\x02\x12\x09\x0a\x02\x0a\x09"), KernelLosses::default());
}

#[test]
fn rings_have_a_bound() {
    let rings: Vec<_> = (0..RINGS_MAX as u64 + 1).map(|cpu| [cpu, 0, 0, 0]).collect();
    let lost = check(&start(1, &rings), (0, 0));
    assert_eq!((lost.rings.len(), lost.left_out), (RINGS_MAX, 1));
    // A ring that has a place keeps it.
    let more = start(1, &rings[1..]) + &start(2, &[[0, 0, 0, 0]]) + &bundle(3, 0, true);
    let lost = check(&(start(1, &rings) + &more + &end(1, &[[1, 5, 0, 0]])), (5, 0));
    assert_eq!((lost.rings.len(), lost.left_out), (RINGS_MAX, 4));
    assert_eq!(
        lost.first_left_out().map(|(place, sequence)| (place.packet, sequence)),
        Some((0, 1))
    );
    assert!(lost.lines()[1].ends_with(": 4 (there are too many rings)"), "{:?}", lost.lines());
    let preserved = |sequence| packet(sequence, "ftrace_stats { preserve_ftrace_buffer: true }");
    let many: String = (0..=RINGS_MAX as u32).map(preserved).collect();
    assert_eq!(check(&many, (0, 0)).preserving.len(), RINGS_MAX);
}

#[test]
fn json_lists_the_rings_that_lost() {
    let json = |packets: &str| {
        let mut json = Json::default();
        json.object(|json| read(&trace_bytes(packets)).json(json));
        json.finish()
    };
    let counted = start(1, &[[0, 0, 0, 0], [1, 0, 0, 0]]) + &end(1, &[[0, 0, 0, 0], [1, 9, 0, 0]]);
    let of_ring = "{\n      \"sequence\": 1,\n      \"cpu\": 1,\n      \"events\": 9,\n      \"marked_bundles\": 0\n    }";
    assert_eq!(
        json(&counted),
        format!(
            "{{\n  \"events\": 9,\n  \"marked_bundles\": 0,\n  \"rings\": [\n    {of_ring}\n  ],\n  \"left_out\": 0\n}}\n"
        )
    );
    // How many events, nobody knows.
    let marked = json(&bundle(1, 3, true));
    assert!(marked.contains("\"cpu\": 3") && !marked.contains("\"events\""), "{marked}");
}

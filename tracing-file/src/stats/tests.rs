use super::*;
use crate::testing::trace_bytes;

const TRACE: &str = "
    packet { track_descriptor { uuid: 7 name: 'T' } }
    packet { timestamp: 10 trusted_packet_sequence_id: 1 trusted_pid: 5 trusted_uid: 6
             track_event { type: TYPE_SLICE_BEGIN track_uuid: 7 name: 'a' } }
    packet { timestamp: 12 trusted_packet_sequence_id: 1
             track_event { type: TYPE_SLICE_BEGIN track_uuid: 7 name: 'b\\n' } }
    packet { timestamp: 13 trusted_packet_sequence_id: 1
             track_event { type: TYPE_SLICE_END track_uuid: 7 } }
    packet { timestamp: 14 trusted_packet_sequence_id: 1 previous_packet_dropped: 3
             track_event { type: TYPE_SLICE_END track_uuid: 7 } }
    packet { timestamp: 9 trusted_packet_sequence_id: 2
             track_event { type: TYPE_SLICE_BEGIN name: 'never ends' } }
    packet { trusted_packet_sequence_id: 2 sequence_flags: 2 }";

#[test]
fn packets_events_and_slices_are_counted() {
    let stats = stats(trace_bytes(TRACE).as_slice());
    assert_eq!((stats.packets, stats.events, stats.losses), (7, 5, 1));
    assert_eq!((stats.span_ns, stats.duration_ns()), (Some((9, 14)), 5));
    let kinds: Vec<_> = stats.kinds.iter().map(|(kind, total)| (*kind, total.packets)).collect();
    assert_eq!(kinds, [(0, 1), (11, 5), (60, 1)]);
    let first = stats.sequences[&SequenceId { machine: 0, id: 1 }];
    assert_eq!((first.pid, first.uid, first.losses), (Some(5), Some(6), 1));
    assert_eq!(
        (first.total.packets, stats.sequences[&SequenceId { machine: 0, id: 2 }].total.packets),
        (4, 2)
    );
    assert_eq!(stats.sequences.values().map(|it| it.total.bytes).sum::<u64>(), stats.bytes);
    let slices = |count, total_ns| SliceStats { count, total_ns, max_ns: total_ns };
    assert_eq!(stats.top_slices(9), [("a", slices(1, 4)), ("b\n", slices(1, 1))]);
    assert_eq!(stats.top_slices(1).len(), 1);
    let skipped = Problem::SkippedInvalid;
    assert_eq!(stats.problems, [(skipped, 1), (Problem::Loss, 1)].into_iter().collect());
}

#[test]
fn tables_and_json_show_the_same() {
    let stats = stats(trace_bytes(TRACE).as_slice());
    let table = stats.table(10);
    for shown in
        ["packets                  7", "5             78  track_event", "?", "LOSSES  SEQUENCE"]
    {
        assert!(table.contains(shown), "{shown}: {table}");
    }
    assert!(!table.contains("b\n?"), "{table}");
    let json = stats.json(1);
    for shown in [
        "\"first_ns\": 9",
        "\"name\": \"track_event\"",
        "\"pid\": 5",
        "\"name\": \"packets_lost\",\n      \"count\": 1",
    ] {
        assert!(json.contains(shown), "{shown}: {json}");
    }
    assert!(!json.contains("\"b\\n\"") && json.contains("\"a\""), "{json}");
}

#[test]
fn what_the_service_says_is_shown() {
    let of_service = "
        packet { trusted_packet_sequence_id: 1 trace_stats { invalid_packets: 9 } }
        packet { trusted_packet_sequence_id: 1 trace_stats {
            buffer_stats { chunks_overwritten: 3 }
            loss_ledger { entries { reason: REASON_LEFT_UNFINISHED producer_name: 'g\\033e' pid: 7 count: 2 } } } }";
    let stats = |text: &str| stats(trace_bytes(text).as_slice());
    // A program may write such a packet, too.
    let forged = "packet { trusted_packet_sequence_id: 2 trace_stats { invalid_packets: 0 } }";
    let shown = stats(&format!("{of_service} {forged}"));
    let table = shown.table(10);
    let part = "\nLOST, as the service says\n\
        chunks overwritten by newer ones, which a larger buffer keeps (size_kb in the config): 3\n\
        2 packets that g?e (pid 7) had not handed over when it was gone\n\n";
    assert!(table.contains(part), "{table}");
    let json = shown.json(1);
    for shown in
        ["\"lost\": {\n    \"chunks_overwritten\": 3", "\"reason\": \"REASON_LEFT_UNFINISHED\""]
    {
        assert!(json.contains(shown), "{shown}: {json}");
    }
    let nothing = stats("packet { trusted_packet_sequence_id: 1 trace_stats { } }").table(10);
    assert!(nothing.contains("\nLOST, as the service says\nnothing\n"), "{nothing}");
    assert!(!stats(TRACE).table(10).contains("LOST") && stats(forged).lost.is_none());
}

#[test]
fn what_the_kernel_lost_is_shown() {
    let part = |phase: &str, overrun: u64| {
        format!(
            "packet {{ trusted_packet_sequence_id: 2 ftrace_stats {{ phase: {phase} \
             cpu_stats {{ cpu: 1 overrun: {overrun} }} }} }}"
        )
    };
    let stats = |text: &str| stats(trace_bytes(text).as_slice());
    let trace = part("START_OF_TRACE", 40) + &part("END_OF_TRACE", 47);
    let shown = stats(&trace);
    let table = shown.table(10);
    let text =
        "\nLOST, as the kernel says\nevents of the kernel that its rings had no space for: 7 (";
    assert!(table.contains(text), "{table}");
    let json = shown.json(1);
    assert!(json.contains("\"kernel_lost\": {\n    \"events\": 7,"), "{json}");
    let nothing = stats(&(trace + &part("START_OF_TRACE", 40)).replace("47", "40")).table(10);
    assert!(nothing.contains("\nLOST, as the kernel says\nnothing\n"), "{nothing}");
    let bundles =
        stats("packet { trusted_packet_sequence_id: 1 ftrace_events { cpu: 0 } }").table(10);
    assert!(bundles.contains("\nLOST, as the kernel says\nnot known: "), "{bundles}");
    let other = stats(TRACE);
    assert!(!other.table(10).contains("LOST, as") && !other.json(1).contains("kernel_lost"));
}

#[test]
fn a_broken_file_is_counted_up_to_its_error() {
    let stats = stats(b"\x0a\x00\x0a\x05".as_slice());
    assert_eq!((stats.packets, stats.error.map(|error| error.place().packet)), (1, Some(1)));
}

#[cfg(feature = "compressed")]
#[test]
fn what_cannot_be_unpacked_is_an_error() {
    let mut broken = crate::testing::zlib(b"\x0a\x02\x40\x01\x0a\x02\x40\x02");
    // The first byte of the stream.
    let at = broken.iter().position(|byte| *byte == 0x78).unwrap();
    broken[at] ^= 0xff;
    let bytes = [b"\x0a\x00", broken.as_slice(), broken.as_slice(), b"\x0a\x00"].concat();
    let stats = stats(bytes.as_slice());
    // The first error is told, and what is behind it counts.
    assert_eq!((stats.packets, stats.error.map(|error| error.place().packet)), (2, Some(1)));
}

#[test]
fn kinds_are_those_of_the_schema() {
    let fields = protos::TracePacket::DESCRIPTOR.fields.iter();
    for field in fields.filter(|field| field.oneof == Some("data")) {
        assert_eq!(kind_name(field.number), field.name);
    }
    assert_eq!(kind_name(8), "");
}

#[test]
fn names_of_slices_have_a_bound() {
    let mut bytes = Vec::new();
    let mut trace = crate::write::TraceFile::create(&mut bytes).unwrap();
    let track = trace.track("T");
    for n in 0..=ROWS_MAX as u64 {
        trace.slice(&track, n, 1, &format!("name {n}"));
    }
    trace.finish().unwrap();
    let stats = stats(bytes.as_slice());
    assert_eq!((stats.slices.len(), stats.left_out), (ROWS_MAX, 1));
}

#[test]
fn sequences_have_a_bound() {
    let mut bytes = Vec::new();
    for id in 1..=ROWS_MAX as u32 + 1 {
        // {trusted_packet_sequence_id: id} with a number of three bytes.
        bytes.extend([0x0a, 4, 0x50, id as u8 | 0x80, (id >> 7) as u8 | 0x80, (id >> 14) as u8]);
    }
    let stats = stats(bytes.as_slice());
    assert_eq!((stats.sequences.len(), stats.left_out), (ROWS_MAX, 1));
}

#[test]
fn long_names_of_slices_are_cut() {
    let name = "n".repeat(STATS_NAME_BYTES_MAX + 1);
    let event = |of: &str, ts: u64| {
        format!(
            "packet {{ timestamp: {ts} trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_SLICE_{of} track_uuid: 7 name: '{name}' }} }}"
        )
    };
    let stats = stats(trace_bytes(&(event("BEGIN", 1) + &event("END", 2))).as_slice());
    let names: Vec<usize> = stats.top_slices(9).iter().map(|slice| slice.0.len()).collect();
    assert_eq!(names, [STATS_NAME_BYTES_MAX]);
}

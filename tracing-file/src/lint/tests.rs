use super::*;
use crate::limits::SCHEMA_LEVELS_MAX;
use crate::testing::trace_bytes;
use crate::write::TraceOptions;

/// The findings of a trace of these packets, as `NAME VALUE` with the number of the packet in front.
#[track_caller]
fn check(packets: &str, expected: &[&str]) {
    check_bytes(&trace_bytes(packets), expected);
}

#[track_caller]
fn check_bytes(bytes: &[u8], expected: &[&str]) {
    let mut found = Vec::new();
    let report = lint(bytes, |finding, _| {
        let Finding { problem, place, value } = finding;
        found.push(format!("{}: {} {value}", place.packet, problem.name()));
        assert!(place.offset <= bytes.len() as u64);
    });
    assert_eq!(found, expected);
    assert_eq!(report.findings(), expected.len() as u64);
}

/// A packet with an event on a sequence.
fn event(ts: u64, fields: &str) -> String {
    format!("packet {{ timestamp: {ts} trusted_packet_sequence_id: 1 track_event {{ {fields} }} }}")
}

/// The descriptor of a track.
fn track(uuid: u64, fields: &str) -> String {
    format!("packet {{ track_descriptor {{ uuid: {uuid} {fields} }} }}")
}

fn slice(track: u64, begin: u64, end: u64) -> String {
    event(begin, &format!("type: TYPE_SLICE_BEGIN track_uuid: {track} name: 's'"))
        + &event(end, &format!("type: TYPE_SLICE_END track_uuid: {track}"))
}

const INSTANT: &str = "type: TYPE_INSTANT name: 'i'";

#[test]
fn a_good_trace_has_no_findings() {
    check("", &[]);
    check(&(track(7, "name: 'T'") + &slice(7, 1, 9) + &slice(7, 2, 3) + &slice(7, 9, 12)), &[]);
    // A parent may come later.
    check(&(track(7, "parent_uuid: 8") + &slice(7, 1, 9) + &track(8, "")), &[]);
}

#[test]
fn state_needs_a_sequence() {
    check(
        "packet { timestamp: 1 timestamp_clock_id: 64 track_event { type: TYPE_INSTANT } }",
        &["0: sequence_state_without_sequence 64"],
    );
    check("packet { sequence_flags: 2 }", &["0: sequence_state_without_sequence 0"]);
    check(
        "packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1 } clocks { clock_id: 70 } } }",
        &["0: sequence_state_without_sequence 70"],
    );
    check(
        "packet { timestamp: 1 track_event { type: TYPE_INSTANT } }",
        &["0: track_event_missing_sequence_id 0"],
    );
    let ignored = "0: incremental_state_missing_sequence_id 0";
    check("packet { sequence_flags: 1 }", &[ignored]);
    check("packet { trace_packet_defaults {} }", &[ignored]);
    check("packet { interned_data {} }", &[ignored]);
}

#[test]
fn times_need_a_clock() {
    check(
        "packet { trusted_packet_sequence_id: 1 track_event { type: TYPE_INSTANT } }",
        &["0: track_event_missing_timestamp 1"],
    );
    check(&event(1 << 63, INSTANT), &["0: track_event_invalid_timestamp 9223372036854775808"]);
    let on_clock = |clock: u32, time: u64| {
        format!(
            "packet {{ timestamp: {time} timestamp_clock_id: {clock} trusted_packet_sequence_id: 1
                       track_event {{ {INSTANT} }} }}"
        )
    };
    let snapshot = |clocks: &str| {
        format!("packet {{ trusted_packet_sequence_id: 1 clock_snapshot {{ {clocks} }} }}")
    };
    check(&on_clock(6, 1), &[]);
    check(&on_clock(3, 1), &["0: clock_sync_failure_unknown_source_clock 3"]);
    let mono = "clocks { clock_id: 3 timestamp: 1 }";
    let boot = "clocks { clock_id: 6 timestamp: 1 }";
    check(&(snapshot(mono) + &on_clock(3, 1)), &["1: clock_sync_failure_no_path 3"]);
    check(&(snapshot(&format!("{mono} {boot}")) + &on_clock(3, 1)), &[]);
    check(&snapshot(&format!("{boot} {boot}")), &["0: invalid_clock_snapshots 6"]);
    let own = |unit: u64| format!("{boot} clocks {{ clock_id: 70 unit_multiplier_ns: {unit} }}");
    check(&(snapshot(&own(2)) + &snapshot(&own(3))), &["1: invalid_clock_snapshots 70"]);
    check(
        &(snapshot(&own(4)) + &on_clock(70, u64::MAX)),
        &["1: track_event_invalid_timestamp 18446744073709551615"],
    );
    // Bytes of two fields of one group cannot be written as text.
    let mut both = trace_bytes(&event(1, INSTANT));
    both.extend([0x32, 0]);
    both[1] += 2;
    check_bytes(&both, &["0: event_in_clock_snapshot 1"]);
}

#[test]
fn clocks_do_not_go_back() {
    let on_clock = |clock: u32| {
        format!(
            "packet {{ timestamp: 60 timestamp_clock_id: {clock} trusted_packet_sequence_id: 1
                       track_event {{ {INSTANT} }} }}"
        )
    };
    let snapshot = |sequence: u32, times: &[(u32, u64)]| {
        let clocks: String = times
            .iter()
            .map(|(id, time)| format!("clocks {{ clock_id: {id} timestamp: {time} }}"))
            .collect();
        format!("packet {{ trusted_packet_sequence_id: {sequence} clock_snapshot {{ {clocks} }} }}")
    };
    let first = snapshot(1, &[(6, 1_000), (70, 100)]);
    let later = |boot, own| first.clone() + &snapshot(1, &[(6, boot), (70, own)]) + &on_clock(70);
    check(&later(1_000, 100), &[]);
    check(&later(2_000, 200), &[]);
    let given_up = ["1: clock_went_back 70", "2: clock_sync_failure_no_path 70"];
    check(&later(2_000, 99), &given_up);
    // A later snapshot does not bring it back, but events before it are read.
    let again = first.clone() + &on_clock(70) + &snapshot(1, &[(6, 2_000), (70, 50)]);
    let again = again + &snapshot(1, &[(6, 3_000), (70, 300)]) + &on_clock(70);
    check(&again, &["2: clock_went_back 70", "4: clock_sync_failure_no_path 70"]);
    // Traces of upstream's service begin with snapshots whose times of the trace are not in order.
    check(&later(999, 2_000), &[]);
    // Snapshots of other clocks, and of another sequence, are not compared.
    let other = first.clone() + &snapshot(1, &[(6, 2_000), (3, 7), (70, 99)]) + &on_clock(70);
    check(&other, &[]);
    check(&(first + &snapshot(2, &[(6, 500), (70, 99)]) + &on_clock(70)), &[]);
    // The wall clock of a machine was set back, and no event uses it.
    let wall = |boot, wall| snapshot(1, &[(6, boot), (1, wall)]);
    check(&(wall(1_000, 100) + &wall(2_000, 50)), &["1: clock_went_back 1"]);
}

#[test]
fn events_need_a_type() {
    check(&event(1, "name: 'x'"), &["0: track_event_without_type 1"]);
    check(&event(1, "legacy_event { phase: 66 }"), &[]);
}

#[test]
fn flag_2_needs_flag_1_and_no_loss() {
    let flagged = |flags: u32, more: &str| {
        format!("packet {{ trusted_packet_sequence_id: 1 sequence_flags: {flags} {more} }}")
    };
    let skipped = "packet_skipped_seq_needs_incremental_state_invalid 1";
    check(&flagged(2, ""), &[&format!("0: {skipped}")]);
    check(&(flagged(1, "") + &flagged(2, "")), &[]);
    let lost = flagged(2, "previous_packet_dropped: 257");
    check(
        &(flagged(1, "") + &lost + &flagged(2, "")),
        &["1: packets_lost 1", &format!("1: {skipped}"), &format!("2: {skipped}")],
    );
    // Flag 1 makes the sequence valid at once; the first packet always has bit 1.
    check(&(flagged(3, "") + &flagged(3, "previous_packet_dropped: 257")), &["1: packets_lost 1"]);
    check(&flagged(3, "previous_packet_dropped: 1"), &[]);
}

/// A ring overwrites what a sequence began with, and a service loses packets of it. Its writer did all that it could.
#[test]
fn the_beginning_of_a_sequence_may_be_lost_behind_its_writer() {
    let flagged = |flags: u32, more: &str| {
        format!("packet {{ trusted_packet_sequence_id: 1 sequence_flags: {flags} {more} }}")
    };
    let cut = "packet_skipped_seq_beginning_lost 1";
    let invalid = "packet_skipped_seq_needs_incremental_state_invalid 1";
    let (begin, next) = (flagged(1, ""), flagged(2, ""));
    // The first packet of each sequence of a service has bit 1.
    let first = flagged(2, "previous_packet_dropped: 1");
    let ring = first + &next + &begin + &next;
    check(&ring, &[&format!("0: {cut}"), &format!("1: {cut}")]);
    let overwritten = flagged(2, "previous_packet_dropped: 65");
    check(
        &(begin.clone() + &overwritten + &next + &begin + &next),
        &["1: packets_lost 1", &format!("1: {cut}"), &format!("2: {cut}")],
    );
    // Nothing is before the first packet of the writer, and of its own losses it knows.
    let wrong = flagged(2, "previous_packet_dropped: 1 first_packet_on_sequence: true");
    check(&wrong, &[&format!("0: {invalid}")]);
    for reasons in [1, 1 | 64 | 128, 1 | 64 | 256] {
        let lost = flagged(2, &format!("previous_packet_dropped: {reasons}"));
        let found = ["1: packets_lost 1", &format!("1: {invalid}")];
        check(&(begin.clone() + &lost), &found);
    }
    // A program that writes a file by itself.
    check(&next, &[&format!("0: {invalid}")]);
    let data = "interned_data { event_names { iid: 1 name: 'x' } }";
    check(&flagged(0, data), &["0: interned_data_skipped_incremental_state_invalid 1"]);
}

#[test]
fn iids_are_defined_once_and_before_use() {
    let open = |data: &str| {
        format!(
            "packet {{ trusted_packet_sequence_id: 1 sequence_flags: 3 interned_data {{ {data} }} }}"
        )
    };
    let with = |fields: &str| event(1, &format!("type: TYPE_INSTANT {fields}"));
    check(&with("name_iid: 9"), &["0: interned_data_tokenizer_errors 9"]);
    check(&with("category_iids: 9"), &["0: interned_data_tokenizer_errors 9"]);
    check(
        &with("debug_annotations { name_iid: 9 string_value_iid: 8 }"),
        &["0: interned_data_tokenizer_errors 9", "0: interned_data_tokenizer_errors 8"],
    );
    check(&with("name_iid: 0 category_iids: 0"), &["0: iid_zero 1", "0: iid_zero 1"]);
    check(&open("event_names { iid: 0 name: 'x' }"), &["0: iid_zero 0"]);
    check(&(open("event_names { iid: 9 name: 'x' }") + &with("name_iid: 9")), &[]);
    let redefined = open("event_names { iid: 9 name: 'x' } event_names { iid: 9 name: 'y' }");
    check(&redefined, &["0: iid_redefined 9"]);
    // Flag 1 begins anew.
    let anew = open("event_names { iid: 9 name: 'x' }") + &open("event_names { iid: 9 name: 'y' }");
    check(&anew, &[]);
    let log = "track_uuid: 7 log_message { body_iid: 5 source_location_iid: 6 }";
    check(
        &(track(7, "thread { pid: 1 tid: 2 }") + &with(log)),
        &["1: interned_data_tokenizer_errors 5", "1: interned_data_tokenizer_errors 6"],
    );
}

#[test]
fn tracks_need_descriptors_and_parents() {
    check(&slice(7, 1, 2), &["0: track_never_described 7"]);
    // The descriptor may come later.
    check(&(slice(7, 1, 2) + &track(7, "name: 'T'")), &[]);
    check(&track(7, "parent_uuid: 8"), &["0: track_hierarchy_missing_uuid 7"]);
    check(&track(7, "parent_uuid: 7"), &["0: track_event_track_hierarchy_loop 7"]);
    let deep: String = (1..=100).map(|n| track(n, &format!("parent_uuid: {}", n - 1))).collect();
    check(&deep, &["99: track_event_track_hierarchy_too_deep 100"]);
    check(
        &(track(7, "name: 'a'") + &track(7, "state {}")),
        &["1: track_descriptor_conflicting_reservation 7"],
    );
    check(&(track(7, "name: 'a'") + &track(7, "name: 'b'")), &["1: track_renamed 7"]);
    let unmerged = "sibling_merge_behavior: SIBLING_MERGE_BEHAVIOR_NONE";
    check(
        &(track(7, &format!("name: 'a' {unmerged}")) + &track(7, &format!("name: 'b' {unmerged}"))),
        &[],
    );
    check(&track(7, "thread { pid: 1 }"), &["0: track_descriptor_thread_missing_pid_tid 7"]);
    check("packet { track_descriptor { name: 'x' } }", &["0: track_descriptor_missing_uuid 0"]);
    check(&track(0, "parent_uuid: 8"), &["0: track_descriptor_default_track_with_parent 0"]);
    check(
        &(track(7, "thread { pid: 1 tid: 2 }") + &track(8, "thread { pid: 1 tid: 2 }")),
        &["1: thread_with_two_tracks 8"],
    );
    check(
        &(track(7, "process { pid: 1 }") + &track(8, "process { pid: 1 }")),
        &["1: process_with_two_tracks 8"],
    );
    check(
        &track(7, "thread { pid: 1 tid: 2 } counter {}"),
        &["0: counter_beside_thread_or_process 7"],
    );
}

#[test]
fn values_need_counters() {
    let value = event(1, "type: TYPE_COUNTER track_uuid: 7 counter_value: 1");
    check(
        &(value.clone() + &track(7, "counter {}") + &value),
        &["0: track_event_counter_invalid_track_uuid 7"],
    );
    check(
        &(track(7, "counter {}") + &event(1, "type: TYPE_COUNTER track_uuid: 7")),
        &["1: track_event_counter_missing_value 7"],
    );
    let extra = |fields: &str| track(7, "counter {}") + &event(1, &format!("{INSTANT} {fields}"));
    check(&extra("extra_counter_track_uuids: 7 extra_counter_values: 1"), &[]);
    check(
        &extra("extra_counter_values: 1"),
        &["1: track_event_extra_counter_missing_track_uuids 1"],
    );
    check(
        &extra("extra_counter_track_uuids: 7 extra_counter_values: 1 extra_counter_values: 2"),
        &["1: track_event_extra_counter_invalid_track 1"],
    );
    check(
        &extra("extra_counter_track_uuids: 8 extra_counter_values: 1"),
        &["1: track_event_extra_counter_invalid_track 1"],
    );
    let many = "extra_counter_track_uuids: 7 extra_counter_values: 1 ".repeat(9);
    check(&extra(&many), &["1: track_event_extra_counter_exceeds_max 1"]);
}

#[test]
fn multipliers_are_above_0() {
    let of = |multiplier: i64| track(7, &format!("counter {{ unit_multiplier: {multiplier} }}"));
    check(&of(1), &[]);
    check(&of(0), &["0: counter_multiplier_not_positive 7"]);
    check(&of(-1), &["0: counter_multiplier_not_positive 7"]);
}

#[test]
fn states_need_state_tracks() {
    check(
        &(track(7, "") + &event(1, "type: TYPE_STATE track_uuid: 7")),
        &["1: track_event_state_invalid_track 7"],
    );
    check(&event(1, "type: TYPE_STATE"), &["0: track_event_state_missing_track_uuid 1"]);
    check(&(track(7, "state {}") + &event(1, "type: TYPE_STATE track_uuid: 7")), &[]);
}

#[test]
fn slices_end_once_and_do_not_cross() {
    let t = track(7, "");
    let begin = |ts| event(ts, "type: TYPE_SLICE_BEGIN track_uuid: 7 name: 's' categories: 'c'");
    let end = |ts, fields: &str| event(ts, &format!("type: TYPE_SLICE_END track_uuid: 7 {fields}"));
    check(&(t.clone() + &end(1, "")), &["1: slice_end_without_begin 7"]);
    check(&(t.clone() + &begin(1) + &end(2, "") + &end(3, "")), &["3: slice_end_without_begin 7"]);
    check(
        &(t.clone() + &begin(1) + &end(2, "name: 'x'")),
        &["2: slice_end_without_begin 7", "1: slice_without_end 7"],
    );
    check(
        &(t.clone() + &begin(1) + &end(2, "categories: 'x'")),
        &["2: slice_end_without_begin 7", "1: slice_without_end 7"],
    );
    check(&(t.clone() + &begin(1) + &end(2, "name: 's' categories: 'c'")), &[]);
    check(&(t.clone() + &begin(1)), &["1: slice_without_end 7"]);
    check(&(t.clone() + &begin(5) + &end(4, "")), &["2: slice_ends_before_begin 7"]);
    check(&(t.clone() + &slice(7, 1, 10) + &slice(7, 5, 15)), &["4: misplaced_end_event 7"]);
    check(&(t.clone() + &slice(7, 5, 15) + &slice(7, 1, 10)), &["4: misplaced_end_event 7"]);
    let deep: String = (0..513).map(begin).collect();
    let ends: String = (600..1112).map(|ts| end(ts, "")).collect();
    check(&(t + &deep + &ends), &["513: slice_max_depth_exceeded 7"]);
}

/// A trace that was taken while work went on has such slices.
#[test]
fn a_slice_that_is_left_open_is_no_warning() {
    let mut bytes = Vec::new();
    let mut trace = crate::write::TraceFile::create(&mut bytes).unwrap();
    let worker = trace.thread(1, 7, "worker");
    let slice = trace.begin(&worker, 5, "hangs").open();
    trace.slice(&worker, 6, 2, "within");
    trace.leave_open(slice);
    trace.finish().unwrap();
    let report = lint(bytes.as_slice(), |_, _| ());
    assert_eq!(report.counts.get(&Problem::SliceNotEnded), Some(&1));
    assert_eq!(report.worst(), Some(Severity::Note));
}

#[test]
fn what_an_event_carries_is_checked() {
    let with = |fields: &str| event(1, &format!("{INSTANT} {fields}"));
    check(
        &(track(7, "") + &with("track_uuid: 7 log_message { prio: PRIO_INFO }")),
        &["1: log_message_without_thread 7"],
    );
    check(&with("debug_annotations { int_value: 1 }"), &["0: debug_annotation_without_name 1"]);
    check(&with("flow_ids: 3 terminating_flow_ids: 3"), &["0: flow_in_both_lists 3"]);
    check(&with("terminating_flow_ids: 3"), &["0: flow_terminated_unknown 3"]);
    check(&(with("flow_ids: 3") + &with("terminating_flow_ids: 3")), &[]);
    let value = "type: TYPE_COUNTER track_uuid: 7 counter_value: 1 flow_ids: 3";
    check(&(track(7, "counter {}") + &event(1, value)), &["1: flow_without_slice 3"]);
    let with_bytes = |fields: &[u8]| {
        let mut bytes = Vec::new();
        let mut trace = crate::write::TraceFile::create(&mut bytes).unwrap();
        let track = trace.track("T");
        trace.instant(&track, 1, "i").fields(|event| {
            event.append_raw(fields);
        });
        trace.finish().unwrap();
        bytes
    };
    check_bytes(&with_bytes(b"\xfa\x02\x08abcdefgh"), &["1: packed_repeated_field 47"]);
    check_bytes(&with_bytes(b"\x1a\x01\x01"), &["1: packed_repeated_field 3"]);
    let extension = with_bytes(b"\xe2\xea\x04\x01x");
    check_bytes(&extension, &["1: unknown_extension_fields 9900"]);
    let check_described = |descriptor: &str, is_known| {
        let packet = format!("packet {{ extension_descriptor {{ {descriptor} }} }}");
        let trace = [trace_bytes(&packet), extension.clone()].concat();
        let unknown: &[&str] = &["2: unknown_extension_fields 9900"];
        check_bytes(&trace, if is_known { &[] } else { unknown });
    };
    let field =
        |number, extendee| format!("extension {{ number: {number} extendee: '{extendee}' }}");
    let file = |field: &str| format!("extension_set {{ file {{}} file {{ {field} }} }}");
    let known = field(9900, ".perfetto.protos.TrackEvent");
    check_described(&file(&known), true);
    check_described(&file(&field(9900, "perfetto.protos.TrackEvent")), true);
    check_described("extension_set_gzip: 'x'", true);
    check_described("extension_set {}", false);
    check_described(&file(&field(9901, ".perfetto.protos.TrackEvent")), false);
    check_described(&file(&field(9900, ".perfetto.protos.TracePacket")), false);
    // As many messages inside each other as are looked into, and one more.
    for (levels, is_known) in [(0, true), (SCHEMA_LEVELS_MAX, true), (SCHEMA_LEVELS_MAX + 1, false)]
    {
        let (begin, end) = ("nested_type { ".repeat(levels), " }".repeat(levels));
        let message = format!("message_type {{ {begin}{known}{end} }}");
        check_described(&file(&message), is_known);
    }
}

#[test]
fn broken_bytes_are_findings() {
    check_bytes(b"\x0a\x02\x08\xff", &["0: broken_packet 0"]);
    check_bytes(b"\x0a\x08\x40\x01\x50\x01\x5a\x02\x48\xff", &["0: broken_packet 6"]);
    check_bytes(
        &[b"\x0a\x05\x92\x03\x02hi".as_slice(), b"\x0a\x02\x68\x02"].concat(),
        &["0: broken_compressed_packets 2", "0: sequence_state_without_sequence 0"],
    );
    let report = lint(b"\x0a\x05abc".as_slice(), |_, _| {});
    assert!(matches!(report.error, Some(ReadError::CutOff { .. })));
    let report = lint(b"\x0f".as_slice(), |_, _| {});
    assert!(matches!(report.error, Some(ReadError::NotATrace { .. })));
}

#[test]
fn memory_has_a_bound() {
    let tracks: String = (1..=4).map(|n| track(n, "")).collect();
    let bytes = trace_bytes(&tracks);
    let refused = |memory| {
        let mut refused = 0;
        lint_within(bytes.as_slice(), memory, |finding, _| {
            assert_eq!(finding.problem, Problem::LimitReached);
            refused += 1;
        });
        refused
    };
    assert_eq!((refused(1024), refused(1023), refused(0)), (0, 1, 4));
    let names = (1..=4).map(|n| format!("event_names {{ iid: {n} name: 'x' }}"));
    let names: String = names.collect();
    let bytes = trace_bytes(&format!(
        "packet {{ trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {{ {names} }} }}"
    ));
    let report = lint_within(bytes.as_slice(), 512 + 300, |_, _| {});
    assert_eq!(report.counts.get(&Problem::LimitReached), Some(&1));
    let bytes = trace_bytes(&slice(0, 1, 2).repeat(10));
    assert_eq!(lint_within(bytes.as_slice(), 2000, |_, _| {}).findings(), 0);
    assert!(lint_within(bytes.as_slice(), 500, |_, _| {}).findings() > 0);
}

#[test]
fn slices_are_compared_with_the_last_64() {
    let far = track(7, "") + &slice(7, 1, 1000);
    let between = |count: u64| (0..count).map(|n| slice(7, 10 + n, 10 + n)).collect::<String>();
    let crossing = slice(7, 500, 1500);
    let found = |count: u64| {
        let bytes = trace_bytes(&(far.clone() + &between(count) + &crossing));
        lint(bytes.as_slice(), |_, _| {}).findings()
    };
    assert_eq!((found(63), found(64)), (1, 0));
}

#[test]
fn ended_slices_give_their_memory_back() {
    // A track without a descriptor, its slices, and one open slice at a time.
    let bytes = trace_bytes(&(track(7, "") + &slice(7, 1, 2).repeat(100)));
    assert_eq!(lint_within(bytes.as_slice(), 1152 + 64, |_, _| {}).findings(), 0);
}

#[test]
fn flows_have_a_bound() {
    let mut flows = Flows::with_max(2);
    flows.begin(1);
    flows.end(9, Place::default());
    flows.end(1, Place::default());
    assert!(flows.ended.contains_key(&9) && !flows.ended.contains_key(&1));
    flows.begin(2);
    flows.begin(3);
    assert_eq!(flows.begun.len(), 2);
    // One was forgotten, so an end proves nothing.
    flows.end(8, Place::default());
    assert!(!flows.ended.contains_key(&8));
}

#[test]
fn every_problem_has_a_name_of_its_own() {
    let names: BTreeSet<_> = Problem::ALL.iter().map(|problem| problem.name()).collect();
    assert_eq!(names.len(), Problem::ALL.len());
}

/// An event of a sequence, on track 7.
fn on(sequence: u32, ts: u64, fields: &str) -> String {
    format!(
        "packet {{ timestamp: {ts} trusted_packet_sequence_id: {sequence}
                   track_event {{ track_uuid: 7 {fields} }} }}"
    )
}

const BEGIN: &str = "type: TYPE_SLICE_BEGIN name: 's'";
const END: &str = "type: TYPE_SLICE_END";

#[test]
fn a_slice_may_end_in_an_earlier_part_of_the_file() {
    let t = track(7, "");
    let good = t.clone() + &on(1, 5, END) + &on(2, 1, BEGIN);
    check(&good, &[]);
    // The slices go to and fro between two threads; what one thread wrote looks like slices of its own.
    let there = on(1, 1, BEGIN) + &on(1, 9, END) + &on(1, 10, BEGIN) + &on(1, 19, END);
    let back = on(2, 5, END) + &on(2, 6, BEGIN) + &on(2, 15, END) + &on(2, 16, BEGIN);
    check(&(t.clone() + &there + &back), &[]);
    check(&(t.clone() + &back + &there), &[]);
    // By time, there is no begin.
    check(
        &(t.clone() + &on(1, 5, END) + &on(2, 6, BEGIN)),
        &["1: slice_end_without_begin 7", "2: slice_without_end 7"],
    );
    let flow = |ts, field: &str| on(1, ts, &format!("type: TYPE_INSTANT {field}: 3"));
    check(&(t.clone() + &flow(5, "terminating_flow_ids") + &flow(1, "flow_ids")), &[]);
    check(&(t + &flow(5, "terminating_flow_ids")), &["1: flow_terminated_unknown 3"]);
}

/// Times alone do not tell which slice an end is meant for.
#[test]
fn ends_that_may_be_exchanged_between_threads_are_told() {
    let t = track(7, "");
    let check = |marks: &[(u32, u64, &str)], expected: &[&str]| {
        let marks: String =
            marks.iter().map(|(sequence, ts, kind)| on(*sequence, *ts, kind)).collect();
        super::tests::check(&(t.clone() + &marks), expected);
    };
    let crossing = [(1, 1, BEGIN), (2, 2, BEGIN), (1, 3, END), (2, 4, END)];
    check(&crossing, &["3: slices_of_two_sequences 7"]);
    // Also where each thread's part of the file is in one piece.
    let [a, b, c, d] = crossing;
    check(&[a, c, b, d], &["2: slices_of_two_sequences 7"]);
    check(&[b, d, a, c], &["4: slices_of_two_sequences 7"]);
    // Those of one thread are within that of the other.
    check(&[(1, 1, BEGIN), (2, 2, BEGIN), (2, 3, END), (1, 4, END)], &[]);
    let nested = [(1, 1, BEGIN), (1, 2, BEGIN), (1, 3, END), (1, 4, END)];
    check(&[&nested[..], &[(2, 5, BEGIN), (2, 6, END)]].concat(), &[]);
    // A slice that moved to another thread.
    check(&[(1, 1, BEGIN), (2, 2, END), (2, 3, BEGIN), (1, 4, END)], &[]);
}

#[test]
fn machines_have_sequences_clocks_and_threads_of_their_own() {
    let of = |machine: u32, fields: &str| {
        format!("packet {{ machine_id: {machine} trusted_packet_sequence_id: 1 {fields} }}")
    };
    let instant = "timestamp: 5 track_event { type: TYPE_INSTANT name_iid: 1 }";
    let first = of(0, "sequence_flags: 1 interned_data { event_names { iid: 1 name: 'a' } }");
    let second = of(7, "sequence_flags: 1 interned_data { event_names { iid: 1 name: 'b' } }");
    let flagged = |machine| of(machine, &format!("sequence_flags: 2 {instant}"));
    check(&(first.clone() + &second + &flagged(0) + &flagged(7)), &[]);
    let skipped = "1: packet_skipped_seq_needs_incremental_state_invalid 1";
    check(&(first + &flagged(7)), &[skipped]);
    let clocks = "clock_snapshot { clocks { clock_id: 6 timestamp: 1 } clocks { clock_id: 3 timestamp: 1 } }";
    let monotonic = |machine| of(machine, &format!("timestamp_clock_id: 3 {instant}"));
    let unknown = "1: interned_data_tokenizer_errors 1";
    check(&(of(7, clocks) + &monotonic(7)), &[unknown]);
    let elsewhere = "1: clock_sync_failure_unknown_source_clock 3";
    check(&(of(7, clocks) + &monotonic(0)), &[elsewhere]);
    let thread = |machine, uuid| {
        of(machine, &format!("track_descriptor {{ uuid: {uuid} thread {{ pid: 1 tid: 1 }} }}"))
    };
    check(&(thread(0, 7) + &thread(7, 8)), &[]);
    check(&(thread(7, 7) + &thread(7, 8)), &["1: thread_with_two_tracks 8"]);
    let process = |machine, uuid| {
        of(machine, &format!("track_descriptor {{ uuid: {uuid} process {{ pid: 1 }} }}"))
    };
    check(&(process(0, 7) + &process(7, 8)), &[]);
    check(&(process(7, 7) + &process(7, 8)), &["1: process_with_two_tracks 8"]);
}

/// Each file has its own uuids, so a process or a thread that is in both has two.
#[test]
fn files_that_are_joined_may_not_share_a_thread() {
    let mut joined = Vec::new();
    for number in [1, 2] {
        let options = TraceOptions::new().sequence_id(number).id_base(u64::from(number) << 32);
        let mut trace = options.create(&mut joined).expect("a trace");
        trace.process(1, "server");
        let thread = trace.thread(1, 7, "worker");
        trace.instant(&thread, 5, "tick");
        trace.finish().expect("a trace");
    }
    let report = lint(joined.as_slice(), |_, _| {});
    let twice = [(Problem::ThreadTwice, 1), (Problem::ProcessTwice, 1)];
    assert_eq!(report.counts, BTreeMap::from(twice));
}

/// A message with one field, which has a length.
fn message(number: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let tag = number << 3 | 2;
    if tag > 127 {
        bytes.push((tag & 127 | 128) as u8);
        bytes.push((tag >> 7) as u8);
    } else {
        bytes.push(tag as u8);
    }
    bytes.push(body.len() as u8);
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn sessions_without_the_track_events_that_they_ask_for() {
    const MISSING: &[&str] = &["1: no_track_events 0"];
    let config = |name: &str| {
        let source = message(2, &message(1, &message(1, name.as_bytes())));
        message(1, &message(33, &source))
    };
    let wanted = [config("a"), config("track_event")].concat();
    check_bytes(&wanted, MISSING);
    check_bytes(&config("a"), &[]);
    let instant = trace_bytes(&event(1, INSTANT));
    check_bytes(&[&wanted[..], &instant].concat(), &[]);
    check_bytes(&[&instant[..], &wanted].concat(), &[]);
    // Events of `tracebox record` itself.
    let of = |pid: u8, body: Vec<u8>| message(1, &[&[0xf8, 0x04, pid][..], &body].concat());
    let own = of(7, message(126, &message(1, &message(1, b"tracebox.command"))));
    let event = |pid| of(pid, instant[2..].to_vec());
    check_bytes(&[&wanted[..], &own, &event(7)].concat(), MISSING);
    check_bytes(&[&wanted[..], &own, &event(7), &event(8)].concat(), &[]);
}

#[test]
fn losses_that_the_service_tells() {
    let stats = |fields: &str| {
        format!("packet {{ trusted_packet_sequence_id: 1 trace_stats {{ {fields} }} }}")
    };
    let two = stats("loss_ledger { entries { count: 7 } entries { } }");
    check(&two, &["0: loss_ledger_not_empty 2"]);
    // Chunks that a ring buffer overwrites are no fault, and the last statistics count all.
    check(&stats("buffer_stats { chunks_overwritten: 9 }"), &[]);
    check(&format!("{two} {}", stats("")), &[]);
    // A program cannot say so.
    check(&two.replace("id: 1", "id: 2"), &[]);
}

#[test]
fn events_that_the_kernel_lost() {
    let stats = |sequence: u32, phase: &str, overrun: u64| {
        format!(
            "packet {{ trusted_packet_sequence_id: {sequence} ftrace_stats {{ phase: {phase} \
             cpu_stats {{ cpu: 0 overrun: 3 }} cpu_stats {{ cpu: 1 overrun: {overrun} }} }} }}"
        )
    };
    let bundle = |sequence: u32| {
        format!(
            "packet {{ trusted_packet_sequence_id: {sequence} ftrace_events {{ cpu: 1 lost_events: true }} }}"
        )
    };
    let of = |sequence| {
        let start = stats(sequence, "START_OF_TRACE", 100);
        let end = |overrun| stats(sequence, "END_OF_TRACE", overrun);
        // The last counters that had grown are those that tell.
        [&*start, &bundle(sequence), &start, &end(107), &start, &end(107)].concat()
    };
    check(&of(1), &["3: ftrace_events_lost 7"]);
    check(&(of(1) + &of(2)), &["3: ftrace_events_lost 7", "9: ftrace_events_lost 7"]);
    check(&(bundle(1) + &bundle(1)), &["0: ftrace_cpu_has_data_loss 1"]);
    check(&(of(1) + &bundle(1)), &["3: ftrace_events_lost 7", "6: ftrace_cpu_has_data_loss 1"]);
    let nothing = stats(1, "START_OF_TRACE", 100) + &stats(1, "END_OF_TRACE", 100);
    check(&(nothing + &bundle(1).replace("true", "false")), &[]);
}

#[test]
fn rings_that_are_not_looked_at_are_told() {
    let bundle =
        |cpu| format!("packet {{ trusted_packet_sequence_id: 1 ftrace_events {{ cpu: {cpu} ");
    let kept: String = (0..16 * 1024).map(|cpu| bundle(cpu) + "} }").collect();
    check(&kept, &[]);
    let more = kept + &bundle(16 * 1024) + "lost_events: true } }";
    check(&more, &["16384: ftrace_rings_left_out 1"]);
}

use std::io;

use protos::Trace;
use protozero::Message;

use super::*;
use crate::testing::trace_bytes;

mod counters;

/// Writes a trace and compares its packets with those of a text.
#[track_caller]
fn check(options: TraceOptions, write: impl FnOnce(&mut TraceFile<&mut Vec<u8>>), expected: &str) {
    let mut bytes = Vec::new();
    let mut trace = options.create(&mut bytes).unwrap();
    write(&mut trace);
    trace.finish().unwrap();
    let expected = Trace::decode(&trace_bytes(expected)).unwrap();
    assert_eq!(Trace::decode(&bytes).unwrap(), expected);
}

/// The error that `finish` returns.
#[track_caller]
fn check_error(write: impl FnOnce(&mut TraceFile<Vec<u8>>), expected: &str) {
    let mut trace = TraceFile::create(Vec::new()).unwrap();
    write(&mut trace);
    assert_eq!(trace.finish().unwrap_err().to_string(), expected);
}

fn plain() -> TraceOptions {
    TraceOptions::new().interning(false).sequence_id(5)
}

#[test]
fn slices_on_a_track() {
    check(
        plain(),
        |trace| {
            let track = trace.track("T");
            trace.slice(&track, 100, 100, "a");
        },
        "packet { track_descriptor { uuid: 1 name: 'T' } }
         packet { timestamp: 100 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_BEGIN track_uuid: 1 name: 'a' } }
         packet { timestamp: 200 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_END track_uuid: 1 } }",
    );
}

#[test]
fn begin_and_end_are_the_same_as_a_whole_slice() {
    check(
        plain(),
        |trace| {
            let track = trace.track("T");
            let outer = trace.begin(&track, 100, "a").open();
            trace.slice(&track, 120, 5, "b");
            trace.end(outer, 200).arg("code", -1);
        },
        "packet { track_descriptor { uuid: 1 name: 'T' } }
         packet { timestamp: 100 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_BEGIN track_uuid: 1 name: 'a' } }
         packet { timestamp: 120 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_BEGIN track_uuid: 1 name: 'b' } }
         packet { timestamp: 125 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_END track_uuid: 1 } }
         packet { timestamp: 200 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_END track_uuid: 1
                                debug_annotations { name: 'code' int_value: -1 } } }",
    );
}

#[test]
fn threads_and_processes_have_one_track_each() {
    check(
        plain(),
        |trace| {
            let process = trace.process(5, "p");
            let thread = trace.thread(5, 6, "t");
            assert_eq!(trace.thread(5, 6, "other name"), thread);
            assert_eq!(trace.process(5, "other name"), process);
            trace.instant(&thread, 9, "i");
        },
        "packet { timestamp: 0 track_descriptor { uuid: 1 process { pid: 5 process_name: 'p' } } }
         packet { timestamp: 0 track_descriptor { uuid: 2 thread { pid: 5 tid: 6 thread_name: 't' } } }
         packet { timestamp: 9 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_INSTANT track_uuid: 2 name: 'i' } }",
    );
}

#[test]
fn overlapping_slices_get_lanes_of_one_name() {
    check(
        plain(),
        |trace| {
            let http = trace.lanes("HTTP");
            let first = trace.begin(&http, 10, "a").open();
            trace.slice(&http, 15, 5, "b");
            // The lane of `b` is free.
            trace.slice(&http, 20, 5, "c");
            trace.end(first, 30);
        },
        "packet { track_descriptor { uuid: 1 name: 'HTTP' } }
         packet { timestamp: 10 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_BEGIN track_uuid: 1 name: 'a' } }
         packet { track_descriptor { uuid: 2 name: 'HTTP' } }
         packet { timestamp: 15 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: 'b' } }
         packet { timestamp: 20 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_END track_uuid: 2 } }
         packet { timestamp: 20 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_BEGIN track_uuid: 2 name: 'c' } }
         packet { timestamp: 25 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_END track_uuid: 2 } }
         packet { timestamp: 30 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_END track_uuid: 1 } }",
    );
}

#[test]
fn flows_lead_from_slice_to_slice() {
    check(
        plain().id_base(70),
        |trace| {
            let track = trace.track("T");
            let flow = trace.flow();
            trace.instant(&track, 1, "a").flow(flow);
            trace.instant(&track, 2, "b").end_flow(flow).end_flow(flow);
        },
        "packet { track_descriptor { uuid: 71 name: 'T' } }
         packet { timestamp: 1 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_INSTANT track_uuid: 71 name: 'a' flow_ids: 71 } }
         packet { timestamp: 2 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_INSTANT track_uuid: 71 name: 'b' terminating_flow_ids: 71 } }",
    );
}

#[test]
fn tracks_nest_in_an_order_of_their_own() {
    check(
        plain(),
        |trace| {
            let group = trace.track(TrackSpec::new("G").children_by_rank().description("all"));
            trace.track(TrackSpec::new("x").under(&group).rank(2).unmerged());
        },
        "packet { track_descriptor { uuid: 1 name: 'G' child_ordering: EXPLICIT description: 'all' } }
         packet { track_descriptor { uuid: 2 parent_uuid: 1 name: 'x' sibling_order_rank: 2
                                     sibling_merge_behavior: SIBLING_MERGE_BEHAVIOR_NONE } }",
    );
}

#[test]
fn repeated_texts_are_written_once() {
    check(
        TraceOptions::new().sequence_id(5),
        |trace| {
            let track = trace.track("T");
            trace.instant(&track, 1, "x").category("c").arg("k", 1u8);
            trace.instant(&track, 2, "x").category("c").arg("k", true);
        },
        "packet { track_descriptor { uuid: 1 name: 'T' } }
         packet { timestamp: 1 trusted_packet_sequence_id: 5 sequence_flags: 3
                  interned_data { event_names { iid: 1 name: 'x' } event_categories { iid: 1 name: 'c' }
                                  debug_annotation_names { iid: 1 name: 'k' } }
                  track_event { type: TYPE_INSTANT track_uuid: 1 name_iid: 1 category_iids: 1
                                debug_annotations { name_iid: 1 uint_value: 1 } } }
         packet { timestamp: 2 trusted_packet_sequence_id: 5 sequence_flags: 2
                  track_event { type: TYPE_INSTANT track_uuid: 1 name_iid: 1 category_iids: 1
                                debug_annotations { name_iid: 1 bool_value: true } } }",
    );
}

#[test]
fn timestamps_may_be_differences() {
    check(
        plain().delta_timestamps(true),
        |trace| {
            let thread = trace.thread(5, 6, "t");
            let other = trace.track("T");
            trace.instant(&thread, 1000, "a");
            trace.instant(&other, 1007, "b");
            // Back in time: the full time once, and the differences go on.
            trace.instant(&thread, 900, "c");
            trace.instant(&thread, 1009, "d");
        },
        "packet { timestamp: 0 track_descriptor { uuid: 1 thread { pid: 5 tid: 6 thread_name: 't' } } }
         packet { track_descriptor { uuid: 2 name: 'T' } }
         packet { timestamp: 0 trusted_packet_sequence_id: 5 sequence_flags: 1
                  trace_packet_defaults { timestamp_clock_id: 64 track_event_defaults { track_uuid: 1 } }
                  clock_snapshot {
                    clocks { clock_id: 6 timestamp: 1000 }
                    clocks { clock_id: 64 timestamp: 1000 is_incremental: true unit_multiplier_ns: 1 } } }
         packet { timestamp: 0 trusted_packet_sequence_id: 5 sequence_flags: 2
                  track_event { type: TYPE_INSTANT name: 'a' } }
         packet { timestamp: 7 trusted_packet_sequence_id: 5 sequence_flags: 2
                  track_event { type: TYPE_INSTANT track_uuid: 2 name: 'b' } }
         packet { timestamp: 900 timestamp_clock_id: 6 trusted_packet_sequence_id: 5 sequence_flags: 2
                  track_event { type: TYPE_INSTANT name: 'c' } }
         packet { timestamp: 2 trusted_packet_sequence_id: 5 sequence_flags: 2
                  track_event { type: TYPE_INSTANT name: 'd' } }",
    );
}

#[test]
fn a_state_lasts_until_the_next() {
    check(
        plain(),
        |trace| {
            let power = trace.state_track("power");
            trace.state(&power, 1, "on");
            trace.no_state(&power, 2);
        },
        "packet { track_descriptor { uuid: 1 name: 'power' state {} } }
         packet { timestamp: 1 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_STATE track_uuid: 1 name: 'on' } }
         packet { timestamp: 2 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_STATE track_uuid: 1 } }",
    );
}

#[test]
fn lines_of_a_log_are_interned_always() {
    check(
        plain(),
        |trace| {
            let thread = trace.thread(5, 6, "");
            trace.log(&thread, 1, Priority::Info, "hello").source_location("a.rs", "", 3);
            trace.log(&thread, 2, Priority::Error, "hello").source_location("a.rs", "", 3);
        },
        "packet { timestamp: 0 track_descriptor { uuid: 1 thread { pid: 5 tid: 6 } } }
         packet { timestamp: 1 trusted_packet_sequence_id: 5 sequence_flags: 3
                  interned_data { log_message_body { iid: 1 body: 'hello' }
                                  source_locations { iid: 1 file_name: 'a.rs' line_number: 3 } }
                  track_event { type: TYPE_INSTANT track_uuid: 1 name: 'log'
                                log_message { body_iid: 1 source_location_iid: 1 prio: PRIO_INFO } } }
         packet { timestamp: 2 trusted_packet_sequence_id: 5 sequence_flags: 2
                  track_event { type: TYPE_INSTANT track_uuid: 1 name: 'log'
                                log_message { body_iid: 1 source_location_iid: 1 prio: PRIO_ERROR } } }",
    );
}

#[test]
fn screenshots_are_fields_of_ones_own() {
    check(
        plain(),
        |trace| {
            let track = trace.track("T");
            let shot = trace.instant(&track, 1, "Screenshot").category("android_screenshot");
            shot.fields(|event| {
                event.screenshot().append_raw(b"\x0a\x01j");
            });
        },
        "packet { track_descriptor { uuid: 1 name: 'T' } }
         packet { timestamp: 1 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_INSTANT track_uuid: 1 name: 'Screenshot'
                                categories: 'android_screenshot' screenshot { jpg_image: 'j' } } }",
    );
}

#[test]
fn typed_fields_come_with_their_descriptor() {
    let mut bytes = Vec::new();
    let mut trace = plain().create(&mut bytes).unwrap();
    trace
        .packet(true, |packet| {
            packet.extension_descriptor().append_raw(b"\x0a\x00");
        })
        .unwrap();
    let track = trace.track("T");
    trace.instant(&track, 1, "a").fields(|event| {
        event.append_raw(b"\xe2\xea\x04\x01x");
    });
    trace.finish().unwrap();
    let expected =
        "packet { trusted_packet_sequence_id: 5 extension_descriptor { extension_set {} } }
                    packet { track_descriptor { uuid: 1 name: 'T' } }
                    packet { timestamp: 1 trusted_packet_sequence_id: 5
                             track_event { type: TYPE_INSTANT track_uuid: 1 name: 'a' } }";
    let mut expected = Trace::decode(&trace_bytes(expected)).unwrap();
    let Some(protos::TracePacketData::TrackEvent(event)) = &mut expected.packet[2].data else {
        panic!("an event")
    };
    event.unknown_fields.push_bytes(9900, b"x");
    assert_eq!(Trace::decode(&bytes).unwrap(), expected);
}

#[test]
fn clocks_come_with_a_snapshot() {
    check(
        plain(),
        |trace| {
            let track = trace.track("T");
            let wall = trace.clock(1, 5_000, 1_000).unwrap();
            let frames = trace.own_clock(10, 3, 1_000).unwrap();
            trace.slice(&track, wall.at(5_100), 50, "a");
            trace.slice(&track, frames.at(20), 1, "b");
            trace.sync_clock(wall, 6_000, 2_001).unwrap();
        },
        "packet { track_descriptor { uuid: 1 name: 'T' } }
         packet { trusted_packet_sequence_id: 5 clock_snapshot {
                    clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: 1 timestamp: 5000 } } }
         packet { trusted_packet_sequence_id: 5 clock_snapshot {
                    clocks { clock_id: 6 timestamp: 1000 }
                    clocks { clock_id: 66 timestamp: 3 unit_multiplier_ns: 10 } } }
         packet { timestamp: 5100 timestamp_clock_id: 1 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_BEGIN track_uuid: 1 name: 'a' } }
         packet { timestamp: 5150 timestamp_clock_id: 1 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_END track_uuid: 1 } }
         packet { timestamp: 20 timestamp_clock_id: 66 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_BEGIN track_uuid: 1 name: 'b' } }
         packet { timestamp: 21 timestamp_clock_id: 66 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_SLICE_END track_uuid: 1 } }
         packet { trusted_packet_sequence_id: 5 clock_snapshot {
                    clocks { clock_id: 6 timestamp: 2001 } clocks { clock_id: 1 timestamp: 6000 } } }",
    );
}

#[test]
fn annotations_nest() {
    check(
        plain(),
        |trace| {
            let track = trace.track("T");
            trace.instant(&track, 1, "a").arg("p", Arg::Pointer(16)).arg("f", 0.5).dict("d", |dict| {
                dict.arg("s", "x").list("l", |list| {
                    list.push(1).list(|inner| { inner.push(2); }).dict(|inner| { inner.arg("k", 3); });
                });
                dict.dict("e", |inner| { inner.arg("k", false); });
            });
        },
        "packet { track_descriptor { uuid: 1 name: 'T' } }
         packet { timestamp: 1 trusted_packet_sequence_id: 5
                  track_event { type: TYPE_INSTANT track_uuid: 1 name: 'a'
                    debug_annotations { name: 'p' pointer_value: 16 }
                    debug_annotations { name: 'f' double_value: 0.5 }
                    debug_annotations { name: 'd'
                      dict_entries { name: 's' string_value: 'x' }
                      dict_entries { name: 'l'
                        array_values { int_value: 1 }
                        array_values { array_values { int_value: 2 } }
                        array_values { dict_entries { name: 'k' int_value: 3 } } }
                      dict_entries { name: 'e' dict_entries { name: 'k' bool_value: false } } } } }",
    );
}

#[test]
fn slices_of_a_track_must_nest() {
    let slices = |spans: &'static [(u64, u64)]| {
        move |trace: &mut TraceFile<Vec<u8>>| {
            let track = trace.track("T");
            for (begin, duration) in spans {
                trace.slice(&track, *begin, *duration, "s");
            }
        }
    };
    check_error(
        slices(&[(0, 100), (50, 100)]),
        "event 1 was refused: the slice from 50 to 150 crosses one that ends at 100; use a lanes track",
    );
    check_error(
        slices(&[(50, 1), (0, 10), (1, 1)]),
        "2 events were refused, the first is event 1: the slice begins at 0, but its track is at 50 already; write \
         the slices of a track in the order of their begins, or use a lanes track",
    );
    check_error(
        slices(&[(u64::MAX, 1)]),
        "event 0 was refused: the time 18446744073709551615 is not between 0 and 2^63 - 1 ns of the trace",
    );
    check_error(
        slices(&[(1, u64::MAX)]),
        "event 0 was refused: the time 1 is not between 0 and 2^63 - 1 ns of the trace",
    );
    check_error(
        |trace| {
            let track = trace.track("T");
            for begin in 0..513 {
                trace.slice(&track, begin, 1000 - begin, "s");
            }
        },
        "event 512 was refused: more than 512 slices are open on the track",
    );
    let mut trace = TraceFile::create(Vec::new()).unwrap();
    slices(&[(0, 100), (0, 100), (0, 0), (0, 50), (50, 50), (100, 0), (100, 5)])(&mut trace);
    trace.finish().unwrap();
}

#[test]
fn open_slices_must_be_ended_once_and_in_order() {
    check_error(
        |trace| {
            let track = trace.track("T");
            let _slice = trace.begin(&track, 1, "s").open();
        },
        "a slice is open at the end of the trace; end it, or leave it open with `leave_open`",
    );
    check_error(
        |trace| {
            let track = trace.track("T");
            let slice = trace.begin(&track, 5, "s").open();
            trace.end(slice, 4);
        },
        "event 1 was refused: the slice begins at 5 and ends at 4, which is earlier",
    );
    check_error(
        |trace| {
            let track = trace.track("T");
            let outer = trace.begin(&track, 5, "s").open();
            let inner = trace.begin(&track, 6, "s").open();
            trace.end(outer, 7);
            trace.end(inner, 8);
        },
        "event 2 was refused: the slice has open slices within it; end these first, or use a lanes track",
    );
    check_error(
        |trace| {
            let track = trace.track("T");
            let outer = trace.begin(&track, 5, "s").open();
            trace.slice(&track, 6, 10, "s");
            trace.end(outer, 15);
        },
        "event 2 was refused: the slice from 5 to 15 crosses one that ends at 16; use a lanes track",
    );
    check_error(
        |trace| {
            let track = trace.track("T");
            trace.slice(&track, 6, 10, "s");
            let inner = trace.begin(&track, 7, "s").open();
            trace.end(inner, 8);
        },
        "event 1 was refused: the slice begins at 7 within one that was written as a whole and ends at 16; write it \
         as a whole, too",
    );
    check_error(
        |trace| {
            let track = trace.track("T");
            let slice = trace.begin(&track, 5, "s").open();
            let inner = trace.begin(&track, 5, "s").open();
            trace.end(inner, 9);
            trace.end(slice, 8);
        },
        "event 3 was refused: the slice from 5 to 8 crosses one that ends at 9; use a lanes track",
    );
    let mut trace = TraceFile::create(Vec::new()).unwrap();
    let track = trace.track("T");
    let slice = trace.begin(&track, 1, "s").open();
    trace.leave_open(slice);
    trace.finish().unwrap();
}

#[test]
fn what_belongs_to_another_trace_is_refused() {
    let mut other = TraceFile::create(Vec::new()).unwrap();
    let track = other.track("T");
    let clock = other.clock(1, 0, 0).unwrap();
    let slice = other.begin(&track, 1, "s").open();
    let foreign = "was refused: its track, slice or clock belongs to another trace";
    check_error(
        |trace| {
            trace.instant(&track, 1, "s");
        },
        &format!("event 0 {foreign}"),
    );
    check_error(
        |trace| {
            trace.end(slice, 2);
        },
        &format!("event 0 {foreign}"),
    );
    check_error(
        |trace| {
            let own = trace.track("T");
            trace.instant(&own, clock.at(1), "s");
        },
        &format!("event 0 {foreign}"),
    );
    check_error(
        |trace| {
            trace.track(TrackSpec::new("x").under(&track));
        },
        &format!("event 0 {foreign}"),
    );
}

#[test]
fn other_rules_are_errors_too() {
    check_error(
        |trace| {
            let track = trace.track("T");
            let flow = Flow::from_id(4);
            trace.instant(&track, 1, "s").flow(flow).end_flow(flow);
        },
        "event 0 was refused: the event both continues and ends the flow 4; choose one",
    );
    check_error(
        |trace| {
            let mut track = trace.track("T");
            for _ in 0..99 {
                track = trace.track(TrackSpec::new("T").under(&track));
            }
        },
        "event 0 was refused: more than 99 levels of tracks",
    );
    check_error(
        |trace| {
            let lanes = trace.lanes("T");
            for begin in (0..5000).rev() {
                let slice = trace.slice(&lanes, begin, 10_000, "s");
                if begin < 5000 - 4096 {
                    assert!(matches!(slice.emit(), Err(WriteError::TooManyLanes)));
                }
            }
            let slice = trace.begin(&lanes, 0, "s").open();
            trace.end(slice, 1);
        },
        "event 5000 was refused: more than 4096 lanes; write the slices of a lanes track in the order of their begins",
    );
    let mut trace = TraceFile::create(Vec::new()).unwrap();
    assert!(matches!(trace.clock(6, 1, 1), Err(WriteError::BadClock)));
    assert!(matches!(trace.clock(64, 1, 1), Err(WriteError::BadClock)));
    assert!(matches!(trace.own_clock(0, 1, 1), Err(WriteError::BadClock)));
    trace.clock(1, 1, 1).unwrap();
    assert!(matches!(trace.clock(1, 1, 1), Err(WriteError::BadClock)));
    for _ in 0..62 {
        trace.own_clock(1, 1, 1).unwrap();
    }
    assert!(matches!(trace.own_clock(1, 1, 1), Err(WriteError::TooManyClocks)));
    let late = trace.clock(3, 0, i64::MAX as u64).unwrap();
    let track = trace.track("T");
    let refused = trace.instant(&track, late.at(1), "s").emit();
    assert!(matches!(refused, Err(WriteError::TimeRange { value: _ })));
}

#[test]
fn interned_texts_have_a_bound() {
    let mut bytes = Vec::new();
    let mut trace = TraceFile::create(&mut bytes).unwrap();
    let track = trace.track("T");
    for n in 0..4097 {
        trace.instant(&track, n, &format!("name {n}"));
    }
    trace.finish().unwrap();
    let interned = |bytes: &[u8]| {
        let trace = Trace::decode(bytes).unwrap();
        trace.packet.iter().filter(|packet| packet.interned_data.is_some()).count()
    };
    assert_eq!(interned(&bytes), 4096);
    // A long text is written in full, and a place that is not remembered is defined each time.
    let mut bytes = Vec::new();
    let mut trace = TraceOptions::new().interning(true).create(&mut bytes).unwrap();
    let thread = trace.thread(1, 2, "T");
    trace.instant(&thread, 1, &"x".repeat(257));
    trace.instant(&thread, 1, &"x".repeat(256));
    trace.finish().unwrap();
    assert_eq!(interned(&bytes), 1);
    let mut places = crate::write::location::Locations::default();
    for line in 0..4096 {
        assert_eq!(places.number("f", "", line), (u64::from(line) + 1, true));
    }
    assert_eq!(places.number("f", "", 0), (1, false));
    assert_eq!(places.number("f", "", 5000), (4097, true));
    assert_eq!(places.number("f", "", 5000), (4098, true));
}

/// Fails after some bytes.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn nothing_is_written_after_a_failed_write() {
    let mut trace = TraceFile::create(Full(100)).unwrap();
    let track = trace.track("T");
    assert!(matches!(trace.flush(), Ok(())));
    trace.instant(&track, 1, &"x".repeat(200));
    assert!(matches!(trace.flush(), Err(WriteError::Io(_))));
    assert!(matches!(trace.instant(&track, 1, "a").emit(), Err(WriteError::Stopped)));
    assert!(matches!(trace.finish(), Err(WriteError::Stopped)));
}

#[test]
fn a_clock_does_not_go_back() {
    let mut trace = TraceFile::create(Vec::new()).unwrap();
    let clock = trace.own_clock(1, 100, 1_000).unwrap();
    let refused = trace.sync_clock(clock, 99, 2_000).unwrap_err();
    assert!(refused.to_string().starts_with("the clock goes back from 100 to 99; "), "{refused}");
    let refused = trace.sync_clock(clock, 200, 999).unwrap_err();
    assert!(
        refused.to_string().starts_with("the time of the trace goes back from 1000 to 999 ns; "),
        "{refused}"
    );
    // The same times are no step back, and what was refused leaves nothing behind.
    trace.sync_clock(clock, 100, 1_000).unwrap();
    trace.sync_clock(clock, 150, 1_000).unwrap();
    trace.sync_clock(clock, 150, 1_001).unwrap();
    assert!(trace.sync_clock(clock, 149, 1_001).is_err());
    trace.finish().unwrap();
}

/// The trace is cut, which is worse than an event that was refused.
#[test]
fn a_full_disk_is_told_also_after_an_event_that_was_refused() {
    let refused = |bytes| {
        let mut trace = TraceFile::create(Full(bytes)).unwrap();
        let track = trace.track("T");
        trace.slice(&track, 5, 10, "s");
        trace.slice(&track, 7, 20, "crosses");
        (trace, track)
    };
    let (trace, _) = refused(1000);
    assert!(matches!(trace.finish(), Err(WriteError::Refused { count: 1, .. })));
    let (trace, _) = refused(10);
    assert!(matches!(trace.finish(), Err(WriteError::Io(_))));
    // The write of a later event fails, and those after it are not tried.
    let (mut trace, track) = refused(10);
    trace.instant(&track, 30, &"x".repeat(100_000));
    trace.instant(&track, 31, "i");
    assert!(matches!(trace.finish(), Err(WriteError::Io(_))));
}

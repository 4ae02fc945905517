use super::*;
use crate::limits::TRACK_NAME_BYTES_MAX;
use crate::testing::{text_bytes, trace_bytes};

/// The events of a trace, one a line, after `TIME TRACK`.
fn events(bytes: &[u8]) -> Vec<String> {
    let mut trace = TraceReader::new(bytes);
    let mut lines = Vec::new();
    while let Some(event) = trace.next_event().unwrap() {
        let track = event.track().and_then(|track| track.name.as_deref()).unwrap_or("?");
        let name = event.name().unwrap_or("-".into());
        let mut line = format!("{} {track} {:?} {name}", event.timestamp_ns(), event.kind());
        event.categories().for_each(|category| line.push_str(&format!(" #{category}")));
        event.annotations().for_each(|annotation| line.push_str(&shown(&annotation)));
        event.flows().for_each(|flow| line.push_str(&format!(" >{flow}")));
        event.ended_flows().for_each(|flow| line.push_str(&format!(" |{flow}")));
        event.extra_counters().iter().for_each(|extra| line.push_str(&format!(" {extra:?}")));
        lines.push(line);
    }
    lines
}

fn shown(annotation: &Annotation<'_>) -> String {
    let name = annotation.name.as_deref().unwrap_or("");
    match &annotation.value {
        Value::Dict(entries) => {
            format!(" {name}{{{}}}", entries.map(|it| shown(&it)).collect::<String>())
        }
        Value::List(entries) => {
            format!(" {name}[{}]", entries.map(|it| shown(&it)).collect::<String>())
        }
        value => format!(" {name}={value:?}"),
    }
}

#[track_caller]
fn check(packets: &str, expected: &[&str]) {
    assert_eq!(events(&trace_bytes(packets)), expected);
}

const BOTH: &str = "clocks { clock_id: 6 timestamp: 1000 }";

#[test]
fn names_and_defaults_are_those_of_the_sequence() {
    check(
        "packet { track_descriptor { uuid: 7 name: 'T' } }
         packet { trusted_packet_sequence_id: 1 sequence_flags: 1
                  trace_packet_defaults { track_event_defaults { track_uuid: 7 } }
                  interned_data { event_names { iid: 1 name: 'one' } event_categories { iid: 1 name: 'c' } } }
         packet { trusted_packet_sequence_id: 2 sequence_flags: 1
                  interned_data { event_names { iid: 1 name: 'two' } } }
         packet { timestamp: 1 trusted_packet_sequence_id: 1 sequence_flags: 2
                  track_event { type: TYPE_INSTANT name_iid: 1 category_iids: 1 category_iids: 2
                                categories: 'd' } }
         packet { timestamp: 2 trusted_packet_sequence_id: 2 sequence_flags: 2
                  track_event { type: TYPE_SLICE_BEGIN name_iid: 1 } }
         packet { timestamp: 3 trusted_packet_sequence_id: 1 sequence_flags: 1 }
         packet { timestamp: 3 trusted_packet_sequence_id: 1
                  track_event { type: TYPE_INSTANT name_iid: 1 } }",
        &["1 T Instant one #c #unknown(2) #d", "2 ? SliceBegin two", "3 ? Instant -"],
    );
}

#[test]
fn clocks_lead_to_the_time_of_the_trace() {
    check(
        &format!(
            "packet {{ trusted_packet_sequence_id: 1 sequence_flags: 1
                       trace_packet_defaults {{ timestamp_clock_id: 64 }}
                       clock_snapshot {{ {BOTH}
                         clocks {{ clock_id: 64 timestamp: 500 is_incremental: true unit_multiplier_ns: 2 }}
                         clocks {{ clock_id: 3 timestamp: 10 }} }} }}
             packet {{ timestamp: 0 trusted_packet_sequence_id: 1 track_event {{ type: TYPE_INSTANT name: 'a' }} }}
             packet {{ timestamp: 5 trusted_packet_sequence_id: 1 track_event {{ type: TYPE_INSTANT name: 'b' }} }}
             packet {{ timestamp: 12 timestamp_clock_id: 3 trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_INSTANT name: 'c' }} }}
             packet {{ timestamp: 5 timestamp_clock_id: 6 trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_INSTANT name: 'd' }} }}
             packet {{ timestamp: 1 trusted_packet_sequence_id: 1 track_event {{ type: TYPE_INSTANT name: 'e' }} }}
             packet {{ clock_snapshot {{ clocks {{ clock_id: 3 timestamp: 110 }} clocks {{ clock_id: 1 timestamp: 7 }} }} }}
             packet {{ timestamp: 8 timestamp_clock_id: 1 trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_INSTANT name: 'f' }} }}"
        ),
        &[
            "1000 ? Instant a",
            "1010 ? Instant b",
            "1002 ? Instant c",
            "5 ? Instant d",
            "1012 ? Instant e",
            // REALTIME by way of MONOTONIC.
            "1101 ? Instant f",
        ],
    );
    // A descriptor has a time, too, and an incremental clock goes on with it.
    check(
        &format!(
            "packet {{ trusted_packet_sequence_id: 1 sequence_flags: 1
                       trace_packet_defaults {{ timestamp_clock_id: 64 }}
                       clock_snapshot {{ {BOTH} clocks {{ clock_id: 64 is_incremental: true }} }} }}
             packet {{ timestamp: 5 trusted_packet_sequence_id: 1 track_descriptor {{ uuid: 7 name: 'T' }} }}
             packet {{ timestamp: 2 trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_INSTANT name: 'a' track_uuid: 7 }} }}
             packet {{ timestamp: 3 trusted_packet_sequence_id: 1 for_testing {{}} }}
             packet {{ timestamp: 1 trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_INSTANT name: 'b' track_uuid: 7 }} }}"
        ),
        &["1007 T Instant a", "1011 T Instant b"],
    );
    // The trace may have another clock, and the latest snapshot before a time counts.
    check(
        "packet { clock_snapshot { primary_trace_clock: BUILTIN_CLOCK_MONOTONIC
                    clocks { clock_id: 3 timestamp: 100 } clocks { clock_id: 1 timestamp: 0 } } }
         packet { clock_snapshot { clocks { clock_id: 3 timestamp: 200 } clocks { clock_id: 1 timestamp: 90 } } }
         packet { timestamp: 95 timestamp_clock_id: 1 trusted_packet_sequence_id: 1
                  track_event { type: TYPE_INSTANT name: 'a' } }
         packet { timestamp: 50 timestamp_clock_id: 1 trusted_packet_sequence_id: 1
                  track_event { type: TYPE_INSTANT name: 'b' } }
         packet { timestamp: 50 timestamp_clock_id: 3 trusted_packet_sequence_id: 1
                  track_event { type: TYPE_INSTANT name: 'c' } }",
        &["205 ? Instant a", "150 ? Instant b", "50 ? Instant c"],
    );
}

#[test]
fn values_have_their_unit_and_sum() {
    check(
        "packet { track_descriptor { uuid: 7 name: 'a' counter { unit_multiplier: 3 } } }
         packet { track_descriptor { uuid: 8 name: 'b' counter { is_incremental: true unit_multiplier: 2 } } }
         packet { timestamp: 1 trusted_packet_sequence_id: 1
                  track_event { type: TYPE_COUNTER track_uuid: 7 counter_value: 5 } }
         packet { timestamp: 2 trusted_packet_sequence_id: 1
                  track_event { type: TYPE_COUNTER track_uuid: 8 counter_value: 5 } }
         packet { timestamp: 3 trusted_packet_sequence_id: 1
                  track_event { type: TYPE_COUNTER track_uuid: 8 double_counter_value: 0.5 } }
         packet { timestamp: 4 trusted_packet_sequence_id: 2
                  track_event { type: TYPE_COUNTER track_uuid: 8 counter_value: 1 } }
         packet { timestamp: 5 trusted_packet_sequence_id: 1 previous_packet_dropped: 2
                  track_event { type: TYPE_COUNTER track_uuid: 8 counter_value: 1 } }
         packet { timestamp: 6 trusted_packet_sequence_id: 1 sequence_flags: 1
                  trace_packet_defaults { track_event_defaults { extra_counter_track_uuids: 7
                                          extra_double_counter_track_uuids: 8 } } }
         packet { timestamp: 7 trusted_packet_sequence_id: 1
                  track_event { type: TYPE_INSTANT extra_counter_values: 2 extra_double_counter_values: 1.5 } }
         packet { timestamp: 8 trusted_packet_sequence_id: 1
                  track_event { type: TYPE_COUNTER track_uuid: 7 counter_value: 9223372036854775807 } }",
        &[
            "1 a Counter(Int(15)) -",
            "2 b Counter(Double(10.0)) -",
            "3 b Counter(Double(11.0)) -",
            "4 b Counter(Double(2.0)) -",
            "5 b Counter(Double(2.0)) -",
            "7 ? Instant - (7, Int(6)) (8, Double(3.0))",
            "8 a Counter(Double(2.7670116110564327e19)) -",
        ],
    );
}

#[test]
fn annotations_are_a_tree() {
    check(
        "packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {
                    debug_annotation_names { iid: 1 name: 'k' }
                    debug_annotation_string_values { iid: 1 str: 'text' }
                    debug_annotation_value_type_names { iid: 1 name: '.T' } } }
         packet { timestamp: 1 trusted_packet_sequence_id: 1 track_event { type: TYPE_INSTANT
           flow_ids: 3 terminating_flow_ids: 4 flow_ids_old: 5
           debug_annotations { name_iid: 1 string_value_iid: 1 }
           debug_annotations { name: 'd' dict_entries { name: 'x' int_value: -1 }
                                         dict_entries { name: 'y' array_values { bool_value: true } } }
           debug_annotations { name: 'p' proto_type_name_iid: 1 proto_value: 'b' }
           debug_annotations { name: 'e' }
           debug_annotations { name: 'f' pointer_value: 4 }
           debug_annotations { name: 'j' legacy_json_value: '{}' } } }",
        &["1 ? Instant - k=Text(\"text\") d{ x=Int(-1) y[ =Bool(true)]} p=Proto(Some(\".T\"), [98]) e=None \
           f=Pointer(4) j=Json(\"{}\") >5 >3 |4"],
    );
}

#[test]
fn tracks_know_where_they_belong() {
    let bytes = trace_bytes(
        "packet { track_descriptor { uuid: 1 process { pid: 5 process_name: 'p' } } }
         packet { track_descriptor { uuid: 2 parent_uuid: 9 thread { pid: 5 tid: 6 thread_name: 't' } } }
         packet { track_descriptor { uuid: 3 parent_uuid: 2 static_name: 'child' sibling_order_rank: -4 } }
         packet { track_descriptor { uuid: 4 parent_uuid: 3 name: 'c' counter { unit_name: 'V' } } }
         packet { track_descriptor { uuid: 5 parent_uuid: 1 state {} } }
         packet { track_descriptor { uuid: 6 parent_uuid: 6 } }",
    );
    let mut trace = TraceReader::new(bytes.as_slice());
    assert!(trace.next_event().unwrap().is_none());
    let tracks = trace.tracks();
    let chain = |uuid| tracks.chain(uuid).map(|track| track.uuid).collect::<Vec<_>>();
    assert_eq!((chain(4), chain(5), chain(9)), (vec![4, 3, 2], vec![5, 1], vec![]));
    assert_eq!(chain(6).len(), LEVELS_MAX);
    assert_eq!((tracks.thread(4), tracks.pid(4)), (Some((5, 6)), Some(5)));
    assert_eq!((tracks.thread(5), tracks.pid(5)), (None, Some(5)));
    let unit = |uuid| match &tracks.get(uuid).unwrap().kind {
        TrackKind::Counter(counter) => counter.unit.clone(),
        _ => None,
    };
    assert_eq!((unit(4).as_deref(), unit(5)), (Some("V"), None));
    assert_eq!(tracks.get(3).unwrap().rank, -4);
    assert_eq!(tracks.get(3).unwrap().described.unwrap().packet, 2);
}

#[test]
fn logs_and_places_are_looked_up() {
    let bytes = trace_bytes(
        "packet { track_descriptor { uuid: 2 thread { pid: 5 tid: 6 } } }
         packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {
                    log_message_body { iid: 1 body: 'hello' }
                    correlation_id_str { iid: 1 str: 'r' }
                    source_locations { iid: 1 file_name: 'a.rs' function_name: 'f' line_number: 3 } } }
         packet { timestamp: 1 trusted_packet_sequence_id: 1 track_event { type: TYPE_INSTANT track_uuid: 2
                    log_message { body_iid: 1 source_location_iid: 1 prio: PRIO_WARN } source_location_iid: 1
                    correlation_id_str_iid: 1 } }",
    );
    let mut trace = TraceReader::new(bytes.as_slice());
    let event = trace.next_event().unwrap().unwrap();
    let (file, function) = (Some("a.rs".into()), Some("f".into()));
    let location = SourceLocation { file, function, line: Some(3) };
    let (body, priority) = (Some("hello".into()), 5);
    let log = LogMessage { body, priority, location: Some(location.clone()) };
    assert_eq!((event.log_message(), event.source_location()), (Some(log), Some(location)));
    assert_eq!(event.correlation_id().as_deref(), Some("r"));
    assert_eq!((event.place().packet, event.sequence()), (2, 1));
    let offset = event.place().offset as usize;
    assert_eq!(usize::from(bytes[offset - 1]), bytes.len() - offset);
}

/// An event on a clock of the sequence, and a snapshot of the clock with the given times.
fn own_clock(times: impl Iterator<Item = (u64, u64)>) -> String {
    let snapshots = times.map(|(own, boot)| {
        format!(
            "packet {{ trusted_packet_sequence_id: 1 clock_snapshot {{
               clocks {{ clock_id: 6 timestamp: {boot} }} clocks {{ clock_id: 70 timestamp: {own} }} }} }}"
        )
    });
    snapshots.collect()
}

#[test]
fn the_last_64_snapshots_of_a_clock_are_kept() {
    let at = |own: u64| {
        format!(
            "packet {{ timestamp: {own} timestamp_clock_id: 70 trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_INSTANT name: 'i' }} }}"
        )
    };
    // The clock gains a nanosecond from snapshot to snapshot.
    let snapshots = |count: u64| own_clock((0..count).map(|n| (n * 10, n * 11)));
    check(&(snapshots(64) + &at(5)), &["5 ? Instant i"]);
    // The first one is forgotten.
    check(&(snapshots(65) + &at(5)), &["6 ? Instant i"]);
}

#[test]
fn a_snapshot_has_at_most_64_clocks() {
    let clocks = |ids: std::ops::Range<u32>| -> String {
        ids.map(|id| format!("clocks {{ clock_id: {id} timestamp: 1 }}")).collect()
    };
    let with = |ids| {
        let clocks = clocks(ids);
        format!(
            "packet {{ trusted_packet_sequence_id: 1 clock_snapshot {{ {clocks} }} }}
             packet {{ timestamp: 3 timestamp_clock_id: 70 trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_INSTANT name: 'i' }} }}"
        )
    };
    check(&with(6..71), &[]);
    check(
        &with(6..10).replace("clocks { clock_id: 9", "clocks { clock_id: 70"),
        &["3 ? Instant i"],
    );
}

/// How often the limit of `memory` is reached in a trace.
fn refused(packets: &str, memory: usize) -> u64 {
    let bytes = trace_bytes(packets);
    let mut trace = TraceReader::with_memory(bytes.as_slice(), memory);
    while trace.next_event().unwrap().is_some() {}
    trace.counts().get(&Problem::LimitReached).copied().unwrap_or(0)
}

#[test]
fn every_table_takes_from_one_limit() {
    // A sequence takes 512 bytes and a clock 1152.
    let clock = own_clock(std::iter::once((1, 1)));
    assert_eq!((refused(&clock, 512 + 2 * 1152), refused(&clock, 511 + 2 * 1152)), (0, 1));
    // Without a limit for sums, the sum would go on.
    let sums = "packet { track_descriptor { uuid: 8 counter { is_incremental: true } } }"
        .to_owned()
        + &"packet { timestamp: 1 trusted_packet_sequence_id: 1
                     track_event { type: TYPE_COUNTER track_uuid: 8 counter_value: 2 } }"
            .repeat(2);
    let bytes = trace_bytes(&sums);
    let last = |memory| {
        let mut trace = TraceReader::with_memory(bytes.as_slice(), memory);
        let mut last = None;
        while let Some(event) = trace.next_event().unwrap() {
            last = Some(event.kind());
        }
        last
    };
    let sum = |value| Some(EventKind::Counter(CounterValue::Double(value)));
    assert_eq!((last(256 + 512 + 96), last(256 + 512 + 95)), (sum(4.0), sum(2.0)));
    // Flag 1 gives back what interned texts took.
    let open = "packet { trusted_packet_sequence_id: 1 sequence_flags: 1
                         interned_data { event_names { iid: 1 name: 'x' } } }";
    assert_eq!(refused(&open.repeat(9), 512 + 110), 0);
    // Tracks that only events name take memory, too.
    let named = |uuid| {
        format!(
            "packet {{ timestamp: 1 trusted_packet_sequence_id: 1
                       track_event {{ type: TYPE_INSTANT track_uuid: {uuid} }} }}"
        )
    };
    let bytes = trace_bytes(&(1..=9).map(named).collect::<String>());
    let mut trace = TraceReader::with_memory(bytes.as_slice(), 512 + 2 * 256);
    while trace.next_event().unwrap().is_some() {}
    assert_eq!(trace.tracks().iter().count(), 2);
}

#[test]
fn one_packet_shows_at_most_64_findings() {
    let zero = "interned_data { event_names { name: 'x' } }";
    let many = "event_names { iid: 0 }".repeat(70);
    let zero = zero.replace("event_names { name: 'x' }", &many);
    let bytes = trace_bytes(&format!(
        "packet {{ trusted_packet_sequence_id: 1 sequence_flags: 1 {zero} }}"
    ));
    let mut trace = TraceReader::new(bytes.as_slice());
    assert!(trace.next_packet().unwrap());
    assert_eq!((trace.findings().len(), trace.counts()[&Problem::ZeroIid]), (64, 70));
}

#[test]
fn lists_of_an_event_have_a_bound() {
    let values = "extra_counter_values: 1 extra_double_counter_values: 1 ".repeat(100);
    let tracks = "extra_counter_track_uuids: 7 extra_double_counter_track_uuids: 7 ".repeat(100);
    let body = |fields: &str| {
        let mut bytes = trace_bytes(&format!("packet {{ track_event {{ {fields} }} }}"));
        // Tags and lengths of the packet and of the event: at most four bytes each.
        let at = bytes.iter().position(|byte| *byte == 0x5a).unwrap();
        let len = bytes.get(at + 1..).unwrap().iter().position(|byte| *byte < 0x80).unwrap();
        bytes.split_off(at + 2 + len)
    };
    let body = body(&(values + &tracks));
    let event = super::head::EventHead::read(&body);
    let (ints, doubles) = (event.extra_tracks.unwrap(), event.extra_double_tracks.unwrap());
    let lens = (event.extra.len(), event.extra_double.len(), ints.len(), doubles.len());
    assert_eq!(lens, (9, 9, 9, 9));
    let mut sequence = super::sequence::Sequence::default();
    let mut defaults = vec![0x5a, 0x80, 0x04];
    defaults.extend([0xf8, 0x01, 7].repeat(100));
    defaults.extend([0xe8, 0x02, 7].repeat(100));
    let len = defaults.len() - 3;
    (defaults[1], defaults[2]) = (len as u8 | 0x80, (len >> 7) as u8);
    sequence.set_defaults(&defaults);
    assert_eq!((sequence.extra.len(), sequence.extra_double.len()), (64, 64));
}

/// A packet with a timestamp and this event.
fn event(fields: &str) -> String {
    format!(
        "packet {{ timestamp: 1 trusted_packet_sequence_id: 1
                   track_event {{ type: TYPE_INSTANT {fields} }} }}"
    )
}

#[test]
fn what_an_event_costs_does_not_depend_on_interned_texts() {
    let long = "x".repeat(100_000);
    let texts = format!(
        "packet {{ trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data {{
             event_names {{ iid: 1 name: '{long}' }} event_categories {{ iid: 1 name: '{long}' }}
             debug_annotation_names {{ iid: 1 name: '{long}' }}
             debug_annotation_string_values {{ iid: 1 str: '{long}' }}
             source_locations {{ iid: 1 file_name: '{long}' function_name: '{long}' }}
             log_message_body {{ iid: 1 body: '{long}' }} }} }}"
    );
    let one = event(
        "name_iid: 1 category_iids: [1, 1, 1] source_location_iid: 1
         debug_annotations { name_iid: 1 string_value_iid: 1 }
         log_message { body_iid: 1 source_location_iid: 1 }",
    );
    let trace = trace_bytes(&(texts + &one.repeat(100)));
    let mut shown = 0;
    let work = text_bytes(|| {
        let mut reader = TraceReader::new(trace.as_slice());
        while let Some(event) = reader.next_event().unwrap() {
            let _ = (event.name_hash(), event.categories_hash());
            shown +=
                event.name().unwrap().len() + event.categories().map(|it| it.len()).sum::<usize>();
            let location = event.source_location().unwrap();
            shown += location.file.unwrap().len() + location.function.unwrap().len();
            shown += event.log_message().unwrap().body.unwrap().len();
            for annotation in event.annotations() {
                let Value::Text(value) = annotation.value else { panic!("no text") };
                shown += annotation.name.unwrap().len() + value.len();
            }
        }
    });
    // All of each text is there, and was converted and hashed once.
    assert_eq!(shown, 100 * 9 * long.len());
    assert!(work <= 3 * trace.len(), "{work}");
}

#[test]
fn an_event_has_at_most_64_categories() {
    let interned = "packet { trusted_packet_sequence_id: 1 sequence_flags: 1
                             interned_data { event_categories { iid: 1 name: 'c' } } }";
    let count = |fields: &str| {
        let bytes = trace_bytes(&(interned.to_owned() + &event(fields)));
        let mut reader = TraceReader::new(bytes.as_slice());
        let count = reader.next_event().unwrap().unwrap().categories().count();
        (count, reader.counts().get(&Problem::LimitReached).copied().unwrap_or(0))
    };
    assert_eq!(count(&"category_iids: 1 ".repeat(64)), (64, 0));
    assert_eq!(count(&"category_iids: 1 ".repeat(65)), (64, 1));
    let both = "category_iids: 1 ".repeat(32) + &"categories: 'd' ".repeat(33);
    assert_eq!(count(&both), (64, 1));
}

#[test]
fn interned_texts_are_utf8() {
    let interned = |text: &str| {
        format!(
            "packet {{ trusted_packet_sequence_id: 1 interned_data {{ event_names {{ iid: 1 name: '{text}' }} }} }}"
        )
    };
    let first = interned("ab??d").replacen("packet {", "packet { sequence_flags: 1", 1);
    let named = event("name_iid: 1");
    let (same, other) = (interned("ab??d"), interned("ab??e"));
    let mut bytes = trace_bytes(&(first + &same + &other + &named));
    // Two bytes that are no UTF-8.
    while let Some(at) = bytes.windows(2).position(|pair| pair == b"??") {
        bytes[at..at + 2].copy_from_slice(&[0xff, 0xfe]);
    }
    let mut reader = TraceReader::new(bytes.as_slice());
    assert_eq!(reader.next_event().unwrap().unwrap().name().unwrap(), "ab\u{fffd}\u{fffd}d");
    assert_eq!(reader.counts()[&Problem::IidRedefined], 1);
    // 3 bytes for each: 96 + 9.
    let refused = |memory| {
        let mut reader = TraceReader::with_memory(bytes.as_slice(), memory);
        while reader.next_event().unwrap().is_some() {}
        reader.counts().get(&Problem::LimitReached).copied().unwrap_or(0)
    };
    assert_eq!((refused(512 + 105), refused(512 + 104)), (0, 3));
}

#[test]
fn texts_of_tracks_take_memory() {
    let long = "x".repeat(1000);
    let named = format!("packet {{ track_descriptor {{ uuid: 8 name: '{long}' }} }}");
    let unit =
        format!("packet {{ track_descriptor {{ uuid: 8 counter {{ unit_name: '{long}' }} }} }}");
    let merged = format!("packet {{ track_descriptor {{ uuid: 8 sibling_merge_key: '{long}' }} }}");
    let later = "packet { track_descriptor { uuid: 8 } }".to_owned() + &named;
    for trace in [named, unit, merged, later] {
        assert_eq!((refused(&trace, 256 + 1010), refused(&trace, 256 + 999)), (0, 1), "{trace}");
    }
}

#[test]
fn a_reader_has_a_limit_by_default() {
    let mut trace = TraceReader::new(&b""[..]);
    assert!(trace.state.budget.take(MEMORY_MAX) && !trace.state.budget.take(1));
}

#[test]
fn names_of_tracks_are_cut() {
    let name = "n".repeat(TRACK_NAME_BYTES_MAX + 1);
    let track = format!(
        "packet {{ track_descriptor {{ uuid: 7 name: '{name}' sibling_merge_key: '{name}' }} }}"
    );
    let bytes = trace_bytes(&track);
    let mut trace = TraceReader::new(bytes.as_slice());
    assert!(trace.next_event().unwrap().is_none());
    let name = trace.tracks().get(7).unwrap().name.as_deref().unwrap();
    assert_eq!(name.len(), TRACK_NAME_BYTES_MAX);
}

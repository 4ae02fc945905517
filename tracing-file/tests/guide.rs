//! The packets of the patterns in `tracing-file/examples/guide.rs`, beside those of Perfetto's guide
//! (`docs/reference/synthetic-track-event.md` of its repository).
//!
//! Times, names and types of events are those of the guide. What differs: our numbers of tracks and flows count from 1,
//! where the guide has random ones; packets of a track are in the order of the calls; descriptors of processes and threads
//! have a time, so that their names hold from there on; a thread names no parent, because a reader takes its process.

#[path = "../examples/guide.rs"]
#[allow(dead_code, reason = "the program itself")]
mod guide;

use std::io::Write;

use protos::Trace;
use protozero::Message as _;
use protozero::text::{Options, parse};
use tracing_file::write::{TraceFile, TraceOptions};

/// The sequence of the guide.
const SEQUENCE: u32 = 3_903_809;

/// An event: its time, type and track, and further fields.
type Line<'a> = (u64, &'a str, u64, &'a str);

const BEGIN: &str = "SLICE_BEGIN";
const END: &str = "SLICE_END";

/// The packet of an event; `packet` has fields beside it.
fn event((time, kind, track, fields): Line<'_>, packet: &str) -> String {
    format!(
        "packet {{ timestamp: {time} trusted_packet_sequence_id: {SEQUENCE} {packet}
                   track_event {{ type: TYPE_{kind} track_uuid: {track} {fields} }} }}\n"
    )
}

#[track_caller]
fn check(write: impl FnOnce(&mut TraceFile<&mut dyn Write>), tracks: &str, events: &[Line<'_>]) {
    let events: String = events.iter().map(|line| event(*line, "")).collect();
    compare(false, write, &format!("{tracks}\n{events}"));
}

#[track_caller]
fn compare(is_interned: bool, write: impl FnOnce(&mut TraceFile<&mut dyn Write>), expected: &str) {
    let mut bytes = Vec::new();
    let options = TraceOptions::new().interning(is_interned).sequence_id(SEQUENCE);
    let mut trace = options.create(&mut bytes as &mut dyn Write).expect("a trace");
    write(&mut trace);
    trace.finish().expect("no event is refused");
    let expected =
        parse(Trace::DESCRIPTOR, expected.as_bytes(), &Options::default()).expect("a text");
    let expected = Trace::decode(&expected).expect("a trace");
    assert_eq!(Trace::decode(&bytes).expect("a trace"), expected);
}

#[test]
fn slices_of_a_thread() {
    check(
        guide::thread_slices,
        "packet { timestamp: 0 track_descriptor { uuid: 1 process { pid: 1234 process_name: 'My process name' } } }
         packet { timestamp: 0
                  track_descriptor { uuid: 2 thread { pid: 1234 tid: 5678 thread_name: 'My thread name' } } }",
        &[
            (200, BEGIN, 2, "name: 'My special parent'"),
            (250, BEGIN, 2, "name: 'My special child'"),
            (285, "INSTANT", 2, "name: ''"),
            (290, END, 2, ""),
            (300, END, 2, ""),
        ],
    );
}

#[test]
fn slices_of_a_process() {
    check(
        guide::process_slices,
        "packet { timestamp: 0 track_descriptor { uuid: 1 process { pid: 1234 process_name: 'My process name' } } }
         packet { track_descriptor { uuid: 2 parent_uuid: 1 name: 'My special track' } }
         packet { track_descriptor { uuid: 3 parent_uuid: 1 name: 'My special track' } }",
        // The end of a slice that is written as a whole comes right behind its begin.
        &[
            (200, BEGIN, 2, "name: 'My special parent A'"),
            (300, END, 2, ""),
            (250, BEGIN, 2, "name: 'My special child'"),
            (290, END, 2, ""),
            (230, BEGIN, 3, "name: 'My special parent A'"),
            (295, END, 3, ""),
            (260, BEGIN, 3, "name: 'My special child'"),
            (270, END, 3, ""),
        ],
    );
}

#[test]
fn arrows_from_thread_to_thread() {
    check(
        guide::flows,
        "packet { timestamp: 0 track_descriptor { uuid: 1 thread { pid: 100 tid: 100 thread_name: 'Main thread' } } }
         packet { timestamp: 0
                  track_descriptor { uuid: 2 thread { pid: 100 tid: 101 thread_name: 'Background thread' } } }",
        &[
            (200, BEGIN, 1, "name: 'Request generation' flow_ids: 1"),
            (300, END, 1, ""),
            (400, BEGIN, 1, "name: 'Process background result' flow_ids: 1"),
            (500, END, 1, ""),
            (310, BEGIN, 2, "name: 'Background work' flow_ids: 1"),
            (385, END, 2, ""),
        ],
    );
}

#[test]
fn values_of_a_counter() {
    check(
        guide::counter,
        "packet { timestamp: 0 track_descriptor { uuid: 1 process { pid: 1024 process_name: 'MySpecialProcess' } } }
         packet { track_descriptor { uuid: 2 parent_uuid: 1 name: 'My special counter' counter {} } }",
        &[
            (200, "COUNTER", 2, "counter_value: 34567"),
            (250, "COUNTER", 2, "counter_value: 67890"),
            (300, "COUNTER", 2, "counter_value: 12345"),
            (400, "COUNTER", 2, "counter_value: 12345"),
        ],
    );
}

#[test]
fn names_that_repeat() {
    let tracks = "packet { timestamp: 0
                  track_descriptor { uuid: 1 process { pid: 1234 process_name: 'My process name' } } }
         packet { track_descriptor { uuid: 2 parent_uuid: 1 name: 'My special track' } }";
    let defines = "sequence_flags: 3 interned_data { event_names {
         iid: 1 name: \"A very very very long slice name which we don't want to repeat\" } }";
    let needs = "sequence_flags: 2";
    let events = [
        event((200, BEGIN, 2, "name_iid: 1"), defines),
        event((201, END, 2, ""), needs),
        event((202, BEGIN, 2, "name_iid: 1"), needs),
        event((203, END, 2, ""), needs),
    ];
    compare(true, guide::interned, &format!("{tracks}\n{}", events.concat()));
}

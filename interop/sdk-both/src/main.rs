//! A program with two SDKs, as if a library of it were traced by another one: the C++ SDK and ours, one producer each.
//! `cargo xtask interop` checks that they share tracks: the process, its threads, counters, and flows.
//!
//! The bindings use the C interface of the C++ SDK, whose named tracks have another uuid than those of `TRACE_EVENT`
//! and ours. So equal names are two tracks, unless one side takes the uuid of the other.

use perfetto_sdk::producer::{Backends, Producer, ProducerInitArgsBuilder};
use perfetto_sdk::track_event::{
    EventContext, TrackEvent, TrackEventCounter, TrackEventDebugArg, TrackEventFlow,
    TrackEventNestedTrack, TrackEventNestedTracks, TrackEventTrack,
};
use perfetto_sdk::{
    track_event_begin, track_event_categories, track_event_category_enabled, track_event_counter,
    track_event_end, track_event_instant,
};
use tracing_sdk::{Flow, Init, Track, categories, counter, end, instant, slice};

track_event_categories! {
    pub mod cpp { ("cpp", "events of the C++ SDK", []), }
}
use cpp as perfetto_te_ns;

categories! { RUST = "rust"; }

fn main() {
    Producer::init(ProducerInitArgsBuilder::new().backends(Backends::SYSTEM).build());
    TrackEvent::init();
    perfetto_te_ns::register().expect("categories");
    Init::new().name("ours").system().expect("a producer");
    while !(RUST.is_enabled() && track_event_category_enabled!("cpp")) {
        std::thread::yield_now();
    }
    let worker = std::thread::Builder::new().name("worker".to_owned());
    worker.spawn(record).expect("a thread").join().expect("no panic");
    eprintln!("written");
    loop {
        std::thread::park();
    }
}

fn record() {
    on_the_thread();
    on_tracks();
    tracing_sdk::flush();
    track_event_instant!("cpp", "last", |context: &mut EventContext| {
        context.set_flush();
    });
}

/// Slices of one SDK within those of the other, and a flow between them.
fn on_the_thread() {
    let outer = slice!(RUST, "ours", flow = Flow::process(5));
    track_event_begin!("cpp", "within ours", |context: &mut EventContext| {
        context.set_flow(&TrackEventFlow::process_scoped_flow(5));
        context.add_debug_arg("number", TrackEventDebugArg::Int64(-1));
    });
    instant!(RUST, "within theirs", end_flow = Flow::process(5));
    track_event_end!("cpp");
    end!(outer, done = true);
}

fn on_tracks() {
    let process = TrackEventTrack::process_track_uuid();
    assert_eq!(process, Track::process().uuid(), "the process");
    let theirs = TrackEventTrack::register_counter_track("shared", process).expect("a counter");
    counter!(RUST, "shared", 1);
    track_event_counter!("cpp", |context: &mut EventContext| {
        context.set_track(&theirs);
        context.set_counter(TrackEventCounter::Int64(2));
    });
    let theirs = TrackEventTrack::register_named_track("named", 0, process).expect("a track");
    instant!(RUST, "ours", track = Track::named("named"));
    track_event_instant!("cpp", "theirs", |context: &mut EventContext| {
        context.set_track(&theirs);
    });
    instant!(RUST, "ours on theirs", track = Track::from_uuid(theirs.uuid()));
    instant!(RUST, "process", track = Track::process());
    let nested = [TrackEventNestedTrack::Process];
    let nested = TrackEventNestedTracks { tracks: &nested };
    track_event_instant!("cpp", "process", |context: &mut EventContext| {
        context.set_nested_tracks(&nested);
    });
}

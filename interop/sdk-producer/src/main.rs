//! A producer with the C++ SDK. `cargo xtask interop` connects it to our service.
//!
//! Once data source `interop.sdk` has started, each of two threads writes numbered test packets,
//! and the first one track events, too. When the service has all of them, the program prints a line, and waits until
//! it is killed.

use perfetto_sdk::{
    data_source::{
        DataSource, DataSourceArgsBuilder, DataSourceBufferExhaustedPolicy, TraceContext,
    },
    producer::*,
    protos::trace::{test_event::*, trace_packet::TracePacket},
    track_event::{EventContext, TrackEvent, TrackEventDebugArg, TrackEventTimestamp},
    track_event_categories, track_event_category_enabled, track_event_instant,
};
use std::sync::{Arc, mpsc};

track_event_categories! {
    pub mod categories { ("interop", "numbered events", []), }
}
use categories as perfetto_te_ns;

/// Number of packets of a thread, and the padding of each, so that chunks become full and are used again.
const PACKETS: u64 = 3000;
const PADDING: &str = "the quick brown fox jumps over the lazy dog";

fn main() {
    Producer::init(ProducerInitArgsBuilder::new().backends(Backends::SYSTEM).build());
    TrackEvent::init();
    perfetto_te_ns::register().expect("categories");
    let (started, start) = mpsc::channel();
    let mut source = DataSource::new();
    let arguments = DataSourceArgsBuilder::new()
        .buffer_exhausted_policy(DataSourceBufferExhaustedPolicy::StallAndAbort)
        .on_start(move |_, _| started.send(()).unwrap_or_default());
    source.register("interop.sdk", arguments.build()).expect("data source");
    let source = Arc::new(source);
    start.recv().expect("a session");
    for thread in 0..2 {
        let source = Arc::clone(&source);
        std::thread::spawn(move || write(&source, thread));
    }
    loop {
        std::thread::park();
    }
}

fn write(source: &DataSource, thread: u32) {
    for number in 0..PACKETS {
        source.trace(|context: &mut TraceContext| {
            context.add_packet(|packet: &mut TracePacket| {
                let now = TrackEventTimestamp::now();
                packet.set_timestamp(now.timestamp());
                packet.set_timestamp_clock_id(now.clock_id());
                packet.set_for_testing(|event: &mut TestEvent| {
                    event.set_str(PADDING);
                    event.set_seq_value(thread);
                    event.set_counter(number);
                    event.set_is_last(number + 1 == PACKETS);
                });
            });
        });
    }
    let (taken, wait) = mpsc::channel();
    source.trace(|context: &mut TraceContext| {
        let taken = taken.clone();
        context.flush(move || taken.send(()).unwrap_or_default());
    });
    wait.recv().expect("a service");
    if thread == 0 {
        while !track_event_category_enabled!("interop") {
            std::thread::yield_now();
        }
        for number in 0..100 {
            track_event_instant!("interop", "numbered", |context: &mut EventContext| {
                context.add_debug_arg("number", TrackEventDebugArg::Uint64(number));
            });
        }
        track_event_instant!("interop", "last", |context: &mut EventContext| {
            context.set_flush();
        });
    }
    eprintln!("written");
}

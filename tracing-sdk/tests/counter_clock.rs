//! Times that are computed from the processor's counter are those of the boot clock.
#![cfg(all(feature = "in-process", not(feature = "off")))]

use std::collections::HashMap;
use std::sync::Barrier;

use protozero::Message as _;
use rustix::time::{ClockId, clock_gettime};
use tracing_sdk::protos::{
    DebugAnnotationValue, Trace, TracePacketData, TracePacketOptionalTrustedPacketSequenceId,
    TrackEventConfig,
};
use tracing_sdk::session::{Config, Fill, Session};
use tracing_sdk::{Init, categories, instant};

categories! {
    CLOCK = "clock";
}

const THREADS: usize = 2;
const EVENTS: u32 = 20_000;
/// For how long a thread computes times before it reads the kernel's clock again.
const LINE_NS: u64 = 1_000_000;

fn boot_ns() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[test]
fn times_are_those_of_the_boot_clock_and_do_not_go_back() {
    Init::new().counter_clock().shm_kb(32 << 10).in_process().expect("a service");
    let events = TrackEventConfig {
        enabled_categories: vec!["clock".to_owned()],
        disabled_categories: vec!["*".to_owned()],
        disable_incremental_timestamps: Some(true),
        ..TrackEventConfig::default()
    };
    let config = Config::new().buffer_kb(64 << 10, Fill::Ring).track_event_config(events);
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a session that starts");
    let start = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                start.wait();
                let mut after_last = boot_ns();
                for _ in 0..EVENTS {
                    // The arguments are evaluated before the time of the event is read.
                    instant!(CLOCK, "tick", after_last = after_last, before = boot_ns());
                    after_last = boot_ns();
                }
            });
        }
    });
    session.stop().expect("a session that stops");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    let mut last = HashMap::new();
    let mut events = 0;
    for packet in Trace::decode(&trace).expect("a trace").packet {
        let Some(TracePacketData::TrackEvent(event)) = packet.data else { continue };
        let Some(TracePacketOptionalTrustedPacketSequenceId::TrustedPacketSequenceId(sequence)) =
            packet.optional_trusted_packet_sequence_id
        else {
            panic!("a packet without its sequence");
        };
        let at = packet.timestamp.expect("a time");
        let bounds: Vec<u64> = (event.debug_annotations.iter())
            .map(|annotation| match annotation.value {
                Some(DebugAnnotationValue::UintValue(ns)) => ns,
                ref other => panic!("{other:?}"),
            })
            .collect();
        let [after_last, before] = bounds[..] else { panic!("{bounds:?}") };
        assert!(at + LINE_NS > before, "an event after {before} has the time {at}");
        let last = last.insert(sequence, at).unwrap_or_default();
        assert!(last < after_last + LINE_NS, "an event before {after_last} has the time {last}");
        assert!(at >= last, "time went back from {last} to {at}");
        events += 1;
    }
    assert_eq!((events, last.len()), (EVENTS * 2, THREADS));
}

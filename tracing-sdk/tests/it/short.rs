//! Events with nothing but a name, which take another path into shared memory than those with arguments.

use tracing_sdk::protos::{TracePacketData, TrackEventConfig};
use tracing_sdk::session::{Config, Fill, Session};
use tracing_sdk::{categories, instant};

use crate::alone::alone;
use crate::trace::packets;

categories! {
    SHORT = "short";
}

/// The clock of the trace.
const BOOT: u32 = 6;

/// The trace of a session with its own clock.
fn recorded(is_absolute: bool, unit_ns: u64, work: impl FnOnce()) -> Vec<u8> {
    let _alone = alone();
    let events = TrackEventConfig {
        enabled_categories: vec!["short".to_owned()],
        disabled_categories: vec!["*".to_owned()],
        disable_incremental_timestamps: Some(is_absolute),
        timestamp_unit_multiplier: Some(unit_ns),
        ..TrackEventConfig::default()
    };
    let config = Config::new().buffer_kb(1024, Fill::Ring).track_event_config(events);
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a session that starts");
    work();
    session.stop().expect("a session that stops");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    trace
}

/// Time and clock of each event, and how often its sequence began.
fn times(trace: &[u8]) -> (Vec<(u64, Option<u32>)>, usize) {
    let (mut times, mut openings) = (Vec::new(), 0);
    for packet in packets(trace).into_iter().map(|packet| packet.message) {
        openings += usize::from(packet.trace_packet_defaults.is_some());
        if let Some(TracePacketData::TrackEvent(_)) = &packet.data {
            times.push((packet.timestamp.expect("a time"), packet.timestamp_clock_id));
        }
    }
    (times, openings)
}

#[test]
fn times_are_those_of_the_sessions_clock() {
    for (is_absolute, unit_ns) in [(false, 1), (false, 1000), (true, 1), (true, 1000)] {
        let (mut before, mut after) = (0, 0);
        let trace = recorded(is_absolute, unit_ns, || {
            before = os::clock::boot_ns();
            (0..4).for_each(|_| instant!(SHORT, "now"));
            after = os::clock::boot_ns();
            (0..2).for_each(|_| instant!(SHORT, "then", ts = 7_000_000));
        });
        let (times, _) = times(&trace);
        let (now, then) = times.split_at(4);
        let clock = Some(BOOT).filter(|_| !is_absolute || unit_ns != 1);
        assert_eq!(then, [(7_000_000, clock); 2], "{is_absolute} {unit_ns}");
        assert!(now.iter().all(|(_, clock)| clock.is_none()), "the default of the sequence");
        let (first, last) = match is_absolute {
            true => (before / unit_ns, after / unit_ns),
            false => (0, (after - before) / unit_ns),
        };
        let value = |sum: &mut u64, time: u64| {
            *sum = if is_absolute { time } else { *sum + time };
            Some(*sum)
        };
        for time in now.iter().map(|(time, _)| *time).scan(0, |sum, time| value(sum, time)) {
            assert!((first..=last).contains(&time), "{is_absolute} {unit_ns}: {time}");
        }
    }
}

#[test]
fn a_clear_comes_before_the_next_event() {
    let trace = recorded(false, 1, || {
        (0..2).for_each(|_| instant!(SHORT, "event"));
        tracing_sdk::__private::clear_incremental_state();
        instant!(SHORT, "event");
    });
    let (times, openings) = times(&trace);
    assert_eq!((times.len(), openings), (3, 2));
}

//! Events with nothing but a name and short annotations, which take another path into shared memory than the others.

use tracing_sdk::protos::{TracePacketData, TrackEventConfig};
use tracing_sdk::session::{Config, Fill, Session};
use tracing_sdk::{categories, end, instant, slice};

use crate::alone::alone;
use crate::trace::{events, packets};

categories! {
    SHORT = "short";
    /// No session records it.
    UNWANTED = "unwanted";
}

/// The clock of the trace.
const BOOT: u32 = 6;

/// The trace of a session with its own clock.
fn recorded(is_absolute: bool, unit_ns: u64, work: impl FnOnce()) -> Vec<u8> {
    let config = TrackEventConfig {
        disable_incremental_timestamps: Some(is_absolute),
        timestamp_unit_multiplier: Some(unit_ns),
        ..TrackEventConfig::default()
    };
    recorded_with(config, work)
}

fn recorded_with(config: TrackEventConfig, work: impl FnOnce()) -> Vec<u8> {
    let _alone = alone();
    let events = TrackEventConfig {
        enabled_categories: vec!["short".to_owned()],
        disabled_categories: vec!["*".to_owned()],
        ..config
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

#[test]
fn a_session_may_want_no_annotations() {
    let config =
        TrackEventConfig { filter_debug_annotations: Some(true), ..TrackEventConfig::default() };
    let work = || (0..3).for_each(|n| end!(slice!(SHORT, "slice", n = n, text = "text"), n = n));
    let trace = recorded_with(config, work);
    assert_eq!(events(&trace), ["begin short slice", "end"].repeat(3));
}

/// Values are evaluated in order, once, also if several sessions record; and not at all while none does.
#[test]
fn values_are_evaluated_once_and_in_order() {
    let mut order = Vec::new();
    let mut next = |value: u8| {
        order.push(value);
        value
    };
    instant!(UNWANTED, "off", a = next(1), b = ?next(2));
    let trace = recorded(false, 1, || {
        let again =
            Session::in_process(&Config::new().track_events(&["short"])).expect("a session");
        again.start().expect("a session that starts");
        instant!(SHORT, "on", a = next(3), b = ?next(4), c = next(5), d = [next(6)]);
        let slice = slice!(SHORT, "slice", a = next(7), in || next(8));
        instant!(SHORT, "end", a = slice, b = next(9));
    });
    assert_eq!(order, [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(
        events(&trace),
        [
            "instant short on a=3 b=4 c=5 d=[6]",
            "begin short slice a=7",
            "end",
            "instant short end a=8 b=9"
        ]
    );
}

//! `enable_thread_time_sampling`: events with the processor time of their thread, as our reader sees them.

use protos::{CounterDescriptorBuiltinCounterType, DataSourceConfig, TrackEventConfig};
use tracing_file::lint::lint;
use tracing_file::read::{CounterValue, TraceReader};
use tracing_sdk::session::{Config, Session};
use tracing_sdk::{Track, categories, counter, instant, slice};

use crate::alone::alone;
use crate::trace::tracks;

categories! { T = "thread_time"; }

/// An event with the thread times in it: the tracks of the counters, and the values.
type Event = (String, Vec<(u64, f64)>);

fn recorded(config: TrackEventConfig, work: impl FnOnce()) -> Vec<u8> {
    let _alone = alone();
    let config = TrackEventConfig {
        enabled_categories: vec!["thread_time".to_owned()],
        disabled_categories: vec!["*".to_owned()],
        ..config
    };
    let source = DataSourceConfig {
        name: Some("track_event".to_owned()),
        track_event_config: Some(config),
        ..Default::default()
    };
    let session = Session::in_process(&Config::new().data_source(source)).expect("a session");
    session.start().expect("a start");
    work();
    session.stop().expect("a stop");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    trace
}

fn sampled(config: TrackEventConfig) -> TrackEventConfig {
    TrackEventConfig { enable_thread_time_sampling: Some(true), ..config }
}

/// Nothing in the trace may be dropped or confused by a reader.
fn events(trace: &[u8]) -> Vec<Event> {
    let report = lint(trace, |finding, _| panic!("{finding:?}"));
    assert!(report.error.is_none(), "{:?}", report.error);
    let mut reader = TraceReader::new(trace);
    let mut events = Vec::new();
    while let Some(event) = reader.next_event().expect("a trace") {
        let value = |value: &CounterValue| value.as_f64();
        let extra = event.extra_counters().iter().map(|(uuid, of)| (*uuid, value(of))).collect();
        events.push((event.name().unwrap_or_default().into_owned(), extra));
    }
    events
}

fn only_value(event: &Event) -> f64 {
    let [(_, value)] = event.1[..] else { panic!("{event:?}") };
    value
}

/// Nanoseconds that this thread has been on a processor.
#[allow(clippy::cast_precision_loss)]
fn thread_ns() -> f64 {
    os::clock::thread_ns() as f64
}

/// Between two moments of the thread.
fn check(event: &Event, from: f64, to: f64, unit: f64) {
    let value = only_value(event);
    assert!((from - unit..=to).contains(&value), "{event:?}: not in {from}..{to}");
}

fn work() {
    let until = os::clock::thread_ns() + 200_000;
    while os::clock::thread_ns() < until {}
}

#[test]
fn events_of_a_thread_have_its_processor_time() {
    for unit in [1, 1000] {
        let config = TrackEventConfig {
            timestamp_unit_multiplier: (unit != 1).then_some(unit),
            ..Default::default()
        };
        let mut times = Vec::new();
        let mut moment = || times.push(thread_ns());
        let mut uuids = Vec::new();
        let trace = recorded(sampled(config), || {
            moment();
            let slice = slice!(T, "slice", key = 1);
            moment();
            work();
            moment();
            drop(slice);
            moment();
            // A reader sums up anew.
            tracing_sdk::__private::clear_incremental_state();
            instant!(T, "instant");
            moment();
            (0..100).for_each(|_| instant!(T, "many"));
            moment();
            instant!(T, "last");
            moment();
            // Not on the track of the thread.
            instant!(T, "elsewhere", track = Track::named("thread time"));
            counter!(T, "a counter", 1);
            uuids.push(Track::current_thread().uuid());
            std::thread::spawn(|| {
                instant!(T, "other");
                Track::current_thread().uuid()
            })
            .join()
            .map(|uuid| uuids.push(uuid))
            .expect("no panic");
        });
        let events = events(&trace);
        #[allow(clippy::cast_precision_loss)]
        let unit = unit as f64;
        check(&events[0], times[0], times[1], unit);
        check(&events[1], times[2], times[3], unit);
        check(&events[2], times[3], times[4], unit);
        let many: Vec<f64> = events[3..103].iter().map(only_value).collect();
        assert!(many.is_sorted(), "{many:?}");
        // Also with a unit, no part of a value gets lost.
        check(&events[103], times[5], times[6], unit);
        assert_eq!(events[104], ("elsewhere".to_owned(), vec![]));
        assert_eq!(events[105].1, []);
        assert_eq!(events[106].0, "other");
        // A track for each thread, below that of the thread.
        let counters: Vec<_> = tracks(&trace)
            .into_iter()
            .filter(|track| {
                let thread_time = CounterDescriptorBuiltinCounterType::COUNTER_THREAD_TIME_NS;
                track.counter.as_ref().is_some_and(|counter| counter.r#type == Some(thread_time))
            })
            .collect();
        let parents: Vec<_> = counters.iter().filter_map(|track| track.parent_uuid).collect();
        // The first thread has opened twice.
        assert_eq!(parents, [uuids[0], uuids[0], uuids[1]]);
        let of = [&events[0], &events[2], &events[106]].map(|event| Some(event.1[0].0));
        assert_eq!(counters.iter().map(|track| track.uuid).collect::<Vec<_>>(), of);
        // The uuid of the C++ SDK: FNV-1a of the name, and the number of counters.
        let hash = 0xf4ef_cfeb_7f68_b48b ^ 0xb1a4_a67d_7970_839e;
        assert_eq!(of[0], Some(hash ^ uuids[0]));
    }
}

#[test]
fn events_that_follow_soon_have_no_sample_of_their_own() {
    const HOUR: u64 = 3_600_000_000_000;
    let config = TrackEventConfig { thread_time_subsampling_ns: Some(HOUR), ..Default::default() };
    let trace = recorded(sampled(config), || {
        instant!(T, "first");
        work();
        instant!(T, "soon");
        // Its time is not that of the sample.
        instant!(T, "far ahead", ts = os::clock::boot_ns() + 2 * HOUR);
    });
    let values: Vec<f64> = events(&trace).iter().map(only_value).collect();
    assert!(values[0] > 0.0 && values[1..].iter().all(|value| *value == values[0]), "{values:?}");
}

/// An event that is recorded with the time of a deadline, say.
#[test]
fn an_event_with_a_time_of_its_own_does_not_stop_the_samples() {
    const PERIOD: u64 = 200_000;
    let config =
        TrackEventConfig { thread_time_subsampling_ns: Some(PERIOD), ..Default::default() };
    let trace = recorded(sampled(config), || {
        instant!(T, "far ahead", ts = os::clock::boot_ns() + 3_600_000_000_000);
        work();
        instant!(T, "after the period");
    });
    let values: Vec<f64> = events(&trace).iter().map(only_value).collect();
    assert!(values[1] >= values[0] + 200_000.0, "{values:?}");
}

#[test]
fn without_the_option_no_event_has_it() {
    let config = TrackEventConfig { thread_time_subsampling_ns: Some(1), ..Default::default() };
    for config in
        [config.clone(), TrackEventConfig { enable_thread_time_sampling: Some(false), ..config }]
    {
        let trace = recorded(config, || instant!(T, "event"));
        assert_eq!(events(&trace), [("event".to_owned(), vec![])]);
        assert!(!tracks(&trace).iter().any(|track| track.counter.is_some()));
    }
}

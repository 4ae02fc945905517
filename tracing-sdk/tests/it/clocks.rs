//! Times of other clocks, as a reader converts them.

use protos::{ClockSnapshot, TracePacketData};
use tracing_file::read::{EventKind, TraceReader};
use tracing_sdk::{
    Clock, Counter, CustomClock, State, Track, categories, end, instant, now_ns, slice,
};

use crate::events::recorded;
use crate::trace::packets;

categories! { C = "clocks"; }

/// The names of events, and their times on the clock of the trace.
fn times(trace: &[u8]) -> Vec<(String, u64)> {
    let mut reader = TraceReader::new(trace);
    let mut times = Vec::new();
    while let Some(event) = reader.next_event().expect("a trace") {
        let name = match event.kind() {
            EventKind::SliceEnd => "end".to_owned(),
            EventKind::Counter(_) => "counter".to_owned(),
            _ => event.name().expect("a name").into_owned(),
        };
        times.push((name, event.timestamp_ns()));
    }
    assert!(reader.counts().is_empty(), "{:?}", reader.counts());
    times
}

fn snapshots(trace: &[u8]) -> Vec<ClockSnapshot> {
    let snapshot = |packet: crate::trace::Packet| match packet.message.data {
        Some(TracePacketData::ClockSnapshot(snapshot)) => Some(snapshot),
        _ => None,
    };
    packets(trace).into_iter().filter_map(snapshot).collect()
}

/// The time of a clock in a snapshot.
fn time_of(snapshot: &ClockSnapshot, id: u32) -> Option<u64> {
    snapshot.clocks.iter().find(|clock| clock.clock_id == Some(id))?.timestamp
}

#[test]
fn a_clock_of_the_program_is_related_where_it_is_used() {
    static CLOCK: CustomClock = CustomClock::new().unit_ns(1_000);
    let now = now_ns();
    let trace = recorded("clocks", || {
        CLOCK.snapshot(100, now);
        instant!(C, "after", ts = CLOCK.at(150));
        instant!(C, "before", ts = CLOCK.at(90), track = Track::named("clocks"));
        // It was slow, and has caught up.
        CLOCK.snapshot(200, now + 200_000);
        // Neither of these is later.
        CLOCK.snapshot(150, now + 300_000);
        CLOCK.snapshot(300, now + 100_000);
        let slice = slice!(C, "slice", n = 1, ts = CLOCK.at(210));
        end!(slice, ts = CLOCK.at(220));
        instant!(C, "between", ts = CLOCK.at(190));
        Counter::new("counter").record_at(&C, CLOCK.at(230), 5);
        State::new("state").record_at(&C, CLOCK.at(240), Some("state"));
        tracing_sdk::__private::clear_incremental_state();
        instant!(C, "cleared", ts = CLOCK.at(250));
        let other = || instant!(C, "other thread", ts = CLOCK.at(260));
        std::thread::scope(|scope| _ = scope.spawn(other));
    });
    let expected = [
        ("after", 50_000),
        ("before", -10_000),
        ("slice", 210_000),
        ("end", 220_000),
        ("between", 90_000),
        ("counter", 230_000),
        ("state", 240_000),
        ("cleared", 250_000),
        ("other thread", 260_000),
    ];
    let after = |ns: i64| now.checked_add_signed(ns).expect("a time");
    let mut expected = expected.map(|(name, ns)| (name.to_owned(), after(ns)));
    let mut found = times(&trace);
    // Either thread may come first.
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    let of_program = |id: &u32| (66..128).contains(id);
    let ids = snapshots(&trace).into_iter().flat_map(|snapshot| snapshot.clocks);
    let count = ids.filter_map(|clock| clock.clock_id).filter(of_program).count();
    assert_eq!(count, 4, "two of them, one after the clear, and one for the other thread");
}

#[test]
fn clocks_of_the_kernel_are_related_by_the_service() {
    let (mono_ns, real_ns) = (os::clock::now().mono_ns, os::clock::now().real_ns);
    let trace = recorded("clocks", || {
        instant!(C, "monotonic", ts = Clock::Monotonic.at(mono_ns));
        instant!(C, "realtime", ts = Clock::Realtime.at(real_ns));
    });
    let all = packets(&trace);
    let ids = all.iter().filter(|packet| packet.text.is_some());
    let ids: Vec<_> = ids.map(|packet| packet.message.timestamp_clock_id).collect();
    assert_eq!(ids, [Some(3), Some(1)]);
    let snapshots = snapshots(&trace);
    // By one of the snapshots, of which there may be several.
    let is_converted = |id: u32, then: u64, boot_ns: u64| {
        let ahead =
            |snapshot| Some(i128::from(time_of(snapshot, 6)?) - i128::from(time_of(snapshot, id)?));
        let expected = i128::from(boot_ns) - i128::from(then);
        snapshots.iter().filter_map(ahead).any(|ahead| ahead == expected)
    };
    let times = times(&trace);
    assert!(is_converted(3, mono_ns, times[0].1), "{times:?}");
    assert!(is_converted(1, real_ns, times[1].1), "{times:?}");
}

#[test]
fn a_clock_without_a_snapshot_has_the_present_time() {
    static CLOCK: CustomClock = CustomClock::new();
    let before = now_ns();
    let trace = recorded("clocks", || instant!(C, "now", ts = CLOCK.at(5)));
    let after = now_ns();
    assert!((before..=after).contains(&times(&trace)[0].1));
}

#[test]
fn times_of_other_clocks_are_known_in_the_program() {
    use tracing_sdk::EventTime as _;

    static CLOCK: CustomClock = CustomClock::new().unit_ns(10);
    CLOCK.snapshot(100, 5_000);
    assert_eq!(CLOCK.at(90).boot_ns(), 4_900);
    assert_eq!(CLOCK.at(0).boot_ns(), 4_000);
    assert_eq!(CLOCK.at(u64::MAX).boot_ns(), u64::MAX);
    let second_ago = os::clock::mono_ns() - 1_000_000_000;
    assert!(Clock::Monotonic.at(second_ago).boot_ns() < now_ns());
}

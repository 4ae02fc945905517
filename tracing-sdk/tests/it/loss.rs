//! Events that find no shared memory: they are counted, and all others can be read.
//!
//! What threads write as fast as they can, 300,000 events each in release:
//!
//! ```text
//! cargo test --release -p tracebox-sdk --features in-process --test it -- loss:: --nocapture
//! ```

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::{Barrier, MutexGuard};

use protos::{
    DataSourceConfig, DataSourceConfigBufferExhaustedPolicy as BufferExhaustedPolicy,
    DebugAnnotationValue, TracePacket, TracePacketData,
};
use tracing_sdk::session::{Config, Fill, Session, record};
use tracing_sdk::{Init, Track, TrackSlice, categories, instant, lost_events, slice};

use crate::alone::alone;
use crate::trace::{events, packets, read, trusted_sequence};

categories! {
    LOSS = "loss";
}

/// Events of a thread. A program that is not optimised takes too long for as many.
const EVENTS: u64 = if cfg!(debug_assertions) { 20_000 } else { 300_000 };

/// The only user of a service with shared memory of `kb` KiB.
pub(crate) struct Small {
    _alone: MutexGuard<'static, ()>,
}

impl Small {
    pub(crate) fn new(kb: u32) -> Self {
        Self::with(Init::new().shm_kb(kb))
    }

    pub(crate) fn with(init: Init) -> Self {
        let alone = alone();
        tracing_sdk::shutdown();
        init.in_process().expect("a service");
        Self { _alone: alone }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Other tests want the defaults.
        tracing_sdk::shutdown();
    }
}

fn config(fill: Fill) -> Config {
    Config::new().buffer_kb(512 * 1024, fill).track_events(&["loss"])
}

/// The trace of what `work` does, and the number of events that were lost meanwhile.
fn recorded(config: &Config, work: impl FnOnce()) -> (Vec<u8>, u64) {
    let lost = lost_events();
    let session = Session::in_process(config).expect("a session");
    session.start().expect("a start");
    work();
    session.stop().expect("an end");
    // A lost event is a dropped packet: its own, or one that should have opened its sequence again. A slice end that is
    // written later was one, too.
    let told = dropped(&session.stats().expect("statistics"));
    let of_events = lost_events() - lost;
    let most = of_events + of_events / 4 + 64;
    assert!((of_events..=most).contains(&told), "{told} packets, {of_events} events");
    assert!(of_events > 0 || told == 0, "{told} packets, and no event was lost");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    (trace, lost_events() - lost)
}

/// How many packets the session's ledger says were dropped.
fn dropped(stats: &protos::TraceStats) -> u64 {
    let entries = stats.loss_ledger.iter().flat_map(|ledger| &ledger.entries);
    let dropped = entries.filter(|e| e.reason == Some(protos::LossLedgerReason::REASON_DROPPED));
    dropped.filter_map(|entry| entry.count).sum()
}

/// Every event is on a track that its sequence has described since its opening, with all its ancestors.
fn assert_described(trace: &[u8]) {
    let mut sequences: HashMap<u32, HashMap<u64, u64>> = HashMap::new();
    for packet in packets(trace) {
        let tracks = sequences.entry(trusted_sequence(&packet.message)).or_default();
        if packet.message.sequence_flags == Some(1) {
            tracks.clear();
        }
        match &packet.message.data {
            Some(TracePacketData::TrackDescriptor(track)) => {
                tracks.insert(track.uuid.unwrap_or(0), track.parent_uuid.unwrap_or(0));
            }
            Some(TracePacketData::TrackEvent(event)) => {
                let mut next = event.track_uuid.unwrap_or(0);
                let mut seen = HashSet::new();
                while next != 0 {
                    assert!(seen.insert(next), "its own ancestor");
                    next = *tracks.get(&next).expect("a track that is described");
                }
            }
            _ => {}
        }
    }
}

/// Reads strictly, and returns the number of events: each thread has numbered its own. Before each gap an event says
/// how many are missing.
fn count(trace: &[u8]) -> u64 {
    let mut next: HashMap<u32, u64> = HashMap::new();
    let mut events = 0;
    for packet in read(trace) {
        let Some(TracePacketData::TrackEvent(event)) = &packet.message.data else { continue };
        let numbers: Vec<u64> = event.debug_annotations.iter().filter_map(number).collect();
        let (missing, number) = match numbers[..] {
            [missing, number] => (missing, number),
            [number] => (0, number),
            _ => panic!("the arguments of {event:?}"),
        };
        let next = next.entry(trusted_sequence(&packet.message)).or_default();
        assert_eq!(number, *next + missing, "a gap that is not told");
        *next = number + 1;
        events += 1;
    }
    events
}

fn number(annotation: &protos::DebugAnnotation) -> Option<u64> {
    match annotation.value {
        Some(DebugAnnotationValue::UintValue(value)) => Some(value),
        _ => None,
    }
}

/// As many as a machine can.
fn flood(threads: u64) {
    for fill in [Fill::Ring, Fill::Discard] {
        let _small = Small::new(256);
        let (trace, lost) = recorded(&config(fill), || {
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    let events = || (0..EVENTS).for_each(|n| instant!(LOSS, "n", number = n));
                    scope.spawn(events);
                }
            });
        });
        assert_eq!(count(&trace) + lost, threads * EVENTS);
        println!("{threads} threads, {fill:?}: {lost} of {} events lost", threads * EVENTS);
    }
}

#[test]
fn one_thread_loses_nothing_unseen() {
    flood(1);
}

#[test]
fn two_threads_lose_nothing_unseen() {
    flood(2);
}

#[test]
fn eight_threads_lose_nothing_unseen() {
    flood(8);
}

/// Eight threads, and chunks for four: whatever the machine does, some find none.
#[test]
fn threads_without_a_chunk() {
    let _small = Small::new(16);
    let everybody = Barrier::new(8);
    let (trace, lost) = recorded(&config(Fill::Ring), || {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    instant!(LOSS, "n", number = 0_u64);
                    // Nobody gives a chunk back before everybody has asked for one.
                    everybody.wait();
                    (1..100_u64).for_each(|number| instant!(LOSS, "n", number = number));
                });
            }
        });
    });
    assert!(lost >= 4, "{lost} events were lost");
    assert_eq!(count(&trace) + lost, 800);
}

/// Events of all kinds while memory is short: opened packets that find no second chunk, descriptions of tracks, threads
/// that end while they drop.
#[test]
fn events_of_all_kinds() {
    let _small = Small::new(16);
    let text = "x".repeat(5000);
    let everybody = Barrier::new(6);
    let (trace, lost) = recorded(&config(Fill::Ring), || {
        for _ in 0..4 {
            std::thread::scope(|scope| {
                for _ in 0..6 {
                    scope.spawn(|| {
                        for number in 0..500_u64 {
                            if number == 1 {
                                // Four threads have a chunk, and the others have lost their first event.
                                everybody.wait();
                            }
                            // Of descriptions and events, any can be the one that finds memory again.
                            let parent =
                                Track::named("parent").id(number).description(&text[..1100]);
                            let child = parent.child("child").description(&text[..1100]);
                            let track = child.child("grandchild");
                            let len = match number % 7 {
                                0 => 5000,
                                1 => 1100,
                                _ => 3,
                            };
                            instant!(
                                LOSS,
                                "n",
                                track = track,
                                number = number,
                                text = &text[..len]
                            );
                        }
                    });
                }
            });
        }
    });
    assert!(lost > 0, "no event was lost");
    assert_described(&trace);
    assert_eq!(count(&trace) + lost, 4 * 6 * 500);
}

/// Some packet finds memory again. Only the first one of an opening may be it.
#[test]
fn memory_comes_back_between_two_packets() {
    let _small = Small::new(16);
    let victims = 40;
    let (held, lost_one, free) = (Barrier::new(5), Barrier::new(victims + 1), Barrier::new(5));
    let again = Barrier::new(victims + 1);
    let lost = lost_events();
    let session = Session::in_process(&config(Fill::Ring)).expect("a session");
    session.start().expect("a start");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                instant!(LOSS, "n", number = 0_u64);
                held.wait();
                free.wait();
            });
        }
        held.wait();
        for victim in 0..victims {
            let body = || {
                instant!(LOSS, "n", number = 0_u64);
                lost_one.wait();
                again.wait();
                (1..100_u64).for_each(|number| instant!(LOSS, "n", number = number));
            };
            // The size of the opening depends on the name.
            let named = std::thread::Builder::new().name("x".repeat(victim + 1));
            named.spawn_scoped(scope, body).expect("a thread");
        }
        lost_one.wait();
        free.wait();
        session.flush().expect("a flush");
        again.wait();
    });
    session.stop().expect("an end");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    assert_eq!(count(&trace) + lost_events() - lost, 4 + 40 * 100);
}

/// The end of a slice whose beginning was lost would close the slice around it.
#[test]
fn no_end_without_a_beginning() {
    let _small = Small::new(16);
    let (everybody, again) = (Barrier::new(8), Barrier::new(8));
    let (trace, lost) = recorded(&config(Fill::Ring), || {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let slice = slice!(LOSS, "slice", number = 0_u64);
                    everybody.wait();
                    // Now there is memory again.
                    tracing_sdk::flush();
                    again.wait();
                    drop(slice);
                });
            }
        });
    });
    assert!(lost >= 4, "{lost} events were lost");
    let mut depths: HashMap<u32, i32> = HashMap::new();
    for packet in packets(&trace) {
        let depth = depths.entry(trusted_sequence(&packet.message)).or_default();
        *depth += match packet.text.as_deref() {
            None => 0,
            Some("end") => -1,
            Some(_) => 1,
        };
        assert!(*depth >= 0, "an end without a beginning");
    }
}

/// Three threads hold a chunk each, so that the calling thread has the fourth alone, until `work` calls the function
/// that it gets. When that returns, there is memory again.
pub(crate) fn with_one_chunk(session: &Session, work: impl FnOnce(&dyn Fn())) {
    let (held, free) = (Barrier::new(4), Barrier::new(4));
    std::thread::scope(|scope| {
        let holders = [(); 3].map(|()| {
            scope.spawn(|| {
                instant!(LOSS, "held");
                held.wait();
                free.wait();
            })
        });
        held.wait();
        let holders = std::cell::Cell::new(Some(holders));
        work(&|| {
            free.wait();
            for holder in holders.take().into_iter().flatten() {
                holder.join().expect("no panic");
            }
            // On another thread, because it also flushes the events of its own.
            scope.spawn(|| session.flush().expect("a flush")).join().expect("no panic");
        });
    });
}

/// Writes until an event of the calling thread is lost. Returns a time before that event.
fn lose_one() -> u64 {
    let (text, before) = ("x".repeat(20_000), lost_events());
    loop {
        let begin_ns = os::clock::boot_ns();
        instant!(LOSS, "large", text = text.as_str());
        if lost_events() != before {
            return begin_ns;
        }
    }
}

/// Whether the thread may have asked for memory again since [`lose_one`], which it does after a millisecond: then it
/// was interrupted, and the test says nothing.
fn has_asked_again(lost_ns: u64) -> bool {
    os::clock::boot_ns() - lost_ns >= 1_000_000
}

/// The events of the calling thread, without those that fill the memory.
fn own_events(trace: &[u8], first: &str) -> Vec<(String, TracePacket)> {
    let mut sequences: HashMap<u32, Vec<_>> = HashMap::new();
    for packet in packets(trace) {
        let sequence = trusted_sequence(&packet.message);
        let text = packet.text.filter(|text| !text.starts_with("instant loss large"));
        sequences.entry(sequence).or_default().extend(text.map(|text| (text, packet.message)));
    }
    let is_own = |events: &Vec<(String, _)>| events.first().is_some_and(|(text, _)| text == first);
    sequences.into_values().find(is_own).expect("the events of the thread")
}

fn texts(events: &[(String, TracePacket)]) -> Vec<&str> {
    events.iter().map(|(text, _)| text.as_str()).collect()
}

fn started(config: &Config) -> Session {
    let session = Session::in_process(config).expect("a session");
    session.start().expect("a start");
    session
}

fn stopped(session: &Session) -> Vec<u8> {
    session.stop().expect("an end");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    trace
}

/// A slice whose end found no memory ends all the same, at its time: otherwise the end of the slice around it would
/// close it.
#[test]
fn a_lost_end_is_written_later() {
    while !lost_end_is_written_later() {}
}

/// False if the thread was interrupted.
fn lost_end_is_written_later() -> bool {
    let _small = Small::new(16);
    let config = protos::TrackEventConfig {
        enabled_categories: vec!["loss".to_owned()],
        disabled_categories: vec!["*".to_owned()],
        disable_incremental_timestamps: Some(true),
        ..Default::default()
    };
    let config = Config::new().buffer_kb(1024, Fill::Ring).track_event_config(config);
    let session = started(&config);
    let (mut before, mut after, mut is_late, lost) = (0, 0, false, lost_events());
    with_one_chunk(&session, |release| {
        let outer = slice!(LOSS, "outer");
        let on_track = slice!(LOSS, "on a track", track = Track::named("lost end"));
        let inner = slice!(LOSS, "inner");
        let innermost = slice!(LOSS, "innermost");
        let lost_ns = lose_one();
        before = os::clock::boot_ns();
        drop(innermost);
        tracing_sdk::end!(inner, sent = 1);
        drop(on_track);
        after = os::clock::boot_ns();
        is_late = has_asked_again(lost_ns);
        // No memory: they stay late. The next event looks for a chunk again.
        tracing_sdk::flush();
        release();
        instant!(LOSS, "between");
        drop(outer);
    });
    if is_late {
        return false;
    }
    assert_eq!(lost_events() - lost, 1, "ends are not lost");
    let events = own_events(&stopped(&session), "begin loss outer");
    assert_eq!(
        texts(&events),
        [
            "begin loss outer",
            "begin loss on a track",
            "begin loss inner",
            "begin loss innermost",
            "end",
            "end lost_arguments=true",
            "end",
            "instant loss between lost_events_before=1",
            "end",
        ]
    );
    let times = |at: usize| events[at].1.timestamp.expect("a time");
    assert!((before..=after).contains(&times(4)) && (times(4)..=after).contains(&times(6)));
    let track = |at: usize| match &events[at].1.data {
        Some(TracePacketData::TrackEvent(event)) => event.track_uuid,
        _ => None,
    };
    assert_eq!([track(4), track(5), track(6)], [None, None, track(1)]);
    true
}

/// A thread that ends, or is flushed, writes the ends of its slices that found no memory.
#[test]
fn a_lost_end_is_the_last_event_of_its_thread() {
    for is_flushed in [true, false] {
        while !lost_end_is_the_last_event(is_flushed) {}
    }
}

/// False if the thread was interrupted.
fn lost_end_is_the_last_event(is_flushed: bool) -> bool {
    let _small = Small::new(16);
    let (session, lost) = (started(&config(Fill::Ring)), lost_events());
    let body = || {
        let mut is_late = false;
        with_one_chunk(&session, |release| {
            let slice = slice!(LOSS, "slice");
            let lost_ns = lose_one();
            drop(slice);
            is_late = has_asked_again(lost_ns);
            release();
            if is_flushed {
                tracing_sdk::flush();
            }
        });
        is_late
    };
    // A join also waits for values of the thread.
    if std::thread::scope(|scope| scope.spawn(body).join().expect("no panic")) {
        return false;
    }
    let events = own_events(&stopped(&session), "begin loss slice");
    assert_eq!(texts(&events), ["begin loss slice", "end"]);
    assert_eq!(lost_events() - lost, 1);
    true
}

/// An end that its session can no longer get is lost.
#[test]
fn a_lost_end_is_counted_when_its_session_has_ended() {
    while !lost_end_is_counted() {}
}

/// False if the thread was interrupted.
fn lost_end_is_counted() -> bool {
    let _small = Small::new(16);
    let (session, lost) = (started(&config(Fill::Ring)), lost_events());
    let (done, ended) = (Barrier::new(2), Barrier::new(2));
    let (mut lost_before, mut is_late) = (0, false);
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let mut is_late = false;
            with_one_chunk(&session, |release| {
                let slice = slice!(LOSS, "slice");
                let lost_ns = lose_one();
                drop(slice);
                is_late = has_asked_again(lost_ns);
                release();
            });
            done.wait();
            ended.wait();
            is_late
        });
        done.wait();
        lost_before = lost_events();
        drop(stopped(&session));
        ended.wait();
        is_late = thread.join().expect("no panic");
    });
    if is_late {
        return false;
    }
    assert_eq!((lost_before - lost, lost_events() - lost), (1, 2));
    true
}

/// A session whose config wants threads to wait for memory.
pub(crate) fn stalling() -> Session {
    let track_event = protos::TrackEventConfig {
        enabled_categories: vec!["loss".to_owned()],
        disabled_categories: vec!["*".to_owned()],
        ..Default::default()
    };
    started(&Config::new().data_source(DataSourceConfig {
        name: Some("track_event".to_owned()),
        track_event_config: Some(track_event),
        buffer_exhausted_policy: Some(BufferExhaustedPolicy::BUFFER_EXHAUSTED_STALL_THEN_ABORT),
        ..Default::default()
    }))
}

#[test]
fn a_config_cannot_stop_threads() {
    let _small = Small::new(16);
    let session = stalling();
    with_one_chunk(&session, |release| {
        lose_one();
        release();
    });
    stopped(&session);
}

#[test]
fn a_program_can_let_configs_stop_threads() {
    let _small = Small::with(Init::new().shm_kb(16).allow_stall());
    // Another part of the program, which has chosen nothing.
    tracing_sdk::init().expect("a producer");
    let (session, lost) = (stalling(), lost_events());
    let begun = Barrier::new(2);
    with_one_chunk(&session, |release| {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let text = "x".repeat(20_000);
                begun.wait();
                instant!(LOSS, "large", text = text.as_str());
            });
            begun.wait();
            release();
        });
    });
    assert_eq!(lost_events() - lost, 0);
    stopped(&session);
}

/// A thread local that is older than the sequences of its thread is dropped after them.
#[test]
fn an_end_that_comes_after_its_sequence_is_counted() {
    thread_local! {
        static JOB: RefCell<Option<TrackSlice<'static>>> = const { RefCell::new(None) };
    }

    let _alone = alone();
    let lost = lost_events();
    let trace = record(&["loss"], || {
        let work = || {
            JOB.with(|job| {
                *job.borrow_mut() = Some(slice!(LOSS, "late", track = Track::named("late")))
            })
        };
        std::thread::spawn(work).join().expect("no panic");
    });
    assert_eq!(events(&trace.expect("a trace")), ["begin loss late"]);
    assert_eq!(lost_events() - lost, 1);
}

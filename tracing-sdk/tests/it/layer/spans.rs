//! Spans as slices of one thread: panics, overlaps, sessions that start and stop, flows.

use std::fmt;
use std::sync::Barrier;

use tracing::field::Empty;
use tracing::subscriber::with_default;
use tracing::{Dispatch, dispatcher, info, info_span};
use tracing_file::lint::lint;
use tracing_sdk::layer::{Recorder, SpanStyle, layer};
use tracing_sdk::session::record;
use tracing_subscriber::prelude::*;

use super::{body, check, check_nesting, named, recorded};
use crate::alone::alone;
use crate::trace::{Packet, events, packets};

const HERE: &str = "it::layer::spans";

/// A span that is entered once stays a slice of its thread, also after others of its call site were.
#[test]
fn sync_spans_stay_sync() {
    let work = || info_span!("once").in_scope(|| info!("inside"));
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        work();
        work();
    });
    assert!(named(&trace, "once").is_empty());
    let flows = |packet: &Packet| body(packet).map_or(0, |event| event.flow_ids.len());
    let flows: Vec<usize> =
        packets(&trace).iter().filter(|packet| body(packet).is_some()).map(flows).collect();
    // The first of its call site carries a flow, in case it is entered again.
    assert_eq!(flows, [0, 0, 1, 0, 0, 0]);
}

#[test]
fn a_panic_leaves_spans() {
    check(
        || {
            let work = || {
                let _outer = info_span!("outer").entered();
                let _inner = info_span!("inner").entered();
                panic!("on purpose");
            };
            assert!(std::panic::catch_unwind(work).is_err());
            struct Panics;
            impl fmt::Debug for Panics {
                fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                    panic!("on purpose")
                }
            }
            let value = || info!(value = ?Panics, "half");
            assert!(std::panic::catch_unwind(value).is_err());
            let span = || info_span!("no span", value = ?Panics);
            assert!(std::panic::catch_unwind(span).is_err());
            info!("after");
        },
        &["begin outer", "begin inner", "end", "end", "instant half value=", "instant after"],
    );
}

/// Guards need not be dropped in order, but slices of a thread must be nested.
#[test]
fn spans_that_overlap_are_split() {
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        let [a, b] = [info_span!("a", n = 1), info_span!("b", n = 2)];
        let a = a.entered();
        let b = b.entered();
        drop(a);
        info!("inside b");
        drop(b);
        info!("outside");
    });
    assert_eq!(
        events(&trace),
        [
            "begin it::layer::spans a n=1",
            "begin it::layer::spans b n=2",
            "end",
            "end",
            "begin it::layer::spans b n=2",
            "instant it::layer::spans inside b",
            "end",
            "instant it::layer::spans outside",
        ]
    );
}

/// Names of slices whose beginning and end are on the same track, in the order of their ends.
fn slices_of_tracks(trace: &[u8]) -> Vec<String> {
    let mut open = Vec::new();
    let mut slices = Vec::new();
    for packet in packets(trace) {
        let (Some(event), Some(text)) = (body(&packet), packet.text.clone()) else { continue };
        let Some(uuid) = event.track_uuid else { continue };
        if let Some(name) = text.strip_prefix("begin it::layer::spans ") {
            open.push((uuid, name.to_owned()));
        } else if text.starts_with("end") {
            let at =
                open.iter().rposition(|(track, _)| *track == uuid).expect("a slice of this track");
            slices.push(format!("{} {text}", open.remove(at).1));
        }
    }
    assert!(open.is_empty(), "{open:?}");
    slices
}

/// Slices of one track are paired by time, so two threads that have slices on it would end each other's.
#[test]
fn threads_have_tracks_of_one_name_to_themselves() {
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        let dispatch = dispatcher::get_default(Dispatch::clone);
        // The first thread begins, the second one begins, the first one ends, the second one ends.
        let steps: [Barrier; 3] = std::array::from_fn(|_| Barrier::new(2));
        let [first_begun, second_begun, first_ended] = &steps;
        std::thread::scope(|scope| {
            let (first, second) = (dispatch.clone(), dispatch);
            scope.spawn(move || {
                dispatcher::with_default(&first, || {
                    let span = info_span!("first", track = "Uploads", done = Empty).entered();
                    info!(track = "Uploads", "inside");
                    first_begun.wait();
                    second_begun.wait();
                    span.record("done", 1);
                    drop(span);
                    first_ended.wait();
                });
            });
            scope.spawn(move || {
                dispatcher::with_default(&second, || {
                    first_begun.wait();
                    let span = info_span!("second", track = "Uploads", done = Empty).entered();
                    second_begun.wait();
                    first_ended.wait();
                    span.record("done", 2);
                });
            });
        });
    });
    assert_eq!(slices_of_tracks(&trace), ["first end done=1", "second end done=2"]);
    // An event is on the track of the spans around it.
    let packets = packets(&trace);
    let track_of = |text: &str| {
        let packet = packets.iter().find(|packet| packet.text.as_deref() == Some(text));
        body(packet.expect("the event")).and_then(|event| event.track_uuid)
    };
    let first = track_of("begin it::layer::spans first");
    assert_eq!(track_of("instant it::layer::spans inside"), first);
    assert_ne!(track_of("begin it::layer::spans second"), first);
    assert_eq!(named(&trace, "Uploads").len(), 2);
}

/// As on a thread: what is left before those it encloses ends their slices, too.
#[test]
fn spans_that_overlap_on_a_track_are_split() {
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        let a = info_span!("a", track = "Uploads").entered();
        let b = info_span!("b", track = "Uploads", n = 2).entered();
        let other = info_span!("other", track = "Downloads").entered();
        let thread = info_span!("thread").entered();
        drop(a);
        drop(b);
        drop(other);
        drop(thread);
    });
    assert_eq!(
        events(&trace),
        [
            "begin it::layer::spans a",
            "begin it::layer::spans b n=2",
            "begin it::layer::spans other",
            "begin it::layer::spans thread",
            "end",
            "end",
            "begin it::layer::spans b n=2",
            "end",
            "end",
            "end",
        ]
    );
    assert_eq!(slices_of_tracks(&trace), ["b n=2 end", "a end", "b n=2 end", "other end"]);
}

/// A slice ends where it has begun.
#[test]
fn a_track_that_is_recorded_late_is_an_annotation() {
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        let job = info_span!("job", track = "queue");
        let entered = job.enter();
        job.record("track", "worker");
        job.record("track", "another worker");
        drop(entered);
        // It has no slice yet.
        let new = info_span!("new", track = Empty);
        new.record("track", "queue");
        let entered = new.enter();
        new.record("track", 7);
        drop(entered);
        let thread = info_span!("thread", track = Empty, n = 1).entered();
        thread.record("track", "queue");
    });
    assert_eq!(slices_of_tracks(&trace), ["job end track=another worker", "new end track=7"]);
    assert_eq!(events(&trace).last().map(String::as_str), Some("end track=queue"));
    assert_eq!(named(&trace, "queue").len(), 1);
    assert!(lint(trace.as_slice(), |_, _| {}).counts.is_empty());
}

#[test]
fn a_whole_life_ends_where_it_has_begun() {
    let recorder = Recorder::new().span_style(SpanStyle::Async);
    let trace = recorded(tracing_subscriber::registry().with(recorder.build()), || {
        let unnamed = info_span!("unnamed", track = Empty);
        unnamed.record("track", "w1");
        drop(unnamed);
        let named = info_span!("named", track = "w1");
        named.record("track", "w2");
    });
    assert_eq!(slices_of_tracks(&trace), ["unnamed end track=w1", "named end track=w2"]);
    assert_eq!((named(&trace, "unnamed").len(), named(&trace, "w1").len()), (1, 1));
    assert!(lint(trace.as_slice(), |_, _| {}).counts.is_empty());
}

#[test]
fn spans_that_are_open_when_sessions_start_and_stop() {
    let _alone = alone();
    with_default(tracing_subscriber::registry().with(layer()), || {
        let early = info_span!("early").entered();
        let (mut kept, mut open) = (None, None);
        let first = record(&[HERE], || {
            drop(early);
            open = Some(info_span!("open").entered());
            let again = info_span!("again");
            again.in_scope(|| ());
            again.in_scope(|| ());
            kept = Some(again);
        });
        let first = first.expect("a recording");
        let begun = |trace: &[u8], name: &str| {
            let text = format!("begin {HERE} {name}");
            events(trace).iter().filter(|event| **event == text).count()
        };
        assert_eq!(
            (begun(&first, "early"), begun(&first, "open"), begun(&first, "again")),
            (0, 1, 3)
        );
        let again = kept.expect("a span");
        let second = record(&[HERE], || {
            // It began in the first session.
            drop(open);
            again.in_scope(|| ());
            drop(again);
        });
        let second = second.expect("a recording");
        check_nesting(&second);
        assert_eq!((begun(&second, "open"), begun(&second, "again")), (0, 2));
        // The time when it was made is before the second session, so the slice begins when it is entered there.
        let with_times = |trace: &[u8]| {
            let own_time = |packet: &Packet| {
                body(packet).is_some() && packet.message.timestamp_clock_id == Some(6)
            };
            packets(trace).iter().filter(|packet| own_time(packet)).count()
        };
        assert_eq!((with_times(&first), with_times(&second)), (1, 0));
        let none = record(&[HERE], || {}).expect("a recording");
        assert_eq!(events(&none), [""; 0]);
    });
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

#[test]
fn a_whole_life_begins_when_the_span_is_made_or_entered_first() {
    fn span() -> tracing::Span {
        info_span!("mostly once")
    }
    let twice = |span: &tracing::Span| {
        let mut after_ns = [0; 2];
        after_ns.iter_mut().for_each(|ns| *ns = span.in_scope(now_ns));
        after_ns
    };
    let life_ns = |trace: &[u8]| {
        let is_life = |packet: &&Packet| {
            body(packet).is_some() && packet.message.timestamp_clock_id == Some(6)
        };
        packets(trace).iter().find(is_life).and_then(|packet| packet.message.timestamp)
    };
    let mut times = [0; 3];
    let expected_once = recorded(tracing_subscriber::registry().with(layer()), || {
        drop(span().entered());
        let span = span();
        times[0] = now_ns();
        times[1..].copy_from_slice(&twice(&span));
    });
    let begun_ns = life_ns(&expected_once).expect("a life");
    assert!((times[0]..=times[1]).contains(&begun_ns), "{begun_ns} {times:?}");
    let unknown = recorded(tracing_subscriber::registry().with(layer()), || {
        let span = info_span!("unknown");
        times[0] = now_ns();
        twice(&span);
    });
    assert!(life_ns(&unknown).is_some_and(|begun_ns| begun_ns <= times[0]));
}

#[test]
fn follows_from_is_a_flow() {
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        let cause = info_span!("cause");
        let effect = info_span!("effect");
        cause.in_scope(|| {
            effect.follows_from(&cause);
        });
        let _effect = effect.entered();
    });
    let mut flows = Vec::new();
    for packet in packets(&trace) {
        let (Some(event), Some(text)) = (body(&packet), &packet.text) else { continue };
        if !text.starts_with("end") {
            flows.push((text.clone(), event.flow_ids.clone()));
        }
    }
    let [cause, arrow, effect] = &flows[..] else { panic!("{flows:?}") };
    assert_eq!(cause.0, "begin it::layer::spans cause");
    assert_eq!(arrow.0, "instant it::layer::spans follows_from span=cause");
    assert_eq!(effect.0, "begin it::layer::spans effect");
    assert_eq!((cause.1.len(), arrow.1.len(), &arrow.1), (0, 1, &effect.1));
}

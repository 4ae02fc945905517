//! Names, fields and texts of spans and events.

use std::collections::HashMap;
use std::fmt;

use protos::TrackEventConfig;
use tracing::subscriber::with_default;
use tracing::{error, info, info_span, trace, warn};
use tracing_sdk::layer::layer;
use tracing_sdk::session::{Config, Session};
use tracing_subscriber::prelude::*;

use super::{body, check, named, recorded, without_target};
use crate::alone::alone;
use crate::trace::{Packet, events, packets};

const HERE: &str = "it::layer::events";

#[derive(Debug)]
struct Failure(&'static str, Option<Box<Failure>>);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Failure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self.1.as_deref()?)
    }
}

fn failure() -> Failure {
    Failure("no answer", Some(Box::new(Failure("closed", None))))
}

#[test]
fn spans_and_fields() {
    check(
        || {
            let failure = failure();
            let failure: &(dyn std::error::Error + 'static) = &failure;
            let span = info_span!(
                "outer",
                u = 1_u64,
                i = -1,
                f = 0.5,
                b = true,
                s = "text",
                debug = ?Some(1),
                display = %"shown",
                failure,
                late = tracing::field::Empty,
            );
            let entered = span.enter();
            error!(
                u = 1_u64,
                i = -1,
                f = 0.5,
                b = true,
                s = "text",
                debug = ?Some(1),
                display = %"shown",
                failure,
                "inside"
            );
            span.record("late", 7);
            drop(entered);
        },
        &[
            "begin outer u=1 i=-1 f=0.5 b=true s=text debug=Some(1) display=shown failure=[no answer,closed]",
            "instant inside u=1 i=-1 f=0.5 b=true s=text debug=Some(1) display=shown failure=[no answer,closed]",
            "end late=7",
        ],
    );
}

/// With few fields, values need no stream. Those that came in another order do.
#[test]
fn values_of_few_fields() {
    let span =
        || info_span!("few", a = 1, b = tracing::field::Empty, c = "text", d = 0.5, e = true);
    check(
        || {
            // The first one defines the keys.
            span().in_scope(|| ());
            span().in_scope(|| ());
            let late = span();
            late.record("b", 2);
            late.in_scope(|| ());
            info_span!("last", a = tracing::field::Empty, b = "").in_scope(|| ());
        },
        &[
            "begin few a=1 c=text d=0.5 e=true",
            "end",
            "begin few a=1 c=text d=0.5 e=true",
            "end",
            "begin few a=1 c=text d=0.5 e=true b=2",
            "end",
            "begin last b=",
            "end",
        ],
    );
}

/// More call sites than a thread has places for, each of them twice.
#[test]
fn many_call_sites_are_told_apart() {
    macro_rules! spans {
        ($($number:literal)*) => {
            for _ in 0..2 {$(
                drop(info_span!(concat!("span_", $number)).entered());
            )*}
        };
    }
    #[rustfmt::skip]
    let work = || {
        spans!(
            0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29
            30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56
            57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83
            84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99
        );
    };
    let trace = recorded(tracing_subscriber::registry().with(layer()), work);
    let events: Vec<String> = events(&trace).iter().map(|text| without_target(text)).collect();
    let begun: Vec<&String> = events.iter().filter(|text| text.starts_with("begin")).collect();
    let expected: Vec<String> = (0..200).map(|n| format!("begin span_{}", n % 100)).collect();
    assert_eq!(begun, expected.iter().collect::<Vec<_>>());
}

#[test]
fn any_text_is_safe() {
    let long = "x".repeat(1 << 20);
    check(
        || {
            let _span =
                info_span!("nul\0in the name", value = "nul\0inside", debug = ?"\0").entered();
            error!(value = "nul\0inside", long, "message\0");
        },
        &[
            "begin nul\0in the name value=nul\0inside debug=\"\\0\"",
            &format!("instant message\0 value=nul\0inside long={long}"),
            "end",
        ],
    );
}

#[test]
fn a_value_that_is_recorded_again_leaves_others_alone() {
    check(
        || {
            let span = info_span!("span", a = "first", b = "second", c = 3);
            span.record("a", "a longer text");
            span.record("a", "x");
            drop(span.entered());
        },
        &["begin span b=second c=3 a=x", "end"],
    );
}

#[test]
fn names_of_events() {
    let line = line!() + 10;
    let dynamic = |n: i32| info!("number {n}");
    check(
        || {
            for n in 0..2 {
                dynamic(n);
            }
            for _ in 0..2 {
                info!("literal");
            }
            info!(n = 1);
            info!(name: "chosen", "message");
            info!("{}", String::from("one piece"));
        },
        &[
            "instant number 0",
            "instant number 1",
            "instant literal",
            "instant literal",
            &format!("instant event {}:{line} n=1", file!()),
            "instant chosen",
            "instant one piece",
        ],
    );
}

/// The name of an event whose text is not the same each time is not a literal: sessions can filter it.
#[test]
fn literals_are_told_from_formatted_texts() {
    let config = TrackEventConfig {
        enabled_categories: vec![HERE.to_owned()],
        disabled_categories: vec!["*".to_owned()],
        filter_dynamic_event_names: Some(true),
        ..Default::default()
    };
    let _alone = alone();
    let session =
        Session::in_process(&Config::new().track_event_config(config)).expect("a session");
    with_default(tracing_subscriber::registry().with(layer()), || {
        session.start().expect("a start");
        for n in 0..3 {
            info!("number {n}");
            info!("literal");
        }
        for text in ["first", "second", "first"] {
            info!("{text}");
        }
    });
    session.stop().expect("a stop");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    let filtered = events(&trace).iter().filter(|text| text.ends_with("FILTERED")).count();
    let literal = events(&trace).iter().filter(|text| text.ends_with("literal")).count();
    assert_eq!((filtered, literal), (5, 3), "{:?}", events(&trace));
}

#[test]
fn lines_of_the_log() {
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        warn!("careful");
        for n in 0..2 {
            trace!("details {n}");
        }
    });
    let mut texts = HashMap::new();
    let mut lines = HashMap::new();
    let mut log = Vec::new();
    for packet in packets(&trace) {
        if let Some(data) = &packet.message.interned_data {
            for entry in &data.log_message_body {
                texts.insert(entry.iid, entry.body.clone().unwrap_or_default());
            }
            for entry in &data.source_locations {
                assert_eq!(entry.file_name.as_deref(), Some(file!()));
                lines.insert(entry.iid, entry.line_number);
            }
        }
        if let Some(message) = body(&packet).and_then(|event| event.log_message.as_ref()) {
            assert!(lines.contains_key(&message.source_location_iid));
            let text = texts.get(&message.body_iid).expect("a text that was defined");
            log.push((text.clone(), message.prio.map(|priority| priority.0)));
        }
    }
    let expected = [("careful", 5), ("details 0", 2), ("details 1", 2)];
    assert_eq!(log, expected.map(|(text, priority)| (text.to_owned(), Some(priority))));
}

/// The first one defines its names, and the others have another way into shared memory.
#[test]
fn an_event_is_the_same_each_time() {
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        (0..3).for_each(|_| warn!("the same"));
        (0..3).for_each(|_| info!(name: "chosen", "the same"));
    });
    let packets = packets(&trace);
    let bodies: Vec<_> = packets.iter().filter_map(body).collect();
    assert_eq!(bodies.len(), 6);
    for same in bodies.chunks(3) {
        let line = same[0].log_message.as_ref().expect("a line of the log");
        assert!(line.body_iid.is_some() && line.source_location_iid.is_some());
        assert!(same.iter().all(|event| *event == same[0]), "{same:?}");
    }
}

#[test]
fn counters_and_tracks() {
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        info!(counter.queue = 17, counter.load = 0.5);
        info!(counter.queue = 18_u64, "with a message");
        let _span = info_span!("on a track", track = "Uploads", counter.queue = 1).entered();
        info!(track = "Uploads", "also there");
        info!(name: "named", track = "Uploads", "a message");
    });
    assert_eq!(
        events(&trace),
        [
            "counter 17",
            "counter 0.5",
            "counter 18",
            "instant it::layer::events with a message",
            "counter 1",
            "begin it::layer::events on a track",
            "instant it::layer::events also there",
            "instant it::layer::events named message=a message",
            "end"
        ]
    );
    // Readers lose lines of a log that are on no thread.
    let report = tracing_file::lint::lint(trace.as_slice(), |_, _| {});
    assert!(report.counts.is_empty(), "{:?}", report.counts);
    assert!(named(&trace, "queue").iter().all(|track| track.counter.is_some()));
    let uploads = named(&trace, "Uploads");
    let uploads = uploads.first().expect("a track").uuid;
    let there = |packet: &Packet| body(packet).is_some_and(|event| event.track_uuid == uploads);
    assert_eq!(packets(&trace).iter().filter(|packet| there(packet)).count(), 4);
}

/// What has no meaning as a counter or a track is shown.
#[test]
fn counters_and_tracks_of_other_types_are_annotations() {
    let line = line!() + 4;
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        info!(track = 7, "playing");
        info!(track = 7, counter.queue = "full", "with a text");
        info!(counter.queue = "full");
        info!(counter.queue = ?Some(1), counter.large = u128::MAX, counter.load = 0.5);
        info!(counter.queue = 17);
        info_span!("span", track = 7, counter.queue = "full", counter.load = 1.5, a = 1)
            .in_scope(|| ());
        let late = info_span!("late", counter.queue = tracing::field::Empty).entered();
        late.record("counter.queue", "full");
        late.record("counter.queue", 18);
    });
    let events: Vec<String> = events(&trace).iter().map(|text| without_target(text)).collect();
    assert_eq!(
        events,
        [
            "instant playing track=7",
            "instant with a text track=7 counter.queue=full",
            &format!("instant event {}:{line} counter.queue=full", file!()),
            "counter 0.5",
            &format!(
                "instant event {}:{} counter.queue=Some(1) counter.large={}",
                file!(),
                line + 1,
                u128::MAX
            ),
            "counter 17",
            "counter 1.5",
            "begin span track=7 counter.queue=full a=1",
            "end",
            "begin late",
            "counter 18",
            "end counter.queue=full",
        ]
    );
}

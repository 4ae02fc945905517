//! Spans and events of the crate `tracing`.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use protos::{TracePacketData, TrackEvent, TrackEventConfig};
use tracing::instrument::Instrument as _;
use tracing::subscriber::{Interest, with_default};
use tracing::{Metadata, Subscriber, debug, error, info, info_span, span, trace, warn};
use tracing_sdk::layer::{Recorder, SpanStyle, layer};
use tracing_sdk::session::{Config, Session, record};
use tracing_subscriber::prelude::*;

use crate::alone::alone;
use crate::trace::{Packet, events, packets, tracks, trusted_sequence};

const HERE: &str = "it::layer";

fn recorded(subscriber: impl Subscriber + Send + Sync + 'static, work: impl FnOnce()) -> Vec<u8> {
    let _alone = alone();
    let trace = with_default(subscriber, || record(&[HERE], work).expect("a recording"));
    check_nesting(&trace);
    trace
}

fn check(work: impl FnOnce(), expected: &[&str]) {
    let trace = recorded(tracing_subscriber::registry().with(layer()), work);
    let events: Vec<String> =
        events(&trace).into_iter().map(|text| text.replace(" it::layer", "")).collect();
    assert_eq!(events, expected);
}

fn body(packet: &Packet) -> Option<&TrackEvent> {
    match &packet.message.data {
        Some(TracePacketData::TrackEvent(event)) => Some(event),
        _ => None,
    }
}

/// The track of an event: its uuid, or the sequence, whose thread it is on.
fn place(packet: &Packet) -> Result<u64, u32> {
    let event = body(packet).expect("an event");
    event.track_uuid.ok_or_else(|| trusted_sequence(&packet.message))
}

/// Each end has its beginning, each beginning has its end. Times are differences, so the order is that of the file.
fn check_nesting(trace: &[u8]) {
    let mut depth: HashMap<Result<u64, u32>, i64> = HashMap::new();
    for packet in packets(trace).iter().filter(|packet| body(packet).is_some()) {
        match body(packet).and_then(|event| event.r#type).map(|kind| kind.0) {
            Some(1) => *depth.entry(place(packet)).or_default() += 1,
            Some(2) => *depth.entry(place(packet)).or_default() -= 1,
            _ => {}
        }
    }
    assert!(depth.values().all(|&depth| depth == 0), "{depth:?}");
}

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
            &format!("instant event tracing-sdk/tests/it/layer.rs:{line} n=1"),
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
                assert_eq!(entry.file_name.as_deref(), Some("tracing-sdk/tests/it/layer.rs"));
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

fn named(trace: &[u8], name: &str) -> Vec<protos::TrackDescriptor> {
    let is_it = |track: &protos::TrackDescriptor| match &track.static_or_dynamic_name {
        Some(
            protos::TrackDescriptorStaticOrDynamicName::StaticName(text)
            | protos::TrackDescriptorStaticOrDynamicName::Name(text),
        ) => text == name,
        _ => false,
    };
    tracks(trace).into_iter().filter(is_it).collect()
}

#[test]
fn counters_and_tracks() {
    let trace = recorded(tracing_subscriber::registry().with(layer()), || {
        info!(counter.queue = 17, counter.load = 0.5);
        info!(counter.queue = 18_u64, "with a message");
        let _span = info_span!("on a track", track = "Uploads", counter.queue = 1).entered();
        info!(track = "Uploads", "also there");
    });
    assert_eq!(
        events(&trace),
        [
            "counter 17",
            "counter 0.5",
            "counter 18",
            "instant it::layer with a message",
            "counter 1",
            "begin it::layer on a track",
            "instant it::layer also there",
            "end"
        ]
    );
    assert!(named(&trace, "queue").iter().all(|track| track.counter.is_some()));
    let uploads = named(&trace, "Uploads");
    let uploads = uploads.first().expect("a track").uuid;
    let there = |packet: &Packet| body(packet).is_some_and(|event| event.track_uuid == uploads);
    assert_eq!(packets(&trace).iter().filter(|packet| there(packet)).count(), 3);
}

#[test]
fn levels_are_tags() {
    let _alone = alone();
    let run = |config: TrackEventConfig| {
        let session =
            Session::in_process(&Config::new().track_event_config(config)).expect("a session");
        with_default(tracing_subscriber::registry().with(layer()), || {
            session.start().expect("a start");
            error!("e");
            warn!("w");
            info!("i");
            debug!("d");
            trace!("t");
        });
        session.stop().expect("a stop");
        let mut trace = Vec::new();
        session.read_into(&mut trace).expect("a trace");
        let here = |text: String| text.strip_prefix("instant it::layer ").map(str::to_owned);
        events(&trace).into_iter().filter_map(here).collect::<String>()
    };
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    assert_eq!(run(TrackEventConfig::default()), "ewi");
    let tagged = |enabled: &[&str], disabled: &[&str]| TrackEventConfig {
        enabled_tags: texts(enabled),
        disabled_tags: texts(disabled),
        ..Default::default()
    };
    assert_eq!(run(tagged(&[], &["trace"])), "ewid");
    assert_eq!(run(tagged(&["error"], &["*"])), "e");
    let one = TrackEventConfig { enabled_categories: texts(&[HERE]), ..Default::default() };
    assert_eq!(run(one), "ewidt");
}

/// Passes on what `S` answers for one call site.
struct Spy<S>(S, Arc<Mutex<Vec<&'static str>>>);

impl<S: Subscriber> Subscriber for Spy<S> {
    fn on_register_dispatch(&self, subscriber: &tracing::Dispatch) {
        self.0.on_register_dispatch(subscriber);
    }

    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        let interest = self.0.register_callsite(metadata);
        if metadata.name() == "spied" {
            let answer = match (interest.is_never(), interest.is_always()) {
                (true, _) => "never",
                (_, true) => "always",
                _ => "sometimes",
            };
            self.1.lock().expect("a lock").push(answer);
        }
        interest
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        self.0.max_level_hint()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.enabled(metadata)
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        self.0.new_span(span)
    }

    fn record(&self, span: &span::Id, values: &span::Record<'_>) {
        self.0.record(span, values);
    }

    fn record_follows_from(&self, span: &span::Id, follows: &span::Id) {
        self.0.record_follows_from(span, follows);
    }

    fn event(&self, event: &tracing::Event<'_>) {
        self.0.event(event);
    }

    fn enter(&self, span: &span::Id) {
        self.0.enter(span);
    }

    fn exit(&self, span: &span::Id) {
        self.0.exit(span);
    }
}

fn check_interest(subscriber: impl Subscriber + Send + Sync + 'static) {
    let _alone = alone();
    let answers = Arc::new(Mutex::new(Vec::new()));
    let spied = || info!(name: "spied", "spied");
    with_default(Spy(subscriber, Arc::clone(&answers)), || {
        let last = || answers.lock().expect("a lock").last().copied();
        // Without any session it is not even asked, because of its level.
        spied();
        assert_ne!(last(), Some("always"));
        record(&["another"], spied).expect("a recording");
        assert_eq!(last(), Some("never"));
        assert!(!tracing::enabled!(tracing::Level::ERROR));
        let trace = record(&[HERE], || {
            assert_eq!(last(), Some("always"));
            assert!(tracing::enabled!(tracing::Level::ERROR));
            spied();
        });
        assert_eq!(events(&trace.expect("a recording")), ["instant it::layer spied"]);
        assert_eq!(last(), Some("never"));
        assert!(!tracing::enabled!(tracing::Level::ERROR));
    });
}

#[test]
fn a_call_site_is_off_until_a_session_wants_it() {
    check_interest(tracing_subscriber::registry().with(layer()));
}

#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("a lock").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn check_beside(output: &Output, subscriber: impl Subscriber + Send + Sync + 'static) {
    let _alone = alone();
    let work = |when: &str| {
        let _span = info_span!("work").entered();
        info!("info {when}");
        debug!("debug {when}");
    };
    let trace = with_default(subscriber, || {
        work("before");
        let trace = record(&[HERE], || work("during")).expect("a recording");
        work("after");
        trace
    });
    check_nesting(&trace);
    assert_eq!(
        events(&trace),
        [
            "begin it::layer work",
            "instant it::layer info during",
            "instant it::layer debug during",
            "end"
        ]
    );
    let text = String::from_utf8(output.0.lock().expect("a lock").clone()).expect("text");
    let lines: Vec<&str> =
        text.lines().filter_map(|line| line.split_once("layer: ")).map(|(_, text)| text).collect();
    assert_eq!(lines, ["info before", "info during", "info after"]);
}

#[test]
fn other_layers_get_what_they_want() {
    macro_rules! fmt {
        ($output:ident) => {{
            let output = $output.clone();
            let fmt = tracing_subscriber::fmt::layer().with_ansi(false);
            let fmt = fmt.with_writer(move || output.clone());
            fmt.with_filter(tracing_subscriber::EnvFilter::new("info"))
        }};
    }
    let output = Output::default();
    check_beside(&output, tracing_subscriber::registry().with(fmt!(output)).with(layer()));
    let output = Output::default();
    check_beside(&output, tracing_subscriber::registry().with(layer()).with(fmt!(output)));
}

#[test]
fn a_layer_without_a_filter_gets_everything() {
    let count = Arc::new(Mutex::new(0));
    struct Count(Arc<Mutex<usize>>);
    impl<S: Subscriber> tracing_subscriber::Layer<S> for Count {
        fn on_event(&self, _: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
            *self.0.lock().expect("a lock") += 1;
        }
    }
    let _alone = alone();
    let registry = tracing_subscriber::registry();
    with_default(registry.with(Count(Arc::clone(&count))).with(layer()), || trace!("below"));
    let registry = tracing_subscriber::registry();
    with_default(registry.with(layer()).with(Count(Arc::clone(&count))), || trace!("above"));
    assert_eq!(*count.lock().expect("a lock"), 2);
}

/// What a trace says of async spans called `name`.
#[derive(Debug)]
struct Requests {
    /// Flow of a whole life, and the event that begins it.
    whole: BTreeMap<u64, String>,
    /// Slices of threads.
    parts: usize,
    /// Events of threads with the flow of a life.
    joined: HashMap<u64, usize>,
}

fn requests(trace: &[u8], name: &str) -> Requests {
    let lanes: Vec<_> = named(trace, name).into_iter().map(|track| track.uuid).collect();
    let parent = named(trace, "tracing spans").first().and_then(|track| track.uuid);
    assert!(named(trace, name).iter().all(|track| track.parent_uuid == parent));
    let mut out = Requests { whole: BTreeMap::new(), parts: 0, joined: HashMap::new() };
    for packet in packets(trace) {
        let (Some(event), Some(text)) = (body(&packet), &packet.text) else { continue };
        let begins = text.starts_with(&format!("begin {HERE} {name}"));
        if lanes.contains(&event.track_uuid) && event.track_uuid.is_some() {
            if begins {
                assert_eq!(event.flow_ids.len(), 1);
                out.whole.insert(event.flow_ids[0], text.clone());
            }
        } else {
            out.parts += usize::from(begins);
            for flow in &event.flow_ids {
                *out.joined.entry(*flow).or_default() += 1;
            }
        }
    }
    out
}

async fn request(id: u64) {
    info!(id, "working");
    tokio::task::yield_now().await;
    info!(id, "still working");
    tokio::task::yield_now().await;
}

fn check_requests(style: SpanStyle, span: fn(u64) -> tracing::Span) -> Requests {
    let layer = Recorder::new().span_style(style).build();
    let trace = recorded(tracing_subscriber::registry().with(layer), || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let tasks = [1, 2].map(|id| tokio::spawn(request(id).instrument(span(id))));
            for task in tasks {
                task.await.expect("a result");
            }
        });
    });
    requests(&trace, "request")
}

#[test]
fn interleaved_requests_have_one_slice_each() {
    fn span(id: u64) -> tracing::Span {
        info_span!("request", id)
    }
    // Not known to be async, then known.
    for _ in 0..2 {
        let found = check_requests(SpanStyle::Auto, span);
        let mut texts: Vec<&str> = found.whole.values().map(String::as_str).collect();
        texts.sort_unstable();
        assert_eq!(texts, ["begin it::layer request id=1", "begin it::layer request id=2"]);
        // Three polls, and one more time to drop the future.
        assert_eq!(found.parts, 8);
        assert!(found.whole.keys().all(|flow| found.joined.get(flow) == Some(&4)), "{found:?}");
    }
}

#[test]
fn styles_of_spans() {
    fn span(id: u64) -> tracing::Span {
        info_span!("request", id)
    }
    let found = check_requests(SpanStyle::Sync, span);
    assert_eq!((found.whole.len(), found.parts, found.joined.len()), (0, 8, 0));
    let found = check_requests(SpanStyle::Async, span);
    assert_eq!((found.whole.len(), found.parts, found.joined.len()), (2, 8, 2));
}

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

/// The subscriber of threads that have no other.
fn install_everywhere() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let subscriber = tracing_subscriber::registry().with(layer());
        tracing::subscriber::set_global_default(subscriber).expect("the only one");
    });
}

#[test]
fn tasks_move_between_threads() {
    let _alone = alone();
    install_everywhere();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build();
    let runtime = runtime.expect("a runtime");
    let work = || {
        runtime.block_on(async {
            let task = |id: u64| {
                let work = async move {
                    for step in 0..20_u64 {
                        tokio::task::yield_now().await;
                        let _inner = info_span!("step", step).entered();
                    }
                };
                tokio::spawn(work.instrument(info_span!("request", id)))
            };
            for task in (0..10).map(task).collect::<Vec<_>>() {
                task.await.expect("a result");
            }
        });
    };
    let trace = record(&[HERE], work).expect("a recording");
    check_nesting(&trace);
    let found = requests(&trace, "request");
    assert_eq!(found.whole.len(), 10);
    assert!(found.whole.keys().all(|flow| found.joined.contains_key(flow)), "{found:?}");
    let steps = |text: &String| text.starts_with("begin it::layer step");
    assert_eq!(events(&trace).iter().filter(|text| steps(text)).count(), 200);
}

#[test]
fn a_span_may_be_entered_on_two_threads_at_once() {
    let _alone = alone();
    install_everywhere();
    let trace = record(&[HERE], || {
        let span = info_span!("shared");
        let barrier = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _entered = span.enter();
                    barrier.wait();
                });
            }
        });
    });
    check_nesting(&trace.expect("a recording"));
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
            "begin it::layer a n=1",
            "begin it::layer b n=2",
            "end",
            "end",
            "begin it::layer b n=2",
            "instant it::layer inside b",
            "end",
            "instant it::layer outside",
        ]
    );
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
    assert_eq!(cause.0, "begin it::layer cause");
    assert_eq!(arrow.0, "instant it::layer follows_from span=cause");
    assert_eq!(effect.0, "begin it::layer effect");
    assert_eq!((cause.1.len(), arrow.1.len(), &arrow.1), (0, 1, &effect.1));
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

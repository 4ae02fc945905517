//! Which call sites are recorded, and what other layers get.

use std::io::Write;
use std::sync::{Arc, Mutex};

use protos::TrackEventConfig;
use tracing::subscriber::{Interest, with_default};
use tracing::{Metadata, Subscriber, debug, error, info, info_span, span, trace, warn};
use tracing_sdk::layer::layer;
use tracing_sdk::session::{Config, Session, record};
use tracing_subscriber::prelude::*;

use super::check_nesting;
use crate::alone::alone;
use crate::trace::events;

const HERE: &str = "it::layer::filter";

/// The first letters of the levels of this module, and of another crate, that a session records.
fn levels_recorded(config: &Config) -> (String, String) {
    let _alone = alone();
    let session = Session::in_process(config).expect("a session");
    with_default(tracing_subscriber::registry().with(layer()), || {
        session.start().expect("a start");
        error!("e");
        warn!("w");
        info!("i");
        debug!("d");
        trace!("t");
        error!(target: "my_crate::net", "e");
        info!(target: "my_crate::net", "i");
        debug!(target: "my_crate::net", "d");
        trace!(target: "my_crate::net", "t");
    });
    session.stop().expect("a stop");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    let events = events(&trace);
    let of = |target: &str| {
        events.iter().filter_map(|text| text.strip_prefix(&format!("instant {target} "))).collect()
    };
    (of(HERE), of("my_crate::net"))
}

#[cfg(feature = "text")]
#[test]
fn the_documented_config_switches_debug_on() {
    let page = include_str!("../../../../docs/sdk-tracing.md");
    let (_, config) = page.split_once("```text\ndata_sources").expect("the config");
    let (config, _) = config.split_once("```").expect("its end");
    let config = Config::from_text(&format!("data_sources{config}")).expect("a config");
    assert_eq!(levels_recorded(&config), ("d".to_owned(), "eid".to_owned()));
}

#[test]
fn levels_are_tags() {
    let run = |config| levels_recorded(&Config::new().track_event_config(config)).0;
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
        if metadata.name() == "spied" {
            self.1.lock().expect("a lock").push("asked for an event");
        }
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
            assert_eq!(last(), Some("always"), "it is not asked for each event");
        });
        assert_eq!(events(&trace.expect("a recording")), ["instant it::layer::filter spied"]);
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
            "begin it::layer::filter work",
            "instant it::layer::filter info during",
            "instant it::layer::filter debug during",
            "end"
        ]
    );
    let text = String::from_utf8(output.0.lock().expect("a lock").clone()).expect("text");
    let lines: Vec<&str> =
        text.lines().filter_map(|line| line.split_once("filter: ")).map(|(_, text)| text).collect();
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
fn another_filter_takes_spans_away() {
    let filter = tracing_subscriber::filter::filter_fn(|metadata| metadata.name() != "left out");
    let outer = layer().with_filter(filter);
    let _alone = alone();
    let trace = with_default(tracing_subscriber::registry().with(outer), || {
        record(&[HERE], || {
            let _left_out = info_span!("left out").entered();
            drop(info_span!("kept").entered());
        })
    });
    let events = events(&trace.expect("a recording"));
    assert_eq!(events, ["begin it::layer::filter kept", "end"]);
}

#[test]
fn each_of_two_layers_records() {
    let _alone = alone();
    let two = tracing_subscriber::registry().with(layer()).with(layer());
    let trace = with_default(two, || record(&[HERE], || drop(info_span!("twice").entered())));
    let events = events(&trace.expect("a recording"));
    let begin = "begin it::layer::filter twice";
    // The first layer leaves first, so the slice of the second one begins again.
    assert_eq!(events, [begin, begin, "end", "end", begin, "end"]);
}

#[test]
fn a_span_outlives_its_session() {
    let _alone = alone();
    let work = || {
        let mut span = None;
        let trace = record(&[HERE], || span = Some(info_span!("long").entered()));
        assert_eq!(events(&trace.expect("a recording")), ["begin it::layer::filter long"]);
        drop(span);
        let trace = record(&[HERE], || drop(info_span!("next").entered()));
        let events = events(&trace.expect("a recording"));
        assert_eq!(events, ["begin it::layer::filter next", "end"]);
    };
    with_default(tracing_subscriber::registry().with(layer()), work);
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

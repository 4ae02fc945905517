//! Programs that follow the guide of `tracing` and `log`: what `log` records come through `tracing-log`.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::io;
use std::sync::Mutex;

use log::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_sdk::layer::Wanted;
use tracing_sdk::session::{Session, record};
use tracing_subscriber::filter::LevelFilter as Level;
use tracing_subscriber::layer::Filter;
use tracing_subscriber::prelude::*;
use tracing_subscriber::{Layer, Registry, fmt};

use crate::Place;
use crate::trace::events;

fn runs(part: &str) {
    let place = Place::new("log");
    let status = place.command(part).status().expect("a process");
    assert!(status.success(), "{part}: {status}");
}

pub(crate) fn records_arrive_by_the_layer() {
    runs("logs with a layer");
    runs("logs with layers");
    runs("logs before there is a layer");
    runs("logs with a layer that panics");
    runs("logs in a child");
}

/// What a session gets of some records, without their annotations.
fn recorded() -> Vec<String> {
    let trace = record(&["life", "life_in_part*"], || {
        log::info!(target: "life", "literal");
        log::debug!(target: "life", "number {}", 7);
        log::info!(target: "another", "not wanted");
        log::warn!(target: "life_in_part::module", "literal");
        tracing::info!(target: "life", "by tracing");
    });
    let texts = events(&trace.expect("a recording"));
    texts.iter().map(|text| text.split(" log.").next().unwrap_or_default().to_owned()).collect()
}

const RECORDED: [&str; 4] = [
    "instant life literal",
    "instant life number 7",
    "instant life_in_part::module literal",
    "instant life by tracing",
];

pub(crate) fn with_a_layer() {
    tracing_subscriber::registry().with(tracing_sdk::layer::layer()).init();
    assert_eq!(log::max_level(), LevelFilter::Off, "nobody wants anything");
    // Both sections of the guide.
    tracing_sdk::log::logger().install(LevelFilter::Debug).expect("the layer gets all records");
    for _ in 0..2 {
        assert_eq!(log::max_level(), LevelFilter::Off);
        assert_eq!(recorded(), RECORDED);
    }
    let lost = tracing_sdk::log::logger().tee(tracing_sdk::log::logger());
    assert!(lost.install(LevelFilter::Debug).is_err(), "the other logger would get nothing");
}

static PRINTED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Printed;

impl io::Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        PRINTED.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) fn with_layers() {
    let printed = fmt::layer().with_ansi(false).without_time().with_writer(|| Printed);
    tracing_subscriber::registry()
        .with(printed.with_filter(Level::INFO))
        .with(tracing_sdk::layer::layer())
        .init();
    assert_eq!(log::max_level(), LevelFilter::Info);
    log::info!(target: "life", "without a session");
    assert_eq!(recorded(), RECORDED);
    assert_eq!(log::max_level(), LevelFilter::Info);
    let printed = String::from_utf8(PRINTED.lock().expect("no panic").clone()).expect("a text");
    let lines: Vec<_> = printed.lines().map(str::trim).collect();
    let expected = [
        "INFO life: without a session",
        "INFO life: literal",
        "INFO another: not wanted",
        "WARN life_in_part::module: literal",
        "INFO life: by tracing",
    ];
    assert_eq!(lines, expected);
}

/// The other order: our logger is the only way, and what it may pass on is up to the program.
pub(crate) fn before_a_layer() {
    let logger = tracing_sdk::log::logger();
    logger.install(LevelFilter::Info).expect("no other logger");
    let subscriber = tracing_subscriber::registry().with(tracing_sdk::layer::layer());
    tracing::subscriber::set_global_default(subscriber).expect("no other subscriber");
    let expected: Vec<_> = RECORDED.into_iter().filter(|text| !text.ends_with('7')).collect();
    assert_eq!(recorded(), expected);
    assert_eq!(log::max_level(), LevelFilter::Info);
}

/// Panics once, when it is asked for its interest.
struct Panics;

static PANICS: AtomicBool = AtomicBool::new(false);

impl<S: Subscriber> Layer<S> for Panics {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        if PANICS.swap(false, Ordering::Relaxed) {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        Interest::always()
    }
}

pub(crate) fn with_a_layer_that_panics() {
    tracing_subscriber::registry().with(tracing_sdk::layer::layer()).with(Panics).init();
    tracing::info!("a call site");
    let wanted = || Filter::<Registry>::max_level_hint(&Wanted::default());
    assert_eq!(wanted(), Some(Level::OFF));
    PANICS.store(true, Ordering::Relaxed);
    let logger = tracing_sdk::log::logger();
    assert!(logger.install(LevelFilter::Debug).is_err(), "nobody can say what the layer gets");
    assert!(!PANICS.load(Ordering::Relaxed), "the layer was asked");
    assert_eq!(wanted(), Some(Level::OFF), "no session records");
}

/// How often a value of a span was formatted.
static FORMATTED: AtomicUsize = AtomicUsize::new(0);

struct Counted;

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        FORMATTED.fetch_add(1, Ordering::Relaxed);
        f.write_str("counted")
    }
}

fn use_a_span() -> (usize, bool) {
    let before = FORMATTED.load(Ordering::Relaxed);
    let span = tracing::info_span!(target: "life", "work", value = ?Counted).entered();
    (FORMATTED.load(Ordering::Relaxed) - before, span.is_disabled())
}

/// In the child nobody records.
pub(crate) fn fork_beside_a_session() {
    tracing_subscriber::registry().with(tracing_sdk::layer::layer()).init();
    let session = Session::in_process(&crate::config()).expect("a session");
    session.start().expect("a start");
    assert_eq!((use_a_span(), log::max_level()), ((1, false), LevelFilter::Trace));
    if crate::is_child() {
        assert_eq!(use_a_span().0, 0);
        tracing_sdk::init().expect("a producer");
        assert_eq!((use_a_span(), log::max_level()), ((0, true), LevelFilter::Off));
        // A session of its own.
        assert_eq!(recorded(), RECORDED);
        return;
    }
    assert_eq!((use_a_span(), log::max_level()), ((1, false), LevelFilter::Trace));
    session.stop().expect("an end");
}

//! After a thread has recorded each kind of event once, further events allocate nothing on it: no call site, no name
//! and no full chunk does. A forked child frees nothing.
#![cfg(all(feature = "in-process", not(feature = "off")))]
#![allow(unsafe_code)]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing_sdk::data_source::{DataSource, Registered};
use tracing_sdk::protos::DataSourceConfig;
use tracing_sdk::session::{Config, Fill, Session};
use tracing_sdk::{
    Annotate, Counter, CustomClock, Flow, State, Track, Unit, async_slice, categories, counter,
    end, here, instant, lost_events, now_ns, slice, state,
};

categories! {
    MEMORY = "allocations";
}

static DEPTH: Counter = Counter::new("depth");
static POWER: State = State::new("power");
static CLOCK: CustomClock = CustomClock::new();
static LANES: Track = Track::named("lanes");
static PACKETS: Registered<Packets> = Registered::new("allocations.packets");

/// How many events of a kind are counted. They fill several chunks.
const EVENTS: u64 = 2000;
/// How long the service may take to answer.
const LONG: Duration = Duration::from_secs(600);

struct Packets;

impl DataSource for Packets {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }
}

#[derive(Debug)]
struct Request {
    id: u64,
}

impl Annotate for Request {
    fn annotate(&self, value: tracing_sdk::Value<'_, '_>) {
        value.map(|map| {
            map.entry("id", &self.id);
        });
    }
}

/// A kind of event: its name, and a function that records one, number `n`.
type Kind = (&'static str, fn(u64));

const EVENT_KINDS: &[Kind] = &[
    ("instant", |_| instant!(MEMORY, "instant")),
    ("slice", |_| drop(slice!(MEMORY, "slice"))),
    ("slice with an end", |n| end!(slice!(MEMORY, "slice"), n = n)),
    ("slice on a track", |n| {
        let track = LANES.child("lane").id(n % 4);
        drop(slice!(MEMORY, "slice", track = track));
    }),
    ("two integers", |n| instant!(MEMORY, "event", n = n, m = -5_i64)),
    ("text", |_| instant!(MEMORY, "event", text = "sixteen letters.")),
    ("formatted", |n| instant!(MEMORY, "event", shown = %n, debug = ?Request { id: n })),
    ("text that repeats", |n| instant!(MEMORY, "event", text = @["a", "b"][n as usize % 2])),
    ("map and list", |n| instant!(MEMORY, "event", request = Request { id: n }, list = [n, 1])),
    ("counter", |n| counter!(MEMORY, "queue", n, unit = Unit::Count)),
    ("counter that is remembered", |n| DEPTH.set(&MEMORY, n)),
    ("state", |n| match n % 2 {
        0 => state!(MEMORY, "mode", "busy"),
        _ => state!(MEMORY, "mode", None),
    }),
    ("state that is remembered", |n| match n % 2 {
        0 => POWER.set(&MEMORY, "on"),
        _ => POWER.clear(&MEMORY),
    }),
    ("flow", |n| instant!(MEMORY, "event", flow = Flow::process(n), end_flow = Flow::new())),
    ("time of another clock", |n| instant!(MEMORY, "event", ts = CLOCK.at(n))),
    ("name at run time", |n| instant!(MEMORY, name = ["a name", "another"][n as usize % 2])),
    ("name that repeats", |n| instant!(MEMORY, name = @["a name", "another"][n as usize % 2])),
    ("log and location", |_| {
        instant!(MEMORY, "event", location = here!(), |event| {
            event.log("a line", tracing_sdk::Priority::Info);
        });
    }),
    ("packet", |_| PACKETS.trace(|context| context.packet(|packet| drop(packet.for_testing())))),
];

/// Each future is a track of its own, which threads remember: a table grows at times, but not with each future.
fn future(n: u64) {
    drop(async_slice!(MEMORY, "future", n = n));
}

/// One test at a time: what others hand to the service needs memory, too.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn session(categories: &[&str]) -> Session {
    let packets = DataSourceConfig { name: Some(PACKETS.name().into()), ..Default::default() };
    let config = Config::new().buffer_kb(32_768, Fill::Ring).track_events(categories);
    let session = Session::in_process(&config.data_source(packets)).expect("a session");
    session.start().expect("a start");
    session
}

/// How often the calling thread allocates while it records `EVENTS` events, after as many others.
fn allocations(record: impl Fn(u64)) -> u64 {
    let mut count = 0;
    for round in 0..4 {
        let measured = allocation_counter::measure(|| (0..EVENTS).for_each(&record));
        // Memory for the next round: an event that is lost is no event.
        tracing_sdk::flush();
        assert!(tracing_sdk::sync(LONG), "no service");
        count = if round == 0 { 0 } else { count + measured.count_total };
    }
    assert_eq!(lost_events(), 0);
    count
}

fn check(kinds: &[Kind]) {
    let counts = kinds.iter().map(|(name, record)| (*name, allocations(record)));
    let wrong: Vec<_> = counts.filter(|(_, count)| *count != 0).collect();
    assert_eq!(wrong, [], "allocations in {} events", 3 * EVENTS);
}

#[test]
fn events_allocate_nothing() {
    PACKETS.register();
    CLOCK.snapshot(0, now_ns());
    let _alone = alone();
    let session = session(&["allocations"]);
    check(EVENT_KINDS);
    // A second session must not change that.
    let second = Session::in_process(&Config::new().track_events(&["allocations"]));
    let second = second.expect("a session");
    second.start().expect("a start");
    check(&EVENT_KINDS[..3]);
    assert!(allocations(future) < 40);
    drop((session, second));
}

/// Another thread of the parent may have held a lock of the allocator at the moment of the fork.
#[test]
fn a_forked_child_frees_nothing() {
    PACKETS.register();
    let _alone = alone();
    let session = session(&["allocations"]);
    #[cfg(feature = "tracing")]
    tracing::subscriber::with_default(tracing_sdk::layer::Subscriber::default(), || {
        // Its lock is one of those that the fork takes.
        assert!(!tracing::info_span!("before the fork").is_disabled());
    });
    let mut child = 0;
    // SAFETY: the child compares two numbers and ends.
    let counted = allocation_counter::measure(|| child = unsafe { libc::fork() });
    if child == 0 {
        // What it counts was allocated before the fork.
        let is_kept = u64::try_from(counted.count_current) == Ok(counted.count_total);
        // SAFETY: the call has no condition.
        unsafe { libc::_exit(i32::from(!is_kept)) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours alone and lives until the call returns.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((ended, status), (child, 0), "the child");
    drop(session);
}

#[cfg(feature = "tracing")]
#[test]
fn spans_and_events_of_tracing_allocate_nothing() {
    use tracing_subscriber::prelude::*;

    const KINDS: &[Kind] = &[
        ("span", |_| drop(tracing::info_span!("span").entered())),
        ("span with values", |n| {
            let span = tracing::info_span!("span", n, yes = true, text = "a text", shown = %n);
            drop(span.entered());
        }),
        ("span with late values", |n| {
            let span = tracing::info_span!("span", n, text = tracing::field::Empty).entered();
            span.record("text", "a text");
        }),
        ("span with a value that changes", |_| {
            // Longer than what is kept, if no text gave way to the next.
            let span = tracing::info_span!("span", text = "x").entered();
            (0..100).for_each(|_| {
                _ = span.record("text", "a text of fifty letters, which counts up to 5000 bytes")
            });
        }),
        ("event", |_| tracing::info!("a message")),
        ("event with values", |n| tracing::info!(n, yes = true, text = "a text", "message {n}")),
        ("counter", |n| tracing::info!(counter.depth = n)),
    ];
    /// It has a track of its own, as a future has.
    fn entered_twice(n: u64) {
        let span = tracing::info_span!("span", n, text = "a text");
        (0..2).for_each(|_| span.in_scope(|| {}));
    }

    let _alone = alone();
    let session = session(&["allocations"]);
    let subscriber = tracing_subscriber::registry().with(tracing_sdk::layer::layer());
    tracing::subscriber::with_default(subscriber, || check(KINDS));
    let subscriber = tracing_sdk::layer::Subscriber::default();
    tracing::subscriber::with_default(subscriber, || {
        check(KINDS);
        assert!(allocations(entered_twice) < 40);
    });
    drop(session);
}

/// After many requests at the same time.
#[cfg(feature = "tracing")]
#[test]
fn spans_that_have_ended_keep_no_long_text() {
    const SPANS: usize = 100;
    let _alone = alone();
    let session = session(&["allocations"]);
    let text = "x".repeat(200_000);
    let (early, late) = (text.as_str(), tracing::field::Empty);
    let measured = allocation_counter::measure(|| {
        tracing::subscriber::with_default(tracing_sdk::layer::Subscriber::default(), || {
            let span = || tracing::info_span!("early", early);
            drop((0..SPANS).map(|_| span()).collect::<Vec<_>>());
            let span = || {
                let span = tracing::info_span!("late", late);
                span.record("late", early);
                span
            };
            drop((0..SPANS).map(|_| span()).collect::<Vec<_>>());
        });
    });
    // A few texts may be on their way.
    assert!(measured.bytes_current < 2_000_000, "{} bytes", measured.bytes_current);
    drop(session);
}

#[cfg(feature = "log")]
#[test]
fn records_of_log_allocate_nothing() {
    const KINDS: &[Kind] = &[
        ("literal", |_| log::info!("a message")),
        ("formatted", |n| log::info!("message {n}")),
        ("target", |n| log::warn!(target: "allocations", "message {n}")),
    ];
    let _alone = alone();
    let session = session(&["allocations"]);
    tracing_sdk::log::logger().install(log::LevelFilter::Trace).expect("the only logger");
    check(KINDS);
    drop(session);
}

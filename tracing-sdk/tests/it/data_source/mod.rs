use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use protos::{DataSourceConfig, LossLedgerReason, TestEvent, TracePacketData};
use tracing_sdk::data_source::{DataSource, FlushGuard, FlushReason, Registered, StopGuard};
use tracing_sdk::session::{Config, Session, SessionError};

use crate::alone::alone;
use crate::session::TempPath;
use crate::trace::packets;

mod panics;

/// How long the library may take for what it certainly does.
const LONG: Duration = Duration::from_secs(600);

/// The texts of a trace, each behind its `sequence_flags`.
fn texts(session: &Session) -> Vec<String> {
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    let text = |packet: &crate::trace::Packet| match &packet.message.data {
        Some(TracePacketData::ForTesting(TestEvent { str: Some(text), .. })) => {
            assert_eq!(packet.message.timestamp_clock_id, Some(6));
            assert!(packet.message.timestamp.is_some_and(|ns| ns != 0));
            Some(format!("{} {text}", packet.message.sequence_flags.unwrap_or(0)))
        }
        _ => None,
    };
    packets(&trace).iter().filter_map(text).collect()
}

fn session(source: &str, config: &str) -> Session {
    let config = DataSourceConfig {
        name: Some(source.to_owned()),
        legacy_config: Some(config.to_owned()),
        ..Default::default()
    };
    Session::in_process(&Config::new().data_source(config)).expect("a session")
}

fn started(source: &str, config: &str) -> Session {
    let session = session(source, config);
    session.start().expect("a start");
    session
}

/// What was called, behind the name of the instance. No two tests use the same name: an instance is dropped on a thread
/// of the library, maybe after the test that stopped it.
static CALLS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

fn call(name: &str, text: &str) {
    let call = (name.to_owned(), format!("{text} {name}"));
    CALLS.lock().unwrap_or_else(PoisonError::into_inner).push(call);
}

/// What was called in the instances `names`, since the last time that a test asked for it. When a session has stopped,
/// its instances are dropped by then.
fn calls(names: &[&str]) -> Vec<String> {
    assert!(tracing_sdk::sync(LONG), "the thread that calls data sources");
    let mut calls = CALLS.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = calls.extract_if(.., |(name, _)| names.contains(&name.as_str()));
    taken.map(|(_, text)| text).collect()
}

/// Counts and calls.
struct Logged(String);

impl DataSource for Logged {
    type Incremental = Vec<String>;

    fn setup(config: &DataSourceConfig) -> Self {
        let name = config.legacy_config.clone().unwrap_or_default();
        call(&name, "setup");
        Self(name)
    }

    fn start(&self) {
        LOGGED.trace(|context| write(context, "in start"));
        call(&self.0, "start");
    }

    fn flush(&self, reason: FlushReason, done: FlushGuard) {
        call(&self.0, &format!("flush {reason:?}"));
        drop(done);
    }

    fn clear(&self) {
        CLEARS.fetch_add(1, Ordering::Release);
    }

    fn stop(&self, stop: StopGuard) {
        // Still recorded, on another thread, too.
        let last = || LOGGED.trace(|context| write(context, "in stop"));
        last();
        std::thread::spawn(last).join().expect("no panic");
        call(&self.0, "stop");
        drop(stop);
        LOGGED.trace(|context| {
            assert_ne!(context.instance().0, self.0, "it has stopped");
        });
    }
}

impl Drop for Logged {
    fn drop(&mut self) {
        call(&self.0, "drop");
    }
}

static CLEARS: AtomicUsize = AtomicUsize::new(0);

static LOGGED: Registered<Logged> = Registered::new("com.example.logged");

fn write(context: &mut tracing_sdk::data_source::Context<'_, Logged>, text: &str) {
    let name = context.instance().0.clone();
    assert_eq!(context.config().legacy_config.as_ref(), Some(&name));
    context.packet_with(|packet, names| {
        names.push(text.to_owned());
        packet.for_testing().str(&format!("{name} {text} {}", names.len()));
    });
}

#[test]
fn each_session_has_an_instance() {
    let _alone = alone();
    LOGGED.register();
    let off = AtomicBool::new(false);
    LOGGED.trace(|_| off.store(true, Ordering::Relaxed));
    assert!(!off.into_inner() && !LOGGED.is_enabled());

    let first = started("com.example.logged", "a");
    let second = started("com.example.logged", "b");
    assert!(LOGGED.is_enabled());
    LOGGED.trace(|context| {
        write(context, "both");
        // Left out.
        LOGGED.trace(|context| write(context, "inside"));
    });
    second.stop().expect("a stop");
    LOGGED.trace(|context| write(context, "first only"));
    first.stop().expect("a stop");
    assert!(!LOGGED.is_enabled());
    // The instance of `a` sees the start of `b` on the same thread, and so on: its packets are those of the threads
    // that traced while it ran.
    let mut of_second = texts(&second);
    of_second.sort();
    assert_eq!(of_second, ["1 b both 1", "1 b in start 1", "1 b in stop 1", "2 b in stop 2"],);
    let mut of_first = texts(&first);
    of_first.sort();
    assert_eq!(
        of_first,
        [
            "1 a both 1",
            "1 a in start 1",
            "1 a in stop 1",
            "1 a in stop 1",
            "2 a first only 2",
            "2 a in start 2",
            "2 a in stop 3",
            "2 a in stop 4",
        ],
    );
    let mut all = calls(&["a", "b"]);
    all.retain(|call| !call.starts_with("flush"));
    assert_eq!(
        all,
        ["setup a", "start a", "setup b", "start b", "stop b", "drop b", "stop a", "drop a"],
    );
}

#[test]
fn flushes_are_passed_on() {
    let _alone = alone();
    LOGGED.register();
    let session = started("com.example.logged", "c");
    LOGGED.trace(|context| write(context, "one"));
    LOGGED.trace(|context| write(context, "two"));
    calls(&["c"]);
    session.flush().expect("a flush");
    assert_eq!(calls(&["c"]), ["flush Explicit c"]);
    session.stop().expect("a stop");
    assert_eq!(
        texts(&session)[..3],
        ["1 c in start 1".to_owned(), "2 c in stop 2".to_owned(), "1 c one 1".to_owned()]
    );
}

#[test]
fn a_clear_begins_anew() {
    let _alone = alone();
    LOGGED.register();
    let config = DataSourceConfig {
        name: Some("com.example.logged".to_owned()),
        legacy_config: Some("d".to_owned()),
        ..Default::default()
    };
    let config = Config::new().data_source(config).clear_interval(Duration::from_millis(1));
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a start");
    let count = |seen: &Mutex<Vec<_>>| {
        LOGGED.trace(|context| {
            *context.thread_state::<String>() += "x";
            let calls = context.thread_state::<u32>();
            *calls += 1;
            seen.lock().expect("no panic").push(*calls);
        });
    };
    let seen = Mutex::default();
    LOGGED.trace(|context| write(context, "one"));
    count(&seen);
    let before = CLEARS.load(Ordering::Acquire);
    // The second call comes when the first clear is done.
    while CLEARS.load(Ordering::Acquire).wrapping_sub(before) < 2 {
        std::thread::yield_now();
    }
    LOGGED.trace(|context| write(context, "two"));
    // The state of a thread that no reader needs stays, and ends with the session.
    count(&seen);
    std::thread::scope(|scope| {
        scope.spawn(|| count(&seen));
    });
    session.stop().expect("a stop");
    let other = started("com.example.logged", "other");
    count(&seen);
    other.stop().expect("a stop");
    assert_eq!(seen.into_inner().expect("no panic"), [1, 2, 1, 1]);
    let texts = texts(&session);
    assert!(texts.contains(&"1 d two 1".to_owned()), "{texts:?}");
}

/// Writes on a thread of its own until it is stopped, but no more than shared memory has room for.
struct Sampler {
    stop: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

static SAMPLER: Registered<Sampler> = Registered::new("com.example.sampler");
static SAMPLES: AtomicUsize = AtomicUsize::new(0);

impl DataSource for Sampler {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self { stop: Arc::default(), thread: Mutex::default() }
    }

    fn start(&self) {
        let stop = self.stop.clone();
        let sample = move || {
            while !stop.load(Ordering::Relaxed) {
                if SAMPLES.load(Ordering::Relaxed) < 1000 {
                    SAMPLER.trace(|context| {
                        context.packet(|packet| {
                            packet.for_testing().str("sample");
                        });
                    });
                    SAMPLES.fetch_add(1, Ordering::Release);
                }
                std::thread::yield_now();
            }
        };
        *self.thread.lock().expect("no panic") = Some(std::thread::spawn(sample));
    }

    fn stop(&self, stop: StopGuard) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().expect("no panic").take();
        // The instance ends when its thread has.
        std::thread::spawn(move || {
            thread.expect("it was started").join().expect("no panic");
            SAMPLER.trace(|context| {
                context.packet(|packet| {
                    packet.for_testing().str("last");
                });
                context.flush();
            });
            drop(stop);
        });
    }
}

#[test]
fn a_stop_may_take_its_time() {
    let _alone = alone();
    SAMPLER.register();
    let session = started("com.example.sampler", "");
    while SAMPLES.load(Ordering::Acquire) < 3 {
        std::thread::yield_now();
    }
    session.stop().expect("a stop");
    let texts = texts(&session);
    let is_last = |text: &&String| *text == "0 last";
    assert_eq!(texts.iter().filter(is_last).count(), 1, "{texts:?}");
    assert!(texts.contains(&"0 sample".to_owned()));
}

/// Starts when the test says so.
struct Slow;

static SLOW: Registered<Slow> = Registered::new("com.example.slow");
static GO_ON: Mutex<Option<Receiver<()>>> = Mutex::new(None);

impl DataSource for Slow {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }

    fn start(&self) {
        let go_on = GO_ON.lock().unwrap_or_else(PoisonError::into_inner).take();
        // An error if the test has ended.
        let _ = go_on.map(|go_on| go_on.recv());
    }
}

/// A data source that does not start in time must not cost the session its file.
#[test]
fn a_session_has_its_file_while_a_data_source_starts() {
    let _alone = alone();
    SLOW.register();
    let path = TempPath::new("slow-start");
    let (go, go_on) = channel();
    *GO_ON.lock().unwrap_or_else(PoisonError::into_inner) = Some(go_on);
    let config = Config::new().data_source_named(SLOW.name()).write_into_file(&path.0);
    let session = Session::in_process(&config).expect("a session");
    std::thread::scope(|scope| {
        let start = scope.spawn(|| session.start());
        while !path.0.exists() {
            assert!(!start.is_finished(), "no file");
            std::thread::yield_now();
        }
        drop(go);
        start.join().expect("no panic").expect("a start");
    });
    session.stop().expect("a stop");
}

struct Plain;

impl DataSource for Plain {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }
}

static LATE: Registered<Plain> = Registered::new("com.example.late");
static MANY: Registered<Plain> = Registered::new("com.example.many");
static NAMES: [&str; 2] = ["com.example.late", "track_event"];

#[test]
fn it_is_offered_to_services_that_start_later() {
    let _alone = alone();
    LATE.register();
    let offered = || -> Result<bool, SessionError> {
        let session = session("com.example.late", "");
        let sources = session.query()?.data_sources;
        let is_there = |name: &&str| {
            sources.iter().any(|source| {
                let descriptor = source.ds_descriptor.as_ref();
                descriptor.and_then(|d| d.name.as_deref()) == Some(*name)
            })
        };
        Ok(NAMES.iter().all(is_there))
    };
    assert!(offered().expect("a state"));
    tracing_sdk::shutdown();
    assert!(offered().expect("a state"));
}

#[test]
fn a_ninth_session_is_not_recorded() {
    let _alone = alone();
    MANY.register();
    // A service has few sessions of one user, so some of them want it twice.
    let twice = || {
        let config =
            DataSourceConfig { name: Some("com.example.many".to_owned()), ..Default::default() };
        let config = Config::new().data_source(config.clone()).data_source(config.clone());
        let session = Session::in_process(&config).expect("a session");
        session.start().expect("a start");
        session
    };
    let sessions: Vec<Session> = (0..5).map(|_| twice()).collect();
    let count = std::cell::Cell::new(0);
    MANY.trace(|_| count.set(count.get() + 1));
    assert_eq!(count.get(), 8);
    let refused: Vec<u64> =
        sessions.iter().map(|session| refused(session, "com.example.many")).collect();
    assert_eq!(refused, [0, 0, 0, 0, 2]);
    // The next test finds room.
    sessions.iter().for_each(|session| session.stop().expect("a stop"));
}

/// How many instances of `source` were refused, as the ledger of the session says.
fn refused(session: &Session, source: &str) -> u64 {
    let ledger = session.stats().expect("counters").loss_ledger.unwrap_or_default();
    let of_source = ledger.entries.iter().filter(|entry| {
        entry.reason == Some(LossLedgerReason::REASON_INSTANCE_REFUSED)
            && entry.data_source_name.as_deref() == Some(source)
    });
    of_source.map(|entry| entry.count.unwrap_or(0)).sum()
}

#[test]
fn the_ninth_session_with_events_is_refused_and_told() {
    let _alone = alone();
    let twice = || {
        let config = Config::new().data_source_named("track_event");
        let config = config.data_source_named("track_event");
        let session = Session::in_process(&config).expect("a session");
        session.start().expect("a start");
        session
    };
    let sessions: Vec<Session> = (0..5).map(|_| twice()).collect();
    let refused: Vec<u64> =
        sessions.iter().map(|session| refused(session, "track_event")).collect();
    assert_eq!(refused, [0, 0, 0, 0, 2]);
    // The next test finds room.
    sessions.iter().for_each(|session| session.stop().expect("a stop"));
}

/// Never drops a guard.
struct Leaks;

static LEAKS: Registered<Leaks> = Registered::new("com.example.leaks");
static LEAKED: AtomicUsize = AtomicUsize::new(0);

impl DataSource for Leaks {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }

    fn stop(&self, stop: StopGuard) {
        std::mem::forget(stop);
        LEAKED.fetch_add(1, Ordering::Release);
    }
}

#[test]
fn a_guard_that_is_never_dropped_takes_no_place_for_ever() {
    let _alone = alone();
    LEAKS.register();
    let config =
        DataSourceConfig { name: Some("com.example.leaks".to_owned()), ..Default::default() };
    let eight = (0..8).fold(Config::new(), |all, _| all.data_source(config.clone()));
    let session = Session::in_process(&eight).expect("a session");
    session.start().expect("a start");
    // Without a wait for guards, as `stop` would.
    drop(session);
    while LEAKED.load(Ordering::Acquire) < 8 {
        std::thread::yield_now();
    }
    let session = started("com.example.leaks", "");
    assert_eq!(refused(&session, "com.example.leaks"), 0);
    LEAKS.trace(|context| {
        context.packet(|packet| {
            packet.for_testing().str("recorded");
        });
    });
    session.flush().expect("a flush");
    assert_eq!(texts(&session), ["0 recorded"]);
}

/// A data source whose value is used when it is dropped.
struct Traces;

impl DataSource for Traces {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        TRACES.trace(|context| context.packet(|_| {}));
        DROPS.fetch_add(1, Ordering::Relaxed);
    }
}

static TRACES: Registered<Traces> = Registered::new("com.example.traces");
static DROPS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_value_is_dropped_without_a_lock() {
    let _alone = alone();
    TRACES.register();
    let config =
        DataSourceConfig { name: Some("com.example.traces".to_owned()), ..Default::default() };
    let nine = (0..9).fold(Config::new(), |all, _| all.data_source(config.clone()));
    let session = Session::in_process(&nine).expect("a session");
    session.start().expect("a start");
    assert_eq!(DROPS.load(Ordering::Relaxed), 1, "the ninth");
    session.stop().expect("a stop");
}

struct ShutsDown;

impl DataSource for ShutsDown {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }

    fn start(&self) {
        tracing_sdk::shutdown();
        SHUT_DOWN.store(true, Ordering::Release);
    }
}

static SHUT_DOWN: AtomicBool = AtomicBool::new(false);

static SHUTS_DOWN: Registered<ShutsDown> = Registered::new("com.example.shuts.down");

#[test]
fn a_callback_may_shut_tracing_down() {
    let _alone = alone();
    SHUTS_DOWN.register();
    let session = session("com.example.shuts.down", "");
    // The service may end before it answers.
    let _ = session.start();
    while !SHUT_DOWN.load(Ordering::Acquire) {
        std::thread::yield_now();
    }
    // Another one starts.
    drop(started("com.example.late.or.never", ""));
}

//! Packets that go to the program in place of the service.

#[cfg(feature = "tracing")]
mod enters_spans;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::ThreadId;
use std::time::Duration;

use protos::{DataSourceConfig, InterceptorConfig, TracePacket, TracePacketData, TrackEventConfig};
use protozero::Message as _;
use tracing_sdk::data_source::{DataSource, Registered};
use tracing_sdk::interceptor::{self, Interceptor};
use tracing_sdk::session::{Config, Session};
use tracing_sdk::{Category, Counter, State, Track, categories, instant, slice};

use crate::alone::alone;
use crate::trace::{events, packets, trusted_sequence};

categories! { I = "i"; }

/// How long a test waits for what certainly comes.
const LONG: Duration = Duration::from_secs(600);

/// Packets, each with the thread that handed it over.
type Packets = Vec<(ThreadId, Vec<u8>)>;

/// The packets of a session.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Packets>>);

impl Kept {
    fn all(&self) -> MutexGuard<'_, Packets> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All packets, as a trace.
    fn trace(&self) -> Vec<u8> {
        let mut trace = protos::Trace::default();
        let packets = self.all();
        let decode = |bytes: &[u8]| TracePacket::decode(bytes).expect("a packet");
        trace.packet = packets.iter().map(|(_, bytes)| decode(bytes)).collect();
        trace.encode_to_vec()
    }

    fn events(&self) -> Vec<String> {
        events(&self.trace())
    }
}

impl Interceptor for Kept {
    type Sequence = ();

    fn packet(&self, (): &mut (), packet: &[u8]) {
        self.all().push((std::thread::current().id(), packet.to_vec()));
    }
}

/// Packets kept under `name` from now on.
fn keep(name: &str) -> Kept {
    let kept = Kept::default();
    let for_sessions = kept.clone();
    interceptor::register(name, move |_| for_sessions.clone());
    kept
}

fn config(source: &str, interceptor: &str) -> DataSourceConfig {
    let name = Some(interceptor.to_owned());
    DataSourceConfig {
        name: Some(source.to_owned()),
        interceptor_config: Some(InterceptorConfig { name, ..Default::default() }),
        track_event_config: Some(TrackEventConfig {
            enabled_categories: vec!["i".to_owned()],
            disabled_categories: vec!["*".to_owned()],
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn started(source: &str, interceptor: &str) -> Session {
    let config = Config::new().data_source(config(source, interceptor));
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a start");
    session
}

/// What the service has got of a session.
fn in_buffer(session: &Session) -> Vec<String> {
    session.stop().expect("a stop");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    events(&trace)
}

#[test]
fn packets_come_on_their_threads_when_their_events_end() {
    let _alone = alone();
    let kept = keep("threads");
    let session = started("track_event", "threads");
    let mut expected = Vec::new();
    let mut check = |event: &str| {
        expected.push(event.to_owned());
        assert_eq!(kept.events(), expected);
    };
    instant!(I, "first", n = 1);
    check("instant i first n=1");
    instant!(I, "first");
    check("instant i first");
    let outer = slice!(I, "outer");
    check("begin i outer");
    Counter::new("count").record(&I, 5);
    check("counter 5");
    drop(outer);
    check("end");
    let here = std::thread::current().id();
    let count = kept.all().len();
    assert!(kept.all().iter().all(|(thread, _)| *thread == here));
    let there = std::thread::spawn(|| {
        instant!(I, "other", text = "x");
        std::thread::current().id()
    });
    let there = there.join().expect("no panic");
    check("instant i other text=x");
    assert!(kept.all().iter().skip(count).all(|(thread, _)| *thread == there));
    // The strict reader has followed the names of both sequences.
    let packets = packets(&kept.trace());
    let mut sequences: Vec<u32> =
        packets.iter().map(|packet| trusted_sequence(&packet.message)).collect();
    sequences.dedup();
    assert!(sequences.len() == 2 && !sequences.contains(&0), "{sequences:?}");
    let firsts = packets.iter().filter(|packet| packet.message.first_packet_on_sequence.is_some());
    assert_eq!(firsts.count(), 2);
    assert_eq!(in_buffer(&session), [""; 0]);
    instant!(I, "after the end");
    check_no_more(&kept, expected.len());
}

fn check_no_more(kept: &Kept, count: usize) {
    assert_eq!(kept.events().len(), count);
}

#[test]
fn an_unknown_name_is_recorded_as_usual() {
    let _alone = alone();
    let session = started("track_event", "nobody knows it");
    instant!(I, "event");
    assert_eq!(in_buffer(&session), ["instant i event"]);
}

#[test]
fn large_packets_are_whole() {
    let _alone = alone();
    let kept = keep("large");
    let session = started("track_event", "large");
    let lost = tracing_sdk::lost_events();
    let mut expected = Vec::new();
    // Lengths around those of chunks and fragments, then megabytes.
    for len in (0..3000).step_by(7).chain([1 << 20, 3 << 20, 0]) {
        let text = "x".repeat(len);
        instant!(I, "large", text = text.as_str(), list = &[text.as_str(), "y"][..]);
        instant!(I, name = text.as_str());
        expected.push(format!("instant i large text={text} list=[{text},y]"));
        expected.push(format!("instant i {text}"));
    }
    assert!(kept.events() == expected);
    drop(session);
    assert_eq!(tracing_sdk::lost_events(), lost);
}

#[test]
fn a_session_beside_it_is_recorded() {
    let _alone = alone();
    let kept = keep("beside");
    let intercepted = started("track_event", "beside");
    let usual = started("track_event", "unknown, so recorded");
    instant!(I, "both");
    assert_eq!(in_buffer(&intercepted), [""; 0]);
    instant!(I, "one");
    assert_eq!(in_buffer(&usual), ["instant i both", "instant i one"]);
    assert_eq!(kept.events(), ["instant i both"]);
}

#[test]
fn sequences_open_again_after_a_clear() {
    let _alone = alone();
    let kept = keep("clear");
    let session = started("track_event", "clear");
    let openings = || {
        let opens = |flags: Option<u32>| flags.is_some_and(|flags| flags & 1 != 0);
        let all = packets(&kept.trace());
        all.iter().filter(|packet| opens(packet.message.sequence_flags)).count()
    };
    instant!(I, "event", key = 1);
    assert_eq!(openings(), 1);
    tracing_sdk::__private::clear_incremental_state();
    instant!(I, "event", key = 2);
    assert_eq!(openings(), 2);
    assert_eq!(kept.events(), ["instant i event key=1", "instant i event key=2"]);
    drop(session);
}

static VALUES: AtomicUsize = AtomicUsize::new(0);

struct Counted;

impl Drop for Counted {
    fn drop(&mut self) {
        VALUES.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A value for each sequence, and one for the instance.
#[derive(Default)]
struct PerSequence(Option<Counted>);

impl Interceptor for Counted {
    type Sequence = PerSequence;

    fn packet(&self, PerSequence(sequence): &mut PerSequence, _: &[u8]) {
        if sequence.is_none() {
            VALUES.fetch_add(1, Ordering::SeqCst);
            *sequence = Some(Counted);
        }
    }
}

#[test]
fn each_instance_and_each_thread_has_a_value() {
    let _alone = alone();
    interceptor::register("values", |config| {
        assert_eq!(config.name.as_deref(), Some("track_event"));
        VALUES.fetch_add(1, Ordering::SeqCst);
        Counted
    });
    let values = || VALUES.load(Ordering::SeqCst);
    let session = started("track_event", "values");
    assert_eq!(values(), 1, "the instance");
    instant!(I, "event");
    instant!(I, "event");
    assert_eq!(values(), 2, "the instance and a thread");
    std::thread::spawn(|| {
        instant!(I, "event");
        assert_eq!(VALUES.load(Ordering::SeqCst), 3);
    })
    .join()
    .expect("no panic");
    assert_eq!(values(), 2, "the thread has ended");
    let second = started("track_event", "values");
    instant!(I, "event");
    assert_eq!(values(), 4, "another instance");
    session.stop().expect("a stop");
    // This thread learns of it with its next event.
    assert_eq!(values(), 3, "the instance has ended");
    instant!(I, "event");
    assert_eq!(values(), 2);
    second.stop().expect("a stop");
    tracing_sdk::flush();
    assert_eq!(values(), 0);
}

/// Panics in each method.
struct Panics(&'static str);

#[derive(Default)]
struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

impl Drop for Panics {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

impl Interceptor for Panics {
    type Sequence = PanicsInDrop;

    fn packet(&self, _: &mut PanicsInDrop, _: &[u8]) {
        CALLS.fetch_add(1, Ordering::SeqCst);
        panic!("on purpose: {}", self.0);
    }
}

static CALLS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn panics_end_a_sequence_and_nothing_else() {
    let _alone = alone();
    interceptor::register("panics", |_| Panics("packet"));
    let session = started("track_event", "panics");
    let kept = keep("not panics");
    let beside = started("track_event", "not panics");
    instant!(I, "event");
    instant!(I, "event");
    std::thread::spawn(|| instant!(I, "event")).join().expect("no panic");
    assert_eq!(CALLS.load(Ordering::SeqCst), 2, "once for each sequence");
    assert_eq!(kept.events(), ["instant i event"; 3]);
    drop((session, beside));

    interceptor::register("panics", |_| -> Kept { panic!("on purpose: make") });
    let session = started("track_event", "panics");
    instant!(I, "recorded as usual");
    assert_eq!(in_buffer(&session), ["instant i recorded as usual"]);
}

struct NoDefault;

impl Default for NoDefault {
    fn default() -> Self {
        panic!("on purpose");
    }
}

struct PanicsInDefault;

impl Interceptor for PanicsInDefault {
    type Sequence = NoDefault;

    fn packet(&self, _: &mut NoDefault, _: &[u8]) {}
}

#[test]
fn a_sequence_that_cannot_be_made_has_no_events() {
    let _alone = alone();
    interceptor::register("no default", |_| PanicsInDefault);
    let session = started("track_event", "no default");
    instant!(I, "event");
    instant!(I, "event");
    assert_eq!(in_buffer(&session), [""; 0]);
}

/// Uses what has a lock in the library, on another thread: with a lock held here, it would wait for ever.
/// That thread's own events are not waited for.
struct Locks {
    kept: Kept,
    here: ThreadId,
    #[cfg(feature = "tracing")]
    subscriber: tracing::Dispatch,
}

static POWER: State = State::new("interceptor power");

impl Interceptor for Locks {
    type Sequence = ();

    fn packet(&self, (): &mut (), packet: &[u8]) {
        if std::thread::current().id() != self.here {
            return;
        }
        self.kept.packet(&mut (), packet);
        let (done, wait) = mpsc::channel();
        #[cfg(feature = "tracing")]
        let subscriber = self.subscriber.clone();
        std::thread::spawn(move || {
            POWER.set(&I, "x");
            let _ = Category::dynamic("interceptor");
            interceptor::register("another", |_| Kept::default());
            #[cfg(feature = "tracing")]
            tracing::dispatcher::with_default(&subscriber, || {
                // Each span has a slot of its own.
                let spans: Vec<_> =
                    (0..500).map(|_| tracing::info_span!(target: "i", "span")).collect();
                spans.iter().for_each(|span| span.in_scope(|| {}));
            });
            let _ = done.send(());
        });
        // Left out, because the thread is inside an event.
        instant!(I, "nested");
        wait.recv_timeout(LONG).expect("no lock is held");
    }
}

#[test]
fn no_lock_is_held() {
    let _alone = alone();
    let kept = Kept::default();
    let (for_session, here) = (kept.clone(), std::thread::current().id());
    interceptor::register("locks", move |_| Locks {
        kept: for_session.clone(),
        here,
        #[cfg(feature = "tracing")]
        subscriber: tracing::Dispatch::none(),
    });
    let session = started("track_event", "locks");
    POWER.set(&I, "busy");
    instant!(I, "event");
    assert!(kept.events().contains(&"instant i event".to_owned()));
    assert!(!kept.events().contains(&"instant i nested".to_owned()));
    session.stop().expect("a stop");
    POWER.forget();
}

#[cfg(feature = "tracing")]
#[test]
fn spans_come_without_a_lock() {
    use tracing_subscriber::prelude::*;

    let _alone = alone();
    let kept = Kept::default();
    let (for_session, here) = (kept.clone(), std::thread::current().id());
    let subscriber = tracing_subscriber::registry().with(tracing_sdk::layer::layer());
    let subscriber = tracing::Dispatch::new(subscriber);
    let for_threads = subscriber.clone();
    interceptor::register("spans", move |_| Locks {
        kept: for_session.clone(),
        here,
        subscriber: for_threads.clone(),
    });
    let session = started("track_event", "spans");
    tracing::dispatcher::with_default(&subscriber, || {
        let seen = |count| assert_eq!(kept.events().len(), count);
        let before = kept.events().len();
        let outer = tracing::info_span!(target: "i", "outer", n = 1).entered();
        seen(before + 1);
        let first = tracing::info_span!(target: "i", "first");
        let second = tracing::info_span!(target: "i", "second");
        second.follows_from(&first);
        seen(before + 2);
        tracing::info!(target: "i", "hello");
        seen(before + 3);
        drop(outer);
        seen(before + 4);
    });
    session.stop().expect("a stop");
    POWER.forget();
}

struct Texts;

impl DataSource for Texts {
    type Incremental = Vec<String>;

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }

    fn stop(&self, stop: tracing_sdk::data_source::StopGuard) {
        // Still intercepted.
        TEXTS.trace(|context| {
            context.packet(|packet| {
                packet.for_testing().str("in stop");
            });
        });
        drop(stop);
    }
}

static TEXTS: Registered<Texts> = Registered::new("com.example.intercepted");

#[test]
fn data_sources_of_the_program_are_intercepted() {
    let _alone = alone();
    TEXTS.register();
    let kept = keep("data source");
    let session = started("com.example.intercepted", "data source");
    let write = |text: &str| {
        TEXTS.trace(|context| {
            context.packet_with(|packet, texts| {
                texts.push(text.to_owned());
                packet.for_testing().str(&format!("{text} {}", texts.len()));
            });
        });
    };
    let large = "x".repeat(100_000);
    write("one");
    write(&large);
    std::thread::scope(|scope| {
        // A join also waits for values of the thread, which has a reference to the instance.
        scope.spawn(|| write("other")).join().expect("no panic");
    });
    let texts = || -> Vec<String> {
        let text = |packet: &crate::trace::Packet| match &packet.message.data {
            Some(TracePacketData::ForTesting(test)) => {
                let flags = packet.message.sequence_flags.unwrap_or(0);
                Some(format!("{flags} {}", test.str.as_deref().unwrap_or_default()))
            }
            _ => None,
        };
        packets(&kept.trace()).iter().filter_map(text).collect()
    };
    assert_eq!(texts(), ["1 one 1".to_owned(), format!("2 {large} 2"), "1 other 1".to_owned()]);
    session.stop().expect("a stop");
    write("after");
    assert_eq!(texts().len(), 4);
    assert!(texts().contains(&"1 in stop".to_owned()));
    interceptor::register("data source", |_| Kept::default());
    assert_eq!(Arc::strong_count(&kept.0), 1, "the instance has ended, and its value is dropped");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    let is_ours =
        |data: &Option<TracePacketData>| matches!(data, Some(TracePacketData::ForTesting(_)));
    assert!(!packets(&trace).iter().any(|packet| is_ours(&packet.message.data)));
}

/// A state that was set before is written on a thread of the library when the session starts.
#[test]
fn remembered_values_come_too() {
    static MODE: State = State::new("interceptor mode");
    let _alone = alone();
    MODE.set(&I, "on");
    let kept = keep("replay");
    let session = started("track_event", "replay");
    assert_eq!(kept.events(), ["state i on"]);
    drop(session);
    MODE.forget();
}

#[test]
fn tracks_are_described() {
    let _alone = alone();
    let kept = keep("tracks");
    let session = started("track_event", "tracks");
    let parent = Track::named("interceptor parent");
    instant!(I, "event", track = parent.child("child"));
    let names: Vec<_> = crate::trace::tracks(&kept.trace())
        .into_iter()
        .filter_map(|track| match track.static_or_dynamic_name {
            Some(protos::TrackDescriptorStaticOrDynamicName::StaticName(name)) => Some(name),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["interceptor parent", "child"]);
    drop(session);
}

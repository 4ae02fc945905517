//! The data source in a service that runs when it is polled, without threads, sockets or shared mappings of its own: so
//! Miri and the thread sanitizer see all accesses of the threads that record.

use core::fmt;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;

use client::consumer::{Consumer, Waited};
use client::producer::{PolledProducer, ProducerOptions};
use daemon::embed::EmbeddedService;
use daemon::serve::HeapRegions;
use service::ServiceConfig;

use self::trace::packets;
use crate::category::Category;
use crate::sequence::lost_events;
use crate::session::{Config, Fill};
use crate::source::{TrackEventSource, descriptor, registry};
use crate::{
    Counter, Flow, Group, State, Track, TrackSlice, async_slice, end, here, instant, slice,
};

#[allow(dead_code, reason = "shared with other tests")]
#[path = "../tests/it/trace.rs"]
pub(crate) mod trace;

pub(crate) static A: Category = Category::new("source.a");
/// Registered by its first event.
static B: Category = Category::new("source.b");
static BOTH: Group = Group::new(&[&A, &B]);
static COUNTER: Counter<'_> = Counter::new("remembered counter");
static STATE: State<'_> = State::new("remembered state");
static LANES: Track<'_> = Track::named("lanes");

/// Room for all events of a step, whether or not anybody polls meanwhile.
pub(crate) const SHM_BYTES: u32 = if cfg!(miri) { 16 * 4096 } else { 64 * 4096 };
/// Events of each kind that a thread records in one step.
const ROUNDS: u32 = if cfg!(miri) { 1 } else { 10 };
/// Events of a call of [`record`], with the ends of all slices.
const EVENTS: usize = 13;

/// Sessions see the events of all threads: tests that record run one at a time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Service, producer and consumers of one process.
pub(crate) struct Place {
    service: EmbeddedService,
    producer: PolledProducer,
}

impl Place {
    pub(crate) fn new() -> Self {
        let mut config = ServiceConfig::new(Arc::new(HeapRegions));
        config.scrape_by_default = true;
        let service = EmbeddedService::new(config, Box::new(|_, line| eprintln!("{line}")));
        let service = service.expect("a service");
        let mut options = ProducerOptions::new("test");
        options.shm_bytes_hint = SHM_BYTES;
        options.page_bytes_hint = 4096;
        let mut producer = PolledProducer::new(service.producer(), options);
        let descriptor = descriptor(1, &registry::listed());
        producer.register(descriptor, TrackEventSource::new(None)).expect("a name");
        producer.poll();
        Self { service, producer }
    }

    pub(crate) fn poll(&mut self) {
        self.producer.poll();
        self.service.poll();
        std::thread::yield_now();
    }

    pub(crate) fn start(&mut self) -> Consumer {
        // In a ring, sequences begin anew while it fills, each time with the remembered values.
        let config = Config::new().buffer_kb(4 * SHM_BYTES / 1024, Fill::Discard);
        let config = config.track_events(&["source.a", "source.b"]).to_message();
        let mut consumer = self.service.consumer();
        let before = registry::instances().last_serial;
        consumer.enable_tracing(&config, None).expect("a session");
        while registry::instances().last_serial == before {
            self.poll();
        }
        consumer
    }

    pub(crate) fn stop(&mut self, mut consumer: Consumer) -> Vec<u8> {
        consumer.disable_tracing().expect("an end");
        while consumer.wait(Some(Duration::ZERO)).expect("a service") != Waited::Ended {
            self.poll();
        }
        let mut trace = Vec::new();
        consumer.read_into(&mut trace, Duration::MAX).expect("a trace");
        trace
    }

    /// Polls, if the step is such, while the threads do what they are told. Returns the number of events.
    fn step(&mut self, threads: &[Recorder<'_>], step: Step) -> usize {
        threads.iter().for_each(|thread| thread.work.send(Some(step)).expect("a thread"));
        let mut events = 0;
        for thread in threads {
            events += loop {
                if !step.is_polled() {
                    break thread.done.recv().expect("a thread has panicked");
                }
                match thread.done.try_recv() {
                    Ok(events) => break events,
                    Err(error) => assert_eq!(error, TryRecvError::Empty, "a thread has panicked"),
                }
                self.poll();
            }
        }
        events
    }
}

#[derive(Clone, Copy)]
enum Step {
    Events,
    /// An event that is larger than the memory, between a beginning and an end.
    Loss,
    /// Events until there is memory again.
    Recovery,
}

impl Step {
    fn is_polled(self) -> bool {
        match self {
            // An interpreter would poll most of the time.
            Self::Events => !cfg!(miri),
            // The service would free memory while the event is written, and nothing would be lost.
            Self::Loss => false,
            Self::Recovery => true,
        }
    }
}

/// A thread that records.
struct Recorder<'s> {
    work: Sender<Option<Step>>,
    /// The number of events.
    done: Receiver<usize>,
    thread: ScopedJoinHandle<'s, ()>,
}

/// Slices that one thread begins, and another one may end.
type Kept = Arc<Mutex<Vec<TrackSlice<'static>>>>;

impl<'s> Recorder<'s> {
    fn spawn(scope: &'s Scope<'s, '_>, kept: &Kept) -> Self {
        let (work, inbox) = channel();
        let (outbox, done) = channel();
        let kept = kept.clone();
        let run = move || {
            for step in inbox.iter().map_while(|step| step) {
                match step {
                    Step::Events => {
                        (0..ROUNDS).for_each(|round| record(round, &kept));
                        outbox.send(ROUNDS as usize * EVENTS).expect("a test");
                    }
                    Step::Loss => outbox.send(lose()).expect("a test"),
                    Step::Recovery => outbox.send(recover()).expect("a test"),
                }
            }
        };
        Self { work, done, thread: scope.spawn(run) }
    }

    /// Also waits for what the thread writes when it ends.
    fn end(self) {
        self.work.send(None).expect("a thread");
        self.thread.join().expect("no panic");
    }
}

struct Panics;

impl fmt::Display for Panics {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a message.
        std::panic::resume_unwind(Box::new(()))
    }
}

/// An event of each kind.
fn record(round: u32, kept: &Kept) {
    let outer = slice!(A, "outer", round = round, list = ["a", "b"], text = @"repeats");
    instant!(BOTH, "instant", shown = %round, flow = Flow::process(u64::from(round)), location = here!());
    instant!(B, name = format!("instant {}", round % 2));
    COUNTER.set(&A, i64::from(round));
    COUNTER.add(&B, 1);
    STATE.set(&A, ["on", "off"][round as usize % 2]);
    // It ends on either thread.
    let on_track = slice!(B, "on a track", track = LANES.child("lane").id(u64::from(round % 3)));
    let before = kept.lock().expect("no panic").pop();
    drop(before);
    kept.lock().expect("no panic").push(on_track);
    drop(async_slice!(A, "future", round = round));
    let panics = || slice!(A, "panics", value = %Panics);
    assert!(std::panic::catch_unwind(panics).is_err());
    end!(outer, sent = round);
}

/// Writes what does not fit, and returns the number of events.
fn lose() -> usize {
    let outer = slice!(A, "outer");
    let text = "x".repeat(SHM_BYTES as usize);
    instant!(A, "too large", text = text.as_str());
    drop(outer);
    3
}

/// Writes until there is memory again, and returns the number of events.
fn recover() -> usize {
    for events in 1.. {
        let lost = lost_events();
        instant!(A, "again");
        if lost_events() == lost {
            return events;
        }
        std::thread::yield_now();
    }
    0
}

/// The number of events that a strict reader finds.
fn count(trace: &[u8]) -> usize {
    packets(trace).iter().filter(|packet| packet.text.is_some()).count()
}

#[test]
fn threads_record_while_sessions_come_and_go() {
    let _alone = alone();
    registry::register(&[&A]);
    let mut place = Place::new();
    let (kept, lost) = (Kept::default(), lost_events());
    let first = place.start();
    let (first, second, written) = std::thread::scope(|scope| {
        let threads = [Recorder::spawn(scope, &kept), Recorder::spawn(scope, &kept)];
        let in_first = place.step(&threads, Step::Events);
        registry::clear_all();
        let second = place.start();
        let in_both = place.step(&threads, Step::Events)
            + place.step(&threads[..1], Step::Loss)
            + place.step(&threads[..1], Step::Recovery)
            + place.step(&threads, Step::Events);
        let open = kept.lock().expect("no panic").len();
        let first = place.stop(first);
        let in_second = place.step(&threads, Step::Events);
        kept.lock().expect("no panic").clear();
        let second = place.stop(second);
        threads.into_iter().for_each(Recorder::end);
        // The second session begins with the remembered values.
        (first, second, (in_first + in_both - open) + (2 + in_both + in_second))
    });
    let lost = lost_events() - lost;
    assert!(lost >= 2, "the event that is too large, in two sessions");
    assert_eq!(count(&first) + count(&second) + lost as usize, written);
}

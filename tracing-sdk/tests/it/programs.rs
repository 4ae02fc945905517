//! Random programs: threads, nested slices, counters, states, panics, sessions that come and go, cleared state. Each
//! session's trace has exactly the events that a simple model says.
//!
//! The steps of a program run one after the other, each on its thread, so that the model knows their order.
//!
//! `SDK_CASES` is the number of programs of each test. `cargo xtask ci --all` runs ten thousand, which takes a minute on
//! two processors where it is optimised:
//!
//! ```text
//! SDK_CASES=10000 cargo test --release -p tracebox-sdk --features in-process --test it -- programs::
//! ```

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Once, mpsc};
use std::thread::JoinHandle;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use tracing_sdk::session::{Config, Fill, Session, record};
use tracing_sdk::{
    Category, Counter, Slice, State, Track, TrackSlice, categories, counter, instant, lost_events,
    slice, state,
};

use crate::alone::alone;
use crate::loss::Small;
use crate::trace::{packets, trusted_sequence};

categories! {
    P = "p";
    Q = "q";
}

static COUNTER: Counter<'static> = Counter::new("remembered counter");
static STATE: State<'static> = State::new("remembered state");

const THREADS: usize = 3;
const SESSIONS: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Instant {
        thread: usize,
        in_q: bool,
        args: Args,
    },
    Begin {
        thread: usize,
        in_q: bool,
        args: Args,
    },
    /// Ends the innermost slice.
    End {
        thread: usize,
    },
    /// A value of a counter. Sessions that start later begin with one that is remembered, and those that start while
    /// another one records it with one that is not.
    Count {
        thread: usize,
        is_remembered: bool,
    },
    /// One of three words, or none.
    SetState {
        thread: usize,
        word: usize,
        is_remembered: bool,
    },
    /// A slice that panics, with a slice in it.
    Unwind {
        thread: usize,
    },
    BeginTrack {
        thread: usize,
        id: u64,
    },
    /// Ends any of the slices on tracks, on any thread.
    EndTrack {
        thread: usize,
        which: usize,
    },
    /// The thread ends, and with it its slices; another one comes in its place.
    Replace {
        thread: usize,
    },
    Start {
        session: usize,
        config: Choice,
    },
    Stop {
        session: usize,
    },
    Flush {
        session: usize,
    },
    Clear,
}

#[derive(Clone, Copy, Debug)]
enum Args {
    None,
    Number,
    Interned,
    Panics,
    /// A number, and a text that fills a chunk soon.
    Long,
}

#[derive(Clone, Copy, Debug)]
struct Choice {
    p: bool,
    q: bool,
    absolute: bool,
    unit_ns: u64,
    no_args: bool,
    fill: bool,
}

const ALL: Choice =
    Choice { p: true, q: true, absolute: false, unit_ns: 1, no_args: false, fill: true };

impl Choice {
    fn config(self) -> Config {
        let mut enabled = Vec::new();
        enabled.extend(self.p.then(|| "p".to_owned()));
        enabled.extend(self.q.then(|| "q".to_owned()));
        let fill = if self.fill { Fill::Ring } else { Fill::Discard };
        Config::new().buffer_kb(1024, fill).track_event_config(protos::TrackEventConfig {
            enabled_categories: enabled,
            disabled_categories: vec!["*".to_owned()],
            disable_incremental_timestamps: Some(self.absolute),
            timestamp_unit_multiplier: Some(self.unit_ns),
            filter_debug_annotations: Some(self.no_args),
            ..Default::default()
        })
    }

    fn wants(self, in_q: bool) -> bool {
        if in_q { self.q } else { self.p }
    }
}

/// Of states. No word is the state behind the last one.
const WORDS: [&str; 3] = ["on", "off", "broken"];

/// Sequences of the library's thread, which writes remembered values.
const LIBRARY: usize = 0;

fn long_text() -> String {
    "x".repeat(1500)
}

impl Args {
    fn text(self, number: usize) -> String {
        match self {
            Self::None => String::new(),
            Self::Number => format!(" n={number}"),
            Self::Interned => format!(" t={}", number % 5),
            Self::Panics => format!(" n={number} v="),
            Self::Long => format!(" n={number} text={}", long_text()),
        }
    }
}

impl Step {
    /// A step whose events can be told apart.
    fn numbered(self) -> Self {
        let number = |args| if matches!(args, Args::Panics) { args } else { Args::Long };
        match self {
            Self::Instant { thread, in_q, args } => {
                Self::Instant { thread, in_q, args: number(args) }
            }
            Self::Begin { thread, in_q, args } => Self::Begin { thread, in_q, args: number(args) },
            Self::Start { session, config } => {
                Self::Start { session, config: Choice { no_args: false, ..config } }
            }
            step => step,
        }
    }
}

fn args() -> impl Strategy<Value = Args> {
    prop_oneof![
        3 => Just(Args::None),
        3 => Just(Args::Number),
        2 => Just(Args::Interned),
        1 => Just(Args::Panics),
    ]
}

fn choice() -> impl Strategy<Value = Choice> {
    (any::<[bool; 5]>(), prop_oneof![Just(0), Just(1), Just(1000)]).prop_map(|(bits, unit_ns)| {
        let [p, q, absolute, no_args, fill] = bits;
        Choice { p: p || !q, q, absolute, unit_ns, no_args, fill }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let thread = 0..THREADS;
    let session = 0..SESSIONS;
    prop_oneof![
        6 => (thread.clone(), any::<bool>(), args())
            .prop_map(|(thread, in_q, args)| Step::Instant { thread, in_q, args }),
        6 => (thread.clone(), any::<bool>(), args())
            .prop_map(|(thread, in_q, args)| Step::Begin { thread, in_q, args }),
        5 => thread.clone().prop_map(|thread| Step::End { thread }),
        1 => thread.clone().prop_map(|thread| Step::Unwind { thread }),
        2 => (thread.clone(), any::<bool>())
            .prop_map(|(thread, is_remembered)| Step::Count { thread, is_remembered }),
        2 => (thread.clone(), 0..=WORDS.len(), any::<bool>()).prop_map(
            |(thread, word, is_remembered)| Step::SetState { thread, word, is_remembered }
        ),
        2 => (thread.clone(), 0..3_u64).prop_map(|(thread, id)| Step::BeginTrack { thread, id }),
        2 => (thread.clone(), any::<usize>())
            .prop_map(|(thread, which)| Step::EndTrack { thread, which }),
        1 => thread.prop_map(|thread| Step::Replace { thread }),
        3 => (session.clone(), choice())
            .prop_map(|(session, config)| Step::Start { session, config }),
        1 => session.clone().prop_map(|session| Step::Stop { session }),
        1 => session.prop_map(|session| Step::Flush { session }),
        1 => Just(Step::Clear),
    ]
}

/// An argument that panics when it is written.
struct Panics;

impl fmt::Display for Panics {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without a message.
        std::panic::resume_unwind(Box::new(()))
    }
}

/// A thread that does what it is told.
struct Worker {
    work: Option<mpsc::Sender<Work>>,
    done: mpsc::Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

type Work = Box<dyn FnOnce(&mut Vec<Slice>) + Send>;

impl Worker {
    fn start() -> Self {
        let (work, inbox) = mpsc::channel::<Work>();
        let (outbox, done) = mpsc::channel();
        let run = move || {
            let mut slices = Vec::new();
            for work in inbox {
                work(&mut slices);
                outbox.send(()).expect("a program");
            }
            // The innermost first.
            while slices.pop().is_some() {}
        };
        Self { work: Some(work), done, thread: Some(std::thread::spawn(run)) }
    }

    fn run(&self, work: impl FnOnce(&mut Vec<Slice>) + Send + 'static) {
        self.work.as_ref().expect("a thread").send(Box::new(work)).expect("a thread");
        self.done.recv().expect("a thread");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.work = None;
        self.thread.take().expect("a thread").join().expect("no panic");
    }
}

/// A session, and the events that it should have: of each thread in its order.
struct Recording {
    session: Session,
    config: Choice,
    number: usize,
    /// Sessions get an event in the order of their slots.
    slot: usize,
    events: BTreeMap<usize, Vec<Expected>>,
}

/// An event of the model.
struct Expected {
    text: String,
    /// The number of an event; for an end, that of the beginning.
    number: usize,
    is_end: bool,
}

/// A slice: its number, and the sessions that recorded the beginning.
#[derive(Clone, Default)]
struct Began {
    number: usize,
    sessions: Vec<usize>,
}

fn count_at_site(number: usize) {
    counter!(P, "counter", number);
}

fn set_state_at_site(word: Option<&str>) {
    state!(P, "state", word);
}

#[derive(Default)]
struct Program {
    workers: Vec<Worker>,
    /// The number of each worker, and its slices.
    threads: Vec<(usize, Vec<Began>)>,
    tracks: Vec<(TrackSlice<'static>, Began)>,
    sessions: [Option<Recording>; SESSIONS],
    last_number: usize,
    /// Remembered values, as events.
    counter: Option<String>,
    state: Option<String>,
    /// Those of call sites, while a session records them.
    site_counter: Option<String>,
    site_state: Option<String>,
    /// Events that the traces do not have.
    missing: u64,
    /// Whether everything finds memory.
    is_exact: bool,
}

impl Program {
    fn new(is_exact: bool) -> Self {
        let mut program = Self { is_exact, ..Self::default() };
        // In this order a session begins with them. What an earlier program has set is forgotten.
        COUNTER.set(&P, 0);
        STATE.set(&P, "");
        COUNTER.forget();
        STATE.forget();
        static CALL_SITES: Once = Once::new();
        CALL_SITES.call_once(|| {
            let first_use = || {
                count_at_site(0);
                set_state_at_site(None);
            };
            record(&["p"], first_use).expect("a recording");
        });
        for _ in 0..THREADS {
            let number = program.next();
            program.workers.push(Worker::start());
            program.threads.push((number, Vec::new()));
        }
        program
    }

    fn next(&mut self) -> usize {
        self.last_number += 1;
        self.last_number
    }

    /// An event of `thread` in every session that wants it. Returns these sessions, and whether an argument panics.
    fn expect(
        &mut self,
        thread: usize,
        in_q: bool,
        text: &str,
        args: Args,
        number: usize,
    ) -> (Began, bool) {
        let thread = self.threads[thread].0;
        let mut began = Began { number, sessions: Vec::new() };
        let mut wanting: Vec<&mut Recording> =
            self.sessions.iter_mut().flatten().filter(|r| r.config.wants(in_q)).collect();
        wanting.sort_by_key(|recording| recording.slot);
        let mut panics = false;
        for recording in wanting {
            // After a panic, the sessions behind get the event without arguments.
            let no_args = recording.config.no_args || panics;
            let args_text = if no_args { String::new() } else { args.text(number) };
            let text = format!("{text}{args_text}");
            let event = Expected { text, number, is_end: false };
            recording.events.entry(thread).or_default().push(event);
            began.sessions.push(recording.number);
            panics |= matches!(args, Args::Panics) && !no_args;
        }
        (began, panics)
    }

    fn expect_end(&mut self, thread: usize, began: &Began) {
        let thread = self.threads[thread].0;
        for recording in self.sessions.iter_mut().flatten() {
            if began.sessions.contains(&recording.number) {
                let event = Expected { text: "end".to_owned(), number: began.number, is_end: true };
                recording.events.entry(thread).or_default().push(event);
            }
        }
    }

    fn step(&mut self, step: Step) {
        match if self.is_exact { step } else { step.numbered() } {
            // An event that finds no memory may not look at its arguments; then it is not the model's session that
            // panics.
            Step::Instant { args: Args::Panics, .. } | Step::Begin { args: Args::Panics, .. }
                if !self.is_exact => {}
            Step::Instant { thread, in_q, args } => {
                let number = self.next();
                let name = if in_q { "q" } else { "p" };
                self.expect(thread, in_q, &format!("instant {name} i"), args, number);
                self.workers[thread].run(move |_| {
                    let category: &'static Category = if in_q { &Q } else { &P };
                    match args {
                        Args::None => instant!(category, "i"),
                        Args::Number => instant!(category, "i", n = number),
                        Args::Interned => instant!(category, "i", t = @format!("{}", number % 5)),
                        Args::Long => instant!(category, "i", n = number, text = long_text()),
                        Args::Panics => {
                            let panics = || instant!(category, "i", n = number, v = %Panics);
                            let _ = catch_unwind(AssertUnwindSafe(panics));
                        }
                    }
                });
            }
            Step::Begin { thread, in_q, args } => self.begin(thread, in_q, args),
            Step::End { thread } => {
                if let Some(began) = self.threads[thread].1.pop() {
                    self.expect_end(thread, &began);
                    self.workers[thread].run(|slices| drop(slices.pop()));
                }
            }
            // Nothing tells which of them are lost.
            Step::Count { .. } | Step::SetState { .. } if !self.is_exact => {}
            Step::Count { thread, is_remembered } => self.count(thread, is_remembered),
            Step::SetState { thread, word, is_remembered } => {
                self.set_state(thread, WORDS.get(word).copied(), is_remembered);
            }
            Step::Unwind { thread } => {
                let (n, m) = (self.next(), self.next());
                let (outer, _) = self.expect(thread, false, "begin p outer", Args::Number, n);
                let (inner, _) = self.expect(thread, true, "begin q inner", Args::Number, m);
                self.expect_end(thread, &inner);
                self.expect_end(thread, &outer);
                self.workers[thread].run(move |_| {
                    let work = || {
                        let _outer = slice!(P, "outer", n = n);
                        let _inner = slice!(Q, "inner", n = m);
                        std::panic::resume_unwind(Box::new(()));
                    };
                    assert!(catch_unwind(work).is_err());
                });
            }
            Step::BeginTrack { thread, id } => {
                let n = self.next();
                let (began, _) = self.expect(thread, false, "begin p t", Args::Number, n);
                let (send, receive) = mpsc::channel();
                self.workers[thread].run(move |_| {
                    static PARENT: Track = Track::named("parent");
                    let track = PARENT.child("child").id(id);
                    send.send(slice!(P, "t", track = track, n = n)).expect("main");
                });
                self.tracks.push((receive.recv().expect("a slice"), began));
            }
            Step::EndTrack { thread, which } => {
                if !self.tracks.is_empty() {
                    let (slice, began) = self.tracks.swap_remove(which % self.tracks.len());
                    self.expect_end(thread, &began);
                    self.workers[thread].run(move |_| drop(slice));
                }
            }
            Step::Replace { thread } => {
                while let Some(began) = self.threads[thread].1.pop() {
                    self.expect_end(thread, &began);
                }
                self.workers[thread] = Worker::start();
                self.threads[thread].0 = self.next();
            }
            Step::Start { session, config } => {
                self.stop(session);
                let number = self.next();
                if !self.sessions.iter().flatten().any(|recording| recording.config.p) {
                    (self.site_counter, self.site_state) = (None, None);
                }
                let started = Session::in_process(&config.config()).expect("a session");
                started.start().expect("a start");
                let remembered = self.counter.iter().chain(&self.state);
                let of_sites = self.site_counter.iter().chain(&self.site_state);
                let remembered = remembered.chain(of_sites).filter(|_| config.p);
                let remembered = remembered.map(|text| Expected {
                    text: text.clone(),
                    number: 0,
                    is_end: false,
                });
                let events = BTreeMap::from([(LIBRARY, remembered.collect::<Vec<_>>())]);
                let taken: Vec<usize> = self.sessions.iter().flatten().map(|r| r.slot).collect();
                let slot = (0..).find(|slot| !taken.contains(slot)).expect("a slot");
                self.sessions[session] =
                    Some(Recording { session: started, config, number, slot, events });
            }
            Step::Stop { session } => self.stop(session),
            Step::Flush { session } => {
                if let Some(recording) = &mut self.sessions[session] {
                    recording.session.flush().expect("a flush");
                }
            }
            Step::Clear => tracing_sdk::__private::clear_incremental_state(),
        }
    }

    fn count(&mut self, thread: usize, is_remembered: bool) {
        let number = self.next();
        let text = format!("counter {number}");
        let (recorded, _) = self.expect(thread, false, &text, Args::None, number);
        self.workers[thread].run(move |_| match is_remembered {
            true => COUNTER.set(&P, number),
            false => count_at_site(number),
        });
        match is_remembered {
            true => self.counter = Some(text),
            false if recorded.sessions.is_empty() => {}
            false => self.site_counter = Some(text),
        }
    }

    fn set_state(&mut self, thread: usize, word: Option<&'static str>, is_remembered: bool) {
        let number = self.next();
        let text = word.map_or("state p".to_owned(), |word| format!("state p {word}"));
        let (recorded, _) = self.expect(thread, false, &text, Args::None, number);
        self.workers[thread].run(move |_| match (is_remembered, word) {
            (true, Some(word)) => STATE.set(&P, word),
            (true, None) => STATE.clear(&P),
            (false, word) => set_state_at_site(word),
        });
        match is_remembered {
            true => self.state = Some(text),
            false if recorded.sessions.is_empty() => {}
            false => self.site_state = Some(text),
        }
    }

    fn begin(&mut self, thread: usize, in_q: bool, args: Args) {
        let number = self.next();
        let name = if in_q { "q" } else { "p" };
        let text = format!("begin {name} s");
        match self.expect(thread, in_q, &text, args, number) {
            (began, false) => self.threads[thread].1.push(began),
            // The caller gets no guard.
            (began, true) => self.expect_end(thread, &began),
        }
        self.workers[thread].run(move |slices| {
            let category: &'static Category = if in_q { &Q } else { &P };
            slices.extend(match args {
                Args::None => Some(slice!(category, "s")),
                Args::Number => Some(slice!(category, "s", n = number)),
                Args::Interned => Some(slice!(category, "s", t = @format!("{}", number % 5))),
                Args::Long => Some(slice!(category, "s", n = number, text = long_text())),
                Args::Panics => {
                    let panics = || slice!(category, "s", n = number, v = %Panics);
                    catch_unwind(AssertUnwindSafe(panics)).ok()
                }
            });
        });
    }

    /// Ends a session, and compares.
    fn stop(&mut self, session: usize) {
        let Some(recording) = self.sessions[session].take() else { return };
        recording.session.stop().expect("an end");
        let mut trace = Vec::new();
        recording.session.read_into(&mut trace).expect("a trace");
        let mut read: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for packet in packets(&trace) {
            let sequence = trusted_sequence(&packet.message);
            read.entry(sequence).or_default().extend(packet.text);
        }
        let mut read: Vec<_> = read.into_values().filter(|events| !events.is_empty()).collect();
        if self.is_exact {
            let texts = |events: Vec<Expected>| events.into_iter().map(|event| event.text);
            let mut expected: Vec<Vec<String>> =
                recording.events.into_values().map(|events| texts(events).collect()).collect();
            expected.retain(|events| !events.is_empty());
            read.sort();
            expected.sort();
            assert_eq!(read, expected, "{:?}", recording.config);
        } else {
            self.missing += missing(&read, recording.events.into_values());
        }
    }

    fn end(&mut self) {
        self.tracks.clear();
        self.workers.clear();
    }
}

/// How many events were lost. A slice whose beginning was lost has no end, and one whose beginning was stored has its
/// end at its place, unless its thread wrote nothing after it.
fn missing(read: &[Vec<String>], expected: impl Iterator<Item = Vec<Expected>>) -> u64 {
    let number = |text: &String| {
        let number = text.split_once(" n=")?.1.split(' ').next()?;
        Some(number.parse::<usize>().expect("a number"))
    };
    let stored: HashSet<usize> = read.iter().flatten().filter_map(number).collect();
    let (mut lost, mut kept_count) = (0, 0);
    for events in expected {
        let numbered = |event: &&Expected| !event.is_end;
        let kept: Vec<&Expected> =
            events.iter().filter(|event| stored.contains(&event.number)).collect();
        lost += events.iter().filter(numbered).count() as u64;
        lost -= kept.iter().copied().filter(numbered).count() as u64;
        kept_count += kept.len() as u64;
        let Some(first) = kept.iter().copied().find(numbered) else { continue };
        let is_own =
            |texts: &&Vec<String>| texts.iter().filter_map(number).any(|n| n == first.number);
        let texts: Vec<(bool, Option<usize>)> = read
            .iter()
            .find(is_own)
            .expect("a sequence")
            .iter()
            .map(|text| (text.starts_with("end"), number(text)))
            .collect();
        let kept: Vec<(bool, Option<usize>)> = kept
            .iter()
            .map(|event| (event.is_end, (!event.is_end).then_some(event.number)))
            .collect();
        let (same, late) = kept.split_at(texts.len().min(kept.len()));
        assert_eq!(texts, same);
        assert!(late.iter().all(|(is_end, _)| *is_end), "not an end: {late:?}");
    }
    lost + kept_count - read.iter().map(|texts| texts.len() as u64).sum::<u64>()
}

/// How many programs a test runs, unless the environment says so.
fn cases(by_default: u32) -> u32 {
    match std::env::var("SDK_CASES") {
        Ok(cases) => cases.parse().expect("SDK_CASES is a number"),
        Err(_) => by_default,
    }
}

fn run(cases: u32, is_exact: bool) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let programs = proptest::collection::vec(step(), 1..40);
    let outcome = TestRunner::new(config).run(&programs, |steps| {
        let lost = lost_events();
        let mut program = Program::new(is_exact);
        if !is_exact {
            // More writers than chunks.
            (0..SESSIONS).for_each(|session| program.step(Step::Start { session, config: ALL }));
        }
        steps.into_iter().for_each(|step| program.step(step));
        for session in 0..SESSIONS {
            program.stop(session);
        }
        program.end();
        let lost = lost_events() - lost;
        if is_exact {
            prop_assert_eq!(lost, 0);
        } else {
            prop_assert_eq!(lost, program.missing);
        }
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn sessions_have_exactly_the_events_of_the_model() {
    let _alone = alone();
    run(cases(1000), true);
}

/// With chunks for four writers of nine: what is stored can be read, and the rest is counted.
#[test]
fn random_programs_that_lose_events() {
    let _small = Small::new(16);
    run(cases(100), false);
}

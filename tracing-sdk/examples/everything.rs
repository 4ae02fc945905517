//! Every kind of event, on two threads:
//!
//! ```text
//! cargo run -p tracebox-sdk --features in-process --example everything -- everything.pftrace
//! ```
//!
//! Without a file it is a producer for `traced`: it records as soon as a session wants its categories, and waits until
//! it is killed. `cargo xtask interop` compares the traces of several services.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;

use tracing_sdk::session::record_to_file;
use tracing_sdk::{
    Annotate, Counter, Flow, Group, Location, Merge, Order, Priority, State, Traced, Track,
    TrackSlice, Unit, Value, async_slice, categories, counter, end, function, instant, slice,
    state,
};

categories! {
    /// The program.
    APP = "app";
    /// Everything on the wire.
    NET = "net", tags: ["io"], description: "Everything on the wire";
    /// Recorded only if a session names it.
    NOISE = "noise", tags: ["debug"];
}

static BOTH: Group = Group::new(&[&APP, &NET]);

/// Set before any session starts: all sessions begin with their values.
static LIMIT: Counter<'_> = Counter::new("limit").unit(Unit::Count);
static MODE: State<'_> = State::new("mode");

static UPLOADS: Track<'_> =
    Track::named("Uploads").order(Order::Explicit).description("One line for each upload");
static STEPS: Track<'_> = Track::named("Steps");

fn main() -> Result<(), Box<dyn std::error::Error>> {
    LIMIT.set(&APP, 7);
    MODE.set(&APP, "fast");
    match std::env::args().nth(1) {
        Some(path) => record_to_file(&path, &["app", "net"], run)?,
        None => produce()?,
    }
    Ok(())
}

fn produce() -> Result<(), tracing_sdk::InitError> {
    tracing_sdk::Init::new().name("everything").system()?;
    while !(APP.is_enabled() && NET.is_enabled()) {
        std::thread::yield_now();
    }
    run();
    tracing_sdk::flush();
    eprintln!("written");
    loop {
        std::thread::park();
    }
}

/// Only one thread records at a time, so that each run records the same.
fn run() {
    let (there, from_first) = mpsc::channel();
    let (back, from_second) = mpsc::channel::<TrackSlice<'_>>();
    let first = spawn("first", move || {
        slices();
        annotations();
        names();
        values();
        tracks();
        futures();
        let _ = there.send(slice!(NET, "handed over", track = STEPS, flow = Flow::process(1)));
        if let Ok(slice) = from_second.recv() {
            end!(slice, back = true);
        }
    });
    let second = spawn("second", move || {
        // Slices of one thread may end on another one.
        drop(from_first.recv());
        instant!(NET, "taken over", end_flow = Flow::process(1));
        let _ = back.send(slice!(NET, "handed back", track = STEPS));
    });
    for thread in [first, second] {
        assert!(thread.join().is_ok(), "a thread panicked");
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let thread = std::thread::Builder::new().name(name.to_owned());
    thread.spawn(work).unwrap_or_else(|error| panic!("no thread: {error}"))
}

fn slices() {
    let _outer = slice!(APP, "outer");
    let inner = slice!(NET, "inner", number = 1);
    instant!(NOISE, "nobody records this");
    end!(inner, bytes = 17_u64, ok = true);
    let sum = slice!(APP, "call", in || 1 + 1);
    instant!(BOTH, "two categories", sum = sum);
    own_name();
    let flow = Flow::global(77);
    slice!(APP, "flow begins", flow = flow).end();
    slice!(APP, "flow goes on", flow = [flow, Flow::process(2)]).end();
    slice!(APP, "flow ends", end_flow = flow).end();
}

fn own_name() {
    function!(APP, depth = 2);
}

struct Point {
    x: f64,
    y: f64,
}

impl Annotate for Point {
    fn annotate(&self, value: Value<'_, '_>) {
        value.map(|map| {
            map.entry("x", &self.x);
            map.entry("y", &self.y);
        });
    }
}

fn annotations() {
    instant!(APP, "numbers", int = -3, uint = u64::MAX, double = 2.5, small = i8::MIN, yes = true);
    instant!(APP, "texts", text = "abc", empty = "", nul = "a\0b", wide = "größer→", line = "a\nb");
    instant!(APP, "repeated", text = @"the same");
    instant!(APP, "repeated", text = @"the same");
    instant!(APP, "formatted", debug = ?Some("x"), display = %1.25, none = None::<u32>);
    let words = BTreeMap::from([("one", vec![1, 2]), ("two", vec![3])]);
    instant!(APP, "nested", point = Point { x: 1.0, y: -0.5 }, words = words, pair = (1, "b"));
    instant!(APP, "reserved", "track" = 5, "a b" = 1);
    // Longer than a chunk of shared memory.
    instant!(APP, "long", text = "0123456789".repeat(2000));
    let frame = |function| Location { file: "server.rs", function, line: 12 };
    instant!(APP, "log", |event| {
        event.log_at("a line of a log", Priority::Warn, Some(frame("log")));
    });
    instant!(APP, "stack", location = frame("handle"), correlation = 42, |event| {
        event.callstack([frame("main"), frame("handle")]);
        event.annotate(&format!("key {}", 1), &1);
    });
    instant!(APP, "correlated", |event| {
        event.correlation_name("request 9");
    });
}

fn names() {
    for round in 0..3 {
        instant!(APP, name = format!("made at run time {round}"), round = round);
        slice!(APP, name = @"repeats").end();
    }
    let category = tracing_sdk::Category::dynamic("net");
    instant!(category, "a category by name");
    instant!(APP, "at a time", ts = 1_000_000);
}

fn values() {
    for value in [3, -1] {
        counter!(APP, "queue", value);
        counter!(APP, "buffered", f64::from(value) * 1.5, unit = Unit::Bytes, multiplier = 1024);
    }
    counter!(APP, "sent", 9, parent = &UPLOADS, unit = Unit::Other("frames"));
    state!(NET, "link", "up");
    state!(NET, "link", None);
    state!(NET, "link", format!("down {}", 1));
}

fn tracks() {
    let job = UPLOADS.child("job").id(1 << 40).rank(2);
    let part_name = format!("part {}", 3);
    let part = job.child_dynamic(&part_name);
    let outer = slice!(NET, "job", track = job);
    slice!(NET, "part", track = part, size = 1).end();
    outer.end();
    let key = Track::named("Lane").id(5).merge(Merge::ByKey("lanes"));
    instant!(NET, "merged", track = key);
    instant!(NET, "process", track = Track::process());
    instant!(NET, "machine", track = Track::global("Machine"));
    instant!(NET, "nowhere", track = Track::GLOBAL);
}

fn futures() {
    let mut polls = 0;
    let twice = std::future::poll_fn(move |_| {
        polls += 1;
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    });
    let mut done = Box::pin(twice.traced(async_slice!(NET, "GET", url = "/")));
    let mut context = Context::from_waker(Waker::noop());
    while done.as_mut().poll(&mut context).is_pending() {}
    drop(std::future::pending::<()>().traced(async_slice!(NET, "PUT")));
}

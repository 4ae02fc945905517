//! A program with a call site of each kind, which must do nothing when the feature `off` is on.

use std::hint::black_box;

use tracing_sdk::data_source::{DataSource, Registered};
use tracing_sdk::protos::DataSourceConfig;
use tracing_sdk::{
    Annotate, Counter, Flow, Group, Priority, State, Track, Unit, async_slice, cat, categories,
    counter, end, function, here, instant, slice, state, traced,
};

categories! {
    /// Work.
    WORK = "work";
    MORE = "more", tags: ["slow"], description: "More work";
}

static BOTH: Group = Group::new(&[&WORK, &MORE]);
static UPLOADS: Track = Track::named("Uploads");
static CACHED: Counter = Counter::new("cached").unit(Unit::Bytes);
static POWER: State = State::new("power");
static REQUESTS: Registered<Requests> = Registered::new("com.example.requests");

struct Requests;

impl DataSource for Requests {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }
}

#[derive(Clone, Copy, Debug, Annotate)]
struct Job {
    id: u64,
}

#[traced(WORK)]
fn parse(text: &str) -> Option<u64> {
    text.parse().ok()
}

/// An argument that must not be evaluated.
fn never(what: &str) -> u64 {
    println!("evaluated: {what}");
    std::process::exit(1)
}

#[inline(never)]
fn work(job: Job) -> Option<u64> {
    function!(WORK, job = job);
    instant!(WORK, "begun", first = never("a value"), why = ?job, flow = Flow::process(never("a flow")));
    instant!(BOTH, name = format!("{}", never("a name")), location = here!(), "track" = "reserved");
    instant!(cat!("ported"), "in place", ts = never("a time"), text = @"repeats", |event| {
        event.log("a line", Priority::Warn).correlation(never("a closure"));
    });
    // A call site may return, as in any expression.
    instant!(WORK, "fails", value = u8::try_from(job.id).ok()?);
    let on_track = slice!(WORK, "PUT", track = UPLOADS.child("upload").id(never("a track")));
    let on_thread = slice!(WORK, "step", id = job.id);
    let sum = slice!(WORK, "add", in || black_box(job.id) + 1);
    end!(on_thread, sum = never("an end"));
    drop(on_track);
    counter!(WORK, "queue", never("a counter"), unit = Unit::Count);
    state!(MORE, "mode", "busy");
    CACHED.set(&WORK, 17);
    CACHED.add(&WORK, 1);
    POWER.set(&WORK, "on");
    POWER.clear(&WORK);
    let future = async_slice!(WORK, "GET", id = never("a future"));
    end!(future, sum = never("an end"));
    REQUESTS.register();
    REQUESTS.trace(|context| context.packet(|_| assert_eq!(never("a packet"), 0)));
    assert!(!WORK.is_enabled() && !REQUESTS.is_enabled() && tracing_sdk::lost_events() == 0);
    Some(sum)
}

const _: () = {
    #[cfg(feature = "off")]
    assert!(
        size_of::<tracing_sdk::Slice>()
            + size_of::<tracing_sdk::TrackSlice>()
            + size_of::<tracing_sdk::AsyncSlice>()
            == 0,
    );
};

fn main() {
    tracing_sdk::init().expect("nothing that could fail");
    tracing_sdk::register(&[&WORK]);
    let id = std::env::args().nth(1).and_then(|text| parse(&text)).unwrap_or(0);
    println!("{:?}", work(Job { id }));
    tracing_sdk::trigger(&["a trigger"]);
    tracing_sdk::flush();
    tracing_sdk::shutdown();
}

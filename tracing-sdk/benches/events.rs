//! What an event costs the program that records it.
//!
//! ```text
//! cargo bench -p tracebox-sdk --features in-process --bench events     ns of processor time of the thread per event
//! target/release/deps/events-* loop instant 100000                    that many of one mode, for callgrind
//! ```
//!
//! | mode | event |
//! |---|---|
//! | `disabled` | an instant of a category that no session records |
//! | `instant` | a literal name, nothing else |
//! | `slice` | begin and end |
//! | `args` | an instant with two numbers |
//! | `string` | an instant with a text of 16 bytes |
//! | `counter` | a value of a static counter |
//! | `track` | a slice on a named track |
//! | `dynamic` | an instant with a name of 16 bytes made at run time |
//! | `span` | a span of `tracing` in its registry: made, entered, left and closed (feature `tracing`) |
//! | `span_args` | such a span with two numbers |
//! | `event` | an event of `tracing` |
//!
//! A session inside the program records into a ring buffer. Bursts of 2000 events; between them, outside the measured
//! time, the service takes what was written out of shared memory, so that nothing is ever dropped.
use std::hint::black_box;
use std::process::ExitCode;
use std::time::Duration;

#[cfg(feature = "tracing")]
use tracing::info_span;
use tracing_sdk::session::{Config, Fill, Session};
use tracing_sdk::{Counter, Track, categories, instant, lost_events, slice};

categories! {
    ON = "bench";
    OFF = "off";
}

const MODES: &[&str] = &[
    "disabled",
    "instant",
    "slice",
    "args",
    "string",
    "counter",
    "track",
    "dynamic",
    #[cfg(feature = "tracing")]
    "span",
    #[cfg(feature = "tracing")]
    "span_args",
    #[cfg(feature = "tracing")]
    "event",
];
const BURST: u32 = 2000;
const SAMPLES: usize = 9;
static DEPTH: Counter = Counter::new("depth");
static LANE: Track = Track::named("lane");

fn burst(mode: &str, count: u32) -> bool {
    match mode {
        "disabled" => (0..count).for_each(|_| instant!(OFF, "event")),
        "instant" => (0..count).for_each(|_| instant!(ON, "event")),
        "slice" => (0..count).for_each(|_| drop(slice!(ON, "event"))),
        "args" => (0..count).for_each(|n| instant!(ON, "event", n = n, m = black_box(7_u64))),
        "string" => {
            (0..count).for_each(|_| instant!(ON, "event", text = black_box("sixteen letters.")));
        }
        "counter" => (0..count).for_each(|n| DEPTH.set(&ON, n)),
        "track" => (0..count).for_each(|_| drop(slice!(ON, "event", track = LANE))),
        "dynamic" => (0..count).for_each(|_| instant!(ON, name = black_box("sixteen letters."))),
        #[cfg(feature = "tracing")]
        "span" => (0..count).for_each(|_| drop(info_span!(target: "bench", "event").entered())),
        #[cfg(feature = "tracing")]
        "span_args" => (0..count).for_each(|n| {
            drop(info_span!(target: "bench", "event", n, m = black_box(7_u64)).entered());
        }),
        #[cfg(feature = "tracing")]
        "event" => (0..count).for_each(|_| tracing::info!(target: "bench", "event")),
        _ => return false,
    }
    true
}

/// Processor time of this thread, ns: what others do to the machine stays out of it.
fn cpu_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Runs `warm_up` and then `count` bursts of a mode; the ns spent in the latter, by `clock`.
fn run(mode: &str, warm_up: u32, count: u32, clock: fn() -> u64) -> Option<u64> {
    let mut ns = 0;
    for number in 0..warm_up + count {
        let start = clock();
        if !burst(mode, BURST) {
            return None;
        }
        ns += if number >= warm_up { clock() - start } else { 0 };
        tracing_sdk::flush();
        tracing_sdk::sync(Duration::from_secs(10));
    }
    (lost_events() == 0).then_some(ns)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let config = Config::new().buffer_kb(65_536, Fill::Ring).track_events(&["bench"]);
    let session = Session::in_process(&config).and_then(|session| {
        session.start()?;
        Ok(session)
    });
    let _session = match session {
        Ok(session) => session,
        Err(error) => {
            eprintln!("no session: {error}");
            return ExitCode::FAILURE;
        }
    };
    #[cfg(feature = "tracing")]
    {
        use tracing_subscriber::prelude::*;
        // Or without the registry.
        match std::env::var_os("SUBSCRIBER") {
            Some(_) => tracing_sdk::layer::Subscriber::default().install().expect("the only one"),
            None => tracing_subscriber::registry().with(tracing_sdk::layer::layer()).init(),
        }
    }
    if let ["loop", mode, count] = args[..] {
        let bursts = count.parse().map_or(0, |count: u32| count / BURST);
        if run(mode, 0, bursts, || 0).is_none() {
            eprintln!("loop takes one of {MODES:?} and a count");
            return ExitCode::FAILURE;
        }
        println!("{mode} {}", bursts * BURST);
        return ExitCode::SUCCESS;
    }
    for mode in MODES.iter().copied().filter(|mode| args.is_empty() || args.contains(mode)) {
        let count = 100;
        let mut samples: Vec<f64> = (0..SAMPLES)
            .filter_map(|_| run(mode, 10, count, cpu_ns))
            .map(|ns| ns as f64 / f64::from(count * BURST))
            .collect();
        samples.sort_by(f64::total_cmp);
        let Some(best) = samples.first() else { return ExitCode::FAILURE };
        println!("{mode:14} {:8.1} ns   (best {best:.1})", samples[samples.len() / 2]);
    }
    ExitCode::SUCCESS
}

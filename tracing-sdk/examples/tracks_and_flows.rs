//! A queue with two workers: tracks of the program's own, arrows between threads, a counter and a state.
//!
//! ```text
//! cargo run -p tracebox-sdk --features in-process --example tracks_and_flows -- queue.pftrace
//! ```
//!
//! The picture: the first thread has six instants `queued`. From each of them an arrow leads to a slice `job` on one of
//! the threads `worker 0` and `worker 1`, with the argument `number`. Below the track `Jobs` each job has a line of its
//! own with a slice `waits`, which begins at its instant and ends where its `job` begins. The counter `queue` goes up to
//! six and down to zero, and the state `pool` is `busy` until it is `idle` at the end.

use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;

use tracing_sdk::session::{SessionError, record_to_file};
use tracing_sdk::{
    Counter, Flow, Order, Track, TrackSlice, Unit, categories, instant, slice, state,
};

categories! {
    /// The queue and its workers.
    POOL = "pool";
}

static JOBS: Track = Track::named("Jobs").order(Order::Chronological);
static QUEUE: Counter = Counter::new("queue").unit(Unit::Count);

struct Job {
    number: u64,
    flow: Flow,
    /// Ends when a worker takes the job.
    waits: TrackSlice<'static>,
}

fn run() {
    let (sender, jobs) = mpsc::channel::<Job>();
    let jobs = Mutex::new(jobs);
    state!(POOL, "pool", "busy");
    for number in 0..6 {
        let flow = Flow::new();
        instant!(POOL, "queued", number = number, flow = flow);
        let waits = slice!(POOL, "waits", track = JOBS.child("job").id(number), number = number);
        QUEUE.add(&POOL, 1);
        // The receiver lives until the end of this function.
        let _ = sender.send(Job { number, flow, waits });
    }
    drop(sender);
    thread::scope(|scope| {
        for worker in 0..2 {
            let take = || jobs.lock().ok()?.recv().ok();
            let work = move || {
                while let Some(Job { number, flow, waits }) = take() {
                    QUEUE.add(&POOL, -1);
                    waits.end();
                    let _slice = slice!(POOL, "job", number = number, end_flow = flow);
                    (0..200_000_u64).for_each(|n| _ = std::hint::black_box(n));
                }
            };
            let thread = thread::Builder::new().name(format!("worker {worker}"));
            thread.spawn_scoped(scope, work).expect("a thread");
        }
    });
    state!(POOL, "pool", "idle");
}

fn main() -> Result<(), SessionError> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "queue.pftrace".to_owned());
    record_to_file(&path, &["pool"], run)?;
    println!("{path} opens in https://ui.perfetto.dev");
    Ok(())
}

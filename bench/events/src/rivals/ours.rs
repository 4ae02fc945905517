//! Our macros.

use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tracing_sdk::session::{Config, Fill, Session};
use tracing_sdk::{Counter, Init, categories, instant, slice};

use crate::contender::{BUFFER_KB, Contender, Mode, SHM_KB, nothing};

categories! {
    BENCH = "bench";
}

static DEPTH: Counter = Counter::new("depth");
static SESSION: Mutex<Option<Session>> = Mutex::new(None);

pub const MACROS: Contender = Contender {
    name: "tracing-sdk (ours)",
    init,
    start: || start("bench"),
    burst,
    clear_thread: nothing,
    drain,
    stop,
};

/// As [`MACROS`], with times from the processor's counter.
pub const COUNTER_CLOCK: Contender = Contender {
    name: "tracing-sdk, counter clock (ours)",
    init: || {
        Init::new().shm_kb(SHM_KB).counter_clock().in_process().expect("a service in this process");
    },
    ..MACROS
};

pub fn init() {
    Init::new().shm_kb(SHM_KB).in_process().expect("a service in this process");
}

pub fn start(category: &str) {
    let config = Config::new().buffer_kb(BUFFER_KB, Fill::Ring).track_events(&[category]);
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a session that starts");
    *SESSION.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
}

fn burst(mode: Mode, count: u32) -> bool {
    match mode {
        Mode::Disabled | Mode::Instant => (0..count).for_each(|_| instant!(BENCH, "event")),
        Mode::Slice => (0..count).for_each(|_| drop(slice!(BENCH, "event"))),
        Mode::Args => {
            (0..count).for_each(|n| instant!(BENCH, "event", n = n, m = black_box(7_u64)));
        }
        Mode::String => {
            let text = black_box("sixteen letters.");
            (0..count).for_each(|_| instant!(BENCH, "event", text = text));
        }
        Mode::Counter => (0..count).for_each(|n| DEPTH.set(&BENCH, n)),
    }
    true
}

pub fn drain() {
    tracing_sdk::flush();
    assert!(tracing_sdk::sync(Duration::from_secs(10)), "the service does not answer");
}

pub fn stop() -> u64 {
    let session = SESSION.lock().unwrap_or_else(PoisonError::into_inner).take();
    let session = session.expect("a session");
    session.stop().expect("a session that stops");
    let mut trace = Vec::new();
    session.read_into(&mut trace).expect("a trace");
    assert_eq!(tracing_sdk::lost_events(), 0, "events were lost");
    trace.len() as u64
}

//! `perfetto-recorder`: records into memory of the thread, and makes a trace of it later, which is not measured.

use std::hint::black_box;

use perfetto_recorder::{ThreadTraceData, current_thread_reserve, scope};

use crate::contender::{Contender, Mode, no_bytes, nothing};

pub const CONTENDER: Contender = Contender {
    name: "perfetto-recorder 0.3.3",
    init: nothing,
    start: || perfetto_recorder::start().expect("a build with tracing"),
    burst,
    clear_thread: || {
        black_box(ThreadTraceData::take_current_thread());
        current_thread_reserve(100_000);
    },
    drain: nothing,
    stop: no_bytes,
};

fn burst(mode: Mode, count: u32) -> bool {
    match mode {
        Mode::Disabled | Mode::Slice => {
            for _ in 0..count {
                scope!("event");
            }
        }
        Mode::Args => {
            for n in 0..count {
                scope!("event", n = u64::from(n), m = black_box(7_u64));
            }
        }
        Mode::String => {
            let text = black_box("sixteen letters.");
            for _ in 0..count {
                scope!("event", text = text);
            }
        }
        Mode::Instant | Mode::Counter => return false,
    }
    true
}

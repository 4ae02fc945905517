//! `puffin`: scopes of a thread, collected once in each burst.

use puffin::{GlobalProfiler, profile_scope};
use std::hint::black_box;

use crate::contender::{Contender, Mode, no_bytes, nothing};

pub const CONTENDER: Contender = Contender {
    name: "puffin 0.20",
    init: nothing,
    start: || puffin::set_scopes_on(true),
    burst,
    clear_thread: nothing,
    drain: || GlobalProfiler::lock().new_frame(),
    stop: no_bytes,
};

fn burst(mode: Mode, count: u32) -> bool {
    // What is inside of another scope stays in the thread until that one ends.
    profile_scope!("burst");
    match mode {
        Mode::Disabled | Mode::Slice => {
            for _ in 0..count {
                profile_scope!("event");
            }
        }
        Mode::String => {
            let text = black_box("sixteen letters.");
            for _ in 0..count {
                profile_scope!("event", text);
            }
        }
        Mode::Instant | Mode::Args | Mode::Counter => return false,
    }
    true
}

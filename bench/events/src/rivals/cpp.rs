//! The macros of the C++ SDK.

use crate::contender::{BUFFER_KB, Contender, Mode, SHM_KB, nothing};

// `cpp/track_event.cc` defines them.
unsafe extern "C" {
    safe fn events_cpp_init(shm_kb: u32);
    safe fn events_cpp_start(buffer_kb: u32);
    safe fn events_cpp_burst(mode: u32, count: u32) -> bool;
    safe fn events_cpp_drain();
    safe fn events_cpp_stop() -> u64;
}

pub const CONTENDER: Contender = Contender {
    name: "C++ SDK",
    init: || events_cpp_init(SHM_KB),
    start: || events_cpp_start(BUFFER_KB),
    burst: |mode: Mode, count| events_cpp_burst(mode as u32, count),
    clear_thread: nothing,
    drain: || events_cpp_drain(),
    stop: || events_cpp_stop(),
};

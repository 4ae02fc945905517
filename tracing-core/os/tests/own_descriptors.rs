//! Alone in its program: the thread has copies of all descriptors for a moment, and other tests close theirs meanwhile.
#![cfg(all(feature = "host", not(miri)))]
#![allow(unsafe_code, missing_docs, reason = "a test of an unsafe function")]

use tracing_core_os::queue::queue;
use tracing_core_os::thread::{spawn, unshare_descriptors};

/// A signal that such a thread took would be lost: its handler writes to a descriptor of the process.
#[test]
fn a_thread_with_descriptors_of_its_own_takes_no_signals() {
    let (told, masks) = queue();
    let run = move || {
        // SAFETY: the thread uses descriptors that it opens, and no others.
        unsafe { unshare_descriptors().expect("a table") };
        told.send(std::fs::read_to_string("/proc/thread-self/status").expect("a status"));
    };
    spawn("own", Box::new(run)).expect("a thread").join();
    let status = masks.recv().expect("a status");
    let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).expect("a mask");
    let blocked = u64::from_str_radix(blocked.trim(), 16).expect("a number");
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
        assert_ne!(blocked & 1 << (signal - 1), 0, "{signal}");
    }
}

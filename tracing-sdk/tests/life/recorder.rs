//! A recorder in a forked process, which is that of the parent, and one that saves at signals.

use std::ffi::CString;
use std::fs::File;
use std::io::Read as _;
use std::panic::{catch_unwind, set_hook};
use std::path::{Path, PathBuf};
use std::time::Duration;

use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::Signals;
use signal_hook::low_level::raise;
use tracing_sdk::instant;
use tracing_sdk::session::FlightRecorder;

use crate::{Place, config, end_if_it_hangs, fork_process};

/// The pipe into which the parent saves its trace.
const PIPE: &str = "LIFE_TEST_PIPE";

pub(crate) fn a_fork_does_not_wait_for_a_trace() {
    let place = Place::new("saving");
    let mut command = place.command("forks while a trace is saved");
    let status = command.env(PIPE, place.0.join("pipe")).status().expect("a process");
    assert!(status.success(), "{status}");
}

fn make_pipe(path: &Path) {
    let path = CString::new(path.to_str().expect("a path")).expect("a path");
    // SAFETY: `path` lives until the call returns.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0, "a pipe");
}

fn panic_on_purpose() {
    assert!(catch_unwind(|| panic!("on purpose")).is_err());
}

/// A thread saves a trace of its panic into a pipe, which takes no more than a part of it. So the locks of the recorder
/// are taken.
pub(crate) fn fork_while_a_trace_is_saved() {
    let pipe = PathBuf::from(std::env::var_os(PIPE).expect("a pipe"));
    make_pipe(&pipe);
    set_hook(Box::new(|_| {}));
    let recorder = FlightRecorder::start(config()).expect("a recorder");
    recorder.dump_on_panic(&pipe);
    instant!(crate::LIFE, "large", text = "x".repeat(1 << 20));
    assert!(tracing_sdk::sync(crate::LONG));
    let thread = std::thread::spawn(panic_on_purpose);
    let mut read = File::open(&pipe).expect("the pipe");
    let mut trace = vec![0];
    read.read_exact(&mut trace).expect("a part of the trace");
    let child = fork_process();
    if child == 0 {
        end_if_it_hangs();
        panic_on_purpose();
        assert!(recorder.dump(&pipe).is_err());
        assert!(recorder.dump_numbered(&pipe).is_err());
        assert!(recorder.handle().dump(&pipe).is_err());
        recorder.dump_if_slow(Duration::ZERO, &pipe, || ());
        drop(recorder.watchdog(Duration::ZERO, &pipe));
        drop(recorder);
        // SAFETY: the call has no condition.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: `status` is ours alone and lives until the call returns.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    // A panic before the recorder is dropped would wait for the trace, or for a reader of another one.
    read.read_to_end(&mut trace).expect("the rest of the trace");
    thread.join().expect("the thread");
    drop(recorder);
    assert_eq!((ended, status), (child, 0), "the child");
    assert_eq!(crate::trace::events(&trace).len(), 1);
}

pub(crate) fn signals_save_traces() {
    let place = Place::new("signals");
    let file = place.0.join("signal.pftrace");
    let mut command = place.command("saves traces at signals");
    let status = command.env(PIPE, &file).status().expect("a process");
    assert!(status.success(), "{status}");
    let events = |name| crate::trace::events(&std::fs::read(place.0.join(name)).expect("a trace"));
    assert_eq!(events("signal.pftrace"), ["instant life one"]);
    assert_eq!(events("signal-2.pftrace"), ["instant life one", "instant life two"]);
}

pub(crate) fn save_traces_at_signals() {
    crate::end_if_it_hangs();
    let path = PathBuf::from(std::env::var_os(PIPE).expect("a file"));
    let second = path.with_file_name("signal-2.pftrace");
    let recorder = FlightRecorder::start(config()).expect("a recorder");
    let handle = recorder.handle();
    let mut signals = Signals::new([SIGUSR1]).expect("a handler");
    let to = path.clone();
    std::thread::spawn(move || {
        for _ in signals.forever() {
            handle.dump_numbered(&to).expect("a dump");
        }
    });
    for (name, path) in [("one", path), ("two", second)] {
        instant!(crate::LIFE, name = name);
        raise(SIGUSR1).expect("a signal");
        while !path.exists() {
            std::thread::yield_now();
        }
    }
}

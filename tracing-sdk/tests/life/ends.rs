//! How programs end, and what is in their traces then.

use std::fs::File;
use std::io::Read as _;
use std::process::Stdio;
use std::time::Duration;

use client::consumer::Consumer;
use protos::DataSourceConfig;
use tracing_sdk::data_source::{DataSource, FlushGuard, FlushReason, Registered};
use tracing_sdk::session::{Config, Session, SessionError, record, record_to_file};
use tracing_sdk::{Init, instant};

use crate::trace::events;
use crate::{
    LIFE, LONG, Place, Service, address, config, end_if_it_hangs, fork_process, is_child, traced,
    wait_for_session,
};

/// The file that a process shall write.
const FILE: &str = "LIFE_TEST_FILE";

/// Each way to end leaves what was recorded before it. A service writes into its files every five seconds.
const ENDS: [&str; 6] = [
    "ends: by exit in a recording",
    "ends: by exit",
    "ends: with an error",
    "ends: with a session that nobody drops",
    "ends: beside a thread that records",
    "ends: in a callback",
];

pub(crate) fn the_end_of_a_program_completes_its_files() {
    for part in ENDS {
        let place = Place::new("ends");
        let file = place.0.join("trace");
        let status = place.command(part).env(FILE, &file).status().expect("a process");
        assert!(status.success(), "{part}: {status}");
        let trace = std::fs::read(&file).expect("a file");
        assert_eq!(events(&trace), ["instant life last"], "{part}");
    }
}

fn started() -> Session {
    let file = std::env::var_os(FILE).expect("a file");
    let config = Config::new().track_events(&["life"]).data_source_named(ENDING.name());
    let session = Session::in_process(&config.write_into_file(file)).expect("a session");
    session.start().expect("a start");
    session
}

pub(crate) fn end(part: &str) {
    match part {
        "ends: by exit in a recording" => {
            let file = std::env::var_os(FILE).expect("a file");
            let recorded = record_to_file(file, &["life"], || {
                instant!(LIFE, "last");
                std::process::exit(0);
            });
            recorded.expect("it does not return");
        }
        "ends: by exit" => {
            let _session = started();
            instant!(LIFE, "last");
            std::process::exit(0);
        }
        "ends: with an error" => {
            let work = || Err(SessionError::Order("on purpose"));
            let fail = || {
                let session = started();
                instant!(LIFE, "last");
                work()?;
                session.stop()
            };
            assert!(fail().is_err());
        }
        "ends: with a session that nobody drops" => {
            std::mem::forget(started());
            instant!(LIFE, "last");
        }
        "ends: beside a thread that records" => {
            std::mem::forget(started());
            let (done, wait) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                instant!(LIFE, "last");
                done.send(()).expect("main");
                loop {
                    std::thread::park();
                }
            });
            wait.recv().expect("the thread");
        }
        "ends: in a callback" => {
            ENDING.register();
            let session = started();
            instant!(LIFE, "last");
            let _ = session.flush();
            // Another thread ends the program.
            loop {
                std::thread::park();
            }
        }
        other => panic!("no part {other:?}"),
    }
}

/// Ends the program when it is flushed.
struct Ending;

static ENDING: Registered<Ending> = Registered::new("com.example.ending");

impl DataSource for Ending {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }

    fn flush(&self, _: FlushReason, _: FlushGuard) {
        std::process::exit(0);
    }
}

/// Other threads hold the lock of the library again and again, each time for a moment.
pub(crate) fn the_last_events_arrive_beside_threads_that_hold_locks() {
    for round in 0..10 {
        let (trace, _) = traced("busy", "ends beside busy threads");
        let events = events(&trace);
        let lengths: Vec<usize> = events.iter().map(String::len).collect();
        assert_eq!(lengths, ["instant life last text=".len() + LARGE], "round {round}");
    }
}

/// So many bytes are on their way to the service when the process ends.
const LARGE: usize = 2_000_000;

pub(crate) fn end_beside_busy_threads() {
    tracing_sdk::init().expect("a producer");
    wait_for_session();
    let (done, wait) = std::sync::mpsc::channel();
    for _ in 0..2 {
        let done = done.clone();
        std::thread::spawn(move || {
            let busy = || tracing_sdk::init().expect("the same producer");
            busy();
            done.send(()).expect("main");
            loop {
                busy();
            }
        });
    }
    (0..2).for_each(|_| wait.recv().expect("the thread"));
    instant!(LIFE, "last", text = "x".repeat(LARGE));
}

/// The child of a program that ended lives on, as a daemon does.
pub(crate) fn a_service_learns_that_a_program_with_a_child_has_ended() {
    let place = Place::new("child");
    let _service = Service::start(&place.0);
    let mut consumer = Consumer::connect(&address(&place.0.join("consumer"))).expect("a service");
    consumer.enable_tracing(&config().to_message(), None).expect("a session");
    consumer.query_capabilities().expect("an answer");
    let mut command = place.command("leaves a child behind");
    let mut program = command.stdin(Stdio::piped()).spawn().expect("a process");
    // The child ends when this is closed.
    let child = program.stdin.take();
    let status = program.wait().expect("an end");
    assert!(status.success(), "{status}");
    loop {
        let state = consumer.query_service_state(false).expect("an answer");
        if state.producers.is_empty() && state.tracing_sessions.len() == 1 {
            break;
        }
        std::thread::yield_now();
    }
    drop(child);
}

pub(crate) fn leave_a_child() {
    let session = Session::system(&config()).expect("a session");
    session.start().expect("a start");
    tracing_sdk::init().expect("a producer");
    wait_for_session();
    instant!(LIFE, "before");
    if fork_process() == 0 {
        let mut nothing = Vec::new();
        std::io::stdin().read_to_end(&mut nothing).expect("the end of the test");
        // It is not the session of this process.
        drop(session);
        std::process::exit(0);
    }
    // And out, with all connections.
    std::mem::forget(session);
}

pub(crate) fn recordings_that_lack_something_say_so() {
    let place = Place::new("misspelt");
    let mut command = place.command("misspells a category");
    let output = command.stderr(Stdio::piped()).output().expect("a process");
    assert!(output.status.success(), "{}", output.status);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    const NOTHING: &str = "tracing-sdk: a session has recorded no track event of this program, because it wants the categories";
    let expected = [
        format!("{NOTHING} \"lief\", \"net*\", and the program has used \"life\""),
        format!("{NOTHING} \"lyfe\", and the program has used \"life\""),
        "tracing-sdk: a list of categories is empty, and adds no event: `&[\"*\"]` selects all but those with the tag \
         `slow` or `debug`"
            .to_owned(),
        "tracing-sdk: `record` has lost the beginning of the recording, of which it keeps 32 MiB: `record_to_file` \
         keeps more"
            .to_owned(),
    ];
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
}

pub(crate) fn misspell() {
    let nothing = record(&["lief", "net*"], || instant!(LIFE, "not recorded"));
    assert_eq!(events(&nothing.expect("a recording")), [""; 0]);
    let config = Config::new().track_events(&["lyfe"]).duration(Duration::from_millis(1));
    let session = Session::in_process(&config).expect("a session");
    session.start().expect("a start");
    assert!(session.wait(None).expect("its end"));
    session.stop().expect("it has ended");
    let nothing = record(&[], || instant!(LIFE, "not recorded"));
    assert_eq!(events(&nothing.expect("a recording")), [""; 0]);
    // These say nothing.
    record(&["life"], || ()).expect("a recording");
    record(&["lief", "life"], || ()).expect("a recording");
    let long = "x".repeat(1 << 20);
    let cut = record(&["life"], || {
        for _ in 0..40 {
            instant!(LIFE, "long", text = long.as_str());
            // More than the shared memory would be lost elsewhere.
            assert!(tracing_sdk::sync(crate::LONG));
        }
    });
    cut.expect("a recording");
}

pub(crate) fn a_program_takes_what_the_library_tells() {
    let place = Place::new("reports");
    let mut command = place.command("takes reports");
    let output = command.stderr(Stdio::piped()).output().expect("a process");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{told}");
}

pub(crate) fn take_reports() {
    let (send, lines) = std::sync::mpsc::channel();
    tracing_sdk::on_report(move |line| {
        send.send(line.to_string()).expect("main");
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    // The first function stays.
    tracing_sdk::on_report(|_| unreachable!());
    drop(Config::new().track_events(&[]));
    let line = lines.recv().expect("a line");
    assert!(line.starts_with("a list of categories is empty"), "{line}");
}

/// Each thread describes the process. Shared memory has no room for a megabyte.
pub(crate) fn a_long_command_line_takes_no_memory() {
    let place = Place::new("arguments");
    let mut command = place.command("has a long command line");
    let argument = "x".repeat(100_000);
    let status = command.args((0..10).map(|_| &argument)).status().expect("a process");
    assert!(status.success(), "{status}");
}

pub(crate) fn record_a_long_command_line() {
    Init::new().shm_kb(256).in_process().expect("a service");
    let work = || {
        let threads = (0..8).map(|_| std::thread::spawn(|| instant!(LIFE, "one")));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    };
    let trace = record(&["life"], work).expect("a trace");
    assert_eq!((events(&trace).len(), tracing_sdk::lost_events()), (8, 0));
    assert!(trace.len() < 100_000, "{} bytes", trace.len());
}

pub(crate) fn the_program_of_the_guide_leaves_a_file() {
    let place = Place::new("guide");
    let _service = Service::start(&place.0);
    let file = place.0.join("net.pftrace");
    let mut command = place.command("reads its trace from a service");
    let status = command.env(FILE, &file).status().expect("a process");
    assert!(status.success(), "{status}");
    let trace = std::fs::read(&file).expect("a file");
    assert_eq!(events(&trace), ["instant life work"]);
}

/// The program of `docs/sdk.md` with a service outside, whose session is read before it is dropped.
pub(crate) fn read_from_a_service() {
    let run = || -> Result<(), Box<dyn std::error::Error>> {
        let session = Session::system(&config())?;
        session.start()?;
        Init::new().wait(LONG).system()?;
        instant!(LIFE, "work");
        session.stop()?;
        let path = std::env::var_os(FILE).expect("a file");
        session.read_into(&mut File::create(path)?)?;
        Ok(())
    };
    run().expect("a trace");
}

pub(crate) fn a_child_does_not_wait_for_a_recording_of_its_parent() {
    let place = Place::new("turns");
    let status = place.command("forks while a thread records").status().expect("a process");
    assert!(status.success(), "{status}");
}

/// Threads that record take turns, and the thread whose turn it is does not exist in the child.
pub(crate) fn fork_while_a_thread_records() {
    let (begun, wait) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let work = move || {
        begun.send(()).expect("main");
        let _ = ended.recv();
    };
    let thread = std::thread::spawn(move || record(&["life"], work).expect("a trace"));
    wait.recv().expect("the thread");
    if is_child() {
        end_if_it_hangs();
        let trace = record(&["life"], || instant!(LIFE, "child")).expect("a trace");
        assert_eq!(events(&trace), ["instant life child"]);
        // The thread of the parent is not here.
        return drop(thread);
    }
    drop(end);
    thread.join().expect("no panic");
}

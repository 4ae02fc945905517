//! The life of a traced process: before and after its service, at its end, in a fork.
//!
//! A test starts this program again, as the process that is traced. The service and the session are in the first one.
//! `TRACED_UNDER_TEST` names another `traced`, which is the service then, and `TRACES_OUT` a folder for the traces:
//! `cargo xtask interop` sets them.
#![allow(unsafe_code)]

#[allow(dead_code, reason = "shared with other tests")]
#[path = "../it/trace.rs"]
mod trace;

mod address;
mod ends;
mod interceptor;
#[cfg(feature = "tracing")]
mod layers;
#[cfg(all(feature = "log", feature = "tracing"))]
mod log_records;
mod plugin;
mod recorder;
mod sessions;
mod startup;
mod thread_time;
mod tracks;

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use client::consumer::Consumer;
use daemon::in_process::InProcessService;
use daemon::serve::{Server, ServerOptions, service_config};
use os::socket::Address;
use protos::{DataSourceConfig, TracePacketData};
use tracing_sdk::data_source::{DataSource, Registered};
use tracing_sdk::interceptor::Console;
use tracing_sdk::session::{Config, Session};
use tracing_sdk::{Category, Init, State, categories, instant, slice};

use crate::trace::{packets, trusted_sequence};

categories! {
    LIFE = "life";
}

/// Which part this process plays; without it, it runs the tests.
const PART: &str = "LIFE_TEST_PART";
/// How long a process waits for what certainly comes.
const LONG: Duration = Duration::from_secs(600);

fn main() {
    if cfg!(feature = "off") {
        return;
    }
    match std::env::var(PART).as_deref() {
        Ok("outlives its services") => outlive(),
        Ok("exits") => exit(),
        Ok("forks") => fork(),
        Ok("forks while others hold locks") => fork_beside_others(),
        Ok("floods") => flood(),
        Ok("records at once") => record_at_once(),
        Ok("loads plugins") => plugin::load(),
        Ok("prints") => interceptor::print(),
        Ok("starts early") => startup::start_early(),
        Ok("samples thread time") => thread_time::record(),
        #[cfg(feature = "tracing")]
        Ok("has a layer") => layers::record_all(),
        #[cfg(all(feature = "log", feature = "tracing"))]
        Ok("logs with a layer") => log_records::with_a_layer(),
        #[cfg(all(feature = "log", feature = "tracing"))]
        Ok("logs with layers") => log_records::with_layers(),
        #[cfg(all(feature = "log", feature = "tracing"))]
        Ok("logs before there is a layer") => log_records::before_a_layer(),
        #[cfg(all(feature = "log", feature = "tracing"))]
        Ok("logs with a layer that panics") => log_records::with_a_layer_that_panics(),
        #[cfg(all(feature = "log", feature = "tracing"))]
        Ok("logs in a child") => log_records::fork_beside_a_session(),
        Ok("leaves a child behind") => ends::leave_a_child(),
        Ok("forks while a trace is saved") => recorder::fork_while_a_trace_is_saved(),
        Ok("forks while a thread records") => ends::fork_while_a_thread_records(),
        Ok("saves traces at signals") => recorder::save_traces_at_signals(),
        Ok("reads its trace from a service") => ends::read_from_a_service(),
        Ok("meets a full queue") => address::meet_a_full_queue(),
        Ok("names a track as its parent") => tracks::use_tracks(),
        Ok("ends beside busy threads") => ends::end_beside_busy_threads(),
        Ok("misspells a category") => ends::misspell(),
        Ok("finds its counters in a child") => tracks::find_counters_in_a_child(),
        Ok("forks beside a session") => sessions::fork_beside_a_session(),
        Ok("takes reports") => ends::take_reports(),
        Ok("has a long command line") => ends::record_a_long_command_line(),
        Ok(part) if part.starts_with("ends: ") => ends::end(part),
        Ok("looks for a service") => address::look(),
        Ok("names categories") => address::name_categories(),
        Ok(part) => panic!("no part {part:?}"),
        Err(_) => {
            address::an_address_where_no_service_can_be_is_told();
            address::a_category_that_cannot_be_is_told();
            address::a_full_queue_stops_no_program();
            ends::the_end_of_a_program_completes_its_files();
            ends::the_last_events_arrive_beside_threads_that_hold_locks();
            tracks::a_track_that_is_one_of_its_ancestors_is_told();
            tracks::a_child_finds_the_counters_of_its_parent();
            sessions::a_session_that_a_trigger_starts_is_there_after_its_start();
            sessions::a_child_has_no_session_of_its_parent();
            ends::a_service_learns_that_a_program_with_a_child_has_ended();
            ends::recordings_that_lack_something_say_so();
            ends::a_program_takes_what_the_library_tells();
            ends::a_long_command_line_takes_no_memory();
            ends::the_program_of_the_guide_leaves_a_file();
            ends::a_child_does_not_wait_for_a_recording_of_its_parent();
            #[cfg(all(feature = "log", feature = "tracing"))]
            log_records::records_arrive_by_the_layer();
            a_process_outlives_its_services();
            the_last_events_of_all_threads_arrive();
            the_first_events_arrive_if_init_waits();
            a_forked_process_is_a_producer_of_its_own();
            a_fork_leaves_no_lock_behind();
            recorder::a_fork_does_not_wait_for_a_trace();
            recorder::signals_save_traces();
            what_is_lost_is_counted_and_the_rest_can_be_read();
            // The plugin does not see which service it is.
            if std::env::var_os("TRACED_UNDER_TEST").is_none() {
                plugin::libraries_with_a_copy_of_their_own_are_traced();
            }
            interceptor::a_process_prints_in_place_of_being_recorded();
            startup::what_a_process_records_before_its_service_is_in_the_trace();
            thread_time::a_service_outside_can_ask_for_thread_time();
            #[cfg(feature = "tracing")]
            layers::a_layer_records_wherever_it_is();
        }
    }
}

/// A folder with two sockets.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("tracing-sdk-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn command(&self, part: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.env(PART, part);
        command.env("PERFETTO_PRODUCER_SOCK_NAME", self.0.join("producer"));
        command.env("PERFETTO_CONSUMER_SOCK_NAME", self.0.join("consumer"));
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn address(socket: &Path) -> Address {
    Address::parse(socket.to_str().expect("a path")).expect("an address")
}

/// A service with sockets in a folder. It ends when this is dropped.
enum Service {
    Here { _service: InProcessService },
    Program(Child),
}

impl Service {
    fn start(folder: &Path) -> Self {
        let (producer, consumer) = (folder.join("producer"), folder.join("consumer"));
        let Some(program) = std::env::var_os("TRACED_UNDER_TEST") else {
            let config = service_config("test").expect("a config");
            let mut options = ServerOptions::new(config, Box::new(|_, _| {}));
            options.producer_sockets.push(address(&producer));
            options.consumer_sockets.push(address(&consumer));
            let server = Server::bind(options).expect("sockets");
            return Self::Here { _service: InProcessService::run(server).expect("a thread") };
        };
        let mut command = Command::new(program);
        command.env("PERFETTO_PRODUCER_SOCK_NAME", &producer);
        command.env("PERFETTO_CONSUMER_SOCK_NAME", &consumer).stderr(Stdio::null());
        let child = command.spawn().expect("the service");
        // The sockets of the one before may still be there, but nobody listens.
        while [&producer, &consumer].into_iter().any(|path| UnixStream::connect(path).is_err()) {
            std::thread::yield_now();
        }
        Self::Program(child)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Self::Program(child) = self {
            child.kill().expect("a process");
            child.wait().expect("a process");
        }
    }
}

/// Keeps a trace for the linter, if somebody wants it.
fn keep(name: &str, trace: &[u8]) {
    if let Some(folder) = std::env::var_os("TRACES_OUT") {
        let path = Path::new(&folder).join(format!("{name}.pftrace"));
        std::fs::write(path, trace).expect("a file");
    }
}

fn config() -> Config {
    Config::new().track_events(&["life", "plugin"])
}

fn wait_for_session() {
    while !LIFE.is_enabled() {
        std::thread::yield_now();
    }
}

/// What a process that is started as `part` leaves in a session of a service that runs all the time, and what it prints.
fn traced(name: &str, part: &str) -> (Vec<u8>, String) {
    traced_with(&config(), name, part)
}

fn traced_with(config: &Config, name: &str, part: &str) -> (Vec<u8>, String) {
    let place = Place::new(name);
    let _service = Service::start(&place.0);
    let mut consumer = Consumer::connect(&address(&place.0.join("consumer"))).expect("a service");
    consumer.enable_tracing(&config.to_message(), None).expect("a session");
    // The answer shows that the service has the session.
    consumer.query_capabilities().expect("an answer");
    let mut command = place.command(part);
    let output = command.stderr(Stdio::inherit()).output().expect("a process");
    assert!(output.status.success(), "{part}: {}", output.status);
    let trace = read(name, consumer);
    (trace, String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Ends a session whose processes have ended, and returns its trace.
fn read(name: &str, mut consumer: Consumer) -> Vec<u8> {
    // The C++ service waits for the answer of a producer that ends during a flush.
    while !consumer.query_service_state(false).expect("an answer").producers.is_empty() {
        std::thread::yield_now();
    }
    consumer.flush(LONG).expect("a flush");
    consumer.disable_tracing().expect("an end");
    while !matches!(consumer.wait(Some(LONG)).expect("a service"), client::consumer::Waited::Ended)
    {
    }
    let mut trace = Vec::new();
    consumer.read_into(&mut trace, LONG).expect("a trace");
    keep(name, &trace);
    trace
}

fn a_process_outlives_its_services() {
    let place = Place::new("outlive");
    let status = place.command("outlives its services").status().expect("a process");
    assert!(status.success(), "{status}");
}

fn outlive() {
    let socket = PathBuf::from(std::env::var_os("PERFETTO_PRODUCER_SOCK_NAME").expect("a socket"));
    let folder = socket.parent().expect("a folder");
    let record = |name: &'static str| {
        assert!(tracing_sdk::sync(LONG), "no service");
        let session = Session::system(&config()).expect("a session");
        session.start().expect("a start");
        instant!(LIFE, name = name);
        session.stop().expect("an end");
        let mut trace = Vec::new();
        session.read_into(&mut trace).expect("a trace");
        keep(name, &trace);
        assert_eq!(trace::events(&trace), [format!("instant life {name}")]);
    };
    instant!(LIFE, "before init");
    // Without a service.
    tracing_sdk::init().expect("a producer");
    instant!(LIFE, "before the service");
    let first = Service::start(folder);
    record("first");
    let session = Session::system(&config()).expect("a session");
    session.start().expect("a start");
    let open = slice!(LIFE, "the service ends meanwhile");
    drop(first);
    instant!(LIFE, "without a service");
    drop(session);
    let second = Service::start(folder);
    drop(open);
    record("second");
    tracing_sdk::shutdown();
    instant!(LIFE, "after shutdown");
    Init::new().address(address(&socket)).system().expect("a producer");
    record("again");
    drop(second);
}

fn the_last_events_of_all_threads_arrive() {
    let mut events = trace::events(&traced("exit", "exits").0);
    events.sort();
    let large = events.remove(10);
    assert_eq!(large.len(), "instant life main text=".len() + 2_000_000);
    let main = (0..10).map(|_| "instant life main".to_owned());
    let other = (0..10).map(|_| "instant life other".to_owned());
    assert_eq!(events, main.chain(other).collect::<Vec<_>>());
}

fn the_first_events_arrive_if_init_waits() {
    let events = trace::events(&traced("at-once", "records at once").0);
    assert_eq!(events, ["instant life first"]);
}

fn record_at_once() {
    Init::new().wait(LONG).system().expect("a producer");
    instant!(LIFE, "first");
}

fn exit() {
    tracing_sdk::init().expect("a producer");
    wait_for_session();
    let (done, wait) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        (0..10).for_each(|_| instant!(LIFE, "other"));
        done.send(()).expect("main");
        loop {
            std::thread::park();
        }
    });
    wait.recv().expect("the thread");
    (0..10).for_each(|_| instant!(LIFE, "main"));
    // Its lengths are on their way to the service when this process ends.
    instant!(LIFE, "main", text = "x".repeat(2_000_000));
    // And out: nothing is flushed, no guard is kept.
}

fn a_forked_process_is_a_producer_of_its_own() {
    let mut events: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut processes = BTreeSet::new();
    for packet in packets(&traced("fork", "forks").0) {
        let sequence = trusted_sequence(&packet.message);
        if let Some(TracePacketData::TrackDescriptor(track)) = &packet.message.data
            && let Some(process) = &track.process
        {
            assert_eq!(process.pid, packet.message.trusted_pid, "who says so");
            processes.insert((track.uuid, process.pid));
        }
        events.entry(sequence).or_default().extend(packet.text);
    }
    let mut events: Vec<_> = events.into_values().filter(|texts| !texts.is_empty()).collect();
    events.sort();
    let parent = ["begin life slice", "instant life before", "instant life after", "end"];
    assert_eq!(events, [&parent[..], &["instant life child"]]);
    let uuids: BTreeSet<_> = processes.iter().map(|(uuid, _)| uuid).collect();
    let pids: BTreeSet<_> = processes.iter().map(|(_, pid)| pid).collect();
    assert_eq!((processes.len(), uuids.len(), pids.len()), (2, 2, 2));
}

fn fork() {
    tracing_sdk::init().expect("a producer");
    wait_for_session();
    let slice = slice!(LIFE, "slice");
    instant!(LIFE, "before");
    if is_child() {
        // The parent records these, if anybody.
        (0..1000).for_each(|_| instant!(LIFE, "nobody"));
        drop(slice);
        tracing_sdk::flush();
        tracing_sdk::init().expect("a producer");
        wait_for_session();
        instant!(LIFE, "child");
        return;
    }
    instant!(LIFE, "after");
    drop(slice);
}

/// Forks. Returns the id of the child in the parent, and 0 in the child.
fn fork_process() -> i32 {
    // SAFETY: the child runs on the stack of this thread, which holds no lock. Before it allocates, the C library has
    // released the locks of its memory.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "cannot fork");
    child
}

/// In a process of its own: one that waits for what never comes would wait for ever.
fn end_if_it_hangs() {
    // SAFETY: the call has no condition.
    unsafe { libc::alarm(600) };
}

/// Forks. True in the child; false in the parent, when the child has ended without a fault.
fn is_child() -> bool {
    let child = fork_process();
    if child != 0 {
        let mut status = 0;
        // SAFETY: `status` is ours alone and lives until the call returns.
        let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((ended, status), (child, 0), "the child");
    }
    child == 0
}

fn a_fork_leaves_no_lock_behind() {
    // It records more than a buffer has room for.
    let _trace = traced("locks", "forks while others hold locks");
}

struct Data;

impl DataSource for Data {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        Self
    }
}

static DATA: Registered<Data> = Registered::new("com.example.life");
static POWER: State = State::new("life power");

fn register_interceptor() {
    tracing_sdk::interceptor::register("locked", Console::new);
}

/// Uses each lock that other threads may hold at the moment of a fork.
fn use_locks(text: &str) {
    POWER.set(&LIFE, text);
    DATA.trace(|context| {
        context.packet(|_| {});
    });
    let _ = Category::dynamic(text);
    register_interceptor();
    #[cfg(feature = "tracing")]
    for _ in 0..200 {
        tracing::info_span!("locked").in_scope(|| {});
    }
}

/// Call sites and literals that a thread looks up under a lock when it uses them for the first time.
#[cfg(all(feature = "log", feature = "tracing"))]
mod first_uses {
    macro_rules! each {
        ($($number:literal)*) => {
            pub(super) const EVENTS: &[fn()] = &[$(|| tracing::info!(target: "life", number = $number)),*];
            pub(super) const RECORDS: &[fn()] =
                &[$(|| log::info!(target: "life", concat!("record ", $number))),*];
        };
    }
    each!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);

    /// On a thread that has seen none of them.
    pub(super) fn on_new_thread() {
        let all = || EVENTS.iter().chain(RECORDS).for_each(|first_use| first_use());
        std::thread::spawn(all).join().expect("no panic");
    }

    /// In a child, whose thread has seen none of them. Nobody looks up a record that nobody records.
    pub(super) fn in_child(is_recorded: bool) {
        EVENTS[0]();
        if is_recorded {
            tracing_sdk::init().expect("a producer");
            super::wait_for_session();
            RECORDS[0]();
        }
    }
}

fn fork_beside_others() {
    tracing_sdk::init().expect("a producer");
    wait_for_session();
    DATA.register();
    #[cfg(feature = "tracing")]
    tracing_sdk::layer::Subscriber::default().install().expect("no other subscriber");
    #[cfg(all(feature = "log", feature = "tracing"))]
    {
        let logger = tracing_sdk::log::logger();
        logger.install(log::LevelFilter::Info).expect("no other logger");
        // A call site that is used for the first time waits for locks of `tracing`, too.
        first_uses::on_new_thread();
    }
    let is_done = AtomicBool::new(false);
    let is_done = &is_done;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let text = "x".repeat(100_000);
            while !is_done.load(Ordering::Relaxed) {
                use_locks(&text);
            }
        });
        scope.spawn(|| {
            let config = Config::new().data_source_named("com.example.life");
            while !is_done.load(Ordering::Relaxed) {
                let session = Session::in_process(&config).expect("a session");
                session.start().expect("a start");
                session.stop().expect("an end");
            }
        });
        scope.spawn(|| {
            // It uses no other lock, for which it would wait during a fork.
            while !is_done.load(Ordering::Relaxed) {
                register_interceptor();
            }
        });
        #[cfg(all(feature = "log", feature = "tracing"))]
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                first_uses::on_new_thread();
            }
        });
        let mut status = 0;
        for _number in 0..200 {
            #[cfg(feature = "tracing")]
            let spans: Vec<_> = (0..200).map(|_| tracing::info_span!("open")).collect();
            // SAFETY: the child runs on the stack of this thread. Before it allocates, the C library has released the
            // locks of its memory.
            let child = unsafe { libc::fork() };
            assert!(child >= 0, "cannot fork");
            if child == 0 {
                end_if_it_hangs();
                use_locks("child");
                #[cfg(feature = "tracing")]
                drop(spans);
                #[cfg(all(feature = "log", feature = "tracing"))]
                first_uses::in_child(_number % 2 == 0);
                // SAFETY: the call has no condition.
                unsafe { libc::_exit(0) };
            }
            // SAFETY: `status` is ours alone and lives until the call returns.
            let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
            if waited != child {
                status = -1;
            }
            if status != 0 {
                break;
            }
        }
        is_done.store(true, Ordering::Relaxed);
        // The alarm is signal 14: such a child has waited for a lock.
        assert_eq!(status, 0, "how a child ended");
    });
}

/// Threads and events of each, more than shared memory can hold while they are written.
const FLOOD: (u64, u64) = (4, 20_000);

fn what_is_lost_is_counted_and_the_rest_can_be_read() {
    let (trace, lost) = traced("flood", "floods");
    let lost: u64 = lost.trim().parse().expect("a number");
    // This reader panics at a packet that it cannot read.
    assert_eq!(trace::events(&trace).len() as u64 + lost, FLOOD.0 * FLOOD.1);
}

fn flood() {
    Init::new().shm_kb(16).system().expect("a producer");
    wait_for_session();
    std::thread::scope(|scope| {
        for _ in 0..FLOOD.0 {
            scope.spawn(|| (0..FLOOD.1).for_each(|number| instant!(LIFE, "n", number = number)));
        }
    });
    println!("{}", tracing_sdk::lost_events());
}

//! A producer in Rust: registers a data source and, while a session wants it, writes track events from
//! several threads straight into shared memory, and one very large packet.
//!
//! ```text
//! cargo run --release -p tracebox-core --example producer -- [options]
//!   --socket ADDRESS   where traced listens (default: PERFETTO_PRODUCER_SOCK_NAME, else the usual place)
//!   --name NAME        name of the data source (default com.example.rust)
//!   --threads N        threads that write events (default 2)
//!   --events N         slices each of them writes (default 1000)
//!   --big BYTES        size of the text in the large packet; 0 for none (default 8388608)
//!   --drop             drop packets when shared memory is full, instead of waiting
//!   --once             exit after the first recording
//! ```
//!
//! Byte `i` of the large packet's text (`TestEvent.str`) is `b'a' + i % 26`, so that a reader can
//! check that it is whole.

use std::process::ExitCode;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use protos::{DataSourceDescriptor, TrackEventType};
use tracing_core::abi::sync::Arc;
use tracing_core::client::data_source::{Ack, DataSource, FlushRequest, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::client::write::{BufferExhaustedPolicy, TraceWriter};
use tracing_core::os::clock;
use tracing_core::os::socket::Address;

/// `TracePacket.sequence_flags`: what was interned before is forgotten.
const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// `TracePacket.sequence_flags`: this packet needs what was interned before.
const NEEDS_INCREMENTAL_STATE: u32 = 2;

const CATEGORY_IID: u64 = 1;
const EVENT_NAMES: [&str; 3] = ["parse", "layout", "paint"];

#[derive(Clone)]
struct Options {
    socket: Option<Address>,
    name: String,
    threads: u32,
    events: u32,
    big: usize,
    policy: BufferExhaustedPolicy,
    once: bool,
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        socket: None,
        name: "com.example.rust".into(),
        threads: 2,
        events: 1000,
        big: 8 * 1024 * 1024,
        policy: BufferExhaustedPolicy::Stall,
        once: false,
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        fn number<T: std::str::FromStr>(arg: &str, text: String) -> Result<T, String> {
            text.parse().map_err(|_| format!("{arg}: {text:?} is not a number that fits"))
        }
        match arg.as_str() {
            "--socket" => {
                let address = Address::parse(value()?);
                options.socket = Some(address.map_err(|error| format!("{arg}: {error}"))?);
            }
            "--name" => options.name = value()?,
            "--threads" => options.threads = number(&arg, value()?)?,
            "--events" => options.events = number(&arg, value()?)?,
            "--big" => options.big = number(&arg, value()?)?,
            "--drop" => options.policy = BufferExhaustedPolicy::Drop,
            "--once" => options.once = true,
            _ => return Err(format!("unknown argument {arg:?}; the source file has the list")),
        }
    }
    Ok(options)
}

/// Messages to a writing thread.
enum Message {
    Flush(Arc<Ack>),
    ClearIncrementalState,
}

struct Worker {
    inbox: mpsc::Sender<Message>,
    thread: JoinHandle<()>,
}

/// The data source: one set of writing threads per recording.
struct Events {
    options: Options,
    workers: Vec<Worker>,
    stopped: mpsc::Sender<()>,
}

impl Events {
    fn spawn(
        &mut self,
        mut writer: TraceWriter,
        work: impl FnOnce(&mut TraceWriter) + Send + 'static,
    ) where
        Self: Sized,
    {
        let (inbox, messages) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            work(&mut writer);
            // The writer is this thread's alone, so it flushes here; dropping the message acknowledges.
            while let Ok(message) = messages.recv() {
                match message {
                    Message::Flush(_done) => writer.flush(),
                    Message::ClearIncrementalState => {}
                }
            }
        });
        self.workers.push(Worker { inbox, thread });
    }
}

impl DataSource for Events {
    fn start(&mut self, instance: &Instance) {
        let policy = instance.policy_or(self.options.policy);
        for number in 1..=self.options.threads {
            let events = self.options.events;
            self.spawn(instance.trace_writer(policy), move |writer| {
                write_events(writer, number, events);
            });
        }
        let big = self.options.big;
        if big > 0 {
            self.spawn(instance.trace_writer(policy), move |writer| write_big(writer, big));
        }
    }

    fn flush(&mut self, _instance: &Instance, _flush: &FlushRequest, done: Ack) {
        let done = Arc::new(done);
        for worker in &self.workers {
            let _ = worker.inbox.send(Message::Flush(done.clone()));
        }
    }

    fn clear_incremental_state(&mut self, _instance: &Instance) {
        for worker in &self.workers {
            let _ = worker.inbox.send(Message::ClearIncrementalState);
        }
    }

    fn stop(&mut self, _instance: &Instance, done: Ack) {
        for worker in self.workers.drain(..) {
            drop(worker.inbox);
            if worker.thread.join().is_err() {
                eprintln!("a writing thread panicked");
            }
        }
        // Acknowledged before we say that it is over, or the main thread might be faster.
        drop(done);
        let _ = self.stopped.send(());
    }
}

/// Names what follows: the thread's track, and the strings that events refer to by number.
fn write_descriptors(writer: &mut TraceWriter, thread: u32, track: u64) {
    let pid = std::process::id().cast_signed();
    let mut packet = writer.new_packet();
    packet.timestamp(clock::boot_ns()).sequence_flags(INCREMENTAL_STATE_CLEARED);
    {
        let mut descriptor = packet.track_descriptor();
        descriptor.uuid(track).name(&format!("rust writer {thread}"));
        let mut thread_descriptor = descriptor.thread();
        // Ours to number: the example runs no two recordings with one track at a time.
        thread_descriptor.pid(pid).tid(i64::from(pid) + i64::from(thread));
    }
    let mut interned = packet.interned_data();
    interned.event_categories().iid(CATEGORY_IID).name("example");
    for (iid, name) in (1..).zip(EVENT_NAMES) {
        interned.event_names().iid(iid).name(name);
    }
}

fn write_events(writer: &mut TraceWriter, thread: u32, events: u32) {
    let track = u64::from(std::process::id()) << 32 | u64::from(thread);
    write_descriptors(writer, thread, track);
    for number in 0..events {
        let name = u64::from(number) % EVENT_NAMES.len() as u64 + 1;
        {
            let mut packet = writer.new_packet();
            packet.timestamp(clock::boot_ns()).sequence_flags(NEEDS_INCREMENTAL_STATE);
            let mut event = packet.track_event();
            event.r#type(TrackEventType::TYPE_SLICE_BEGIN).track_uuid(track);
            event.category_iids(CATEGORY_IID).name_iid(name);
            event.debug_annotations().name("number").uint_value(u64::from(number));
        }
        let mut packet = writer.new_packet();
        packet.timestamp(clock::boot_ns()).sequence_flags(NEEDS_INCREMENTAL_STATE);
        packet.track_event().r#type(TrackEventType::TYPE_SLICE_END).track_uuid(track);
    }
}

fn write_big(writer: &mut TraceWriter, bytes: usize) {
    let text: String = ('a'..='z').cycle().take(bytes).collect();
    let mut packet = writer.new_packet();
    packet.timestamp(clock::boot_ns());
    packet.for_testing().str(&text);
}

fn run(options: Options) -> Result<(), String> {
    let (stopped, recordings) = mpsc::channel();
    let mut presented = ProducerOptions::new("rust-example");
    presented.address = options.socket.clone();
    let producer = Producer::connect(presented).map_err(|error| error.to_string())?;
    let descriptor =
        DataSourceDescriptor { name: Some(options.name.clone()), ..Default::default() };
    let source = Events { options: options.clone(), workers: Vec::new(), stopped };
    producer.register(descriptor, source).map_err(|error| error.to_string())?;
    eprintln!("{} is waiting for a recording", options.name);
    while recordings.recv().is_ok() {
        eprintln!("recording over");
        if options.once {
            // The last data must arrive before this program disconnects.
            producer.sync(Duration::from_secs(5));
            break;
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match parse(std::env::args().skip(1)).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("producer: {message}");
            ExitCode::FAILURE
        }
    }
}

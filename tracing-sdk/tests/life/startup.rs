//! A process that records before its service runs.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use client::consumer::Consumer;
use protos::{DataSourceConfig, TracePacketData};
use tracing_sdk::data_source::{DataSource, Registered};
use tracing_sdk::session::{Config, Fill};
use tracing_sdk::{Init, Startup, StartupEvent, instant, slice};

use crate::trace::{packets, trusted_sequence};
use crate::{LIFE, LONG, Place, Service, address, read};

/// A data source of the program's own.
struct Early;

static EARLY: Registered<Early> = Registered::new("com.example.early");
static SET_UP: AtomicU32 = AtomicU32::new(0);

impl DataSource for Early {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        SET_UP.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

fn early(text: &str) {
    EARLY.trace(|context| {
        context.packet(|packet| {
            packet.for_testing().str(text);
        });
    });
}

/// The order of categories does not matter, nor the buffer.
fn early_config(categories: &[&str]) -> Config {
    Config::new()
        .buffer_kb(1024, Fill::Ring)
        .buffer_kb(1024, Fill::Ring)
        .track_events(categories)
        .data_source_named(EARLY.name())
}

pub(crate) fn what_a_process_records_before_its_service_is_in_the_trace() {
    let place = Place::new("early");
    let mut child =
        place.command("starts early").stdout(Stdio::piped()).spawn().expect("a process");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "recorded\n");
    let _service = Service::start(&place.0);
    let socket = address(&place.0.join("consumer"));
    let mut consumer = Consumer::connect(&socket).expect("a service");
    let config = early_config(&["life", "other"]).to_message();
    consumer.enable_tracing(&config, None).expect("a session");
    // The answer shows that the service has the session.
    consumer.query_capabilities().expect("an answer");
    let status = child.wait().expect("an end");
    assert!(status.success(), "{status}");
    let trace = read("startup", consumer);
    let (mut sequences, mut texts) = (BTreeMap::<u32, Vec<String>>::new(), Vec::new());
    for packet in packets(&trace) {
        sequences.entry(trusted_sequence(&packet.message)).or_default().extend(packet.text);
        if let Some(TracePacketData::ForTesting(event)) = packet.message.data {
            texts.push(event.str.expect("a text"));
        }
    }
    assert_eq!(texts, ["early", "in the session"]);
    let mut sequences: Vec<_> = sequences.into_values().filter(|it| !it.is_empty()).collect();
    sequences.sort();
    let [main, gone, waits] = &sequences[..] else { panic!("three threads: {sequences:?}") };
    assert_eq!((gone.len(), waits.len()), (1000, 1));
    assert_eq!(waits[0], "instant life waits");
    assert_eq!(main[..2], ["begin life slice", "instant life early"]);
    assert!(main[2].starts_with("instant life large text=x"));
    assert_eq!(main[3..], ["instant life in the session", "end"]);
}

pub(crate) fn start_early() {
    EARLY.register();
    let (adopted, wait) = std::sync::mpsc::channel();
    let startup = Startup::of_session(&early_config(&["other", "life"])).timeout(LONG).on_event(
        move |event| {
            if matches!(event, StartupEvent::Adopted { .. }) {
                adopted.send(()).expect("main");
            }
            // The thread that called this answers the service all the same.
            std::panic::resume_unwind(Box::new("on purpose"));
        },
    );
    Init::new().startup(startup).system().expect("a producer");
    assert!(LIFE.is_enabled() && EARLY.is_enabled());
    let slice = slice!(LIFE, "slice");
    instant!(LIFE, "early");
    instant!(LIFE, "large", text = "x".repeat(50_000));
    early("early");
    std::thread::spawn(|| (0..1000).for_each(|_| instant!(LIFE, "gone"))).join().expect("a thread");
    let (done, waits) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        instant!(LIFE, "waits");
        done.send(()).expect("main");
        loop {
            std::thread::park();
        }
    });
    waits.recv().expect("the thread");
    println!("recorded");
    std::io::stdout().flush().expect("a pipe");
    for _ in 0..2 {
        wait.recv().expect("a session");
    }
    instant!(LIFE, "in the session");
    early("in the session");
    drop(slice);
    assert_eq!((SET_UP.load(Ordering::Relaxed), tracing_sdk::lost_events()), (1, 0));
    assert_eq!(tracing_sdk::startup_packets_discarded(), 0);
}

//! With the feature `off` all calls of the API do nothing, and sessions go on working.
#![cfg(all(feature = "off", feature = "in-process"))]

use std::sync::atomic::{AtomicU32, Ordering};

use protos::{Trace, TracePacketData};
use protozero::Message as _;
use tracing_sdk::data_source::{DataSource, Registered};
use tracing_sdk::protos::DataSourceConfig;
use tracing_sdk::session::{Config, FlightRecorder, Session, record, record_to_file};
use tracing_sdk::{Counter, Init, Traced, async_slice, categories, counter, end, instant, slice};

categories! {
    OFF = "off";
}

static SET_UP: AtomicU32 = AtomicU32::new(0);
static SOURCE: Registered<Source> = Registered::new("off.source");
static COUNTER: Counter = Counter::new("counter");

struct Source;

impl DataSource for Source {
    type Incremental = ();

    fn setup(_: &DataSourceConfig) -> Self {
        SET_UP.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

fn never() -> u64 {
    panic!("an argument was evaluated")
}

fn events(trace: &[u8]) -> usize {
    let trace = Trace::decode(trace).expect("a trace");
    assert!(!trace.packet.is_empty(), "the service writes some packets");
    let is_event = |packet: &&protos::TracePacket| {
        matches!(
            packet.data,
            Some(TracePacketData::TrackEvent(_) | TracePacketData::TrackDescriptor(_))
        )
    };
    trace.packet.iter().filter(is_event).count()
}

fn work() {
    tracing_sdk::init().expect("nothing that could fail");
    Init::new().in_process().expect("nothing that could fail");
    SOURCE.register();
    COUNTER.set(&OFF, 5);
    let open = slice!(OFF, "slice", value = never());
    instant!(OFF, "instant", |_| _ = never());
    counter!(OFF, "queue", never());
    SOURCE.trace(|_| _ = never());
    end!(open, value = never());
    let mut future = Box::pin(async { 5 }.traced(async_slice!(OFF, "future", value = never())));
    let waker = std::task::Waker::noop();
    let mut context = std::task::Context::from_waker(waker);
    assert_eq!(future.as_mut().poll(&mut context), std::task::Poll::Ready(5));
    assert!(!OFF.is_enabled() && !SOURCE.is_enabled());
    tracing_sdk::flush();
}

#[test]
fn sessions_go_on_working_and_have_nothing_of_this_program() {
    assert_eq!(events(&record(&["off"], work).expect("a trace")), 0);

    let path = std::env::temp_dir().join(format!("tracing-sdk-off-{}", std::process::id()));
    assert_eq!(record_to_file(&path, &["off"], || 7).expect("a recording"), 7);
    assert_eq!(events(&std::fs::read(&path).expect("a file")), 0);

    let source = DataSourceConfig { name: Some(SOURCE.name().to_owned()), ..Default::default() };
    let session = Session::in_process(&Config::new().data_source(source)).expect("a session");
    session.start().expect("a start");
    session.stop().expect("an end");
    assert_eq!(SET_UP.load(Ordering::Relaxed), 0);

    let recorder = FlightRecorder::start(Config::new()).expect("a recorder");
    recorder.dump(&path).expect("a file");
    assert_eq!(events(&std::fs::read(&path).expect("a file")), 0);
    let _ = std::fs::remove_file(&path);
}

#[cfg(feature = "log")]
#[test]
fn the_logger_wants_nothing() {
    use log::Log as _;

    let logger = tracing_sdk::log::logger();
    assert!(!logger.enabled(&log::Metadata::builder().target("off").build()));
}

//! Google's Rust bindings of the C++ SDK.

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use perfetto_sdk::heap_buffer::HeapBuffer;
use perfetto_sdk::pb_msg::{PbMsg, PbMsgWriter};
use perfetto_sdk::producer::{Backends, Producer, ProducerInitArgsBuilder};
use perfetto_sdk::protos::config::data_source_config::DataSourceConfig;
use perfetto_sdk::protos::config::trace_config::{
    TraceConfig, TraceConfigBufferConfig, TraceConfigDataSource,
};
use perfetto_sdk::protos::config::track_event::track_event_config::TrackEventConfig;
use perfetto_sdk::tracing_session::TracingSession;
use perfetto_sdk::track_event::{
    EventContext, TrackEvent, TrackEventCounter, TrackEventDebugArg, TrackEventTrack,
};
use perfetto_sdk::{
    track_event_begin, track_event_categories, track_event_counter, track_event_end,
    track_event_instant,
};

use crate::contender::{BUFFER_KB, Contender, Mode, SHM_KB, nothing};

track_event_categories! {
    pub mod categories { ("bench", "events to measure", []), }
}
use categories as perfetto_te_ns;

thread_local! {
    static SESSION: RefCell<Option<TracingSession>> = const { RefCell::new(None) };
}
static DEPTH: OnceLock<TrackEventTrack> = OnceLock::new();

pub const CONTENDER: Contender = Contender {
    name: "perfetto-sdk 1.2.1",
    init,
    start: || start("bench"),
    burst,
    clear_thread: nothing,
    drain,
    stop,
};

pub fn init() {
    let args = ProducerInitArgsBuilder::new().backends(Backends::IN_PROCESS);
    Producer::init(args.shmem_size_hint_kb(SHM_KB).build());
    TrackEvent::init();
    perfetto_te_ns::register().expect("categories");
    let parent = TrackEventTrack::process_track_uuid();
    DEPTH
        .get_or_init(|| TrackEventTrack::register_counter_track("depth", parent).expect("a track"));
}

pub fn start(category: &str) {
    let mut session = TracingSession::in_process().expect("a session");
    session.setup(&config(category));
    session.start_blocking();
    SESSION.set(Some(session));
}

fn config(category: &str) -> Vec<u8> {
    let writer = PbMsgWriter::new();
    let buffer = HeapBuffer::new(writer.stream_writer());
    let mut message = PbMsg::new(&writer).expect("a message");
    let mut config = TraceConfig { msg: &mut message };
    config.set_buffers(|buffer: &mut TraceConfigBufferConfig| {
        buffer.set_size_kb(BUFFER_KB);
    });
    config.set_data_sources(|source: &mut TraceConfigDataSource| {
        source.set_config(|source: &mut DataSourceConfig| {
            source.set_name("track_event");
            source.set_track_event_config(|events: &mut TrackEventConfig| {
                events.set_enabled_categories(category);
            });
        });
    });
    message.finalize();
    let mut bytes = vec![0; writer.stream_writer().get_written_size()];
    buffer.copy_into(&mut bytes);
    bytes
}

fn burst(mode: Mode, count: u32) -> bool {
    match mode {
        Mode::Disabled | Mode::Instant => {
            for _ in 0..count {
                track_event_instant!("bench", "event");
            }
        }
        Mode::Slice => {
            for _ in 0..count {
                track_event_begin!("bench", "event");
                track_event_end!("bench");
            }
        }
        Mode::Args => {
            for n in 0..count {
                track_event_instant!("bench", "event", |event: &mut EventContext| {
                    event.add_debug_arg("n", TrackEventDebugArg::Uint64(n.into()));
                    event.add_debug_arg("m", TrackEventDebugArg::Uint64(black_box(7)));
                });
            }
        }
        Mode::String => {
            let text = black_box("sixteen letters.");
            for _ in 0..count {
                track_event_instant!("bench", "event", |event: &mut EventContext| {
                    event.add_debug_arg("text", TrackEventDebugArg::String(text));
                });
            }
        }
        Mode::Counter => {
            let track = DEPTH.get().expect("a track");
            for n in 0..count {
                track_event_counter!("bench", |event: &mut EventContext| {
                    event.set_track(track).set_counter(TrackEventCounter::Int64(n.into()));
                });
            }
        }
    }
    true
}

pub fn drain() {
    SESSION.with_borrow_mut(|session| {
        session.as_mut().expect("a session").flush_blocking(Duration::from_secs(10));
    });
}

pub fn stop() -> u64 {
    let mut session = SESSION.take().expect("a session");
    session.stop_blocking();
    let bytes = Arc::new(AtomicU64::new(0));
    let total = Arc::clone(&bytes);
    session.read_trace_blocking(move |data, _| {
        total.fetch_add(data.len() as u64, Ordering::Relaxed);
    });
    bytes.load(Ordering::Relaxed)
}

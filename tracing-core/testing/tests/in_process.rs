//! A service, a producer with a thread that writes, and a consumer in one process, without a socket or shared
//! mapping, so that Miri and the thread sanitizer see all accesses.
#![allow(missing_docs)]

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use client::consumer::Waited;
use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use client::producer::{PolledProducer, ProducerOptions};
use client::write::{BufferExhaustedPolicy, TraceWriter};
use daemon::embed::EmbeddedService;
use daemon::serve::HeapRegions;
use protos::{
    DataSourceConfig, DataSourceDescriptor, Trace, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource, TracePacketData,
};
use protozero::Message as _;
use tracing_core_testing::shell::Shell;

const SOURCE: &str = "test.numbers";
/// Long enough for some packets to cross from one chunk into the next, with lengths patched afterwards.
const PACKETS: u32 = if cfg!(miri) { 12 } else { 100 };
const PADDING_BYTES: usize = 700;
/// Two chunks: fewer than the packets need, so that the thread writes where the service has just read.
const SHM_BYTES: u32 = 2 * 4096;

/// Hands its writer to a thread when it starts. The thread sends a message after each packet.
struct Numbers {
    written: Sender<()>,
}

impl DataSource for Numbers {
    fn start(&mut self, instance: &Instance) {
        let writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        let written = self.written.clone();
        std::thread::spawn(move || write(writer, &written));
    }

    fn flush(&mut self, _: &Instance, _: &FlushRequest, _: Ack) {}

    fn stop(&mut self, _: &Instance, _: Ack) {}
}

fn write(mut writer: TraceWriter, written: &Sender<()>) {
    let padding = "p".repeat(PADDING_BYTES);
    for counter in 0..PACKETS {
        let mut packet = writer.new_packet();
        let mut event = packet.for_testing();
        event.counter(counter.into());
        event.payload().single_string(&padding);
        drop(event);
        drop(packet);
        if counter + 1 == PACKETS {
            writer.flush();
        }
        written.send(()).unwrap();
    }
}

fn config() -> TraceConfig {
    let source = DataSourceConfig { name: Some(SOURCE.into()), ..Default::default() };
    TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(512), ..Default::default() }],
        data_sources: vec![TraceConfigDataSource { config: Some(source), ..Default::default() }],
        ..Default::default()
    }
}

#[test]
fn every_packet_of_a_thread_arrives_in_order() {
    let mut service_config = Shell::config();
    service_config.regions = Arc::new(HeapRegions);
    let service = EmbeddedService::new(service_config, Box::new(|_, line| eprintln!("{line}")));
    let service = service.unwrap();
    let mut options = ProducerOptions::new("test");
    options.shm_bytes_hint = SHM_BYTES;
    options.page_bytes_hint = 4096;
    let mut producer = PolledProducer::new(service.producer(), options);
    let descriptor = DataSourceDescriptor { name: Some(SOURCE.into()), ..Default::default() };
    let (sender, written) = channel();
    producer.register(descriptor, Numbers { written: sender }).unwrap();
    producer.poll();

    let mut consumer = service.consumer();
    consumer.enable_tracing(&config(), None).unwrap();
    producer.poll();
    // The thread goes on writing meanwhile. It has to wait until memory is free again, so nothing here waits for it.
    let mut count = 0;
    while count < PACKETS as usize {
        count += written.try_iter().count();
        producer.poll();
        service.poll();
        std::thread::yield_now();
    }
    consumer.disable_tracing().unwrap();
    while consumer.wait(Some(Duration::ZERO)).unwrap() != Waited::Ended {
        producer.poll();
        service.poll();
    }
    let mut bytes = Vec::new();
    consumer.read_into(&mut bytes, Duration::MAX).unwrap();

    let trace = Trace::decode(&bytes).unwrap();
    let events = trace.packet.iter().filter_map(|packet| match &packet.data {
        Some(TracePacketData::ForTesting(event)) => Some(event),
        _ => None,
    });
    let counters: Vec<_> = events
        .map(|event| {
            let payload = event.payload.as_ref().unwrap();
            assert_eq!(payload.single_string.as_deref().map(str::len), Some(PADDING_BYTES));
            event.counter.unwrap()
        })
        .collect();
    assert!(counters.into_iter().eq(0..u64::from(PACKETS)));
}

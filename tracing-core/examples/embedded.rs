//! A service, a consumer and a producer in one thread, with nothing else: no socket, no thread, no file.
//!
//! `cargo run -p tracebox-core --example embedded`

use std::error::Error;
use std::time::Duration;

use protos::{
    DataSourceConfig, DataSourceDescriptor, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource,
};
use tracing_core::client::data_source::{Ack, DataSource, FlushRequest, Instance};
use tracing_core::client::producer::{PolledProducer, ProducerOptions};
use tracing_core::client::write::{BufferExhaustedPolicy, TraceWriter};
use tracing_core::daemon::embed::EmbeddedService;
use tracing_core::daemon::serve::{HeapRegions, service_config};

const SOURCE: &str = "com.example.embedded";
const TIMEOUT: Duration = Duration::from_secs(10);

/// Writes a packet when it starts, one at each flush, and one when it stops.
#[derive(Default)]
struct Steps {
    writer: Option<TraceWriter>,
}

impl Steps {
    fn write(&mut self, text: &str) {
        if let Some(writer) = &mut self.writer {
            writer.new_packet().for_testing().str(text);
        }
    }
}

impl DataSource for Steps {
    fn start(&mut self, instance: &Instance) {
        self.writer = Some(instance.trace_writer(BufferExhaustedPolicy::Drop));
        self.write("started");
    }

    fn flush(&mut self, _: &Instance, _: &FlushRequest, _done: Ack) {
        self.write("flushed");
        if let Some(writer) = &mut self.writer {
            writer.flush();
        }
    }

    fn stop(&mut self, _: &Instance, _done: Ack) {
        self.write("stopped");
        self.writer = None;
    }
}

/// Records one session; how many packets came.
pub fn main() -> Result<(), Box<dyn Error>> {
    let mut config = service_config("embedded example")?;
    // Nobody outside will ever map the memory.
    config.regions = std::sync::Arc::new(HeapRegions);
    let service = EmbeddedService::new(config, Box::new(|_, line| eprintln!("{line}")))?;
    let mut producer = PolledProducer::new(service.producer(), ProducerOptions::new("example"));
    let descriptor = DataSourceDescriptor { name: Some(SOURCE.into()), ..Default::default() };
    producer.register(descriptor, Steps::default())?;
    producer.poll();

    let mut consumer = service.consumer();
    let source = DataSourceConfig { name: Some(SOURCE.into()), ..Default::default() };
    consumer.enable_tracing(
        &TraceConfig {
            buffers: vec![TraceConfigBufferConfig { size_kb: Some(256), ..Default::default() }],
            data_sources: vec![TraceConfigDataSource {
                config: Some(source),
                ..Default::default()
            }],
            ..Default::default()
        },
        None,
    )?;
    producer.poll();
    // A program's event loop would do this whenever a descriptor is ready or a time has come.
    consumer.disable_tracing()?;
    loop {
        producer.poll();
        service.poll();
        match consumer.wait(Some(Duration::ZERO))? {
            tracing_core::client::consumer::Waited::Ended => break,
            _ => continue,
        }
    }
    let mut trace = Vec::new();
    let summary = consumer.read_into(&mut trace, TIMEOUT)?;
    for text in ["started", "stopped"] {
        assert!(trace.windows(text.len()).any(|part| part == text.as_bytes()), "{text}");
    }
    println!("{} packets in {} bytes", summary.packets, trace.len());
    Ok(())
}

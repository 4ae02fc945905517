//! A producer that writes exactly the packets of the script.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use protos::{DataSourceDescriptor, TestEvent, TracePacket, TracePacketData};
use protozero::Message;
use tracing_core::client::data_source::{Ack, DataSource, FlushRequest, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::client::write::{BufferExhaustedPolicy, TraceWriter};
use tracing_core::os::socket::Address;

use crate::world::World;

/// A data source with this name starts, and never acknowledges a flush or its stop.
pub const UNRESPONSIVE: &str = "unresponsive";

/// The writers of the running data sources, by their names.
type Writers = Arc<Mutex<BTreeMap<String, TraceWriter>>>;

pub struct ScriptProducer {
    producer: Producer,
    writers: Writers,
}

struct Source {
    writers: Writers,
    /// The acknowledgements that such a data source does not send.
    unsaid: Vec<Ack>,
}

fn name(instance: &Instance) -> &str {
    instance.config().name.as_deref().unwrap_or_default()
}

impl DataSource for Source {
    fn start(&mut self, instance: &Instance) {
        let writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        self.writers.lock().unwrap().insert(name(instance).into(), writer);
    }

    fn flush(&mut self, instance: &Instance, _flush: &FlushRequest, done: Ack) {
        if name(instance) == UNRESPONSIVE {
            self.unsaid.push(done);
        } else if let Some(writer) = self.writers.lock().unwrap().get_mut(name(instance)) {
            writer.flush();
        }
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        self.writers.lock().unwrap().remove(name(instance));
        if name(instance) == UNRESPONSIVE {
            self.unsaid.push(done);
        }
    }
}

impl ScriptProducer {
    /// A producer called `producer`, with these data sources registered.
    pub fn new(world: &World, producer: &str, sources: &[&str]) -> Self {
        let mut options = ProducerOptions::new(producer);
        options.address = Some(Address::parse(world.path("producer")).unwrap());
        options.sdk_version = "script_producer".into();
        let script_producer =
            Self { producer: Producer::connect(options).unwrap(), writers: Writers::default() };
        for source in sources {
            let descriptor = DataSourceDescriptor {
                name: Some((*source).into()),
                ..DataSourceDescriptor::default()
            };
            let source = Source { writers: script_producer.writers.clone(), unsaid: Vec::new() };
            script_producer.producer.register(descriptor, source).unwrap();
        }
        script_producer.sync();
        script_producer
    }

    pub fn sync(&self) {
        assert!(self.producer.sync(Duration::MAX));
    }

    /// Whether the data source has been started.
    pub fn runs(&self, source: &str) -> bool {
        self.writers.lock().unwrap().contains_key(source)
    }

    pub fn fire(&self, trigger: &str) {
        self.producer.activate_triggers([trigger]);
        self.sync();
    }

    /// Writes packets of `source`, and waits until the service has handled the commit.
    pub fn write(&self, source: &str, write: impl FnOnce(&mut TraceWriter)) {
        let (done, taken) = mpsc::channel();
        let mut writers = self.writers.lock().unwrap();
        let writer = writers.get_mut(source).expect("a running source");
        write(writer);
        writer.flush_with(Some(Box::new(move || done.send(()).unwrap_or_default())));
        drop(writers);
        taken.recv().unwrap();
    }

    /// Writes test packets `from` to `to` of `source`, each of about `bytes` bytes.
    pub fn number(&self, source: &str, numbers: std::ops::Range<u32>, bytes: usize) {
        self.write(source, |writer| {
            for number in numbers {
                packet(writer, &format!("{source} {number}{}", ".".repeat(bytes)));
            }
        });
    }
}

/// One test packet, written at once. Patches would make the trace depend on timing.
pub fn packet(writer: &mut TraceWriter, text: &str) {
    let event = TestEvent { str: Some(text.into()), ..TestEvent::default() };
    let packet = TracePacket {
        timestamp: Some(1000),
        data: Some(TracePacketData::ForTesting(event)),
        ..TracePacket::default()
    };
    writer.write_raw(&packet.encode_to_vec());
}

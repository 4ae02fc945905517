//! `--strict`: a loss is an exit code.

use protos::DataSourceDescriptor;
use tracing_core::client::data_source::{Ack, DataSource, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::os::socket::Address;
use tracing_core::producer::BufferExhaustedPolicy;

use crate::world::World;

/// Writes packets of 1 KiB, so many.
struct Flood(usize);

impl DataSource for Flood {
    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        for _ in 0..self.0 {
            writer.new_packet().for_testing().str(&"x".repeat(1024));
        }
        writer.flush();
    }

    fn stop(&mut self, _instance: &Instance, _done: Ack) {}
}

fn producer(world: &World, packets: usize) -> Producer {
    let options = ProducerOptions {
        address: Some(Address::parse(world.path("producer")).unwrap()),
        ..ProducerOptions::new("flood")
    };
    let producer = Producer::connect(options).unwrap();
    let descriptor =
        DataSourceDescriptor { name: Some("flood".into()), ..DataSourceDescriptor::default() };
    producer.register(descriptor, Flood(packets)).unwrap();
    assert!(producer.sync(std::time::Duration::from_secs(600)));
    producer
}

const CONFIG: &str =
    "buffers { size_kb: 64 } duration_ms: 300 data_sources { config { name: 'flood' } }";

#[test]
fn nothing_lost() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, 8);
    world.write("c", CONFIG);
    world.run("perfetto -c c --txt -o trace --strict").good();
}

#[test]
fn overwritten_and_discarded() {
    let world = World::new();
    let _traced = world.traced();
    let _producer = producer(&world, 200);
    for (policy, about) in [("RING_BUFFER", "overwritten"), ("DISCARD", "the buffer full")] {
        world.write("c", &CONFIG.replace("64", &format!("64 fill_policy: {policy}")));
        let ran = world.run("perfetto -c c --txt -o trace").good();
        assert!(ran.stderr.contains("Lost: chunks ") && ran.stderr.contains(about), "{ran:?}");
        let ran = world.run("perfetto -c c --txt -o trace --strict");
        assert!(!world.packets("trace").is_empty(), "the trace is there all the same");
        ran.failed(3, "data was lost, and --strict was asked for");
    }
}

//! What the report says of track events.

use protos::{DataSourceDescriptor, TrackEventType};
use rustix::process::Signal;
use tracing_core::client::data_source::{Ack, DataSource, Instance};
use tracing_core::client::producer::{Producer, ProducerOptions};
use tracing_core::client::write::BufferExhaustedPolicy;
use tracing_core::os::socket::Address;

use crate::world::World;

/// Writes so many events.
struct Program(usize);

impl DataSource for Program {
    fn start(&mut self, instance: &Instance) {
        let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
        for _ in 0..self.0 {
            writer.new_packet().track_event().r#type(TrackEventType::TYPE_INSTANT);
        }
        writer.flush();
    }

    fn stop(&mut self, _instance: &Instance, _done: Ack) {}
}

fn program(world: &World, events: usize) -> Producer {
    let mut options = ProducerOptions::new("program");
    options.address = Some(Address::parse(world.path("producer")).unwrap());
    let producer = Producer::connect(options).unwrap();
    let descriptor = DataSourceDescriptor {
        name: Some("track_event".into()),
        ..DataSourceDescriptor::default()
    };
    producer.register(descriptor, Program(events)).unwrap();
    assert!(producer.sync(std::time::Duration::MAX));
    producer
}

const CONFIG: &str = "buffers { size_kb: 64 } data_sources { config { name: 'track_event' } }";

/// The events of `tracebox record` about the command do not count.
#[test]
fn a_command_without_track_events() {
    const NONE: &str = "No track events: no program that records them has connected";
    let world = World::new();
    let ran = world.run("tracebox record -o trace -- true").good();
    assert!(ran.stderr.contains(NONE), "{ran:?}");
    world.write(
        "c",
        "buffers { size_kb: 64 } data_sources { config { name: 'linux.system_info' } }",
    );
    let ran = world.run("tracebox record -c c --txt -o trace -- true").good();
    assert!(!ran.stderr.contains("No track events"), "they were not asked for: {ran:?}");
    world.write("c", &format!("{CONFIG} write_into_file: true"));
    let ran = world.run("tracebox record -c c --txt -o trace -- true").good();
    assert!(ran.stderr.contains(NONE), "{ran:?}");
}

#[test]
fn programs_that_end() {
    let world = World::new();
    let _traced = world.traced();
    world.write("c", CONFIG);
    for (events, none) in [(0, true), (1, false)] {
        let first = program(&world, events);
        let mut perfetto = world.start("perfetto -c c --txt -o trace --strict");
        perfetto.read_until("starting tracing");
        perfetto.wait_for(&world, |state| {
            state.tracing_sessions.iter().any(|session| session.is_started == Some(true))
        });
        drop(first);
        // The session knows of the second program, so it knows of the end of the first one, too.
        let _second = program(&world, 0);
        perfetto.signal(Signal::INT);
        let ran = perfetto.end().good();
        assert!(ran.stderr.contains("Lost: 0\n"), "its end is no loss: {ran:?}");
        let printed = ran.stderr.contains("No track events: programs connected, but");
        assert_eq!(printed, none, "{ran:?}");
        let ran = world.run("tracebox lint trace");
        assert_eq!(ran.text().contains("no_track_events"), none, "{ran:?}");
    }
}

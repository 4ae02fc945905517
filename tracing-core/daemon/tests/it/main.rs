//! The whole path in one process: producer, daemon loop, consumer; through sockets and without.

extern crate tracing_core_daemon as daemon;

mod accounts;
mod blocking;
mod consumer;
mod embed;
mod hostile;
mod log;
mod producer;
mod removed;
mod rights;
mod scraping;
#[path = "../slow/mod.rs"]
mod slow;
mod startup;

use std::time::Duration;

use protos::{
    DataSourceConfig, DataSourceDescriptor, TestEventField, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource, TraceField, TracePacketField, TraceReader,
};

use abi::ipc::port::ProducerPort;
use abi::sync::Arc;
use client::connection::{Connection, SocketConnection};
use client::consumer::{Consumer, Waited};
use client::data_source::{Ack, DataSource, Instance};
use client::producer::{Producer, ProducerOptions};
use client::write::BufferExhaustedPolicy;
use daemon::in_process::InProcessService;
use daemon::serve::{HeapRegions, MemfdRegions, Server, ServerOptions, service_config};
use os::socket::Address;
use service::RegionFactory;

/// No limit: a machine under load must not make a test fail.
const FOREVER: Duration = Duration::MAX;

/// Bytes of the one packet that is longer than a chunk, a page, a frame and the shared memory.
const BIG: usize = 1_000_000;
const SMALL: u64 = 2000;

/// Writes small packets, a big one, and small ones again.
struct Counter;

impl DataSource for Counter {
    fn start(&mut self, instance: &Instance) {
        let instance = instance.clone();
        std::thread::spawn(move || {
            let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
            for counter in 0..SMALL {
                let mut packet = writer.new_packet();
                let mut event = packet.for_testing();
                event.counter(counter);
                if counter == SMALL / 2 {
                    event.str(&"x".repeat(BIG));
                }
            }
            writer.new_packet().for_testing().is_last(true);
            writer.flush();
        });
    }

    fn stop(&mut self, _: &Instance, _: Ack) {}
}

fn record(connection: Box<dyn Connection<ProducerPort>>, mut consumer: Consumer) {
    let mut options = ProducerOptions::new("counter");
    options.reconnect = false;
    let producer = Producer::attach(connection, options).unwrap();
    let name = "com.example.counter";
    let descriptor = DataSourceDescriptor { name: Some(name.into()), ..Default::default() };
    producer.register(descriptor, Counter).unwrap();
    assert!(producer.sync(FOREVER));

    let source = DataSourceConfig { name: Some(name.into()), ..Default::default() };
    let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
    let buffer = TraceConfigBufferConfig { size_kb: Some(4096), ..Default::default() };
    let config =
        TraceConfig { buffers: vec![buffer], data_sources: vec![source], ..TraceConfig::default() };
    consumer.enable_tracing(&config, None).unwrap();
    // A read during the recording removes the packets that it reads; all reads together give the trace.
    let mut trace = Vec::new();
    let mut read = |consumer: &mut Consumer| {
        consumer.read_into(&mut trace, FOREVER).unwrap();
        events(&trace).last().is_some_and(|event| event.last)
    };
    while !read(&mut consumer) {}
    consumer.disable_tracing().unwrap();
    assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Ended);
    read(&mut consumer);

    let events = events(&trace);
    assert_eq!(events.len() as u64, SMALL + 1);
    for (expected, event) in (0..SMALL).zip(&events) {
        let text = if expected == SMALL / 2 { BIG } else { 0 };
        assert_eq!((event.counter, event.text), (expected, text));
    }
}

#[derive(Debug, Default)]
struct Event {
    counter: u64,
    text: usize,
    last: bool,
}

fn events(trace: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    for packet in TraceReader::new(trace) {
        let TraceField::Packet(packet) = packet.unwrap() else { panic!("not a packet") };
        for field in packet {
            if let TracePacketField::ForTesting(fields) = field.unwrap() {
                let mut event = Event::default();
                for field in fields {
                    match field.unwrap() {
                        TestEventField::Counter(counter) => event.counter = counter,
                        TestEventField::Str(text) => event.text = text.len(),
                        TestEventField::IsLast(last) => event.last = last,
                        _ => {}
                    }
                }
                events.push(event);
            }
        }
    }
    events
}

#[test]
fn a_recording_without_sockets() {
    let regions: [Arc<dyn RegionFactory>; 2] =
        [Arc::new(MemfdRegions::default()), Arc::new(HeapRegions)];
    for regions in regions {
        let mut config = service_config("test").unwrap();
        config.regions = regions;
        let service = InProcessService::start(config, Box::new(|_, _| {})).unwrap();
        record(service.producer(), service.consumer());
        service.stop().unwrap();
    }
}

/// An address that no other process listens at or connects from: of the network 127.0.0.0/8, with the id of this process.
/// A free port that the kernel picks could be taken before the daemon listens.
pub(crate) fn own_tcp_address(port: u16) -> Address {
    let [_, a, b, c] = std::process::id().to_be_bytes();
    Address::Tcp { host: format!("127.{}.{b}.{c}", 1 + a), port }
}

/// TCP passes no descriptor, so all chunks travel by value.
#[test]
fn a_recording_over_tcp() {
    let address = own_tcp_address(20_001);
    let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
    options.producer_sockets = vec![address.clone()];
    let service = InProcessService::run(Server::bind(options).unwrap()).unwrap();
    record(Box::new(SocketConnection::connect(&address).unwrap()), service.consumer());
}

#[test]
fn a_recording_through_sockets() {
    let address =
        |port: &str| Address::Abstract(format!("client-test-{}-{port}", std::process::id()).into());
    let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
    options.producer_sockets = vec![address("producer")];
    options.consumer_sockets = vec![address("consumer")];
    let _service = InProcessService::run(Server::bind(options).unwrap()).unwrap();
    let producer = SocketConnection::connect(&address("producer")).unwrap();
    record(Box::new(producer), Consumer::connect(&address("consumer")).unwrap());
}

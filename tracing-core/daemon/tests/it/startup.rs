//! Startup tracing with the real service: what is recorded before it runs is in the trace.

use std::sync::mpsc;
use std::time::Duration;

use protos::{
    DataSourceConfig, DataSourceDescriptor, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource, TracePacketData,
};
use protozero::Message as _;

use abi::sync::{Arc, Mutex, lock};
use client::consumer::{Consumer, Waited};
use client::data_source::{Ack, DataSource, Instance};
use client::producer::{Producer, ProducerOptions, StartupEvent, StartupOptions};
use client::write::{BufferExhaustedPolicy, TraceWriter};
use daemon::in_process::InProcessService;
use daemon::serve::{Server, ServerOptions, service_config};
use os::socket::Address;

/// No limit: a machine under load must not make a test fail.
const FOREVER: Duration = Duration::MAX;
const NAME: &str = "test.startup";

/// The writers of running instances, which the test uses.
type Writers = Arc<Mutex<Vec<(Instance, TraceWriter)>>>;

struct Source(Writers);

impl DataSource for Source {
    fn start(&mut self, instance: &Instance) {
        let writer = instance.trace_writer(BufferExhaustedPolicy::StallThenDrop);
        lock(&self.0).push((instance.clone(), writer));
    }

    fn stop(&mut self, instance: &Instance, _: Ack) {
        lock(&self.0).retain(|(running, _)| running != instance);
    }
}

fn write(writers: &Writers, text: &str) {
    for (_, writer) in lock(writers).iter_mut() {
        writer.new_packet().for_testing().str(text);
    }
}

fn config() -> DataSourceConfig {
    DataSourceConfig { name: Some(NAME.into()), ..Default::default() }
}

fn session() -> TraceConfig {
    let buffer = TraceConfigBufferConfig { size_kb: Some(4096), ..Default::default() };
    // The second buffer, so that a wrong one shows.
    let source = DataSourceConfig { target_buffer: Some(1), ..config() };
    let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
    TraceConfig {
        buffers: vec![buffer.clone(), buffer],
        data_sources: vec![source],
        trace_all_machines: Some(true),
        ..Default::default()
    }
}

fn run(address: &Address) -> InProcessService {
    let mut options = ServerOptions::new(service_config("test").unwrap(), Box::new(|_, _| {}));
    options.producer_sockets = vec![address.clone()];
    InProcessService::run(Server::bind(options).unwrap()).unwrap()
}

/// A producer that records before there is a service, and what it tells.
struct Early {
    producer: Producer,
    writers: Writers,
    events: mpsc::Receiver<StartupEvent>,
}

impl Early {
    fn new(address: &Address) -> Self {
        let (tell, events) = mpsc::channel();
        let mut options = ProducerOptions::new("early");
        options.address = Some(address.clone());
        // Sizes that services refuse.
        (options.shm_bytes_hint, options.page_bytes_hint) = (250_000, 3 * 4096);
        let mut startup = StartupOptions::new(vec![config()]);
        startup.timeout = FOREVER;
        startup.on_event = Some(Arc::new(move |event| drop(tell.send(event.clone()))));
        options.startup = Some(startup);
        let producer = Producer::connect(options).unwrap();
        let writers = Writers::default();
        let this = Self { producer, writers, events };
        this.register();
        this.producer.wait_startup();
        assert_eq!(this.event(), StartupEvent::Started { source: NAME.into() });
        this
    }

    fn register(&self) {
        let descriptor = DataSourceDescriptor { name: Some(NAME.into()), ..Default::default() };
        self.producer.register(descriptor, Source(self.writers.clone())).unwrap();
    }

    fn event(&self) -> StartupEvent {
        self.events.recv_timeout(FOREVER).expect("an event")
    }
}

fn texts(mut consumer: Consumer) -> Vec<String> {
    consumer.disable_tracing().unwrap();
    assert_eq!(consumer.wait(Some(FOREVER)).unwrap(), Waited::Ended);
    let mut texts = Vec::new();
    let read = consumer.read_buffers(FOREVER, |packet| {
        let packet = protos::TracePacket::decode(packet.bytes()).unwrap();
        if let Some(TracePacketData::ForTesting(event)) = packet.data {
            texts.push(event.str.unwrap());
        }
        Ok(())
    });
    read.unwrap();
    texts
}

fn check(address: &Address) {
    let early = Early::new(address);
    write(&early.writers, "before the service");
    // Over several chunks.
    write(&early.writers, &"x".repeat(10_000));
    let service = run(address);
    assert!(early.producer.sync(FOREVER));
    write(&early.writers, "before the session");
    let mut consumer = service.consumer();
    consumer.enable_tracing(&session(), None).unwrap();
    assert_eq!(early.event(), StartupEvent::Adopted { source: NAME.into() });
    write(&early.writers, "in the session");
    let texts = texts(consumer);
    let expected =
        ["before the service", &"x".repeat(10_000), "before the session", "in the session"];
    assert_eq!(texts, expected);
    assert_eq!((early.producer.startup_packets_discarded(), lock(&early.writers).len()), (0, 0));
    // A second session is as any other.
    let mut consumer = service.consumer();
    consumer.enable_tracing(&session(), None).unwrap();
    while lock(&early.writers).is_empty() {
        std::thread::yield_now();
    }
    write(&early.writers, "in the second session");
    assert_eq!(self::texts(consumer), ["in the second session"]);
    drop(early.producer);
    service.stop().unwrap();
}

#[test]
fn what_is_recorded_before_the_service_runs_is_in_the_trace() {
    check(&Address::Abstract(format!("startup-test-{}", std::process::id()).into()));
}

/// The memory cannot be shared, and chunks travel by value.
#[test]
fn startup_tracing_over_tcp() {
    check(&crate::own_tcp_address(20_003));
}

/// All of the shared memory is full of discarded chunks, and is free again for the session after that.
#[test]
fn discarded_data_leave_memory_for_sessions() {
    let name = format!("startup-test-discard-{}", std::process::id());
    let address = Address::Abstract(name.into());
    let early = Early::new(&address);
    for _ in 0..100 {
        write(&early.writers, &"x".repeat(10_000));
    }
    early.producer.unregister(NAME);
    let event = early.event();
    let StartupEvent::Aborted { discarded_packets, .. } = event else { panic!("{event:?}") };
    assert!((20..30).contains(&discarded_packets), "{discarded_packets} packets in 256 KiB");
    assert_eq!(early.producer.startup_packets_discarded(), discarded_packets);
    early.register();
    let service = run(&address);
    assert!(early.producer.sync(FOREVER));
    let mut consumer = service.consumer();
    consumer.enable_tracing(&session(), None).unwrap();
    while lock(&early.writers).is_empty() {
        std::thread::yield_now();
    }
    // Four times the memory, which the writer waits for.
    for _ in 0..100 {
        write(&early.writers, &"x".repeat(10_000));
    }
    assert_eq!(texts(consumer).len(), 100);
}

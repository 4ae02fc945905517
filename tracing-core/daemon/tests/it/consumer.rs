//! What a consumer can do with sessions that it detached, or that belong to another consumer.

use std::sync::mpsc::{Sender, channel};

use protos::{
    CloneSessionRequest, CloneSessionRequestSelector, DataSourceConfig, DataSourceDescriptor,
    TraceConfig, TraceConfigBufferConfig, TraceConfigDataSource,
};

use super::{BIG, FOREVER, events};
use client::consumer::{Consumer, ConsumerError, Waited};
use client::data_source::{Ack, DataSource, Instance};
use client::producer::{Producer, ProducerOptions};
use client::write::BufferExhaustedPolicy;
use daemon::in_process::InProcessService;
use daemon::serve::service_config;
use os::socket::Address;

fn service() -> InProcessService {
    InProcessService::start(service_config("test").unwrap(), Box::new(|_, _| {})).unwrap()
}

fn config() -> TraceConfig {
    TraceConfig {
        buffers: vec![TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() }],
        unique_session_name: Some("ring".into()),
        ..TraceConfig::default()
    }
}

fn by_name(name: &str) -> CloneSessionRequest {
    CloneSessionRequest {
        selector: Some(CloneSessionRequestSelector::UniqueSessionName(name.into())),
        ..CloneSessionRequest::default()
    }
}

fn packets(consumer: &mut Consumer) -> u64 {
    consumer.read_buffers(FOREVER, |_| Ok(())).unwrap().packets
}

#[test]
fn a_clone_can_be_interrupted() {
    let service = service();
    let mut owner = service.consumer();
    owner.enable_tracing(&config(), None).unwrap();
    let mut interrupted = service.consumer();
    interrupted.waker().wake();
    let cloned = interrupted.clone_session(by_name("ring"), None);
    assert!(matches!(cloned, Err(ConsumerError::Interrupted)), "{cloned:?}");
    // Nothing has changed for other consumers, and the session runs.
    let mut other = service.consumer();
    let response = other.clone_session(by_name("ring"), None).unwrap();
    assert_ne!(response.was_write_into_file, Some(true));
    assert!(packets(&mut other) > 0);
    let absent = service.consumer().clone_session(by_name("other"), None).unwrap_err();
    assert!(matches!(&absent, ConsumerError::Service(text) if text.contains("not found")));
    owner.disable_tracing().unwrap();
    assert_eq!(owner.wait(Some(FOREVER)).unwrap(), Waited::Ended);
    assert!(packets(&mut owner) > 0);
}

/// Writes some big packets and sends a message when they are committed.
struct Big(Sender<()>);

const BIG_COUNT: usize = 4;

impl DataSource for Big {
    fn start(&mut self, instance: &Instance) {
        let (instance, written) = (instance.clone(), self.0.clone());
        std::thread::spawn(move || {
            let mut writer = instance.trace_writer(BufferExhaustedPolicy::Stall);
            for _ in 0..BIG_COUNT {
                writer.new_packet().for_testing().str(&"x".repeat(BIG));
            }
            writer.flush();
            written.send(()).unwrap();
        });
    }

    fn stop(&mut self, _: &Instance, _: Ack) {}
}

/// The clone is copied in several turns of a loop that sleeps when there is nothing to do.
#[test]
fn a_clone_that_takes_several_turns() {
    let service = service();
    let mut options = ProducerOptions::new("big");
    options.reconnect = false;
    let producer = Producer::attach(service.producer(), options).unwrap();
    let name = Some("com.example.big".to_owned());
    let descriptor = DataSourceDescriptor { name: name.clone(), ..Default::default() };
    let (sender, written) = channel();
    producer.register(descriptor, Big(sender)).unwrap();
    assert!(producer.sync(FOREVER));
    let source = DataSourceConfig { name, ..Default::default() };
    let buffer = TraceConfigBufferConfig { size_kb: Some(16 * 1024), ..Default::default() };
    let config = TraceConfig {
        buffers: vec![buffer],
        data_sources: vec![TraceConfigDataSource { config: Some(source), ..Default::default() }],
        ..config()
    };
    let mut owner = service.consumer();
    owner.enable_tracing(&config, None).unwrap();
    written.recv_timeout(FOREVER).unwrap();
    let mut cloner = service.consumer();
    cloner.clone_session(by_name("ring"), None).unwrap();
    for consumer in [&mut cloner, &mut owner] {
        let mut trace = Vec::new();
        consumer.read_into(&mut trace, FOREVER).unwrap();
        let lengths: Vec<usize> = events(&trace).iter().map(|event| event.text).collect();
        assert_eq!(lengths, [BIG; BIG_COUNT]);
    }
}

#[test]
fn a_session_changes_hands() {
    let service = service();
    let mut first = service.consumer();
    assert!(matches!(first.detach("k"), Err(ConsumerError::Rejected("Detach"))));
    first.enable_tracing(&config(), None).unwrap();
    first.change_trace_config(&config()).unwrap();
    first.detach("k").unwrap();
    drop(first);
    let mut second = service.consumer();
    assert!(matches!(second.attach("other"), Err(ConsumerError::Rejected("Attach"))));
    second.attach("k").unwrap();
    second.disable_tracing().unwrap();
    assert_eq!(second.wait(Some(FOREVER)).unwrap(), Waited::Ended);
    assert!(packets(&mut second) > 0);
}

/// The client checks the length when it frames the call. Otherwise the service would close the connection.
#[test]
fn configs_that_fit_into_no_request() {
    let service = service();
    let mut consumer = service.consumer();
    let long = TraceConfig { unique_session_name: Some("x".repeat(128 * 1024)), ..config() };
    for result in [consumer.enable_tracing(&long, None), consumer.change_trace_config(&long)] {
        assert!(matches!(result, Err(ConsumerError::TooLong { .. })), "{result:?}");
    }
    consumer.enable_tracing(&config(), None).unwrap();
}

/// The queue of a service has no room when a client comes: it waits until the service takes a connection out of it.
#[test]
fn a_client_waits_for_room_in_a_full_queue() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect};
    let name = format!("full-queue-test-{}", std::process::id());
    let at = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
    let socket = |flags| {
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap()
    };
    let listener = socket(SocketFlags::CLOEXEC);
    rustix::net::bind(&listener, &at).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let fill = || {
        let client = socket(SocketFlags::CLOEXEC | SocketFlags::NONBLOCK);
        connect(&client, &at).ok().map(|()| client)
    };
    let waiting: Vec<_> = std::iter::from_fn(fill).collect();
    assert!(!waiting.is_empty());
    let (coming, comes) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            comes.into_iter().for_each(|()| drop(rustix::net::accept(&listener).unwrap()))
        });
        // In one of these rounds at least, the client comes before there is room.
        for _ in 0..20 {
            coming.send(()).unwrap();
            Consumer::connect(&Address::Abstract(name.clone().into())).unwrap();
        }
        drop(coming);
    });
}

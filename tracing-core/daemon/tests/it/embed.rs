//! A service inside a program, with a transport of the program: what it tells the loop that moves the bytes.

use std::os::fd::OwnedFd;

use protos::producer_port::Request;
use protos::{
    DataSourceConfig, DataSourceDescriptor, InitializeConnectionRequest, RegisterDataSourceRequest,
    TraceConfig, TraceConfigBufferConfig, TraceConfigDataSource,
};

use abi::ids::ClientId;
use abi::ipc::Client;
use abi::ipc::port::ProducerPort;
use abi::sync::Arc;
use daemon::embed::{ConnectionClosed, EmbeddedService, PortKind};
use daemon::serve::{HeapRegions, service_config};
use os::process::effective_uid;
use service::Peer;

const SOURCE: &str = "com.example.embedded";

const BIND: &[u8] = b"\x12\0\0\0\x10\x01\x1a\x0e\x0a\x0cProducerPort";

/// A request for commands, which is refused, because its producer has not introduced itself.
const GET_COMMANDS: &[u8] = b"\x0c\0\0\0\x10\x03\x2a\x08\x08\x01\x10\x05\x1a\x00\x20\x00";

/// A service that disconnects producers for which more than `commands_unsent_max` commands wait.
fn service(commands_unsent_max: usize) -> EmbeddedService {
    let mut config = service_config("test").unwrap();
    config.regions = Arc::new(HeapRegions);
    config.limits.commands_unsent_max = commands_unsent_max;
    EmbeddedService::new(config, Box::new(|_, _| {})).unwrap()
}

fn accept(service: &EmbeddedService) -> ClientId {
    let peer = Peer { uid: effective_uid(), by_value: true, ..Peer::default() };
    service.accept(PortKind::Producer, Some(peer))
}

/// Passes bytes both ways until the producer has none.
fn carry(
    service: &EmbeddedService,
    client: ClientId,
    producer: &mut Client<ProducerPort, OwnedFd>,
) -> Result<(), ConnectionClosed> {
    loop {
        let mut parts = Vec::new();
        producer.outbox().next(&mut parts);
        let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        if bytes.is_empty() {
            return Ok(());
        }
        producer.outbox().advance(bytes.len());
        service.receive(client, &bytes, None)?;
        service.transmit(client, |parts, _| {
            for part in parts {
                producer.receive(part, None).unwrap();
            }
            Ok(parts.iter().map(|part| part.len()).sum())
        })?;
    }
}

/// A service that has closed a connection while no method was called for it: the producer does not ask for its
/// commands.
fn with_a_closed_one() -> (EmbeddedService, ClientId) {
    let service = service(1);
    let client = accept(&service);
    let mut producer = Client::new();
    let initialize = InitializeConnectionRequest {
        producer_name: Some("test".into()),
        ..InitializeConnectionRequest::default()
    };
    let descriptor = DataSourceDescriptor { name: Some(SOURCE.into()), ..Default::default() };
    let register = RegisterDataSourceRequest {
        data_source_descriptor: Some(descriptor.into()),
        ..Default::default()
    };
    producer.invoke(&Request::InitializeConnection(initialize), false, None).unwrap();
    producer.invoke(&Request::RegisterDataSource(register), false, None).unwrap();
    carry(&service, client, &mut producer).unwrap();
    let source = DataSourceConfig { name: Some(SOURCE.into()), ..Default::default() };
    let source = TraceConfigDataSource { config: Some(source), ..Default::default() };
    let buffer = TraceConfigBufferConfig { size_kb: Some(64), ..Default::default() };
    let config = TraceConfig {
        buffers: vec![buffer],
        data_sources: vec![source.clone(), source.clone(), source],
        ..TraceConfig::default()
    };
    let mut consumer = service.consumer();
    consumer.enable_tracing(&config, None).unwrap();
    // The service cuts the producer in one of the next turns; each answer takes one.
    let is_cut = |_| consumer.query_service_state(false).unwrap().producers.is_empty();
    assert!((0..100).any(is_cut), "the producer is not cut");
    (service, client)
}

#[test]
fn each_connection_that_has_bytes_to_send_is_told_once() {
    let service = service(1);
    let client = accept(&service);
    let sent = |has_room: bool| {
        let mut sent = 0;
        let result = service.transmit(client, |parts, _| {
            let count = if has_room { parts.iter().map(|part| part.len()).sum() } else { 0 };
            sent += count;
            Ok(count)
        });
        result.unwrap();
        sent
    };
    service.receive(client, &BIND[..7], None).unwrap();
    assert_eq!(service.poll_transmit(), None, "nothing to answer yet");
    service.receive(client, &BIND[7..], None).unwrap();
    assert_eq!((service.poll_transmit(), service.poll_transmit()), (Some(client), None));
    assert!(sent(true) > 0);
    assert_eq!(service.poll_transmit(), None);
    // More than are handled at once.
    service.receive(client, &GET_COMMANDS.repeat(1000), None).unwrap();
    assert_eq!(service.poll_transmit(), Some(client));
    assert_eq!(sent(false), 0);
    assert_eq!(service.poll_transmit(), None, "the transport has no room");
    // Replies to a client of this process do not wait for a transport.
    service.consumer().query_service_state(false).unwrap();
    while let Some(other) = service.poll_transmit() {
        assert_eq!(other, client);
    }
}

#[test]
fn each_connection_that_the_service_closed_is_told_once() {
    let (service, client) = with_a_closed_one();
    assert_eq!((service.poll_closed(), service.poll_closed()), (Some(client), None));
}

#[test]
fn an_end_that_the_program_knows_is_not_told_again() {
    let learn: [fn(&EmbeddedService, ClientId); 3] = [
        |service, client| assert!(service.receive(client, BIND, None).is_err()),
        |service, client| assert!(service.transmit(client, |_, _| Ok(0)).is_err()),
        EmbeddedService::disconnect,
    ];
    for learn in learn {
        let (service, client) = with_a_closed_one();
        learn(&service, client);
        assert_eq!(service.poll_closed(), None);
    }
}

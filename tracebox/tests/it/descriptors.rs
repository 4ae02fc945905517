//! Data source descriptors that fill a request, or a reply, to the last byte.

use abi::ipc::port::ProducerPort;
use abi::limits::{IPC_ARGS_BYTES_MAX, IPC_FRAME_BYTES_MAX};
use protos::producer_port::Request;
use protos::{
    DataSourceDescriptor, InitializeConnectionRequest, RegisterDataSourceRequest,
    TrackEventCategory, TrackEventDescriptor,
};
use protozero::Message as _;
use std::time::Duration;
use tracing_core::abi;
use tracing_core::client::connection::{Attachment, Connection as _, Received, SocketConnection};
use tracing_core::{Ack, Address, DataSource, Instance, Producer, ProducerError, ProducerOptions};

use crate::world::World;

/// Tag and length of the descriptor in a request.
const HEAD_BYTES: usize = 4;

/// An id of its own for each short name.
fn id(name: &str) -> u64 {
    name.bytes().fold(0, |id, byte| id << 8 | u64::from(byte))
}

/// A descriptor of `bytes`.
fn descriptor(name: &str, bytes: usize) -> DataSourceDescriptor {
    let with = |len: usize| DataSourceDescriptor {
        name: Some(name.into()),
        id: Some(id(name)),
        will_notify_on_start: Some(true),
        will_notify_on_stop: Some(true),
        track_event_descriptor: Some(TrackEventDescriptor {
            available_categories: vec![TrackEventCategory {
                name: Some("x".repeat(len)),
                ..Default::default()
            }],
            ..Default::default()
        }),
        ..Default::default()
    };
    let around = with(bytes).encoded_len() - bytes;
    let made = with(bytes - around);
    assert_eq!(made.encoded_len(), bytes);
    made
}

/// The state that `perfetto --query-raw` prints.
fn shown(world: &World) -> Vec<DataSourceDescriptor> {
    world
        .state()
        .data_sources
        .into_iter()
        .filter_map(|source| Some((*source.ds_descriptor?).clone()))
        .collect()
}

/// They are equal. A failure shows their sizes, not their bytes.
#[track_caller]
fn assert_same(shown: &[DataSourceDescriptor], expected: &[DataSourceDescriptor]) {
    let sizes = |all: &[DataSourceDescriptor]| {
        let size = |of: &DataSourceDescriptor| (of.name.clone(), of.encoded_len());
        all.iter().map(size).collect::<Vec<_>>()
    };
    assert_eq!(sizes(shown), sizes(expected));
    assert!(shown == expected);
}

struct Idle;

impl DataSource for Idle {
    fn start(&mut self, _: &Instance) {}
    fn stop(&mut self, _: &Instance, _: Ack) {}
}

#[test]
fn the_largest_descriptor_of_a_producer_is_shown_and_a_larger_one_is_an_error() {
    let world = World::new();
    let _traced = world.traced();
    let mut options = ProducerOptions::new("test");
    options.address = Some(Address::parse(world.path("producer")).unwrap());
    let producer = Producer::connect(options).unwrap();
    let largest = |name| descriptor(name, IPC_ARGS_BYTES_MAX - HEAD_BYTES);
    producer.register(largest("a"), Idle).unwrap();
    producer
        .register(
            DataSourceDescriptor {
                name: Some("b".into()),
                id: Some(id("b")),
                ..Default::default()
            },
            Idle,
        )
        .unwrap();
    producer.update(largest("b")).unwrap();
    for name in ["b", "c"] {
        let larger = descriptor(name, IPC_ARGS_BYTES_MAX - HEAD_BYTES + 1);
        let refused = match name {
            "b" => producer.update(larger),
            _ => producer.register(larger, Idle),
        };
        let error = ProducerError::TooLong { name: name.into(), bytes: IPC_ARGS_BYTES_MAX + 1 };
        assert_eq!(refused, Err(error));
    }
    assert!(producer.sync(Duration::MAX));
    assert_same(&shown(&world), &[largest("a"), largest("b")]);
    let table = world.run("perfetto --query --long").good();
    assert_eq!(table.text().matches(&"x".repeat(100_000)).count(), 2);
}

/// A producer of another library may fill the frame of a request. The frame of a reply has a longer envelope:
/// the service shows a descriptor that fills it, and of a larger one the name, and logs that.
#[test]
fn a_descriptor_that_fills_a_reply_is_shown_and_of_a_larger_one_the_name() {
    /// Beside the descriptor: number of the call 2, call 4, service 2, method 2, arguments 4, one flag 2, and the head.
    const REQUEST_BYTES: usize = 16 + HEAD_BYTES;
    /// Number of the call 2, reply 4, two flags 4, its bytes 4, state 4, data source 4, producer 2, and the head.
    const REPLY_BYTES: usize = 24 + HEAD_BYTES;
    let world = World::new();
    let mut traced = world.traced();
    let address = Address::parse(world.path("producer")).unwrap();
    let mut link = SocketConnection::<ProducerPort>::connect(&address).unwrap();
    let mut ask = |request| {
        let asked = link.send(request, true, Attachment::None).unwrap();
        loop {
            match link.receive(None) {
                Received::Reply { call, result, .. } if call == asked => return result.is_ok(),
                Received::Disconnected => panic!("the service closed the connection"),
                _ => {}
            }
        }
    };
    assert!(ask(Request::InitializeConnection(InitializeConnectionRequest::default())));
    let sizes = IPC_FRAME_BYTES_MAX - 32..IPC_FRAME_BYTES_MAX;
    for bytes in sizes.clone() {
        let request = RegisterDataSourceRequest {
            data_source_descriptor: Some(descriptor(&bytes.to_string(), bytes).into()),
            ..Default::default()
        };
        let sent = ask(Request::RegisterDataSource(request));
        assert_eq!(sent, bytes <= IPC_FRAME_BYTES_MAX - REQUEST_BYTES, "{bytes}");
    }
    let expected = sizes.map(|bytes| descriptor(&bytes.to_string(), bytes));
    let expected: Vec<_> = expected
        .filter(|of| of.encoded_len() <= IPC_FRAME_BYTES_MAX - REQUEST_BYTES)
        .map(|of| match of.encoded_len() <= IPC_FRAME_BYTES_MAX - REPLY_BYTES {
            true => of,
            false => DataSourceDescriptor { name: of.name, id: of.id, ..Default::default() },
        })
        .collect();
    assert_same(&shown(&world), &expected);
    for cut in expected.iter().filter(|of| of.track_event_descriptor.is_none()) {
        let line = traced.read_until("too large for a reply, which has its name alone");
        assert!(line.contains(cut.name.as_deref().unwrap()), "{line}");
    }
}

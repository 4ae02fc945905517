//! Where the shared memory of producers ends: the service gives it back, as an effect, once nothing refers to it.

use super::*;
use abi::shm::Region;
use protos::InitializeConnectionRequest;
use service::{Input, ProducerRequest};

const BYTES: usize = 256 * 1024;

#[test]
fn memory_that_the_service_made_is_released_when_its_producer_leaves() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "leaves");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    producer.commands(&mut shell);
    assert_eq!(shell.released, []);
    let client = producer.client;
    producer.disconnect(&mut shell);
    assert_eq!(shell.released, [(client, BYTES)]);
    assert_eq!(shell.counted, []);
}

/// The memory of a producer that left counts for its user while its work waits.
#[test]
fn memory_of_a_producer_that_left_counts_while_its_work_waits() {
    let mut shell = Shell::new();
    shell.work_waits = true;
    let mut producer = producer(&mut shell, "leaves");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    producer.commands(&mut shell);
    let client = producer.client;
    // It has used up its allowance.
    let input = Input::FramesDecoded { client, refused: 1 << 10, bytes: 0 };
    shell.input(input);
    producer.disconnect(&mut shell);
    assert_eq!((&shell.counted[..], &shell.released[..]), (&[client][..], &[][..]));
    while shell.released.is_empty() {
        shell.turn();
    }
    assert_eq!((&shell.counted[..], &shell.released[..]), (&[client][..], &[(client, BYTES)][..]));
}

/// A producer that is accepted and has no memory yet leaves nothing to count.
#[test]
fn a_producer_without_memory_does_not_count() {
    let mut shell = Shell::new();
    shell.work_waits = true;
    let producer = producer(&mut shell, "leaves");
    let client = producer.client;
    shell.input(Input::FramesDecoded { client, refused: 1 << 10, bytes: 0 });
    producer.disconnect(&mut shell);
    assert_eq!(shell.counted, []);
}

/// Memory that a producer brought is released when it has left, and at once if the service does not use it.
#[test]
fn memory_that_a_producer_brought_is_released() {
    let mut shell = Shell::new();
    let bring = |shell: &mut Shell, bytes, hint| {
        let client = shell.connect_producer(peer(7), false);
        let request = InitializeConnectionRequest {
            producer_name: Some("brings".into()),
            shared_memory_size_hint_bytes: Some(BYTES as u32),
            shared_memory_page_size_hint_bytes: Some(hint),
            ..Default::default()
        };
        let request = ProducerRequest::InitializeConnection(request);
        shell.call_producer(client, request, Some(Region::heap(bytes)));
        client
    };
    let used = bring(&mut shell, BYTES, 4096);
    assert_eq!(shell.released, []);
    let refused = bring(&mut shell, BYTES, 4097);
    assert_eq!(shell.released, [(refused, BYTES)]);
    shell.released.clear();
    shell.input(Input::ProducerDisconnected { client: used });
    assert_eq!(shell.released, [(used, BYTES)]);
}

//! Shared memory is scraped in pieces: at a flush, at the end of a session, and when a producer leaves.

use super::*;
use crate::payloads;

#[test]
fn a_flush_scrapes_in_pieces() {
    const PAGES: usize = 256;
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", PAGES);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    shell.work_waits = true;
    let call = bounded(&mut shell, |shell| consumer.flush(shell, 0));
    assert_eq!(consumer.flushed(&mut shell, call), None);
    // Its next requests wait until then, and those of another consumer do not.
    let read = bounded(&mut shell, |shell| {
        shell.call_consumer(consumer.client, Ask::ReadBuffers(Default::default()), None)
    });
    let other = MockConsumer::connect(&mut shell, 0);
    assert!(shell.service.is_busy(consumer.client) && !shell.service.is_busy(other.client));
    assert_eq!(other.call(&mut shell, Ask::QueryCapabilities(Default::default())).len(), 1);
    let turns = turns(&mut shell);
    assert!(turns >= turns_min(PAGES), "{turns} turns");
    shell.work_waits = false;
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
    let mut replies = shell.take_replies_to(consumer.client, read);
    shell.drain_consumers();
    replies.extend(shell.take_replies_to(consumer.client, read));
    assert_eq!(payloads(&testing::mock::decode_replies(&replies)).len(), PAGES);
}

/// A session whose consumer left is scraped in pieces. Its file is all that stays, and has what writers held.
#[test]
fn a_session_that_is_freed_is_scraped_in_pieces() {
    const PAGES: usize = 128;
    for in_flush in [false, true] {
        let mut shell = Shell::new();
        let _producer = holding(&mut shell, "ds", PAGES);
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        let file = shell.open_file();
        let config = protos::TraceConfig { write_into_file: Some(true), ..large_buffer(&["ds"]) };
        consumer.enable(&mut shell, config, Some(file));
        shell.work_waits = true;
        if in_flush {
            consumer.flush(&mut shell, 0);
            assert!(shell.service.has_work());
        }
        bounded(&mut shell, |shell| consumer.disconnect(shell));
        assert!(!shell.service.is_idle());
        assert!(turns(&mut shell) > 1);
        assert!(shell.service.is_idle() && shell.files[&file].closed);
        let packets = testing::mock::decode_file(&shell.files[&file].bytes);
        assert_eq!(payloads(&packets).len(), PAGES);
    }
}

/// Large memory is looked at in pieces, also where it has no chunk.
#[test]
fn a_flush_looks_at_large_memory_in_pieces() {
    const PAGES: usize = 1000;
    let mut shell = Shell::new();
    let _producer = holding_some(&mut shell, "ds", (PAGES, 0));
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    shell.work_waits = true;
    let call = bounded(&mut shell, |shell| consumer.flush(shell, 0));
    assert_eq!(consumer.flushed(&mut shell, call), None);
    assert!(turns(&mut shell) > 0);
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
}

/// A flush looks at many producers in pieces, also if they hold nothing.
#[test]
fn a_flush_looks_at_many_producers_in_pieces() {
    const PRODUCERS: u64 = 2000;
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    let _producers: Vec<_> = (0..PRODUCERS)
        .map(|_| {
            let peer = service::Peer { by_value: true, ..peer(42) };
            let producer = MockProducer::connect(&mut shell, "p", peer);
            let descriptor =
                protos::DataSourceDescriptor { no_flush: Some(true), ..crate::descriptor("ds") };
            producer.register(&mut shell, descriptor);
            producer
        })
        .collect();
    assert_eq!(shell.service.footprint().instances as u64, PRODUCERS);
    shell.advance_ms(1000);
    shell.work_waits = true;
    let before = shell.service.work();
    let call = consumer.flush(&mut shell, 0);
    let cost = shell.service.work() - before;
    // The flush counts its instances, and then a piece of the scrape follows.
    let of_flush = PRODUCERS * limits::WORK_PER_ENTRY;
    assert!(cost <= of_flush + limits::WORK_PER_PEER + UNCUT, "{cost} at once");
    assert!(turns(&mut shell) > 0);
    assert_eq!(consumer.flushed(&mut shell, call), Some(true));
}

/// The chunks of a producer that leaves are copied in pieces, and its patches are applied in pieces.
#[test]
fn what_a_producer_leaves_is_copied_in_pieces() {
    const PAGES: usize = 256;
    let mut shell = Shell::new();
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    let mut producer = holding(&mut shell, "ds", PAGES);
    producer.commands(&mut shell);
    shell.work_waits = true;
    let patch = protos::CommitDataRequestChunkToPatch {
        target_buffer: Some(1),
        writer_id: Some(1),
        ..Default::default()
    };
    let chunks_to_patch = vec![patch; 20_000];
    let commit = protos::CommitDataRequest { chunks_to_patch, ..Default::default() };
    let client = producer.client;
    bounded(&mut shell, |shell| shell.call_producer(client, Request::CommitData(commit), None));
    assert!(turns(&mut shell) > 1, "20,000 patches in one turn");
    for writer in 2..5_000 {
        let request = protos::RegisterTraceWriterRequest {
            trace_writer_id: Some(writer),
            target_buffer: Some(1),
            ..Default::default()
        };
        producer.call(&mut shell, Request::RegisterTraceWriter(request));
    }
    turns(&mut shell);
    drop(producer);
    let left = service::Input::ProducerDisconnected { client };
    bounded(&mut shell, |shell| shell.input(left));
    let turns = turns(&mut shell);
    assert!(turns >= turns_min(PAGES), "{turns} turns");
    shell.work_waits = false;
    assert_eq!(payloads(&consumer.read(&mut shell)).len(), PAGES);
}

/// The end of a session waits behind a flush that is not over, however much time has passed.
#[test]
fn the_work_of_a_session_keeps_its_order() {
    const PAGES: usize = 256;
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", PAGES);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let config = protos::TraceConfig { duration_ms: Some(1000), ..large_buffer(&["ds"]) };
    consumer.enable(&mut shell, config, None);
    shell.work_waits = true;
    let call = consumer.flush(&mut shell, 0);
    // The next turn has a new allowance, and the duration is over.
    shell.now_ns += 1_000_000_000;
    let mut flushed = None;
    while shell.service.has_work() {
        shell.turn();
        flushed = flushed.or(consumer.flushed(&mut shell, call));
        if consumer.ended(&mut shell).is_some() {
            assert_eq!(flushed, Some(true), "the end came first");
            return;
        }
    }
    panic!("the session goes on");
}

/// Many flushes that end together share a scrape.
#[test]
fn flushes_that_wait_share_a_scrape() {
    const PAGES: usize = 64;
    let mut shell = Shell::new();
    let _holding = holding(&mut shell, "holding", PAGES);
    let asked = producer(&mut shell, "asked");
    asked.register_name(&mut shell, "asked");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["holding", "asked"]), None);
    let calls: Vec<_> = (0..100).map(|_| consumer.flush(&mut shell, 0)).collect();
    let before = shell.service.work();
    shell.work_waits = true;
    bounded(&mut shell, |shell| asked.ack_flush(shell, u64::MAX));
    turns(&mut shell);
    let scrape = PAGES as u64 * (32 * 1024 + limits::WORK_PER_ENTRY);
    let cost = shell.service.work() - before;
    assert!(cost >= scrape && cost <= 3 * scrape, "{cost} is not one or two of {scrape}");
    let flushed = |shell: &mut Shell, call| consumer.flushed(shell, call);
    assert!(calls.iter().all(|call| flushed(&mut shell, *call) == Some(true)));
}

/// The end of a session comes after its last scrape, which is cut into pieces, too.
#[test]
fn the_end_waits_for_its_scrape() {
    const PAGES: usize = 128;
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", PAGES);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    shell.work_waits = true;
    bounded(&mut shell, |shell| consumer.disable(shell));
    assert_eq!(consumer.ended(&mut shell), None);
    assert!(turns(&mut shell) > 1);
    assert_eq!(consumer.ended(&mut shell), Some(String::new()));
    shell.work_waits = false;
    assert_eq!(payloads(&consumer.read(&mut shell)).len(), PAGES);
}

/// A consumer that leaves in the middle of that: nothing of its session is left, and nobody looks for what nobody reads.
#[test]
fn a_session_that_is_freed_while_it_scrapes_ends_at_once() {
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", 128);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, large_buffer(&["ds"]), None);
    shell.work_waits = true;
    consumer.flush(&mut shell, 0);
    assert!(shell.service.has_work());
    let before = shell.service.work();
    consumer.disconnect(&mut shell);
    turns(&mut shell);
    let cost = shell.service.work() - before;
    assert!(cost < limits::WORK_PER_PEER, "{cost}");
    assert_eq!(shell.service.footprint().sessions, 0);
}

/// A file that fails in the middle of that: the consumer is told of the end when all is scraped.
#[test]
fn an_error_of_the_file_does_not_end_a_session_that_scrapes() {
    const PAGES: usize = 128;
    let mut shell = Shell::new();
    let _producer = holding(&mut shell, "ds", PAGES);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let mut config = large_buffer(&["ds"]);
    config.write_into_file = Some(true);
    let file = shell.open_file();
    shell.stuck.insert(file);
    consumer.enable(&mut shell, config, Some(file));
    shell.advance_ms(10_000);
    shell.work_waits = true;
    consumer.disable(&mut shell);
    let error = service::FileError { text: "No space left on device".into() };
    shell.input(service::Input::FileWritten { file, result: Err(error) });
    assert!(shell.service.has_work());
    assert_eq!(consumer.ended(&mut shell), None);
    turns(&mut shell);
    assert!(consumer.ended(&mut shell).unwrap().contains("No space left"));
}

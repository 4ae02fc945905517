//! Packets over IPC: sequences, slices, windows.

use super::*;
use protos::ReadBuffersResponse;
use protos::consumer_port::Request;
use protozero::Message as _;

use abi::ids::ChunkId;
use abi::shm::{ChunkFlags, ChunkHeader, Packets};
use service::limits;

fn sequences(packets: &[TracePacket]) -> Vec<(i32, i32, u32)> {
    let of = |p: &TracePacket| {
        matches!(p.data, Some(TracePacketData::ForTesting(_)))
            .then(|| (trusted_uid(p).unwrap(), p.trusted_pid.unwrap(), sequence(p).unwrap()))
    };
    packets.iter().filter_map(of).collect()
}

#[test]
fn producer_uids_and_packet_sequence_ids() {
    let mut shell = Shell::new();
    let mut one = MockProducer::connect(&mut shell, "one", peer(123));
    one.register_name(&mut shell, "ds");
    let mut two = MockProducer::connect(&mut shell, "two", Peer { pid: Some(2), ..peer(456) });
    two.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    one.commands(&mut shell);
    two.commands(&mut shell);
    one.write(&mut shell, WriterId::new(1), BUFFER, &[payload("a")]);
    one.write(&mut shell, WriterId::new(2), BUFFER, &[payload("b")]);
    two.write(&mut shell, WriterId::new(1), BUFFER, &[payload("c")]);
    one.write(&mut shell, WriterId::new(1), BUFFER, &[payload("d")]);
    let packets = consumer.read(&mut shell);
    assert_eq!(sequences(&packets), [(123, 1025, 2), (123, 1025, 2), (123, 1025, 3), (456, 2, 4)]);
    assert_eq!(payloads(&packets), ["a", "d", "b", "c"]);
}

#[test]
fn negative_uids_survive() {
    let mut shell = Shell::new();
    let mut producer = MockProducer::connect(&mut shell, "p", peer(u32::MAX - 1));
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config(&["ds"]), None);
    producer.commands(&mut shell);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("a")]);
    assert_eq!(sequences(&consumer.read(&mut shell)), [(-2, 1025, 2)]);
}

/// Users, processes and machines with large numbers: the fields behind the packet are longer than in most traces.
#[test]
fn large_numbers_of_a_writer_survive() {
    let mut shell = Shell::new();
    let far = Peer { uid: u32::MAX, pid: Some(-2), machine_id: u32::MAX, ..Peer::default() };
    let mut producer = MockProducer::connect(&mut shell, "far", far);
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let config = TraceConfig { trace_all_machines: Some(true), ..config(&["ds"]) };
    consumer.enable(&mut shell, config, None);
    producer.commands(&mut shell);
    // So many that their numbers take two bytes.
    let count = 130;
    for writer in 1..=count {
        let header = ChunkHeader {
            chunk: ChunkId::new(0),
            writer: WriterId::new(writer),
            packets: Packets::new(1, ChunkFlags::default()),
        };
        let packet = payload("a").encode_to_vec();
        let data = [&header.to_bytes()[..], &[packet.len() as u8], &packet].concat();
        let chunk = protos::CommitDataRequestChunksToMove {
            target_buffer: Some(BUFFER.get().into()),
            data: Some(data),
            ..Default::default()
        };
        producer.commit(&mut shell, chunk);
    }
    let packets = consumer.read(&mut shell);
    let expected: Vec<_> = (2..u32::from(count) + 2).map(|id| (-1, -2, id)).collect();
    assert_eq!(sequences(&packets), expected);
    let of_machine = packets.iter().filter(|p| p.machine_id == Some(u32::MAX));
    assert_eq!(payloads(&of_machine.cloned().collect::<Vec<_>>()).len(), usize::from(count));
}

/// What the slices of a reply count for.
fn counted(reply: &testing::shell::Reply) -> usize {
    let response = ReadBuffersResponse::decode(reply.response.as_ref().unwrap()).unwrap();
    let slice = |s: &protos::ReadBuffersResponseSlice| {
        s.data.as_ref().unwrap().len() + limits::IPC_SLICE_OVERHEAD_BYTES
    };
    response.slices.iter().map(slice).sum()
}

/// The packets of the service nearly fill a reply, and a short packet of a producer is next.
#[test]
fn a_short_packet_goes_into_the_next_reply() {
    let replies = |name_bytes: usize| {
        let mut shell = Shell::new();
        let unique_session_name = Some("x".repeat(name_bytes));
        let config = TraceConfig { unique_session_name, ..config(&["ds"]) };
        let (mut producer, consumer) = recording(&mut shell, config);
        producer.write(&mut shell, WRITER, BUFFER, &[payload("short")]);
        consumer.read_raw(&mut shell)
    };
    let largest = |replies: &[testing::shell::Reply]| replies.iter().map(counted).max().unwrap();
    let rest = limits::IPC_SLICES_BYTES_MAX - largest(&replies(100_000));
    let mut counts = Vec::new();
    for bytes in 100_000 + rest - 200..100_000 + rest + 100 {
        let replies = replies(bytes);
        assert!(largest(&replies) <= limits::IPC_SLICES_BYTES_MAX, "{bytes}");
        assert_eq!(payloads(&testing::mock::decode_replies(&replies)), ["short"]);
        counts.push(replies.len());
    }
    assert!(counts.first() < counts.last(), "{counts:?}");
}

/// A session whose buffer holds `count` packets of `len` bytes of text.
fn filled(shell: &mut Shell, kb: u32, count: usize, len: usize) -> (MockProducer, MockConsumer) {
    let config = TraceConfig { buffers: vec![buffer(kb)], ..config(&["ds"]) };
    let (mut producer, consumer) = recording(shell, config);
    for index in 0..count {
        let text = format!("{index:0len$}");
        producer.write(shell, WRITER, BUFFER, &[payload(&text)]);
    }
    (producer, consumer)
}

#[test]
fn replies_keep_to_the_size_of_frames() {
    let mut shell = Shell::new();
    let (_producer, consumer) = filled(&mut shell, 4096, 300, 3000);
    let call = shell.call_consumer(consumer.client, Request::ReadBuffers(Default::default()), None);
    let replies = shell.take_replies_to(consumer.client, call);
    assert!(replies.len() > 20, "{} replies", replies.len());
    let (last, others) = replies.split_last().unwrap();
    assert!(others.iter().all(|r| r.has_more) && !last.has_more);
    for reply in &replies {
        let sum = counted(reply);
        assert!(sum <= limits::IPC_SLICES_BYTES_MAX);
        assert!(sum <= limits::READ_PASS_BYTES + 4096, "a pass overshoots by one packet");
    }
    let texts = payloads(&testing::mock::decode_replies(&replies));
    assert_eq!(texts.len(), 300);
    assert!(texts.iter().enumerate().all(|(i, t)| t.parse::<usize>() == Ok(i)));
}

#[test]
fn a_slow_reader_costs_one_window() {
    let mut shell = Shell::new();
    shell.consumers_are_slow = true;
    let (producer, consumer) = filled(&mut shell, 8192, 1500, 3000);
    let call = shell.call_consumer(consumer.client, Request::ReadBuffers(Default::default()), None);
    let mut all = Vec::new();
    let mut rounds = 0;
    loop {
        let replies = shell.take_replies_to(consumer.client, call);
        let bytes: usize = replies.iter().map(|r| r.response.as_ref().unwrap().len()).sum();
        assert!(bytes <= limits::READ_WINDOW_BYTES + limits::IPC_FRAME_BYTES_MAX);
        let is_last = replies.last().is_some_and(|r| !r.has_more);
        all.extend(replies);
        rounds += 1;
        if is_last {
            break;
        }
        // Nothing more comes before the transport is empty, whatever else happens.
        producer.ack_flush(&mut shell, 1);
        assert!(shell.take_replies_to(consumer.client, call).is_empty());
        shell.drain_consumers();
    }
    assert_eq!(rounds, 18);
    assert_eq!(payloads(&testing::mock::decode_replies(&all)).len(), 1500);
}

/// Reads with a slow consumer; returns the number of turns.
fn turns(shell: &mut Shell, consumer: &MockConsumer) -> usize {
    shell.consumers_are_slow = true;
    let call = shell.call_consumer(consumer.client, Request::ReadBuffers(Default::default()), None);
    let mut turns = 1;
    while shell.take_replies_to(consumer.client, call).last().is_some_and(|r| r.has_more) {
        shell.drain_consumers();
        turns += 1;
    }
    turns
}

#[test]
fn little_that_came_of_much_takes_several_turns() {
    let mut shell = Shell::new();
    let deflate = protos::TraceConfigCompressionConfigDeflate::default();
    let compression =
        protos::TraceConfigCompressionConfig { deflate: Some(deflate), ..Default::default() };
    let mut config = TraceConfig { buffers: vec![buffer(8192)], ..config(&["ds"]) };
    config.compression = Some(compression);
    let (mut producer, consumer) = recording(&mut shell, config);
    for _ in 0..1500 {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&"a".repeat(3000))]);
    }
    assert_eq!(turns(&mut shell, &consumer), 18);
}

/// Some megabytes of packets with fields that only the service may write.
fn write_forged(shell: &mut Shell, producer: &mut MockProducer) {
    let mut forged = payload("");
    forged.trusted_pid = Some(1);
    let packets = vec![forged; 200];
    for _ in 0..1000 {
        producer.write(shell, WRITER, BUFFER, &packets);
    }
}

#[test]
fn a_file_goes_on_behind_packets_that_are_left_out() {
    let mut shell = Shell::new();
    let mut producer = producer(&mut shell, "producer");
    producer.register_name(&mut shell, "ds");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let file = shell.open_file();
    let config =
        TraceConfig { buffers: vec![buffer(8192)], write_into_file: Some(true), ..config(&["ds"]) };
    consumer.enable(&mut shell, config, Some(file));
    producer.commands(&mut shell);
    write_forged(&mut shell, &mut producer);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("last")]);
    consumer.disable(&mut shell);
    assert_eq!(consumer.ended(&mut shell).as_deref(), Some(""));
    let packets = testing::mock::decode_file(&shell.files[&file].bytes);
    assert_eq!(payloads(&packets), ["last"]);
}

#[test]
fn packets_that_are_left_out_take_turns_as_well() {
    let mut shell = Shell::new();
    let config = TraceConfig { buffers: vec![buffer(8192)], ..config(&["ds"]) };
    let (mut producer, consumer) = recording(&mut shell, config);
    write_forged(&mut shell, &mut producer);
    assert!(turns(&mut shell, &consumer) >= 4);
}

#[test]
fn fragments_of_nothing_take_several_turns() {
    use protos::TraceConfigBufferConfigExperimentalMode as Mode;
    for mode in [None, Some(Mode::TRACE_BUFFER_V2)] {
        let mut shell = Shell::new();
        let ring = protos::TraceConfigBufferConfig { experimental_mode: mode, ..buffer(8192) };
        let config = TraceConfig { buffers: vec![ring], ..config(&["ds"]) };
        let (mut producer, consumer) = recording(&mut shell, config);
        for _ in 0..1000 {
            let chunk = producer.fill_chunk_with(WRITER, BUFFER, &[0; 1000], 1000);
            producer.commit(&mut shell, chunk);
        }
        producer.write(&mut shell, WRITER, BUFFER, &[payload("last")]);
        assert!(turns(&mut shell, &consumer) >= 4, "{mode:?}");
    }
}

#[test]
fn a_second_read_ends_the_first() {
    let mut shell = Shell::new();
    shell.consumers_are_slow = true;
    let (_producer, consumer) = filled(&mut shell, 8192, 700, 3000);
    let read = |shell: &mut Shell| {
        shell.call_consumer(consumer.client, Request::ReadBuffers(Default::default()), None)
    };
    let first = read(&mut shell);
    let second = read(&mut shell);
    let replies = shell.take_replies_to(consumer.client, first);
    assert!(replies.last().is_some_and(|r| r.response.is_none() && !r.has_more));
    // The end of the session ends the second stream.
    consumer.free(&mut shell);
    let replies = shell.take_replies_to(consumer.client, second);
    assert!(replies.last().is_some_and(|r| r.response.is_some() && !r.has_more));
}

#[test]
fn nothing_to_read() {
    let mut shell = Shell::new();
    let consumer = MockConsumer::connect(&mut shell, 0);
    assert_eq!(consumer.read(&mut shell), []);
}

#[test]
fn a_packet_larger_than_a_frame_is_cut() {
    let mut shell = Shell::new();
    let config = TraceConfig { buffers: vec![buffer(1024)], ..config(&["ds"]) };
    let (producer, consumer) = recording(&mut shell, config);
    let text: String = ('a'..='z').cycle().take(300_000).collect();
    write_large(&mut shell, &producer, &payload(&text));
    assert_eq!(payloads(&consumer.read(&mut shell)), [text]);
}

#[test]
fn discard_buffers_keep_the_oldest() {
    let mut shell = Shell::new();
    let mut config = config(&["ds"]);
    config.buffers[0].size_kb = Some(16);
    config.buffers[0].fill_policy = Some(protos::TraceConfigBufferConfigFillPolicy::DISCARD);
    let (mut producer, consumer) = recording(&mut shell, config);
    for index in 0..10 {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&index.to_string())]);
    }
    let texts = payloads(&consumer.read(&mut shell));
    assert!(!texts.is_empty() && texts.len() < 10);
    assert_eq!(texts[0], "0");
}

#[test]
fn ring_buffers_keep_the_newest_and_mark_the_loss() {
    let mut shell = Shell::new();
    let mut config = config(&["ds"]);
    config.buffers[0].size_kb = Some(16);
    let (mut producer, consumer) = recording(&mut shell, config);
    for index in 0..10 {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(&index.to_string())]);
    }
    let packets = consumer.read(&mut shell);
    let texts = payloads(&packets);
    assert!(!texts.is_empty() && texts.len() < 10);
    assert_eq!(texts.last().unwrap(), "9");
    let first = packets.iter().find(|p| matches!(p.data, Some(TracePacketData::ForTesting(_))));
    assert!(first.unwrap().previous_packet_dropped.unwrap() != 0);
}

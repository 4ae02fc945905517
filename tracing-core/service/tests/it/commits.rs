//! Chunks and patches from honest and from hostile producers.
#![allow(unsafe_code)]

use super::*;
use protos::LossLedgerReason as Reason;
use protos::producer_port::Request;
use protos::{
    CommitDataRequest, CommitDataRequestChunkToPatch, CommitDataRequestChunkToPatchPatch,
    CommitDataRequestChunksToMove, TraceStats,
};
use protos::{
    TracePacketOptionalTrustedPacketSequenceId as Sequence, TracePacketOptionalTrustedUid as Uid,
};
use protozero::Message as _;

use abi::ids::ChunkId;
use abi::shm::{ChunkFlags, ChunkHeader, Layout, Packets, WritableChunk};

fn write(chunk: &mut WritableChunk, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: one thread uses this memory.
    unsafe { chunk.write(off, bytes) }
}

fn start_fragment(chunk: &mut WritableChunk) {
    // SAFETY: one thread uses this memory.
    unsafe { chunk.start_fragment() }
}

pub(crate) fn stats(shell: &mut Shell, consumer: &MockConsumer) -> TraceStats {
    use protos::consumer_port::Request;
    let replies = consumer.call(shell, Request::GetTraceStats(Default::default()));
    let bytes = replies[0].response.clone().unwrap();
    protos::GetTraceStatsResponse::decode(&bytes).unwrap().trace_stats.unwrap()
}

fn commit(
    shell: &mut Shell,
    producer: &MockProducer,
    chunks_to_move: Vec<CommitDataRequestChunksToMove>,
) -> bool {
    let request = CommitDataRequest { chunks_to_move, ..Default::default() };
    producer.call(shell, Request::CommitData(request))[0].response.is_some()
}

#[test]
fn rejected_before_there_is_shared_memory() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "p");
    assert!(!commit(&mut shell, &producer, vec![]));
}

#[test]
fn commit_to_forbidden_buffer_is_discarded() {
    let mut shell = Shell::new();
    let mut one = producer(&mut shell, "one");
    one.register_name(&mut shell, "a");
    let two = producer(&mut shell, "two");
    two.register_name(&mut shell, "b");
    let mut config = config(&["a", "b"]);
    config.buffers.push(buffer(128));
    config.data_sources[1].config.as_mut().unwrap().target_buffer = Some(1);
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    consumer.enable(&mut shell, config, None);
    one.commands(&mut shell);
    one.write(&mut shell, WRITER, BUFFER, &[payload("own")]);
    one.write(&mut shell, WRITER, BufferId::new(2), &[payload("others")]);
    one.write(&mut shell, WRITER, BufferId::new(3), &[payload("nobody's")]);
    assert_eq!(stats(&mut shell, &consumer).chunks_discarded, Some(2));
    assert_eq!(payloads(&consumer.read(&mut shell)), ["own"]);
}

#[test]
fn registered_writers_are_held_to_their_buffer() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    let request = protos::RegisterTraceWriterRequest {
        trace_writer_id: Some(1),
        target_buffer: Some(2),
        ..Default::default()
    };
    producer.call(&mut shell, Request::RegisterTraceWriter(request));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("wrong")]);
    let request =
        protos::UnregisterTraceWriterRequest { trace_writer_id: Some(1), ..Default::default() };
    producer.call(&mut shell, Request::UnregisterTraceWriter(request));
    producer.write(&mut shell, WRITER, BUFFER, &[payload("right")]);
    assert_eq!(stats(&mut shell, &consumer).chunks_discarded, Some(1));
    assert_eq!(payloads(&consumer.read(&mut shell)), ["right"]);
}

#[test]
fn wrong_pages_and_chunks_are_skipped_one_by_one() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    let good = producer.fill_chunk(WRITER, BUFFER, &[payload("good")]);
    let entry = |page, chunk| CommitDataRequestChunksToMove {
        page: Some(page),
        chunk: Some(chunk),
        ..good.clone()
    };
    let mut entries = Vec::new();
    for page in [64, 65, u32::MAX, 1] {
        for chunk in [0, 1, 14, u32::MAX] {
            entries.push(entry(page, chunk));
        }
    }
    entries.push(good.clone());
    entries.push(good);
    assert!(commit(&mut shell, &producer, entries));
    assert_eq!(payloads(&consumer.read(&mut shell)), ["good"]);
    // The chunk is free again, and can be used again.
    producer.write(&mut shell, WRITER, BUFFER, &[payload("again")]);
    assert_eq!(payloads(&consumer.read(&mut shell)), ["again"]);
}

#[test]
fn chunks_by_value_of_all_lengths() {
    use protos::TraceConfigBufferConfigExperimentalMode as Mode;
    for mode in [None, Some(Mode::TRACE_BUFFER_V2)] {
        let mut config = config(&["ds"]);
        config.buffers[0].experimental_mode = mode;
        chunks_by_value_of_all_lengths_into(config);
    }
}

fn chunks_by_value_of_all_lengths_into(config: TraceConfig) {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config);
    let header = ChunkHeader {
        chunk: ChunkId::new(0),
        writer: WRITER,
        packets: Packets::new(1, ChunkFlags::default()),
    };
    let body = payload("by value").encode_to_vec();
    let by_value = |header: ChunkHeader, len: usize| {
        let mut data = header.to_bytes().to_vec();
        data.push(body.len() as u8);
        data.extend_from_slice(&body);
        data.resize(len, 0);
        CommitDataRequestChunksToMove {
            target_buffer: Some(1),
            data: Some(data),
            ..Default::default()
        }
    };
    for (len, violations) in [(0, 1), (7, 2), (65536, 3), (100_000, 4)] {
        assert!(commit(&mut shell, &producer, vec![by_value(header, len)]));
        let buffer = stats(&mut shell, &consumer).buffer_stats.remove(0);
        assert_eq!((buffer.chunks_written, buffer.abi_violations), (Some(0), Some(violations)));
    }
    assert!(commit(&mut shell, &producer, vec![by_value(header, 100)]));
    assert_eq!(payloads(&consumer.read(&mut shell)), ["by value"]);
    let next = ChunkHeader { chunk: ChunkId::new(1), ..header };
    assert!(commit(&mut shell, &producer, vec![by_value(next, 8)]));
    let last = ChunkHeader { chunk: ChunkId::new(2), ..header };
    assert!(commit(&mut shell, &producer, vec![by_value(last, 65535)]));
}

#[test]
fn patches() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    // A packet whose nested length is still zero: for_testing { str }, reserved in four bytes.
    let text = b"text";
    let mut body = vec![0xa2, 0x38, 0, 0, 0, 0, 0x0a, text.len() as u8];
    body.extend_from_slice(text);
    let header = ChunkHeader {
        chunk: ChunkId::new(0),
        writer: WRITER,
        packets: Packets::new(1, ChunkFlags::NEEDS_PATCHING),
    };
    let mut data = header.to_bytes().to_vec();
    data.push(body.len() as u8);
    data.extend_from_slice(&body);
    let chunk = CommitDataRequestChunksToMove {
        target_buffer: Some(1),
        data: Some(data),
        ..Default::default()
    };
    commit(&mut shell, &producer, vec![chunk]);
    assert!(payloads(&consumer.read(&mut shell)).is_empty(), "held back until it is patched");
    let patch = |offset: u32, data: &[u8]| CommitDataRequestChunkToPatchPatch {
        offset: Some(offset),
        data: Some(data.to_vec()),
        ..Default::default()
    };
    let request = |writer, patches: Vec<_>| CommitDataRequest {
        chunks_to_patch: vec![CommitDataRequestChunkToPatch {
            target_buffer: Some(1),
            writer_id: Some(writer),
            chunk_id: Some(0),
            patches,
            ..Default::default()
        }],
        ..Default::default()
    };
    let discarded = |shell: &mut Shell| stats(shell, &consumer).patches_discarded.unwrap();
    let good = patch(3, &[0x86, 0x80, 0x80, 0]);
    for (writer, patches, expect) in [
        (0, vec![good.clone()], 1),
        (32768, vec![good.clone()], 2),
        (1, vec![good.clone(); 1025], 1027),
    ] {
        producer.call(&mut shell, Request::CommitData(request(writer, patches)));
        assert_eq!(discarded(&mut shell), expect);
    }
    let mixed = vec![patch(3, &[1, 2, 3]), patch(3, &[1, 2, 3, 4, 5]), good];
    producer.call(&mut shell, Request::CommitData(request(1, mixed)));
    assert_eq!(discarded(&mut shell), 1029);
    // One for a buffer of a session that is over is no loss of this one.
    let mut late = request(1, vec![patch(3, &[0; 4])]);
    late.chunks_to_patch[0].target_buffer = Some(77);
    producer.call(&mut shell, Request::CommitData(late));
    assert_eq!(discarded(&mut shell), 1030);
    assert_eq!(
        losses(&mut shell, &consumer),
        [(Reason::REASON_PATCHES_REFUSED, "producer".into(), 1029)]
    );
    assert_eq!(payloads(&consumer.read(&mut shell)), ["text"]);
}

/// A chunk by value that has no header, and a patch: both for a buffer that is not their producer's, and for none. They
/// are no loss of the session that the buffer belongs to.
#[test]
fn what_is_broken_and_for_the_buffer_of_others() {
    let mut shell = Shell::new();
    let (producer, consumer) = recording(&mut shell, config(&["ds"]));
    let mut other = MockConsumer::connect(&mut shell, 0);
    other.enable(&mut shell, config(&["other"]), None);
    for buffer in [2, 77] {
        let chunk = CommitDataRequestChunksToMove {
            target_buffer: Some(buffer),
            data: Some(vec![1; 7]),
            ..Default::default()
        };
        assert!(commit(&mut shell, &producer, vec![chunk]));
        let patch = CommitDataRequestChunkToPatch {
            target_buffer: Some(buffer),
            writer_id: Some(1),
            chunk_id: Some(0),
            patches: vec![CommitDataRequestChunkToPatchPatch {
                offset: Some(3),
                data: Some(vec![0; 4]),
                ..Default::default()
            }],
            ..Default::default()
        };
        let request = CommitDataRequest { chunks_to_patch: vec![patch], ..Default::default() };
        producer.call(&mut shell, Request::CommitData(request));
    }
    let told = stats(&mut shell, &other);
    let buffer = &told.buffer_stats[0];
    assert_eq!((buffer.abi_violations, buffer.patches_failed), (Some(0), Some(0)));
    assert_eq!((told.chunks_discarded, told.patches_discarded), (Some(2), Some(2)));
    assert_eq!(losses(&mut shell, &other), []);
    let mut told = losses(&mut shell, &consumer);
    told.sort();
    let of = |reason| (reason, "producer".to_owned(), 1);
    assert_eq!(told, [of(Reason::REASON_CHUNKS_REFUSED), of(Reason::REASON_PATCHES_REFUSED)]);
}

/// A session is over, but for its file. A producer that is late loses nothing of its other sessions.
#[test]
fn what_is_for_a_session_that_waits_for_its_file() {
    let mut shell = Shell::new();
    let producer = producer(&mut shell, "producer");
    producer.register_name(&mut shell, "ds");
    producer.register_name(&mut shell, "other");
    let mut consumer = MockConsumer::connect(&mut shell, 0);
    let file = shell.open_file();
    shell.stuck.insert(file);
    let to_file = TraceConfig { write_into_file: Some(true), ..config(&["ds"]) };
    consumer.enable(&mut shell, to_file, Some(file));
    let mut other = MockConsumer::connect(&mut shell, 0);
    other.enable(&mut shell, config(&["other"]), None);
    consumer.free(&mut shell);
    let held = shell.service.footprint();
    assert_eq!((held.sessions, held.buffers), (2, 2), "the file is not complete");
    for data in [vec![1; 7], vec![1; 20]] {
        let chunk = CommitDataRequestChunksToMove {
            target_buffer: Some(1),
            data: Some(data),
            ..Default::default()
        };
        assert!(commit(&mut shell, &producer, vec![chunk]));
    }
    assert_eq!(losses(&mut shell, &other), []);
    assert_eq!(stats(&mut shell, &other).chunks_discarded, Some(2));
}

/// What the ledger of a session has: why, whose, how much.
fn losses(shell: &mut Shell, consumer: &MockConsumer) -> Vec<(Reason, String, u64)> {
    let ledger = stats(shell, consumer).loss_ledger.unwrap_or_default();
    let entry = |e: protos::LossLedgerEntry| {
        (e.reason.unwrap(), e.producer_name.unwrap(), e.count.unwrap())
    };
    ledger.entries.into_iter().map(entry).collect()
}

/// Packets that are not valid are in the ledger also when they are read after the end, and their producer is gone.
#[test]
fn invalid_packets_of_a_producer_that_is_gone_are_told() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    let forged = TracePacket { trusted_pid: Some(1), ..payload("pid") };
    producer.write(&mut shell, WRITER, BUFFER, &[forged.clone(), payload("honest")]);
    producer.disconnect(&mut shell);
    // Another one, that gets another id.
    let mut other = MockProducer::connect(&mut shell, "other", peer(43));
    other.register_name(&mut shell, "ds");
    other.commands(&mut shell);
    other.write(&mut shell, WRITER, BUFFER, &[forged.clone(), forged]);
    consumer.disable(&mut shell);
    assert_eq!(payloads(&consumer.read(&mut shell)), ["honest"]);
    assert_eq!(stats(&mut shell, &consumer).invalid_packets, Some(3));
    let mut told = losses(&mut shell, &consumer);
    told.sort();
    let of = |name: &str, count| (Reason::REASON_PACKETS_INVALID, name.into(), count);
    assert_eq!(told, [of("", 1), of("other", 2)]);
}

/// The service copies a whole packet in one turn.
#[test]
fn a_packet_that_is_too_long_is_left_out_and_told() {
    let texts = ["x".repeat(1000), "y".repeat(3000), "z".repeat(3001)];
    let longest = payload(&texts[1]).encode_to_vec().len();
    let mut shell = Shell::with(|config| config.packet_bytes_max = longest);
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    for text in &texts {
        producer.write(&mut shell, WRITER, BUFFER, &[payload(text)]);
    }
    assert_eq!(payloads(&consumer.read(&mut shell)), texts[..2]);
    assert_eq!(stats(&mut shell, &consumer).invalid_packets, Some(1));
    let told = [(Reason::REASON_PACKETS_INVALID, "producer".into(), 1)];
    assert_eq!(losses(&mut shell, &consumer), told);
}

/// What is left out is a gap of its sequence: the next packet has the mark, with what was missing before.
#[test]
fn the_packet_after_one_that_is_left_out_is_marked() {
    use protos::TraceConfigBufferConfigExperimentalMode as Mode;
    for mode in [None, Some(Mode::TRACE_BUFFER_V2)] {
        let max = payload(&"x".repeat(1000)).encode_to_vec().len();
        let mut shell = Shell::with(|config| config.packet_bytes_max = max);
        let buffer = TraceConfigBufferConfig { experimental_mode: mode, ..buffer(128) };
        let config = TraceConfig { buffers: vec![buffer], ..config(&["ds"]) };
        let (mut producer, consumer) = recording(&mut shell, config);
        let other = WriterId::new(2);
        producer.write(&mut shell, WRITER, BUFFER, &[payload("first")]);
        producer.write(&mut shell, other, BUFFER, &[payload("first of another")]);
        assert_eq!(payloads(&consumer.read(&mut shell)).len(), 2);
        let long = payload(&"y".repeat(1001));
        producer.write(&mut shell, WRITER, BUFFER, &[long]);
        producer.write(&mut shell, other, BUFFER, &[payload("another")]);
        let dropped = |packets: &[TracePacket]| -> Vec<(String, Option<u32>)> {
            let of = |p: &TracePacket| {
                Some((payloads(std::slice::from_ref(p)).pop()?, p.previous_packet_dropped))
            };
            packets.iter().filter_map(of).collect()
        };
        let read = dropped(&consumer.read(&mut shell));
        assert_eq!(read, [("another".into(), None)], "{mode:?}: of another sequence");
        // Also when it was read in an earlier pass, and once only.
        producer.write(&mut shell, WRITER, BUFFER, &[payload("next"), payload("last")]);
        let read = dropped(&consumer.read(&mut shell));
        assert_eq!(read, [("next".into(), Some(1)), ("last".into(), None)], "{mode:?}");
        // In one pass, and not valid.
        let forged = TracePacket { trusted_pid: Some(1), ..payload("forged") };
        producer.write(
            &mut shell,
            WRITER,
            BUFFER,
            &[payload("a"), forged, payload("b"), payload("c")],
        );
        let read = dropped(&consumer.read(&mut shell));
        let expected = [("a".into(), None), ("b".into(), Some(1)), ("c".into(), None)];
        assert_eq!(read, expected, "{mode:?}");
    }
}

/// A gap before a packet that is left out is told with the next one.
#[test]
fn a_gap_before_a_packet_that_is_left_out_is_kept() {
    use protos::TraceConfigBufferConfigExperimentalMode as Mode;
    let mut shell = Shell::new();
    let buffer =
        TraceConfigBufferConfig { experimental_mode: Some(Mode::TRACE_BUFFER_V2), ..buffer(128) };
    let config = TraceConfig { buffers: vec![buffer], ..config(&["ds"]) };
    let (mut producer, consumer) = recording(&mut shell, config);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("first")]);
    consumer.read(&mut shell);
    // A chunk that is never handed over.
    producer.fill_chunk(WRITER, BUFFER, &[payload("missing")]);
    let forged = TracePacket { trusted_pid: Some(1), ..payload("forged") };
    producer.write(&mut shell, WRITER, BUFFER, &[forged, payload("next")]);
    let packets = consumer.read(&mut shell);
    let next = packets.iter().find(|p| matches!(p.data, Some(TracePacketData::ForTesting(_))));
    let (present, read_gap) = (1, 2);
    assert_eq!(next.unwrap().previous_packet_dropped, Some(present | read_gap));
}

#[test]
fn packets_are_shorter_where_there_is_little_memory() {
    for (memory_bytes, max) in [(1, 1 << 20), (512 << 20, 2 << 20)] {
        let mut shell = Shell::with(|config| config.memory_bytes = memory_bytes);
        let config = TraceConfig { buffers: vec![buffer(8192)], ..config(&["ds"]) };
        let (producer, consumer) = recording(&mut shell, config);
        let next = write_large_from(&mut shell, &producer, 0, &payload(&"x".repeat(max - 100)));
        write_large_from(&mut shell, &producer, next, &payload(&"y".repeat(max)));
        assert_eq!(payloads(&consumer.read(&mut shell)).concat().len(), max - 100);
        assert_eq!(stats(&mut shell, &consumer).invalid_packets, Some(1));
    }
}

#[test]
fn forged_trusted_fields_are_dropped_or_overridden() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    let forged = [
        TracePacket {
            optional_trusted_packet_sequence_id: Some(Sequence::TrustedPacketSequenceId(1)),
            ..payload("sequence")
        },
        TracePacket { trusted_pid: Some(1), ..payload("pid") },
        TracePacket { machine_id: Some(1), ..payload("machine") },
        TracePacket { optional_trusted_uid: Some(Uid::TrustedUid(0)), ..payload("uid") },
        payload("honest"),
    ];
    producer.write(&mut shell, WRITER, BUFFER, &forged);
    let packets = consumer.read(&mut shell);
    assert_eq!(payloads(&packets), ["honest"]);
    assert_eq!(stats(&mut shell, &consumer).invalid_packets, Some(4));
    let told = [(Reason::REASON_PACKETS_INVALID, "producer".into(), 4)];
    assert_eq!(losses(&mut shell, &consumer), told);
    let packet = packets.iter().find(|p| matches!(p.data, Some(TracePacketData::ForTesting(_))));
    let packet = packet.unwrap();
    assert_eq!(trusted_uid(packet), Some(42));
    assert_eq!(packet.trusted_pid, Some(1025));
    assert_eq!(sequence(packet), Some(2));
    assert_eq!(packet.machine_id, None);
}

#[test]
fn late_commits_after_the_end_are_counted_only() {
    let mut shell = Shell::new();
    let (mut producer, consumer) = recording(&mut shell, config(&["ds"]));
    consumer.free(&mut shell);
    producer.write(&mut shell, WRITER, BUFFER, &[payload("late")]);
    let mut next = MockConsumer::connect(&mut shell, 0);
    next.enable(&mut shell, config(&[]), None);
    assert_eq!(stats(&mut shell, &next).chunks_discarded, Some(1));
}

#[test]
fn scraping_on_flush_disable_and_disconnect() {
    for end in ["flush", "disable", "disconnect"] {
        let mut shell = Shell::new();
        let request = protos::InitializeConnectionRequest {
            smb_scraping_mode: Some(
                protos::InitializeConnectionRequestProducerSMBScrapingMode::SMB_SCRAPING_ENABLED,
            ),
            ..Default::default()
        };
        let mut producer = MockProducer::connect_with(&mut shell, peer(1), request, None);
        producer.register_name(&mut shell, "ds");
        let mut consumer = MockConsumer::connect(&mut shell, 0);
        consumer.enable(&mut shell, config(&["ds"]), None);
        producer.commands(&mut shell);
        let request = protos::RegisterTraceWriterRequest {
            trace_writer_id: Some(1),
            target_buffer: Some(1),
            ..Default::default()
        };
        producer.call(&mut shell, Request::RegisterTraceWriter(request));
        // Two complete packets, and one of which only the length is written.
        let smb = producer.smb.clone().unwrap();
        assert!(smb.try_partition(0, Layout::Div1));
        let header = ChunkHeader {
            chunk: ChunkId::new(0),
            writer: WRITER,
            packets: Packets::new(0, ChunkFlags::default()),
        };
        let mut chunk = smb.try_acquire(0, 0, header).unwrap();
        let mut at = 0;
        for text in ["one", "two", "three"] {
            let body = payload(text).encode_to_vec();
            start_fragment(&mut chunk);
            assert!(write(&mut chunk, at, &[body.len() as u8]));
            assert!(write(&mut chunk, at + 1, &body));
            at += 1 + body.len();
        }
        match end {
            "flush" => {
                let call = consumer.flush(&mut shell, 0);
                producer.ack_flush(&mut shell, 1);
                assert_eq!(consumer.flushed(&mut shell, call), Some(true));
            }
            "disable" => consumer.disable(&mut shell),
            _ => producer.disconnect(&mut shell),
        }
        assert_eq!(payloads(&consumer.read(&mut shell)), ["one", "two"], "{end}");
        assert_eq!(payloads(&consumer.read(&mut shell)), Vec::<String>::new());
    }
}

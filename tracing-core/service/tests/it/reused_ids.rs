//! A producer id is given out again when all others were: its new owner reaches nothing that the one before left.

use super::commits::stats;
use super::*;
use abi::ids::{ChunkId, ProducerId};
use abi::shm::{ChunkFlags, ChunkHeader, Packets};
use protos::producer_port::Request;
use protos::{
    CommitDataRequest, CommitDataRequestChunkToPatch, CommitDataRequestChunkToPatchPatch,
    CommitDataRequestChunksToMove,
};
use protozero::Message as _;

const UID: u32 = 42;
const OTHER_UID: u32 = 43;

/// A session whose buffer has this version, with the producer of `UID` that has the first id.
fn world(version: i32) -> (Shell, MockProducer, MockConsumer) {
    let mut shell = Shell::new();
    let mut config = config(&["ds"]);
    config.buffers[0].experimental_mode =
        Some(protos::TraceConfigBufferConfigExperimentalMode(version));
    let (producer, consumer) = recording(&mut shell, config);
    (shell, producer, consumer)
}

/// The producer leaves, and a program of `OTHER_UID` gets its id.
fn next_owner(shell: &mut Shell, old: MockProducer) -> MockProducer {
    old.disconnect(shell);
    shell.service.set_last_producer(ProducerId::new(0));
    let mut new = MockProducer::connect(shell, "new", peer(OTHER_UID));
    new.register_name(shell, "ds");
    new.commands(shell);
    new
}

/// A chunk with one packet.
fn chunk(flags: ChunkFlags) -> CommitDataRequestChunksToMove {
    let body = payload("old").encode_to_vec();
    let packets = Packets::new(1, flags);
    let header = ChunkHeader { chunk: ChunkId::new(0), writer: WRITER, packets };
    let mut data = header.to_bytes().to_vec();
    data.push(body.len() as u8);
    data.extend_from_slice(&body);
    let target_buffer = Some(BUFFER.get().into());
    CommitDataRequestChunksToMove { target_buffer, data: Some(data), ..Default::default() }
}

#[test]
fn packets_of_two_owners_are_of_two_sequences() {
    for version in [0, 1] {
        let (mut shell, mut old, consumer) = world(version);
        old.write(&mut shell, WRITER, BUFFER, &[payload("old")]);
        let mut new = next_owner(&mut shell, old);
        new.write(&mut shell, WRITER, BUFFER, &[payload("new")]);
        let packets = consumer.read(&mut shell);
        let of_writers = packets.iter().filter(|p| !payloads(std::slice::from_ref(p)).is_empty());
        let whose: Vec<_> = of_writers.map(|p| (trusted_uid(p), sequence(p))).collect();
        assert_eq!(
            whose,
            [(Some(UID as i32), Some(2)), (Some(OTHER_UID as i32), Some(3))],
            "version {version}"
        );
        let stats = stats(&mut shell, &consumer);
        let told: Vec<_> = stats.writer_stats.iter().map(|w| w.sequence_id.unwrap()).collect();
        assert_eq!(told, [2, 3], "version {version}");
    }
}

#[test]
fn patches_change_nothing_that_the_owner_before_left() {
    for version in [0, 1] {
        let (mut shell, mut old, consumer) = world(version);
        old.commit(&mut shell, chunk(ChunkFlags::NEEDS_PATCHING));
        let new = next_owner(&mut shell, old);
        let patch = CommitDataRequestChunkToPatchPatch {
            offset: Some(1),
            data: Some(vec![0; 4]),
            ..Default::default()
        };
        let patches = CommitDataRequestChunkToPatch {
            target_buffer: Some(BUFFER.get().into()),
            writer_id: Some(WRITER.get().into()),
            chunk_id: Some(0),
            patches: vec![patch],
            ..Default::default()
        };
        let request = CommitDataRequest { chunks_to_patch: vec![patches], ..Default::default() };
        new.call(&mut shell, Request::CommitData(request));
        let buffer = stats(&mut shell, &consumer).buffer_stats.remove(0);
        let patches = (buffer.patches_succeeded, buffer.patches_failed);
        assert_eq!(patches, (Some(0), Some(1)), "version {version}");
    }
}

/// A packet that the owner before has begun is no loss of the new one, which leaves, too.
#[test]
fn a_packet_that_the_owner_before_has_begun() {
    for version in [0, 1] {
        let (mut shell, mut old, consumer) = world(version);
        old.commit(&mut shell, chunk(ChunkFlags::CONTINUES_ON_NEXT));
        let new = next_owner(&mut shell, old);
        let before = stats(&mut shell, &consumer);
        let request = protos::RegisterTraceWriterRequest {
            trace_writer_id: Some(WRITER.get().into()),
            target_buffer: Some(BUFFER.get().into()),
            ..Default::default()
        };
        new.call(&mut shell, Request::RegisterTraceWriter(request));
        new.disconnect(&mut shell);
        let after = stats(&mut shell, &consumer);
        assert_eq!(after.loss_ledger, before.loss_ledger, "version {version}");
        assert_eq!(after.buffer_stats, before.buffer_stats, "version {version}");
    }
}

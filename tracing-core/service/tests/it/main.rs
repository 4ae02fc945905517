//! Scenarios: requests in, replies and files out.
//!
//! Names follow upstream's `tracing_service_impl_unittest.cc` where a test of that name exists.

extern crate tracing_core_service as service;

mod accounts;
mod admission;
mod admission_order;
mod buffer_accounts;
mod checking;
mod clone;
mod clone_best;
mod clone_files;
mod clone_pieces;
mod clone_transferred;
mod commits;
mod compression;
mod compression_pieces;
mod concurrent;
mod detach;
mod events;
mod fields;
mod files;
mod filtering;
mod flushes;
mod freeing;
mod ledger;
mod lifecycle;
mod limits;
mod matching;
mod metadata;
mod named_buffers;
mod query;
mod read_buffers;
mod registry;
mod reused_ids;
mod rings;
mod scrape_order;
mod sequences;
mod shared_memory;
mod snapshot_hits;
mod timers;
mod trigger_history;
mod triggers;
mod turns;
mod work;

use protos::GetAsyncCommandResponseCmd as Cmd;
use protos::{
    DataSourceConfig, DataSourceDescriptor, TraceConfig, TraceConfigBufferConfig,
    TraceConfigDataSource, TracePacket, TracePacketData,
    TracePacketOptionalTrustedPacketSequenceId, TracePacketOptionalTrustedUid,
};

use abi::ids::{BufferId, WriterId};
use service::Peer;
pub(crate) use testing::mock::{MockConsumer, MockProducer};
pub(crate) use testing::shell::Shell;

/// One buffer of 128 KB and data sources by name.
pub(crate) fn config(sources: &[&str]) -> TraceConfig {
    TraceConfig { buffers: vec![buffer(128)], data_sources: named(sources), ..Default::default() }
}

pub(crate) fn buffer(kb: u32) -> TraceConfigBufferConfig {
    TraceConfigBufferConfig { size_kb: Some(kb), ..Default::default() }
}

pub(crate) fn named(sources: &[&str]) -> Vec<TraceConfigDataSource> {
    let source = |name: &&str| TraceConfigDataSource {
        config: Some(DataSourceConfig { name: Some((*name).into()), ..Default::default() }),
        ..Default::default()
    };
    sources.iter().map(source).collect()
}

pub(crate) fn descriptor(name: &str) -> DataSourceDescriptor {
    DataSourceDescriptor { name: Some(name.into()), ..Default::default() }
}

pub(crate) fn peer(uid: u32) -> Peer {
    Peer { uid, pid: Some(1025), ..Peer::default() }
}

pub(crate) fn producer(shell: &mut Shell, name: &str) -> MockProducer {
    MockProducer::connect(shell, name, peer(42))
}

/// A packet with a payload.
pub(crate) fn payload(text: &str) -> TracePacket {
    TracePacket {
        data: Some(TracePacketData::ForTesting(protos::TestEvent {
            str: Some(text.into()),
            ..Default::default()
        })),
        ..Default::default()
    }
}

pub(crate) fn trusted_uid(packet: &TracePacket) -> Option<i32> {
    let TracePacketOptionalTrustedUid::TrustedUid(uid) = packet.optional_trusted_uid.as_ref()?;
    Some(*uid)
}

pub(crate) fn sequence(packet: &TracePacket) -> Option<u32> {
    let id = packet.optional_trusted_packet_sequence_id.as_ref()?;
    let TracePacketOptionalTrustedPacketSequenceId::TrustedPacketSequenceId(id) = id;
    Some(*id)
}

/// The payloads among packets, in order.
pub(crate) fn payloads(packets: &[TracePacket]) -> Vec<String> {
    let texts = packets.iter().filter_map(|p| match &p.data {
        Some(TracePacketData::ForTesting(event)) => event.str.clone(),
        _ => None,
    });
    texts.collect()
}

/// A command as text.
pub(crate) fn word(command: &Cmd) -> String {
    let ids = |ids: &[u64]| format!("{ids:?}");
    match command {
        Cmd::SetupTracing(s) => format!("setup_tracing {:?} KB", s.shared_buffer_page_size_kb),
        Cmd::SetupDataSource(s) => format!("setup {}", s.new_instance_id.unwrap_or(0)),
        Cmd::StartDataSource(s) => format!("start {}", s.new_instance_id.unwrap_or(0)),
        Cmd::StopDataSource(s) => format!("stop {}", s.instance_id.unwrap_or(0)),
        Cmd::Flush(f) => format!(
            "flush {} of {} flags {:#x}",
            f.request_id.unwrap_or(0),
            ids(&f.data_source_ids),
            f.flags.unwrap_or(0)
        ),
        Cmd::ClearIncrementalState(c) => format!("clear {}", ids(&c.data_source_ids)),
    }
}

/// The commands that came, as text.
pub(crate) fn words(shell: &mut Shell, producer: &mut MockProducer) -> Vec<String> {
    producer.commands(shell).iter().map(word).collect()
}

/// The kind of each packet.
pub(crate) fn kinds(packets: &[TracePacket]) -> Vec<String> {
    packets.iter().map(kind).collect()
}

fn kind(packet: &TracePacket) -> String {
    let Some(data) = &packet.data else { return "empty".into() };
    match data {
        TracePacketData::ServiceEvent(event) => {
            let text = format!("{:?}", event.event_type);
            let name = text.trim_start_matches("Some(").split(['(', ' ']).next().unwrap_or("");
            format!("event {name}")
        }
        TracePacketData::ForTesting(event) => {
            format!("payload {}", event.str.as_deref().unwrap_or_default())
        }
        other => {
            let text = format!("{other:?}");
            text.split(['(', ' ']).next().unwrap_or("").to_owned()
        }
    }
}

pub(crate) const WRITER: WriterId = WriterId::new(1);
pub(crate) const BUFFER: BufferId = BufferId::new(1);

/// A producer with a started data source "ds" in a session, its set-up commands taken.
pub(crate) fn recording(shell: &mut Shell, config: TraceConfig) -> (MockProducer, MockConsumer) {
    let mut producer = producer(shell, "producer");
    producer.register_name(shell, "ds");
    let mut consumer = MockConsumer::connect(shell, 0);
    consumer.enable(shell, config, None);
    producer.commands(shell);
    (producer, consumer)
}

/// Commits one packet that takes many chunks, by value.
pub(crate) fn write_large(shell: &mut Shell, producer: &MockProducer, packet: &TracePacket) {
    write_large_from(shell, producer, 0, packet);
}

/// Commits one packet that takes many chunks, by value, with chunk ids from `first` on; returns the next id.
pub(crate) fn write_large_from(
    shell: &mut Shell,
    producer: &MockProducer,
    first: u32,
    packet: &TracePacket,
) -> u32 {
    use abi::ids::ChunkId;
    use abi::shm::{ChunkFlags, ChunkHeader, Packets};
    use protozero::Message as _;
    let packet = packet.encode_to_vec();
    let pieces: Vec<&[u8]> = packet.chunks(30_000).collect();
    let mut next = first;
    for (index, piece) in pieces.iter().enumerate() {
        let mut flags = ChunkFlags::default();
        if index > 0 {
            flags = flags.with(ChunkFlags::CONTINUES_FROM_PREV);
        }
        if index + 1 < pieces.len() {
            flags = flags.with(ChunkFlags::CONTINUES_ON_NEXT);
        }
        let header = ChunkHeader {
            chunk: ChunkId::new(next),
            writer: WRITER,
            packets: Packets::new(1, flags),
        };
        next += 1;
        let mut data = header.to_bytes().to_vec();
        let len = piece.len() as u32;
        data.extend([len as u8 | 0x80, (len >> 7) as u8 | 0x80, (len >> 14) as u8 & 0x7f]);
        data.extend_from_slice(piece);
        let chunk = protos::CommitDataRequestChunksToMove {
            target_buffer: Some(BUFFER.get().into()),
            data: Some(data),
            ..Default::default()
        };
        let request =
            protos::CommitDataRequest { chunks_to_move: vec![chunk], ..Default::default() };
        producer.call(shell, protos::producer_port::Request::CommitData(request));
    }
    next
}

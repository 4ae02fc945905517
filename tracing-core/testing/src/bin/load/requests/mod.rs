//! Requests of hostile producers: each method of their port, with valid, nearly valid and random contents.

use abi::ipc::port::{Port as _, ProducerPort};
use abi::shm::LOSS_MARK_CHUNK_IDX;
use protos::GetAsyncCommandResponseCmd as Command;
use protos::InitializeConnectionRequestProducerSMBScrapingMode as Mode;
use protos::producer_port::Request;
use protos::{
    ActivateTriggersRequest, CommitDataRequest, CommitDataRequestChunkToPatch,
    CommitDataRequestChunkToPatchPatch, CommitDataRequestChunksToMove,
    CommitDataRequestDroppedPackets, DataSourceConfig, DataSourceDescriptor,
    GetAsyncCommandRequest, GetAsyncCommandResponse, InitializeConnectionRequest,
    NotifyDataSourceStartedRequest, NotifyDataSourceStoppedRequest, RegisterDataSourceRequest,
    RegisterTraceWriterRequest, SyncRequest, UnregisterDataSourceRequest,
    UnregisterTraceWriterRequest, UpdateDataSourceRequest,
};
use tracing_core_testing::TRIGGERS;

use crate::chunks::{self, CHUNK_HEADER};
use crate::hostile::Random;
use crate::producers::descriptor;

/// The data source of hostile producers.
pub const SOURCE: &str = "load.hostile";

/// What a hostile producer knows of the service, so that some of what it names exists.
#[derive(Default)]
pub struct Known {
    /// Buffers of its instances, the newest last.
    pub buffers: Vec<u32>,
    pub instances: Vec<u64>,
    pub flushes: Vec<u64>,
    /// Data sources of others.
    pub others: Vec<String>,
    pub next_chunk: u32,
    /// It has shared memory, all of whose pages were written: chunks in it may be named. A user that names memory
    /// without data is caught, and after a while gets no more: then less would be attacked.
    pub has_memory: bool,
    /// Pages of the memory that the service has made, in KiB.
    pub page_kb: Option<u32>,
}

/// More than these are forgotten.
const KNOWN_MAX: usize = 8;

fn remember<T>(known: &mut Vec<T>, value: T) {
    if known.len() == KNOWN_MAX {
        known.remove(0);
    }
    known.push(value);
}

fn any<T: Copy>(known: &[T], random: &mut Random) -> Option<T> {
    known.get(random.below(known.len().max(1) as u64) as usize).copied()
}

impl Known {
    /// Takes a command of the service.
    pub fn learn(&mut self, command: &GetAsyncCommandResponse) {
        let mut instance = |id: Option<u64>, config: Option<&DataSourceConfig>| {
            remember(&mut self.instances, id.unwrap_or_default());
            let buffer = config.and_then(|config| config.target_buffer);
            remember(&mut self.buffers, buffer.unwrap_or_default());
        };
        match &command.cmd {
            Some(Command::SetupTracing(it)) => self.page_kb = it.shared_buffer_page_size_kb,
            Some(Command::SetupDataSource(it)) => {
                instance(it.new_instance_id, it.config.as_deref())
            }
            Some(Command::StartDataSource(it)) => {
                instance(it.new_instance_id, it.config.as_deref())
            }
            Some(Command::Flush(it)) => {
                remember(&mut self.flushes, it.request_id.unwrap_or_default())
            }
            _ => {}
        }
    }

    /// Whether it has an instance, or had one.
    pub fn is_asked(&self) -> bool {
        !self.buffers.is_empty()
    }

    /// Mostly a buffer that it may write to.
    pub fn buffer(&self, random: &mut Random) -> Option<u32> {
        match random.below(16) {
            0 => random.small(),
            _ => any(&self.buffers, random).or_else(|| random.small()),
        }
    }

    fn instance(&self, random: &mut Random) -> Option<u64> {
        match random.below(4) {
            0 => Some(random.below(10_000)),
            _ => any(&self.instances, random),
        }
    }

    /// Mostly its own data source.
    fn source(&self, random: &mut Random) -> String {
        let other = self.others.get(random.below(8) as usize);
        other.cloned().unwrap_or_else(|| SOURCE.to_owned())
    }

    /// The number of its next chunk, mostly.
    pub fn chunk_id(&mut self, random: &mut Random) -> u32 {
        if random.below(32) == 0 {
            self.next_chunk = random.small().unwrap_or_default();
        }
        self.next_chunk = self.next_chunk.wrapping_add(1);
        self.next_chunk
    }
}

/// A request of any method, most often a commit.
pub fn request(random: &mut Random, known: &mut Known) -> Request {
    match random.below(4) {
        0 => {
            let method = random.below(ProducerPort::METHODS.len() as u64) as usize;
            let method = ProducerPort::METHODS.get(method).map_or("", |method| method.name);
            of(method, random, known).unwrap_or(Request::Sync(SyncRequest::default()))
        }
        1 => Request::CommitData(random_commit(random, known)),
        _ => Request::CommitData(valid_commit(random, known)),
    }
}

/// A request of one method. None: there is no such method.
pub fn of(method: &str, random: &mut Random, known: &mut Known) -> Option<Request> {
    let request = match method {
        "InitializeConnection" => Request::InitializeConnection(hello(random)),
        "RegisterDataSource" => Request::RegisterDataSource(RegisterDataSourceRequest {
            data_source_descriptor: Some(described(random, known).into()),
            ..Default::default()
        }),
        "UnregisterDataSource" => Request::UnregisterDataSource(UnregisterDataSourceRequest {
            data_source_name: Some(known.source(random)),
            ..Default::default()
        }),
        "CommitData" => Request::CommitData(random_commit(random, known)),
        "GetAsyncCommand" => Request::GetAsyncCommand(GetAsyncCommandRequest::default()),
        "RegisterTraceWriter" => Request::RegisterTraceWriter(RegisterTraceWriterRequest {
            trace_writer_id: random.small(),
            target_buffer: known.buffer(random),
            ..Default::default()
        }),
        "UnregisterTraceWriter" => Request::UnregisterTraceWriter(UnregisterTraceWriterRequest {
            trace_writer_id: random.small(),
            ..Default::default()
        }),
        "NotifyDataSourceStarted" => {
            Request::NotifyDataSourceStarted(NotifyDataSourceStartedRequest {
                data_source_id: known.instance(random),
                ..Default::default()
            })
        }
        "NotifyDataSourceStopped" => {
            Request::NotifyDataSourceStopped(NotifyDataSourceStoppedRequest {
                data_source_id: known.instance(random),
                ..Default::default()
            })
        }
        "ActivateTriggers" => Request::ActivateTriggers(ActivateTriggersRequest {
            trigger_names: triggers(random),
            ..Default::default()
        }),
        "Sync" => Request::Sync(SyncRequest::default()),
        "UpdateDataSource" => Request::UpdateDataSource(UpdateDataSourceRequest {
            data_source_descriptor: Some(described(random, known).into()),
            ..Default::default()
        }),
        _ => return None,
    };
    Some(request)
}

fn hello(random: &mut Random) -> InitializeConnectionRequest {
    InitializeConnectionRequest {
        producer_name: Some("again".into()),
        smb_scraping_mode: Some(Mode(random.below(4) as i32)),
        shared_memory_page_size_hint_bytes: random.small().map(|kb| kb << 10),
        shared_memory_size_hint_bytes: random.small().map(|kb| kb << 12),
        producer_provided_shmem: Some(random.below(2) == 0),
        ..Default::default()
    }
}

fn described(random: &mut Random, known: &Known) -> DataSourceDescriptor {
    DataSourceDescriptor {
        id: Some(random.below(3)),
        will_notify_on_start: Some(random.below(2) == 0),
        will_notify_on_stop: Some(random.below(2) == 0),
        handles_incremental_state_clear: Some(random.below(2) == 0),
        no_flush: Some(random.below(4) == 0),
        ..descriptor(&known.source(random))
    }
}

/// Names of triggers: some that configs have, and some that none has.
fn triggers(random: &mut Random) -> Vec<String> {
    let name = |random: &mut Random| match random.below(2) {
        0 => any(&TRIGGERS, random).unwrap_or_default().to_owned(),
        _ => random.below(50).to_string(),
    };
    (0..random.below(20)).map(|_| name(random)).collect()
}

/// The first request of a producer.
pub fn register(random: &mut Random, known: &Known) -> Request {
    let data_source_descriptor = Some(described(random, known).into());
    Request::RegisterDataSource(RegisterDataSourceRequest {
        data_source_descriptor,
        ..Default::default()
    })
}

/// Answers a flush that the service has asked for.
fn flushed(random: &mut Random, known: &Known) -> Option<u64> {
    match random.below(4) {
        0 => Some(random.below(1000)),
        1 => None,
        _ => known.flushes.last().copied(),
    }
}

fn random_commit(random: &mut Random, known: &Known) -> CommitDataRequest {
    let moves = (0..random.below(20)).map(|_| CommitDataRequestChunksToMove {
        page: random.small(),
        chunk: random.small().map(|chunk| chunk % 16),
        target_buffer: known.buffer(random),
        data: (!known.has_memory || random.below(3) == 0).then(|| random.bytes(5000)),
        chunk_incomplete: Some(random.below(2) == 0),
        ..Default::default()
    });
    let chunks_to_move = moves.collect();
    let patches = |random: &mut Random| {
        let patches = (0..random.below(30)).map(|_| CommitDataRequestChunkToPatchPatch {
            offset: random.small(),
            data: Some(random.bytes(6)),
            ..Default::default()
        });
        patches.collect()
    };
    let chunks_to_patch = (0..random.below(4)).map(|_| CommitDataRequestChunkToPatch {
        target_buffer: known.buffer(random),
        writer_id: random.small(),
        chunk_id: random.small(),
        patches: patches(random),
        has_more_patches: Some(random.below(2) == 0),
        ..Default::default()
    });
    let chunks_to_patch = chunks_to_patch.collect();
    let flush_request_id = flushed(random, known);
    let dropped_packets = (0..random.below(4)).map(|_| CommitDataRequestDroppedPackets {
        target_buffer: known.buffer(random),
        packets: random.small().map(u64::from),
        ..Default::default()
    });
    let dropped_packets = dropped_packets.collect();
    CommitDataRequest {
        chunks_to_move,
        chunks_to_patch,
        flush_request_id,
        dropped_packets,
        ..Default::default()
    }
}

/// Chunks with packets in them, by value, and patches that fit them.
fn valid_commit(random: &mut Random, known: &mut Known) -> CommitDataRequest {
    let mut commit =
        CommitDataRequest { flush_request_id: flushed(random, known), ..Default::default() };
    for _ in 0..random.below(8) {
        let (target_buffer, id) = (known.buffer(random), known.chunk_id(random));
        let is_open = random.below(2) == 0;
        let chunk = chunks::chunk(random, id, is_open, 4000);
        if is_open && random.below(8) > 0 {
            let packet = chunks::last_packet(&chunk);
            commit.chunks_to_patch.push(CommitDataRequestChunkToPatch {
                target_buffer,
                writer_id: Some(chunks::writer(&chunk)),
                chunk_id: Some(id),
                patches: vec![CommitDataRequestChunkToPatchPatch {
                    offset: Some((packet - CHUNK_HEADER) as u32),
                    data: Some(chunks::length(chunk.len() - packet - 4).to_vec()),
                    ..Default::default()
                }],
                has_more_patches: Some(random.below(4) == 0),
                ..Default::default()
            });
        }
        commit.chunks_to_move.push(CommitDataRequestChunksToMove {
            page: Some(0),
            chunk: Some(LOSS_MARK_CHUNK_IDX as u32 + random.below(2) as u32),
            target_buffer,
            data: Some(chunk),
            chunk_incomplete: Some(random.below(8) == 0),
            ..Default::default()
        });
    }
    commit
}

#[cfg(test)]
mod tests;

//! Honest and hostile producers of the simulation.
#![allow(unsafe_code)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use protos::producer_port::Request;
use protos::{
    CommitDataRequest, CommitDataRequestChunkToPatch, CommitDataRequestChunkToPatchPatch,
    CommitDataRequestChunksToMove, CommitDataRequestDroppedPackets, DataSourceConfig,
    DataSourceDescriptor, GetAsyncCommandResponse, GetAsyncCommandResponseCmd as Cmd,
};
use protozero::Message as _;

use super::check::{Ledger, Log, Tag, text};
use super::marks::Marks;
use super::rng::Rng;
use super::shell::Reply;
use super::world::SECRET;
use abi::ids::{BufferId, CallId, ClientId, FlushId};
use abi::shm::{PageSize, Region, Smb};
use abi::time::BootTime;
use client::write::{Arbiter, ArbiterOptions, BufferExhaustedPolicy, NoWaker, Park, TraceWriter};

fn store(region: &Region, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: a world has one thread.
    unsafe { region.store(off, bytes) }
}

/// Producers with this uid or a higher one are hostile.
pub(super) const HOSTILE_UID: i32 = 1_000_000_000;

/// Honest producers have this uid or a higher one.
pub(super) const HONEST_UID: i32 = 10_000;

/// The name of a user's producer. Each producer has a user of its own.
pub(super) fn producer_name(uid: u32) -> String {
    let hostile = uid >= HOSTILE_UID.cast_unsigned();
    let base = if hostile { HOSTILE_UID } else { HONEST_UID };
    format!("producer{}", uid.wrapping_sub(base.cast_unsigned()))
}

/// The name under which a hostile producer introduces itself a second time.
pub(super) const AGAIN: &str = "again";

/// Names of data sources; configs ask for them.
pub(super) const SOURCES: [&str; 4] = ["quick", "slow", "big", "odd"];

/// Names of triggers of random configs; no config has the last one.
pub const TRIGGERS: [&str; 3] = ["first", "second", "third"];

/// Simulated writers drop packets instead of stalling.
struct NeverPark;

impl Park for NeverPark {
    fn park(&self, _: Duration) {}
}

/// Messages that a producer sends, in order: whether it wants a reply, the request, and shared memory.
pub(super) type Outgoing = Vec<(bool, Request, Option<Region>)>;

/// A producer of either kind.
pub(super) struct Producer {
    pub(super) rng: Rng,
    pub(super) index: u64,
    pub(super) uid: i32,
    pub(super) pid: i32,
    pub(super) commands: Option<CallId>,
    arbiter: Option<Arbiter>,
    region: Option<Region>,
    /// The sizes of shared memory and of its pages that it asked for, in bytes.
    pub(super) smb_hints: (u32, u32),
    writers: BTreeMap<u64, (Tag, TraceWriter)>,
    /// Never acknowledges anything.
    silent: bool,
    scraped: bool,
    own_memory: bool,
    /// It never sends `GetAsyncCommand`.
    takes_no_commands: bool,
    last_writer: u64,
    /// The buffer of its last data source.
    last_buffer: u64,
    no_flush: BTreeSet<String>,
}

impl std::fmt::Debug for Producer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Producer").field("index", &self.index).finish_non_exhaustive()
    }
}

pub(super) fn descriptor(name: &str, rng: &mut Rng) -> DataSourceDescriptor {
    DataSourceDescriptor {
        name: Some(name.into()),
        will_notify_on_start: Some(rng.chance(30)),
        will_notify_on_stop: Some(rng.chance(50)),
        handles_incremental_state_clear: Some(rng.chance(50)),
        no_flush: Some(rng.chance(10)),
        ..Default::default()
    }
}

impl Producer {
    pub(super) fn new(mut rng: Rng, index: u64) -> Self {
        let hostile = rng.chance(30);
        Self {
            uid: if hostile { HOSTILE_UID } else { HONEST_UID } + index as i32,
            pid: 100 + index as i32,
            index,
            commands: None,
            arbiter: None,
            region: None,
            smb_hints: (0, 0),
            writers: BTreeMap::new(),
            silent: rng.chance(15),
            scraped: rng.chance(30),
            own_memory: rng.chance(20),
            takes_no_commands: hostile && rng.chance(20),
            last_writer: 0,
            last_buffer: 0,
            no_flush: BTreeSet::new(),
            rng,
        }
    }

    pub(super) fn hostile(&self) -> bool {
        self.uid >= HOSTILE_UID
    }

    /// Its first messages.
    pub(super) fn initialize(&mut self) -> Outgoing {
        let page = self.rng.pick(&[0u32, 4096, 8192, 32768]);
        let region = (self.own_memory && page > 0).then(|| Region::heap(1 << 17));
        if let Some(region) = &region {
            self.adopt(region.clone(), page as usize);
        }
        self.smb_hints = (self.rng.pick(&[0, 32768, 65536, 12345]), page);
        let init = protos::InitializeConnectionRequest {
            producer_name: Some(producer_name(self.uid.cast_unsigned())),
            shared_memory_page_size_hint_bytes: Some(page),
            shared_memory_size_hint_bytes: Some(self.smb_hints.0),
            smb_scraping_mode: Some(protos::InitializeConnectionRequestProducerSMBScrapingMode(
                if self.scraped { 1 } else { 2 },
            )),
            producer_provided_shmem: Some(region.is_some()),
            ..Default::default()
        };
        let mut out = vec![(true, Request::InitializeConnection(init), region)];
        if !self.takes_no_commands {
            out.push((true, Request::GetAsyncCommand(Default::default()), None));
        }
        for name in SOURCES {
            if self.rng.chance(60) {
                let descriptor = descriptor(name, &mut self.rng);
                if descriptor.no_flush == Some(true) {
                    self.no_flush.insert(name.into());
                }
                let request = protos::RegisterDataSourceRequest {
                    data_source_descriptor: Some(descriptor.into()),
                    ..Default::default()
                };
                out.push((true, Request::RegisterDataSource(request), None));
            }
        }
        out
    }

    fn adopt(&mut self, region: Region, page: usize) {
        let page = PageSize::new(page).ok();
        let smb = page.and_then(|page| Smb::new(region.clone(), page).ok());
        self.region = Some(region);
        self.arbiter = smb.map(|smb| {
            let mut options = ArbiterOptions::default();
            options.service.direct_patching = true;
            options.batch_commits_ms = self.rng.pick(&[0, 0, 5, 100]);
            Arbiter::new(smb, options, Arc::new(NoWaker), Arc::new(NeverPark))
        });
    }

    /// Takes a reply, and returns the answers to it.
    pub(super) fn reply(
        &mut self,
        reply: &Reply,
        ledger: &mut Ledger,
        marks: &mut Marks,
    ) -> Outgoing {
        if Some(reply.call) != self.commands {
            return Vec::new();
        }
        let command = reply.response.as_ref().and_then(|b| GetAsyncCommandResponse::decode(b).ok());
        let Some(command) = command.and_then(|c| c.cmd) else { return Vec::new() };
        let mut out = Vec::new();
        marks.command(&command);
        match command {
            Cmd::SetupTracing(setup) => {
                if let Some(region) = &reply.region {
                    let kb = setup.shared_buffer_page_size_kb.unwrap_or(0) as usize;
                    self.adopt(region.clone(), kb * 1024);
                }
            }
            Cmd::SetupDataSource(_) => {}
            Cmd::StartDataSource(start) => {
                let id = start.new_instance_id.unwrap_or(0);
                self.start(id, &start.config.unwrap_or_default(), ledger);
                let started = protos::NotifyDataSourceStartedRequest {
                    data_source_id: Some(id),
                    ..Default::default()
                };
                self.send(&mut out, Request::NotifyDataSourceStarted(started));
            }
            Cmd::StopDataSource(stop) => {
                let id = stop.instance_id.unwrap_or(0);
                self.writers.remove(&id);
                let stopped = protos::NotifyDataSourceStoppedRequest {
                    data_source_id: Some(id),
                    ..Default::default()
                };
                self.send(&mut out, Request::NotifyDataSourceStopped(stopped));
            }
            Cmd::Flush(flush) => {
                for (_, writer) in self.writers.values_mut() {
                    writer.flush();
                }
                if let Some(arbiter) = &self.arbiter
                    && !self.silent
                {
                    arbiter.notify_flush_complete(FlushId::new(flush.request_id.unwrap_or(0)));
                }
            }
            Cmd::ClearIncrementalState(_) => {}
        }
        out
    }

    fn send(&self, out: &mut Outgoing, request: Request) {
        if self.silent {
            return;
        }
        // After all earlier commits, as data sources do it.
        match &self.arbiter {
            Some(arbiter) => arbiter.send(request),
            None => out.push((false, request, None)),
        }
    }

    fn start(&mut self, id: u64, config: &DataSourceConfig, ledger: &mut Ledger) {
        self.last_buffer = config.target_buffer.unwrap_or(0).into();
        let Some(arbiter) = &self.arbiter else { return };
        let buffer = BufferId::new(config.target_buffer.unwrap_or(0) as u16);
        let writer = arbiter.create_writer(buffer, BufferExhaustedPolicy::Drop);
        self.last_writer += 1;
        let tag = self.index << 32 | self.last_writer;
        let source = config.name.clone().unwrap_or_default();
        ledger.logs.insert(
            tag,
            Log {
                session: config.tracing_session_id.unwrap_or(0),
                uid: self.uid,
                pid: self.pid,
                written: 0,
                drops: 0,
                gone: false,
                client: ClientId::new(self.index),
                never_asked: self.no_flush.contains(&source),
                scraped: self.scraped,
                source,
            },
        );
        self.writers.insert(id, (tag, writer));
    }

    /// Takes its next step.
    pub(super) fn act(&mut self, ledger: &mut Ledger, marks: &mut Marks) -> Outgoing {
        let mut out = Vec::new();
        if self.takes_no_commands {
            self.register_repeatedly(&mut out);
        }
        if self.hostile() && self.rng.chance(70) {
            marks.event("commits and memory forged");
            self.forge(&mut out);
        }
        if self.rng.chance(5) {
            let request = protos::ActivateTriggersRequest {
                trigger_names: (0..self.rng.within(1, 2))
                    .map(|_| self.rng.pick(&TRIGGERS).into())
                    .collect(),
                ..Default::default()
            };
            out.push((self.rng.chance(50), Request::ActivateTriggers(request), None));
        }
        if self.rng.chance(2) {
            out.push((true, Request::Sync(Default::default()), None));
        }
        for (tag, writer) in self.writers.values_mut() {
            for _ in 0..self.rng.below(12) {
                let Some(log) = ledger.logs.get_mut(tag) else { continue };
                let seq = log.written;
                log.written += 1;
                let mut packet = writer.new_packet();
                let mut event = packet.for_testing();
                event.seq_value(seq).counter(*tag);
                if self.rng.chance(30) {
                    event.payload().single_string(SECRET);
                }
                event.str(&text(*tag, seq));
            }
            if let Some(log) = ledger.logs.get_mut(tag) {
                log.drops = writer.drop_count();
            }
            if self.rng.chance(20) {
                writer.flush();
            }
        }
        out
    }

    /// The requests of its arbiter.
    pub(super) fn poll(&mut self, now: BootTime) -> Outgoing {
        let mut out = Vec::new();
        if let Some(arbiter) = &self.arbiter {
            while let Some(outgoing) = arbiter.poll_request(now) {
                out.push((outgoing.on_reply.is_some(), outgoing.request, None));
            }
        }
        out
    }

    /// When to poll it again.
    pub(super) fn poll_at(&self) -> Option<BootTime> {
        self.arbiter.as_ref().and_then(Arbiter::poll_timeout)
    }

    /// The connection is closed, as when the process is killed: nothing of what it has written changes any more, and
    /// the service alone has its memory.
    pub(super) fn cut(&mut self, ledger: &mut Ledger) {
        if let Some(arbiter) = self.arbiter.take() {
            arbiter.disconnect();
        }
        self.writers.clear();
        self.region = None;
        for log in ledger.logs.iter_mut().filter(|(tag, _)| **tag >> 32 == self.index) {
            log.1.gone = true;
        }
    }

    /// Registers and unregisters a data source many times, so that commands that it never asks for pile up.
    fn register_repeatedly(&mut self, out: &mut Outgoing) {
        let name = self.rng.pick(&SOURCES);
        for _ in 0..50 {
            let descriptor = descriptor(name, &mut self.rng);
            let register = protos::RegisterDataSourceRequest {
                data_source_descriptor: Some(descriptor.into()),
                ..Default::default()
            };
            let unregister = protos::UnregisterDataSourceRequest {
                data_source_name: Some(name.into()),
                ..Default::default()
            };
            out.push((false, Request::RegisterDataSource(register), None));
            out.push((false, Request::UnregisterDataSource(unregister), None));
        }
    }

    /// Overwrites its shared memory and sends requests that no honest producer sends.
    fn forge(&mut self, out: &mut Outgoing) {
        let rng = &mut self.rng;
        if let Some(region) = &self.region {
            forge_memory(rng, region);
        }
        for _ in 0..rng.below(4) {
            let request = match rng.below(12) {
                0..=2 => Request::CommitData(forged_commit(rng)),
                3..=4 => Request::CommitData(commit_into_foreign_buffer(rng, self.last_buffer)),
                5 => Request::NotifyDataSourceStopped(protos::NotifyDataSourceStoppedRequest {
                    data_source_id: Some(rng.below(100)),
                    ..Default::default()
                }),
                6 => Request::RegisterTraceWriter(protos::RegisterTraceWriterRequest {
                    trace_writer_id: Some(rng.next() as u32),
                    target_buffer: Some(rng.below(70_000) as u32),
                    ..Default::default()
                }),
                // Ids of instances are unique in the service: most of these belong to other producers.
                7 => Request::NotifyDataSourceStarted(protos::NotifyDataSourceStartedRequest {
                    data_source_id: Some(rng.below(100)),
                    ..Default::default()
                }),
                8 => Request::UpdateDataSource(protos::UpdateDataSourceRequest {
                    data_source_descriptor: Some({
                        let name = rng.pick(&SOURCES);
                        descriptor(name, rng).into()
                    }),
                    ..Default::default()
                }),
                // The service accepts this request once.
                9 => Request::InitializeConnection(protos::InitializeConnectionRequest {
                    producer_name: Some(AGAIN.into()),
                    shared_memory_page_size_hint_bytes: Some(rng.pick(&[0, 4096, 32768])),
                    ..Default::default()
                }),
                // This ends the previous stream of commands.
                10 if !self.takes_no_commands => Request::GetAsyncCommand(Default::default()),
                _ => Request::UnregisterDataSource(protos::UnregisterDataSourceRequest {
                    data_source_name: Some(rng.pick(&SOURCES).into()),
                    ..Default::default()
                }),
            };
            out.push((rng.chance(50), request, None));
        }
    }
}

/// Overwrites parts of shared memory.
pub(super) fn forge_memory(rng: &mut Rng, region: &Region) {
    for _ in 0..rng.below(8) {
        let page = rng.below(region.len() as u64 / 4096) as usize * 4096;
        // Mostly page and chunk headers.
        let off = page + rng.pick(&[0usize, 8, 12, 16, 1024, 4000]);
        let word = match rng.below(4) {
            0 => rng.next() as u32,
            1 => 1 << 28 | 3,
            2 => 5 << 28 | rng.next() as u32 >> 4,
            _ => 0,
        };
        store(region, off, &word.to_le_bytes());
    }
}

/// Valid chunks with a valid packet each, for buffers with ids near `near`: most belong to other producers.
fn commit_into_foreign_buffer(rng: &mut Rng, near: u64) -> CommitDataRequest {
    let chunks_to_move = (0..rng.below(6))
        .map(|_| {
            // The chunk's number, its writer, one packet, no flags; then the packet's length and a timestamp.
            let (number, writer, time) = (rng.next() as u8, rng.within(1, 3) as u8, 8 << 3);
            let data = [number, 0, 0, 0, writer, 0, 1, 0, 2, time, rng.below(128) as u8];
            CommitDataRequestChunksToMove {
                target_buffer: Some((near + rng.below(10)).saturating_sub(5) as u32),
                data: Some(data.to_vec()),
                ..Default::default()
            }
        })
        .collect();
    CommitDataRequest { chunks_to_move, ..Default::default() }
}

/// A commit with random contents.
pub(super) fn forged_commit(rng: &mut Rng) -> CommitDataRequest {
    let small =
        |rng: &mut Rng| rng.pick(&[0, 1, 2, 3, 5, 13, 14, 31, 64, u64::from(u32::MAX)]) as u32;
    let chunks_to_move = (0..rng.below(5))
        .map(|_| {
            let data = rng.chance(40).then(|| {
                let len = rng.pick(&[0usize, 7, 8, 20, 300, 65535, 65536]);
                let fill = rng.next();
                let mut data: Vec<u8> = (0..len).map(|i| (fill >> (i % 8 * 8)) as u8).collect();
                // Often a plausible header, to get past the first check.
                if len >= 20 && rng.chance(70) {
                    data[..8].copy_from_slice(&[rng.next() as u8 & 7, 0, 0, 0, 1, 0, 1, 0]);
                    data[8] = rng.below(14) as u8;
                }
                data
            });
            CommitDataRequestChunksToMove {
                page: Some(small(rng)),
                chunk: Some(small(rng)),
                target_buffer: Some(small(rng)),
                chunk_incomplete: Some(rng.chance(30)),
                data,
                ..Default::default()
            }
        })
        .collect();
    let chunks_to_patch = (0..rng.below(3))
        .map(|_| CommitDataRequestChunkToPatch {
            target_buffer: Some(small(rng)),
            writer_id: Some(small(rng)),
            chunk_id: Some(small(rng)),
            has_more_patches: Some(rng.chance(50)),
            patches: (0..rng.below(5))
                .map(|_| CommitDataRequestChunkToPatchPatch {
                    offset: Some(small(rng)),
                    data: Some(vec![0xff; rng.pick(&[0, 3, 4, 4, 4, 5])]),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        })
        .collect();
    let flush_request_id = rng.chance(20).then(|| rng.below(50));
    let dropped_packets = (0..rng.below(3))
        .map(|_| CommitDataRequestDroppedPackets {
            target_buffer: Some(small(rng)),
            packets: Some(rng.pick(&[0, 1, 1000, u64::MAX])),
            ..Default::default()
        })
        .collect();
    CommitDataRequest {
        chunks_to_move,
        chunks_to_patch,
        flush_request_id,
        dropped_packets,
        ..Default::default()
    }
}

//! Clients of both ports, controlled by the bytes of an input, with one service and its timers.
//!
//! ```text
//!   Client ══ bytes, cut anywhere ══ Host ── Service ── files in memory, memory on the heap
//! ```
//! After each step the service must stay within its limits; when all clients are gone, it must hold nothing.
#![allow(unsafe_code)]

use std::collections::BTreeMap;

use protos::consumer_port::Request as ConsumerRequest;
use protos::producer_port::Request as ProducerRequest;
use protos::{
    CloneSessionRequestSelector as Selector, CommitDataRequest, CommitDataRequestChunksToMove,
    EnableTracingRequest, GetAsyncCommandResponse, GetAsyncCommandResponseCmd as Cmd,
};
use protozero::Message as _;

use super::line::{Descriptor, Line, Side};
use crate::rng::Rng;
use crate::shell::Shell;
use crate::workload::{SOURCES, TRIGGERS, descriptor, forge_memory, forged_commit};
use crate::world::{NAMES, held_too_much, kept, random_config};
use abi::ids::{CallId, ChunkId, FileId, WriterId};
use abi::ipc::port::{ConsumerPort, ProducerPort};
use abi::shm::{ChunkFlags, ChunkHeader, Layout, Packets, PageSize, Region, Smb, WritableChunk};
use service::Peer;
use service::limits::Limits;

fn write(chunk: &mut WritableChunk, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: a conversation is run on one thread.
    unsafe { chunk.write(off, bytes) }
}

/// Steps of one conversation; the rest of the input is ignored.
const STEPS_MAX: usize = 600;
/// Users.
const UIDS: u64 = 3;
/// Clients of each port at a time.
const CLIENTS_MAX: usize = 3;
/// Timers that fire in one step; the clock jumps over the others.
const TICKS_MAX: usize = 100;

/// What a producer knows from the service's commands.
#[derive(Default)]
struct ProducerState {
    commands: CallId,
    memory: Option<(Region, usize)>,
    instances: Vec<u64>,
    buffers: Vec<u32>,
    flush: u64,
    chunks: BTreeMap<u16, u32>,
}

struct Conversation {
    shell: Shell,
    rng: Rng,
    producers: Vec<(Line<ProducerPort>, ProducerState)>,
    consumers: Vec<Line<ConsumerPort>>,
    /// Files that were sent to the service.
    files: Vec<FileId>,
    /// Setting a priority failed at least once.
    priority_failed: bool,
}

/// Runs a conversation.
///
/// # Panics
/// If the service breaks a rule.
pub fn conversation(input: &[u8]) {
    // Nothing of the input is used up for it: inputs that were found once still mean the same.
    let is_small = input.len() % 2 == 1;
    let limits = if is_small { kept::small(|| 3) } else { Limits::DEFAULT };
    let mut this = Conversation {
        shell: Shell::with_checked_buffers_and(limits),
        rng: Rng::of_bytes(input),
        producers: Vec::new(),
        consumers: Vec::new(),
        files: Vec::new(),
        priority_failed: false,
    };
    this.shell.consumers_are_slow = true;
    this.shell.service.set_clone_piece(256);
    for _ in 0..STEPS_MAX {
        if this.rng.is_used_up() {
            break;
        }
        this.step();
        this.deliver_all();
        let connected = this.producers.len() + this.consumers.len();
        let held = this.shell.service.footprint();
        assert!(!held_too_much(&held, connected), "{connected} connections hold {held:?}");
        kept::check(&this.shell.service.fullest(), &limits).unwrap();
    }
    this.end();
}

impl Conversation {
    fn step(&mut self) {
        match self.rng.below(16) {
            0 => self.connect(),
            1 => self.disconnect(),
            2..=6 => self.produce(),
            7..=12 => self.consume(),
            13 => self.disturb(),
            _ => self.wait(),
        }
    }

    fn connect(&mut self) {
        let uid = self.rng.below(UIDS) as u32;
        let peer = Peer { uid, pid: Some(7), by_value: self.rng.chance(20), ..Peer::default() };
        let cut = self.rng.pick(&[usize::MAX, 4096, 100, 7]);
        if self.rng.chance(50) && self.producers.len() < CLIENTS_MAX {
            let line = Line::new(&mut self.shell, peer, cut);
            self.producers.push((line, ProducerState::default()));
        } else if self.consumers.len() < CLIENTS_MAX {
            self.consumers.push(Line::new(&mut self.shell, peer, cut));
        }
    }

    fn disconnect(&mut self) {
        let producer = self.rng.chance(50);
        let index = self.rng.below(CLIENTS_MAX as u64) as usize;
        if producer && index < self.producers.len() {
            self.producers[index].0.disconnect(&mut self.shell);
        } else if !producer && index < self.consumers.len() {
            self.consumers[index].disconnect(&mut self.shell);
        }
    }

    /// Delivers all messages in transit.
    fn deliver_all(&mut self) {
        for round in 0.. {
            assert!(round < 10_000, "clients and service exchange messages without end");
            let mut moved = false;
            for (line, state) in &mut self.producers {
                moved |= line.pump(&mut self.shell);
                state.take_commands(line);
            }
            for line in &mut self.consumers {
                moved |= line.pump(&mut self.shell);
                while line.poll().is_some() {}
                self.files.append(&mut line.files);
            }
            if !moved {
                break;
            }
        }
        self.producers.retain(|(line, _)| !line.closed);
        self.consumers.retain(|line| !line.closed);
    }

    fn wait(&mut self) {
        let ms = self.rng.pick(&[0, 1, 10, 100, 1_000, 10_000, 3_600_000, 90_000_000]);
        self.shell.advance_ms_within(ms, TICKS_MAX);
    }

    /// Changes the environment: failing files and priorities, slow clients.
    fn disturb(&mut self) {
        match self.rng.below(4) {
            0 => self.shell.fail_file_op = Some(self.shell.file_ops + self.rng.below(4) as usize),
            1 => {
                let fails = self.rng.chance(50);
                self.priority_failed |= fails;
                self.shell.priority_error = fails.then(|| "Operation not permitted".into());
            }
            2 => {
                let fails = self.rng.chance(50);
                self.shell.create_error = fails.then(|| "File exists".into());
            }
            _ => {
                let slow = self.rng.chance(50);
                let index = self.rng.below(CLIENTS_MAX as u64) as usize;
                if let Some(line) = self.consumers.get_mut(index) {
                    line.slow = slow;
                }
                if let Some((line, _)) = self.producers.get_mut(index) {
                    line.slow = slow;
                }
            }
        }
    }

    // ---------------------------------------------------------------- producers

    fn produce(&mut self) {
        let index = self.rng.below(CLIENTS_MAX as u64) as usize;
        let Some((line, state)) = self.producers.get_mut(index) else { return };
        let rng = &mut self.rng;
        let request = match rng.below(16) {
            0 => return state.begin(line, rng),
            1 => return raw(line, &mut self.shell, rng),
            2..=5 => {
                let Some(commit) = state.write(rng) else { return };
                ProducerRequest::CommitData(commit)
            }
            6 => ProducerRequest::CommitData(forged_commit(rng)),
            7 => {
                let Some((region, _)) = &state.memory else { return };
                return forge_memory(rng, region);
            }
            8 => {
                let name = rng.pick(&SOURCES);
                let data_source_descriptor = Some(descriptor(name, rng).into());
                if rng.chance(80) {
                    ProducerRequest::RegisterDataSource(protos::RegisterDataSourceRequest {
                        data_source_descriptor,
                        ..Default::default()
                    })
                } else {
                    ProducerRequest::UpdateDataSource(protos::UpdateDataSourceRequest {
                        data_source_descriptor,
                        ..Default::default()
                    })
                }
            }
            9 => ProducerRequest::UnregisterDataSource(protos::UnregisterDataSourceRequest {
                data_source_name: Some(rng.pick(&SOURCES).into()),
                ..Default::default()
            }),
            10 => ProducerRequest::RegisterTraceWriter(protos::RegisterTraceWriterRequest {
                trace_writer_id: Some(rng.below(5) as u32),
                target_buffer: state.buffer(rng),
                ..Default::default()
            }),
            11 => ProducerRequest::UnregisterTraceWriter(protos::UnregisterTraceWriterRequest {
                trace_writer_id: Some(rng.below(5) as u32),
                ..Default::default()
            }),
            12 => ProducerRequest::ActivateTriggers(protos::ActivateTriggersRequest {
                trigger_names: vec![rng.pick(&TRIGGERS).into()],
                ..Default::default()
            }),
            13 => {
                ProducerRequest::NotifyDataSourceStarted(protos::NotifyDataSourceStartedRequest {
                    data_source_id: Some(state.instance(rng)),
                    ..Default::default()
                })
            }
            14 => {
                ProducerRequest::NotifyDataSourceStopped(protos::NotifyDataSourceStoppedRequest {
                    data_source_id: Some(state.instance(rng)),
                    ..Default::default()
                })
            }
            _ if rng.chance(50) => ProducerRequest::Sync(Default::default()),
            _ => ProducerRequest::CommitData(CommitDataRequest {
                flush_request_id: Some(state.flush),
                ..Default::default()
            }),
        };
        line.call(&request, None);
    }

    // ---------------------------------------------------------------- consumers

    fn consume(&mut self) {
        let index = self.rng.below(CLIENTS_MAX as u64) as usize;
        let rng = &mut self.rng;
        let Some(line) = self.consumers.get_mut(index) else { return };
        let mut file = None;
        let request = match rng.below(18) {
            0 => return raw(line, &mut self.shell, rng),
            1..=3 => {
                file = rng.chance(50).then(|| Descriptor::File(self.shell.open_file()));
                ConsumerRequest::EnableTracing(EnableTracingRequest {
                    trace_config: Some(random_config(rng).into()),
                    attach_notification_only: rng.chance(5).then_some(true),
                    ..Default::default()
                })
            }
            4 => ConsumerRequest::StartTracing(Default::default()),
            5 => ConsumerRequest::DisableTracing(Default::default()),
            6 => ConsumerRequest::FreeBuffers(Default::default()),
            7..=8 => ConsumerRequest::ReadBuffers(Default::default()),
            9 => ConsumerRequest::Flush(protos::FlushRequest {
                timeout_ms: rng.chance(50).then(|| rng.below(1000) as u32),
                flags: rng.chance(30).then(|| rng.below(70_000)),
                ..Default::default()
            }),
            10 => ConsumerRequest::Detach(protos::DetachRequest {
                key: Some(rng.pick(&NAMES).into()),
                ..Default::default()
            }),
            11 => ConsumerRequest::Attach(protos::AttachRequest {
                key: Some(rng.pick(&NAMES).into()),
                ..Default::default()
            }),
            12 => {
                file = rng.chance(50).then(|| Descriptor::File(self.shell.open_file()));
                ConsumerRequest::CloneSession(protos::CloneSessionRequest {
                    selector: Some(match rng.below(3) {
                        0 => Selector::UniqueSessionName(rng.pick(&NAMES).into()),
                        1 => Selector::SessionId(u64::MAX),
                        _ => Selector::SessionId(rng.below(16)),
                    }),
                    skip_trace_filter: rng.chance(20).then_some(true),
                    for_bugreport: rng.chance(20).then_some(true),
                    ..Default::default()
                })
            }
            13 => ConsumerRequest::ChangeTraceConfig(protos::ChangeTraceConfigRequest {
                trace_config: Some(random_config(rng).into()),
                ..Default::default()
            }),
            14 => ConsumerRequest::QueryServiceState(protos::QueryServiceStateRequest {
                sessions_only: rng.chance(50).then_some(true),
                ..Default::default()
            }),
            15 => ConsumerRequest::GetTraceStats(Default::default()),
            16 => ConsumerRequest::ObserveEvents(protos::ObserveEventsRequest {
                events_to_observe: [1, 2, 4].map(protos::ObservableEventsType).to_vec(),
                ..Default::default()
            }),
            _ if rng.chance(50) => ConsumerRequest::QueryCapabilities(Default::default()),
            _ => ConsumerRequest::SaveTraceForBugreport(Default::default()),
        };
        line.call(&request, file);
    }

    // ---------------------------------------------------------------- the end

    /// All clients disconnect, and detached sessions are attached to and freed: nothing may be left.
    fn end(mut self) {
        let shell = &mut self.shell;
        shell.fail_file_op = None;
        shell.priority_error = None;
        self.producers.iter_mut().for_each(|(line, _)| line.disconnect(shell));
        self.consumers.iter_mut().for_each(|line| line.disconnect(shell));
        for (uid, key) in shell.service.detached() {
            let peer = Peer { uid, ..Peer::default() };
            let mut line = Line::<ConsumerPort>::new(shell, peer, usize::MAX);
            let key = Some(key);
            line.call(
                &ConsumerRequest::Attach(protos::AttachRequest { key, ..Default::default() }),
                None,
            );
            while line.pump(shell) {}
            line.disconnect(shell);
        }
        let mut left = shell.service.footprint();
        left.trigger_names = 0;
        assert_eq!(left, Default::default(), "left behind");
        let open: Vec<_> = self
            .files
            .iter()
            .filter(|file| shell.files.get(file).is_some_and(|f| !f.closed))
            .collect();
        assert!(open.is_empty(), "files left open: {open:?}");
        assert!(
            self.priority_failed || shell.boost.is_none(),
            "the service keeps its raised priority"
        );
    }
}

/// Sends any method with random arguments, or random bytes instead of a frame.
fn raw<P: Side>(line: &mut Line<P>, shell: &mut Shell, rng: &mut Rng) {
    let method = rng.below(24) as u32;
    let bytes = rng.bytes(200);
    if method == 23 {
        line.receive(shell, &bytes, None);
    } else {
        line.invoke(shell, 1 << 40 | u64::from(method), method, bytes);
    }
}

impl ProducerState {
    /// The first messages of a producer.
    fn begin(&mut self, line: &mut Line<ProducerPort>, rng: &mut Rng) {
        let page = rng.pick(&[4096u32, 8192, 32768, 0, 12345]);
        let own = rng.chance(20).then(|| Region::heap(1 << 16));
        if let Some(region) = &own {
            self.memory = Some((region.clone(), page as usize));
        }
        let init = protos::InitializeConnectionRequest {
            producer_name: Some(format!("producer{}", rng.below(4))),
            shared_memory_page_size_hint_bytes: Some(page),
            shared_memory_size_hint_bytes: Some(rng.pick(&[0, 32768, 65536, 12345])),
            smb_scraping_mode: Some(protos::InitializeConnectionRequestProducerSMBScrapingMode(
                rng.below(3) as i32,
            )),
            producer_provided_shmem: own.is_some().then_some(true),
            ..Default::default()
        };
        line.call(&ProducerRequest::InitializeConnection(init), own.map(Descriptor::Memory));
        self.commands = line.call(&ProducerRequest::GetAsyncCommand(Default::default()), None);
    }

    fn take_commands(&mut self, line: &mut Line<ProducerPort>) {
        while let Some((call, bytes, fd)) = line.poll() {
            if call != self.commands {
                continue;
            }
            let command = GetAsyncCommandResponse::decode(&bytes).ok().and_then(|r| r.cmd);
            match command {
                Some(Cmd::SetupTracing(setup)) => {
                    if let Some(Descriptor::Memory(region)) = fd {
                        let kb = setup.shared_buffer_page_size_kb.unwrap_or(0) as usize;
                        self.memory = Some((region, kb * 1024));
                    }
                }
                Some(Cmd::StartDataSource(start)) => {
                    self.instances.extend(start.new_instance_id);
                    self.buffers.extend(start.config.and_then(|c| c.target_buffer));
                }
                Some(Cmd::Flush(flush)) => self.flush = flush.request_id.unwrap_or(0),
                _ => {}
            }
        }
    }

    fn instance(&self, rng: &mut Rng) -> u64 {
        let index = rng.below(4) as usize;
        self.instances.iter().rev().nth(index).copied().unwrap_or(index as u64)
    }

    fn buffer(&self, rng: &mut Rng) -> Option<u32> {
        let index = rng.below(4) as usize;
        Some(self.buffers.iter().rev().nth(index).copied().unwrap_or(index as u32))
    }

    /// Writes a chunk to the next free place, sometimes incomplete. Returns the commit for it.
    fn write(&mut self, rng: &mut Rng) -> Option<CommitDataRequest> {
        let (region, page) = self.memory.clone()?;
        let smb = Smb::new(region, PageSize::new(page).ok()?).ok()?;
        let layout = rng.pick(&[Layout::Div1, Layout::Div2, Layout::Div4, Layout::Div14]);
        let writer = rng.below(4) as u16;
        let next = self.chunks.entry(writer).or_default();
        // Sometimes a number is skipped, or used again.
        *next = next.wrapping_add(rng.pick(&[1, 1, 1, 1, 2, 0]));
        let flags = if rng.chance(50) { 0 } else { rng.below(8) as u8 };
        let fragments = rng.below(4) as u16;
        let header = ChunkHeader {
            chunk: ChunkId::new(*next),
            writer: WriterId::new(writer),
            packets: Packets::new(fragments, ChunkFlags(flags)),
        };
        let mut payload = Vec::new();
        for _ in 0..fragments {
            let text = rng.pick(&["", "a", "some words", "0123456789abcdef0123456789abcdef"]);
            // A field `for_testing { str }`, or random bytes.
            let packet = match rng.below(8) {
                0 => rng.bytes(16),
                _ => {
                    let len = text.len() as u8;
                    [&[0xa2, 0x38, len + 2, 0x0a, len], text.as_bytes()].concat()
                }
            };
            payload.push(packet.len() as u8);
            payload.extend(packet);
        }
        let target_buffer = self.buffer(rng);
        for page in 0..smb.page_count() {
            smb.try_partition(page, layout);
            for slot in 0..smb.chunk_count(page) {
                let Some(mut chunk) = smb.try_acquire(page, slot, header) else { continue };
                write(&mut chunk, 0, &payload);
                if rng.chance(80) {
                    chunk.complete();
                }
                let chunk = CommitDataRequestChunksToMove {
                    page: Some(page as u32),
                    chunk: Some(slot as u32),
                    target_buffer,
                    chunk_incomplete: rng.chance(10).then_some(true),
                    ..Default::default()
                };
                return Some(CommitDataRequest {
                    chunks_to_move: vec![chunk],
                    flush_request_id: rng.chance(30).then_some(self.flush),
                    ..Default::default()
                });
            }
        }
        None
    }
}

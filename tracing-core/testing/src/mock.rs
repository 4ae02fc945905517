//! Producers and consumers that do only what a test asks for.
#![allow(unsafe_code)]

use std::collections::BTreeMap;

use protos::consumer_port::Request as ConsumerRequest;
use protos::producer_port::Request as ProducerRequest;
use protos::{
    CommitDataRequest, CommitDataRequestChunksToMove, DataSourceDescriptor, EnableTracingRequest,
    EnableTracingResponse, GetAsyncCommandResponse, GetAsyncCommandResponseCmd as Cmd, Trace,
    TraceConfig, TracePacket,
};
use protozero::Message as _;

use super::shell::{Reply, Shell};
use abi::ids::{BufferId, CallId, ChunkId, ClientId, FileId, WriterId};
use abi::shm::{ChunkFlags, ChunkHeader, Layout, Packets, PageSize, Region, Smb, WritableChunk};
use service::{Input, Peer};

fn write(chunk: &mut WritableChunk, off: usize, bytes: &[u8]) -> bool {
    // SAFETY: the chunk is not committed yet, so the service does not read it.
    unsafe { chunk.write(off, bytes) }
}

/// A producer.
#[derive(Debug)]
pub struct MockProducer {
    /// Its connection.
    pub client: ClientId,
    /// Its shared memory.
    pub smb: Option<Smb>,
    commands: CallId,
    next_chunk: BTreeMap<WriterId, u32>,
}

impl MockProducer {
    /// Connects under `name` and opens the command stream.
    pub fn connect(shell: &mut Shell, name: &str, peer: Peer) -> Self {
        Self::connect_with(
            shell,
            peer,
            protos::InitializeConnectionRequest {
                producer_name: Some(name.into()),
                ..Default::default()
            },
            None,
        )
    }

    /// Connects with all fields of `InitializeConnection`.
    pub fn connect_with(
        shell: &mut Shell,
        peer: Peer,
        request: protos::InitializeConnectionRequest,
        region: Option<Region>,
    ) -> Self {
        let client = shell.connect_producer(peer, false);
        let own = region.clone();
        let page = request.shared_memory_page_size_hint_bytes.unwrap_or(0);
        shell.call_producer(client, ProducerRequest::InitializeConnection(request), region);
        let commands =
            shell.call_producer(client, ProducerRequest::GetAsyncCommand(Default::default()), None);
        let page = PageSize::new(page as usize).ok();
        let smb = own.zip(page).and_then(|(region, page)| Smb::new(region, page).ok());
        Self { client, smb, commands, next_chunk: BTreeMap::new() }
    }

    /// Sends a request; returns the replies that came at once.
    pub fn call(&self, shell: &mut Shell, request: ProducerRequest) -> Vec<Reply> {
        let call = shell.call_producer(self.client, request, None);
        shell.take_replies_to(self.client, call)
    }

    /// Registers a data source.
    pub fn register(&self, shell: &mut Shell, descriptor: DataSourceDescriptor) {
        let request = protos::RegisterDataSourceRequest {
            data_source_descriptor: Some(descriptor.into()),
            ..Default::default()
        };
        self.call(shell, ProducerRequest::RegisterDataSource(request));
    }

    /// Registers a data source that has nothing but a name.
    pub fn register_name(&self, shell: &mut Shell, name: &str) {
        let descriptor =
            DataSourceDescriptor { name: Some(name.into()), ..DataSourceDescriptor::default() };
        self.register(shell, descriptor);
    }

    /// The commands that came since the last call.
    pub fn commands(&mut self, shell: &mut Shell) -> Vec<Cmd> {
        let mut commands = Vec::new();
        for reply in shell.take_replies_to(self.client, self.commands) {
            let Some(bytes) = reply.response else { continue };
            let response = GetAsyncCommandResponse::decode(&bytes).expect("well-formed");
            let Some(command) = response.cmd else { continue };
            if let (Cmd::SetupTracing(setup), Some(region)) = (&command, reply.region) {
                let kb = setup.shared_buffer_page_size_kb.unwrap_or(0) as usize;
                let page = PageSize::new(kb * 1024).expect("legal page");
                self.smb = Some(Smb::new(region, page).expect("legal memory"));
            }
            commands.push(command);
        }
        commands
    }

    /// Writes `packets` into one chunk and completes it. Returns the entry for a commit.
    pub fn fill_chunk(
        &mut self,
        writer: WriterId,
        buffer: BufferId,
        packets: &[TracePacket],
    ) -> CommitDataRequestChunksToMove {
        let mut payload = Vec::new();
        for packet in packets {
            let body = packet.encode_to_vec();
            assert!(body.len() < 1 << 21, "mock packets are small");
            // Lengths as real writers leave them: four bytes, whatever the value.
            let len = body.len() as u32;
            payload.extend_from_slice(&[
                len as u8 & 0x7f | 0x80,
                (len >> 7) as u8 & 0x7f | 0x80,
                (len >> 14) as u8 & 0x7f | 0x80,
                (len >> 21) as u8 & 0x7f,
            ]);
            payload.extend_from_slice(&body);
        }
        self.fill_chunk_with(writer, buffer, &payload, packets.len() as u16)
    }

    /// Writes `payload` into one chunk, sets its packet count, and completes it.
    pub fn fill_chunk_with(
        &mut self,
        writer: WriterId,
        buffer: BufferId,
        payload: &[u8],
        packets: u16,
    ) -> CommitDataRequestChunksToMove {
        let smb = self.smb.as_ref().expect("set up");
        let next_chunk = self.next_chunk.entry(writer).or_default();
        let header = ChunkHeader {
            chunk: ChunkId::new(*next_chunk),
            writer,
            packets: Packets::new(packets, ChunkFlags::default()),
        };
        *next_chunk += 1;
        for page in 0..smb.page_count() {
            smb.try_partition(page, Layout::Div1);
            if let Some(mut chunk) = smb.try_acquire(page, 0, header) {
                assert!(write(&mut chunk, 0, payload), "packets must fit into a page");
                let (page, chunk_index) = (chunk.page_idx() as u32, chunk.chunk_idx() as u32);
                assert!(chunk.complete());
                return CommitDataRequestChunksToMove {
                    page: Some(page),
                    chunk: Some(chunk_index),
                    target_buffer: Some(buffer.get().into()),
                    ..Default::default()
                };
            }
        }
        panic!("shared memory is full");
    }

    /// Writes and commits.
    pub fn write(
        &mut self,
        shell: &mut Shell,
        writer: WriterId,
        buffer: BufferId,
        packets: &[TracePacket],
    ) {
        let chunk = self.fill_chunk(writer, buffer, packets);
        self.commit(shell, chunk);
    }

    /// Commits a chunk.
    pub fn commit(&mut self, shell: &mut Shell, chunk: CommitDataRequestChunksToMove) {
        let request =
            CommitDataRequest { chunks_to_move: vec![chunk], ..CommitDataRequest::default() };
        self.call(shell, ProducerRequest::CommitData(request));
    }

    /// Acknowledges a flush.
    pub fn ack_flush(&self, shell: &mut Shell, id: u64) {
        let request =
            CommitDataRequest { flush_request_id: Some(id), ..CommitDataRequest::default() };
        self.call(shell, ProducerRequest::CommitData(request));
    }

    /// Disconnects, as a process that ends: nobody has its memory but the service.
    pub fn disconnect(self, shell: &mut Shell) {
        let client = self.client;
        drop(self);
        shell.input(Input::ProducerDisconnected { client });
    }
}

/// A consumer.
#[derive(Debug)]
pub struct MockConsumer {
    /// Its connection.
    pub client: ClientId,
    enable: Option<CallId>,
}

impl MockConsumer {
    /// Connects as `uid`.
    pub fn connect(shell: &mut Shell, uid: u32) -> Self {
        let client = shell.connect_consumer(Peer { uid, ..Peer::default() });
        Self { client, enable: None }
    }

    /// Sends a request; returns the replies that came at once.
    pub fn call(&self, shell: &mut Shell, request: ConsumerRequest) -> Vec<Reply> {
        let call = shell.call_consumer(self.client, request, None);
        shell.take_replies_to(self.client, call)
    }

    /// Asks for a session.
    pub fn enable(&mut self, shell: &mut Shell, config: TraceConfig, file: Option<FileId>) {
        let request = EnableTracingRequest {
            trace_config: Some(config.into()),
            ..EnableTracingRequest::default()
        };
        self.enable_with(shell, request, file);
    }

    /// Sends any `EnableTracing`.
    pub fn enable_with(
        &mut self,
        shell: &mut Shell,
        request: EnableTracingRequest,
        file: Option<FileId>,
    ) {
        let call = shell.call_consumer(self.client, ConsumerRequest::EnableTracing(request), file);
        self.enable = Some(call);
    }

    /// Asks for a clone of another session.
    pub fn clone_session(
        &self,
        shell: &mut Shell,
        request: protos::CloneSessionRequest,
        file: Option<FileId>,
    ) -> CallId {
        shell.call_consumer(self.client, ConsumerRequest::CloneSession(request), file)
    }

    /// The answer to `CloneSession`, if it has come.
    pub fn cloned(&self, shell: &mut Shell, call: CallId) -> Option<protos::CloneSessionResponse> {
        let reply = shell.take_replies_to(self.client, call).into_iter().next()?;
        Some(protos::CloneSessionResponse::decode(&reply.response?).expect("well-formed"))
    }

    /// The error of the session's end, empty if none; `None` while the session runs.
    pub fn ended(&mut self, shell: &mut Shell) -> Option<String> {
        let replies = shell.take_replies_to(self.client, self.enable?);
        let reply = replies.into_iter().next()?;
        let Some(bytes) = reply.response else { return Some("rejected".into()) };
        let response = EnableTracingResponse::decode(&bytes).expect("well-formed");
        // A session that ended well has none.
        assert_ne!(response.error.as_deref(), Some(""));
        Some(response.error.unwrap_or_default())
    }

    /// Sends `DisableTracing`.
    pub fn disable(&self, shell: &mut Shell) {
        self.call(shell, ConsumerRequest::DisableTracing(Default::default()));
    }

    /// Sends `StartTracing`.
    pub fn start(&self, shell: &mut Shell) {
        self.call(shell, ConsumerRequest::StartTracing(Default::default()));
    }

    /// Sends `FreeBuffers`.
    pub fn free(&self, shell: &mut Shell) {
        self.call(shell, ConsumerRequest::FreeBuffers(Default::default()));
    }

    /// Starts a flush.
    pub fn flush(&self, shell: &mut Shell, timeout_ms: u32) -> CallId {
        // The flags of an explicit flush by a consumer of the SDK.
        let request = protos::FlushRequest {
            timeout_ms: Some(timeout_ms),
            flags: Some(0x34),
            ..Default::default()
        };
        shell.call_consumer(self.client, ConsumerRequest::Flush(request), None)
    }

    /// Whether a flush succeeded; `None` while it runs.
    pub fn flushed(&self, shell: &mut Shell, call: CallId) -> Option<bool> {
        let replies = shell.take_replies_to(self.client, call);
        replies.first().map(|r| r.response.is_some())
    }

    /// Reads and decodes all packets.
    pub fn read(&self, shell: &mut Shell) -> Vec<TracePacket> {
        let call = shell.call_consumer(
            self.client,
            ConsumerRequest::ReadBuffers(Default::default()),
            None,
        );
        let replies = shell.take_replies_to(self.client, call);
        assert!(replies.last().is_some_and(|r| !r.has_more), "the stream ends");
        decode_replies(&replies)
    }

    /// Reads all packets without decoding them.
    pub fn read_raw(&self, shell: &mut Shell) -> Vec<Reply> {
        let request = ConsumerRequest::ReadBuffers(Default::default());
        let call = shell.call_consumer(self.client, request, None);
        shell.take_replies_to(self.client, call)
    }

    /// Disconnects.
    pub fn disconnect(self, shell: &mut Shell) {
        shell.input(Input::ConsumerDisconnected { client: self.client });
    }
}

/// The packets in `ReadBuffers` replies.
#[must_use]
pub fn decode_replies(replies: &[Reply]) -> Vec<TracePacket> {
    let mut packets = Vec::new();
    let mut bytes = Vec::new();
    for reply in replies {
        let Some(response) = &reply.response else { continue };
        let response = protos::ReadBuffersResponse::decode(response).expect("well-formed");
        for slice in response.slices {
            bytes.extend_from_slice(slice.data.as_deref().unwrap_or_default());
            if slice.last_slice_for_packet == Some(true) {
                packets.push(TracePacket::decode(&bytes).expect("well-formed packet"));
                bytes.clear();
            }
        }
    }
    assert!(bytes.is_empty(), "a packet without an end");
    packets
}

/// The packets in a file.
#[must_use]
pub fn decode_file(bytes: &[u8]) -> Vec<TracePacket> {
    Trace::decode(bytes).expect("a valid trace").packet
}

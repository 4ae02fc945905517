//! A connection: the client, the service's end, and the bytes between them.

use std::io::IoSlice;

use bytes::Bytes;

use crate::shell::Shell;
use abi::ids::{CallId, ClientId, FileId};
use abi::ipc::port::{ConsumerPort, Port, ProducerPort};
use abi::ipc::{Body, Client, ClientEvent, Frame, Host, HostEvent, Invoke, Outbox, Rejected};
use abi::shm::Region;
use service::{Input, Peer};

/// A stand-in for a file descriptor.
#[derive(Clone, Debug)]
pub(super) enum Descriptor {
    Memory(Region),
    File(FileId),
}

/// What differs between the two ports.
pub(super) trait Side: Port {
    /// A connection was opened.
    fn connected(client: ClientId, peer: Peer) -> Input;
    /// A request came.
    fn requested(
        client: ClientId,
        call: Option<CallId>,
        request: Self::Request,
        fd: Option<Descriptor>,
    ) -> Input;
    /// The connection was closed.
    fn disconnected(client: ClientId) -> Input;
}

impl Side for ProducerPort {
    fn connected(client: ClientId, peer: Peer) -> Input {
        Input::ProducerConnected { client, peer, in_process: false }
    }

    fn requested(
        client: ClientId,
        call: Option<CallId>,
        mut request: Self::Request,
        fd: Option<Descriptor>,
    ) -> Input {
        let region = match fd {
            Some(Descriptor::Memory(region)) => Some(region),
            _ => None,
        };
        if let Self::Request::InitializeConnection(init) = &mut request {
            clamp(&mut init.shared_memory_size_hint_bytes, 128 * 1024);
        }
        Input::ProducerRequest { client, call, request, region }
    }

    fn disconnected(client: ClientId) -> Input {
        Input::ProducerDisconnected { client }
    }
}

impl Side for ConsumerPort {
    fn connected(client: ClientId, peer: Peer) -> Input {
        Input::ConsumerConnected { client, peer }
    }

    fn requested(
        client: ClientId,
        call: Option<CallId>,
        mut request: Self::Request,
        fd: Option<Descriptor>,
    ) -> Input {
        let file = match fd {
            Some(Descriptor::File(file)) => Some(file),
            _ => None,
        };
        if let Self::Request::EnableTracing(enable) = &mut request
            && let Some(config) = &mut enable.trace_config
        {
            let config = std::sync::Arc::make_mut(config);
            // The service would grant these sizes, but a fuzzer has little memory.
            config.buffers.iter_mut().for_each(|b| clamp(&mut b.size_kb, 256));
            config.producers.iter_mut().for_each(|p| clamp(&mut p.shm_size_kb, 128));
        }
        Input::ConsumerRequest { client, call, request, file }
    }

    fn disconnected(client: ClientId) -> Input {
        Input::ConsumerDisconnected { client }
    }
}

fn clamp(value: &mut Option<u32>, max: u32) {
    *value = value.map(|v| v.min(max));
}

/// One connection.
pub(super) struct Line<P: Side> {
    pub(super) id: ClientId,
    pub(super) client: Client<P, Descriptor>,
    host: Host<P, Descriptor, Bytes>,
    /// How many bytes arrive at a time.
    cut: usize,
    /// Its client does not read.
    pub(super) slow: bool,
    /// It is closed.
    pub(super) closed: bool,
    /// Files that the service has received.
    pub(super) files: Vec<FileId>,
}

impl<P: Side> Line<P> {
    pub(super) fn new(shell: &mut Shell, peer: Peer, cut: usize) -> Self {
        let id = shell.connect(|id| P::connected(id, peer));
        let (client, host) = (Client::new(), Host::default());
        Self { id, client, host, cut, slow: false, closed: false, files: Vec::new() }
    }

    /// Makes a call, as our clients do.
    pub(super) fn call(&mut self, request: &P::Request, fd: Option<Descriptor>) -> CallId {
        self.client.invoke(request, true, fd).unwrap_or(CallId::new(0))
    }

    /// Makes a call with any method and arguments.
    pub(super) fn invoke(&mut self, shell: &mut Shell, id: u64, method_id: u32, args: Vec<u8>) {
        let drop_reply = id == 0;
        let invoke = Invoke { service_id: 1, method_id, args: &args, drop_reply };
        let frame = Frame { request_id: id, body: Some(Body::Invoke(invoke)) };
        if let Ok(bytes) = frame.encode() {
            self.receive(shell, &bytes, None);
        }
    }

    /// Sends bytes to the service.
    pub(super) fn receive(&mut self, shell: &mut Shell, bytes: &[u8], fd: Option<Descriptor>) {
        if self.host.receive(bytes, fd).is_err() {
            return self.disconnect(shell);
        }
        while self.host.has_events() {
            let event = self.host.poll_event();
            let (refused, bytes) = (self.host.take_refused(), self.host.take_decoded());
            shell.input(Input::FramesDecoded { client: self.id, refused, bytes });
            if let Some(HostEvent::Call { call, request, fd }) = event {
                if let Some(Descriptor::File(file)) = fd {
                    self.files.push(file);
                }
                shell.input(P::requested(self.id, call, request, fd));
            }
        }
    }

    pub(super) fn disconnect(&mut self, shell: &mut Shell) {
        if !std::mem::replace(&mut self.closed, true) {
            shell.input(P::disconnected(self.id));
        }
        self.client.close();
    }

    /// Delivers everything in transit once; returns whether there was something.
    pub(super) fn pump(&mut self, shell: &mut Shell) -> bool {
        let mut moved = false;
        while !self.closed
            && self.host.queued_len() < daemon::limits::CONSUMER_QUEUE_BYTES_PAUSE
            && let Some((bytes, fd)) = piece(self.client.outbox(), self.cut)
        {
            self.receive(shell, &bytes, fd);
            moved = true;
        }
        if shell.disconnected.contains(&self.id) && !self.closed {
            self.closed = true;
            self.client.close();
        }
        for reply in shell.take_replies(self.id) {
            moved = true;
            let result = reply.response.ok_or(Rejected);
            let fd = reply.region.map(Descriptor::Memory);
            let fits = self.host.reply(reply.call, result, reply.has_more, fd).is_ok();
            assert!(fits, "a reply that is too long for a frame");
        }
        let queued = self.host.queued_len();
        assert!(
            queued <= daemon::limits::CONSUMER_QUEUE_BYTES_MAX,
            "{queued} bytes wait for one client"
        );
        if self.closed || self.slow || queued == 0 {
            return moved;
        }
        while let Some((bytes, fd)) = piece(self.host.outbox(), self.cut) {
            assert!(self.client.receive(&bytes, fd).is_ok(), "the service sent a bad frame");
        }
        shell.drained(self.id);
        true
    }

    /// The next reply that the client got.
    pub(super) fn poll(&mut self) -> Option<(CallId, Vec<u8>, Option<Descriptor>)> {
        loop {
            if let ClientEvent::Reply { call, result: Ok(bytes), .. } = self.client.poll_event()? {
                return Some((call, bytes, self.client.take_fd()));
            }
        }
    }
}

/// Takes at most `cut` bytes out of a queue, and the descriptor that goes with them.
fn piece<M: AsRef<[u8]>>(
    queue: &mut Outbox<Descriptor, M>,
    cut: usize,
) -> Option<(Vec<u8>, Option<Descriptor>)> {
    let mut parts: Vec<IoSlice<'_>> = Vec::new();
    let fd = queue.next(&mut parts).cloned();
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).take(cut).collect();
    queue.advance(bytes.len());
    (!bytes.is_empty()).then_some((bytes, fd))
}

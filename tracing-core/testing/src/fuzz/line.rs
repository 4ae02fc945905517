//! A client and the service's end of its connection, and the bytes between the two.

use std::io::IoSlice;

use bytes::Bytes;

use crate::shell::Shell;
use abi::ids::{CallId, ClientId, FileId};
use abi::ipc::port::{ConsumerPort, Port, ProducerPort};
use abi::ipc::{Body, Client, ClientEvent, Frame, Host, HostEvent, Invoke, Outbox, Rejected};
use abi::shm::Region;
use service::{Input, Peer};

/// What stands for a descriptor.
#[derive(Clone, Debug)]
pub(super) enum Thing {
    Memory(Region),
    File(FileId),
}

/// What the two ports do not share.
pub(super) trait Side: Port {
    /// A connection.
    fn connected(client: ClientId, peer: Peer) -> Input;
    /// A request that came through one.
    fn asked(
        client: ClientId,
        call: Option<CallId>,
        request: Self::Request,
        fd: Option<Thing>,
    ) -> Input;
    /// The end of one.
    fn gone(client: ClientId) -> Input;
}

impl Side for ProducerPort {
    fn connected(client: ClientId, peer: Peer) -> Input {
        Input::ProducerConnected { client, peer, in_process: false }
    }

    fn asked(
        client: ClientId,
        call: Option<CallId>,
        mut request: Self::Request,
        fd: Option<Thing>,
    ) -> Input {
        let region = match fd {
            Some(Thing::Memory(region)) => Some(region),
            _ => None,
        };
        if let Self::Request::InitializeConnection(init) = &mut request {
            clamp(&mut init.shared_memory_size_hint_bytes, 128 * 1024);
        }
        Input::ProducerRequest { client, call, request, region }
    }

    fn gone(client: ClientId) -> Input {
        Input::ProducerDisconnected { client }
    }
}

impl Side for ConsumerPort {
    fn connected(client: ClientId, peer: Peer) -> Input {
        Input::ConsumerConnected { client, peer }
    }

    fn asked(
        client: ClientId,
        call: Option<CallId>,
        mut request: Self::Request,
        fd: Option<Thing>,
    ) -> Input {
        let file = match fd {
            Some(Thing::File(file)) => Some(file),
            _ => None,
        };
        if let Self::Request::EnableTracing(enable) = &mut request
            && let Some(config) = &mut enable.trace_config
        {
            // A service gives what it is asked for; a fuzzer has not that much.
            config.buffers.iter_mut().for_each(|b| clamp(&mut b.size_kb, 256));
            config.producers.iter_mut().for_each(|p| clamp(&mut p.shm_size_kb, 128));
        }
        Input::ConsumerRequest { client, call, request, file }
    }

    fn gone(client: ClientId) -> Input {
        Input::ConsumerDisconnected { client }
    }
}

fn clamp(value: &mut Option<u32>, max: u32) {
    *value = value.map(|v| v.min(max));
}

/// One connection.
pub(super) struct Line<P: Side> {
    pub(super) id: ClientId,
    pub(super) client: Client<P, Thing>,
    host: Host<P, Thing>,
    /// Bytes that arrive at a time.
    cut: usize,
    /// Its client reads nothing for now.
    pub(super) slow: bool,
    /// Nothing goes through any more.
    pub(super) over: bool,
    /// Files of which the service knows.
    pub(super) files: Vec<FileId>,
}

impl<P: Side> Line<P> {
    pub(super) fn new(shell: &mut Shell, peer: Peer, cut: usize) -> Self {
        let id = shell.connect(|id| P::connected(id, peer));
        let (client, host) = (Client::new(), Host::default());
        Self { id, client, host, cut, slow: false, over: false, files: Vec::new() }
    }

    /// Calls as clients of ours do.
    pub(super) fn call(&mut self, request: &P::Request, fd: Option<Thing>) -> CallId {
        self.client.invoke(request, true, fd).unwrap_or(CallId(0))
    }

    /// Invokes what no client of ours would.
    pub(super) fn invoke(&mut self, shell: &mut Shell, id: u64, method_id: u32, args: Vec<u8>) {
        let drop_reply = id == 0;
        let invoke = Invoke { service_id: 1, method_id, args: Bytes::from(args), drop_reply };
        let frame = Frame { request_id: id, body: Some(Body::Invoke(invoke)) };
        if let Ok((head, tail)) = frame.encode() {
            self.receive(shell, &[&head[..], &tail].concat(), None);
        }
    }

    /// Takes bytes that may be anything.
    pub(super) fn receive(&mut self, shell: &mut Shell, bytes: &[u8], fd: Option<Thing>) {
        if self.host.receive(bytes, fd).is_err() {
            return self.hang_up(shell);
        }
        while let Some(event) = self.host.poll_event() {
            if let HostEvent::Call { call, request, fd } = event {
                if let Some(Thing::File(file)) = fd {
                    self.files.push(file);
                }
                shell.input(P::asked(self.id, call, request, fd));
            }
        }
    }

    pub(super) fn hang_up(&mut self, shell: &mut Shell) {
        if !std::mem::replace(&mut self.over, true) {
            shell.input(P::gone(self.id));
        }
        self.client.close();
    }

    /// Lets everything through that can go, once; whether there was something.
    pub(super) fn pump(&mut self, shell: &mut Shell) -> bool {
        let mut moved = false;
        while !self.over
            && self.host.queued_len() < daemon::limits::CONSUMER_QUEUE_BYTES_PAUSE
            && let Some((bytes, fd)) = piece(self.client.outbox(), self.cut)
        {
            self.receive(shell, &bytes, fd);
            moved = true;
        }
        if shell.disconnected.contains(&self.id) && !self.over {
            self.over = true;
            self.client.close();
        }
        for reply in shell.take_replies(self.id) {
            moved = true;
            let result = reply.response.ok_or(Rejected);
            let fd = reply.region.map(Thing::Memory);
            let fits = self.host.reply(reply.call, result, reply.has_more, fd).is_ok();
            assert!(fits, "a reply that is too long for a frame");
        }
        let queued = self.host.queued_len();
        assert!(
            queued <= daemon::limits::CONSUMER_QUEUE_BYTES_MAX,
            "{queued} bytes wait for one client"
        );
        if self.over || self.slow || queued == 0 {
            return moved;
        }
        while let Some((bytes, fd)) = piece(self.host.outbox(), self.cut) {
            assert!(self.client.receive(&bytes, fd).is_ok(), "the service sent a bad frame");
        }
        shell.drained(self.id);
        true
    }

    /// What the client was told.
    pub(super) fn poll(&mut self) -> Option<(CallId, Bytes, Option<Thing>)> {
        loop {
            if let ClientEvent::Reply { call, result: Ok(bytes), .. } = self.client.poll_event()? {
                return Some((call, bytes, self.client.take_fd()));
            }
        }
    }
}

/// Takes at most `cut` bytes out of a queue, and the descriptor that goes with them.
fn piece(queue: &mut Outbox<Thing>, cut: usize) -> Option<(Vec<u8>, Option<Thing>)> {
    let mut parts: Vec<IoSlice<'_>> = Vec::new();
    let fd = queue.next(&mut parts).cloned();
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).take(cut).collect();
    queue.advance(bytes.len());
    (!bytes.is_empty()).then_some((bytes, fd))
}

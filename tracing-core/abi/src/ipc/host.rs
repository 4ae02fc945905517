//! The service's end of a connection.
//!
//! It keeps three things: the bytes of frames that were not handled yet, one descriptor that no request took, and
//! the bytes that wait to be sent. A frame is decoded when its event is taken out, one at a time: a request may take
//! many times the memory of its frame. A reply names its call by the client's own number, so there is no table of
//! calls that a client could grow.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::unwrap_used)]

use core::fmt;
use std::collections::VecDeque;

use super::Rejected;
use super::bind::{BindReply, Method};
use super::call::{Invoke, InvokeReply};
use super::cut::FrameError;
use super::frame::{Body, Deframer, Frame, PeerIdentity};
use super::outbox::Outbox;
use super::port::Port;
use crate::ids::CallId;
use crate::limits::{IPC_BINDS_MAX, IPC_DECODED_BYTES_MAX};
use protozero::DecodeMemory;

/// Upstream counts the services of a socket from 1, and each of our sockets has one.
const SERVICE_ID: u32 = 1;

/// An event of a client.
pub enum HostEvent<P: Port, F> {
    /// A method, with its arguments.
    Call {
        /// The call to reply to; `None` if no reply is wanted.
        call: Option<CallId>,
        /// Method and arguments.
        request: P::Request,
        /// The descriptor, for methods that take one.
        fd: Option<F>,
    },
    /// Only meaningful where the socket itself does not identify the peer.
    PeerIdentity(PeerIdentity),
}

impl<P: Port, F: fmt::Debug> fmt::Debug for HostEvent<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { call, request, fd } => f
                .debug_struct("Call")
                .field("call", call)
                .field("request", request)
                .field("fd", fd)
                .finish(),
            Self::PeerIdentity(identity) => f.debug_tuple("PeerIdentity").field(identity).finish(),
        }
    }
}

/// One connection of a client to port `P`. `M` is the memory of response messages.
pub struct Host<P: Port, F, M = Vec<u8>> {
    deframer: Deframer,
    /// Events that had to be decoded early, because a later descriptor is not theirs; and how many bytes each took.
    events: VecDeque<(HostEvent<P, F>, usize)>,
    /// The sum of these bytes.
    waiting: usize,
    /// Binds that were answered.
    binds: u32,
    outbox: Outbox<F, M>,
    /// The last one counts; an older one that no request took is closed.
    fd: Option<F>,
    undecodable: u64,
    /// Frames that were no call, until somebody takes the number.
    refused: u64,
    /// Bytes of frames, and of the structs that were made of them, until somebody takes the number.
    decoded: usize,
}

/// Frames in a row that are no call and are handled at once.
const REFUSED_AT_ONCE: usize = 64;

impl<P: Port, F, M> Default for Host<P, F, M> {
    fn default() -> Self {
        Self {
            deframer: Deframer::default(),
            events: VecDeque::new(),
            waiting: 0,
            binds: 0,
            outbox: Outbox::default(),
            fd: None,
            undecodable: 0,
            refused: 0,
            decoded: 0,
        }
    }
}

impl<P: Port, F, M: AsRef<[u8]>> Host<P, F, M> {
    /// Takes bytes from the client and the descriptor that came with them. Take the
    /// [events](Self::poll_event) out before more is received: their bytes are kept until then.
    ///
    /// # Errors
    /// When a frame is too long: close the connection.
    pub fn receive(&mut self, bytes: &[u8], fd: Option<F>) -> Result<(), FrameError> {
        if fd.is_some() {
            // Frames that came before the descriptor must not take it.
            self.decode_waiting();
            self.fd = fd;
        }
        self.deframer.push(bytes)
    }

    /// The next event of the client. Binds and frames that are no call are answered on the way, at most 64 of them:
    /// without an event there may be more to do, if there still [are events](Self::has_events).
    pub fn poll_event(&mut self) -> Option<HostEvent<P, F>> {
        match self.events.pop_front() {
            Some((event, bytes)) => {
                self.waiting = self.waiting.saturating_sub(bytes);
                Some(event)
            }
            None => self.next_event(REFUSED_AT_ONCE).0,
        }
    }

    /// How many frames there were since the last call that did not call a method of the port.
    pub fn take_refused(&mut self) -> u64 {
        core::mem::take(&mut self.refused)
    }

    /// Bytes that were decoded since the last [`take_decoded`](Self::take_decoded): those of frames, and of the structs
    /// of requests, which may be many times as many.
    #[must_use]
    pub fn decoded(&self) -> usize {
        self.decoded
    }

    /// The same, and counts anew.
    pub fn take_decoded(&mut self) -> usize {
        core::mem::take(&mut self.decoded)
    }

    /// Whether [`poll_event`](Self::poll_event) has something to do: there may be no event in it.
    #[must_use]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty() || self.deframer.has_frames()
    }

    /// Queues a reply; the response message is not copied.
    ///
    /// # Errors
    /// When the message is too long for a frame. The client is told that the call was rejected,
    /// which ends the call. A frame that is too long would make the client disconnect.
    pub fn reply(
        &mut self,
        call: CallId,
        result: Result<M, Rejected>,
        has_more: bool,
        fd: Option<F>,
    ) -> Result<(), FrameError> {
        let id = call.get();
        let sent = match result {
            Ok(message) => {
                let reply = InvokeReply::Succeeded { has_more, reply: message.as_ref() };
                encode(id, Body::InvokeReply(reply))
                    .map(|head| self.outbox.push(head, Some(message), fd))
            }
            Err(Rejected) => self.send(id, Body::InvokeReply(InvokeReply::Rejected), fd),
        };
        if sent.is_err() {
            let _ = self.send(id, Body::InvokeReply(InvokeReply::Rejected), None);
        }
        sent
    }

    /// The bytes that wait to be sent.
    pub fn outbox(&mut self) -> &mut Outbox<F, M> {
        &mut self.outbox
    }

    /// Bytes that wait to be sent.
    #[must_use]
    pub fn queued_len(&self) -> usize {
        self.outbox.len()
    }

    /// About how much memory the connection takes: what it received and what waits to be sent, bytes.
    #[must_use]
    pub fn memory(&self) -> usize {
        let events = self.events.capacity().saturating_mul(size_of::<(HostEvent<P, F>, usize)>());
        let events = events.saturating_add(self.waiting);
        self.deframer.memory().saturating_add(self.outbox.memory()).saturating_add(events)
    }

    /// Frames that were not protobuf and were therefore skipped.
    #[must_use]
    pub fn undecodable(&self) -> u64 {
        self.undecodable
    }

    /// Decodes all that waits.
    pub(super) fn decode_waiting(&mut self) {
        while let (Some(event), bytes) = self.next_event(usize::MAX) {
            self.events.push_back((event, bytes));
            self.waiting = self.waiting.saturating_add(bytes);
        }
    }

    /// Handles frames until one is an event, or `max` were none. Returns how many bytes were decoded, too.
    fn next_event(&mut self, max: usize) -> (Option<HostEvent<P, F>>, usize) {
        let before = self.decoded;
        let mut deframer = core::mem::take(&mut self.deframer);
        let mut event = None;
        for _ in 0..max {
            let Some(frame) = deframer.pop() else { break };
            self.decoded = self.decoded.saturating_add(frame.len());
            match Frame::decode(frame) {
                Ok(frame) => event = self.handle(frame),
                Err(_) => self.undecodable = self.undecodable.saturating_add(1),
            }
            if event.is_some() {
                break;
            }
            self.refused = self.refused.saturating_add(1);
        }
        deframer.trim();
        self.deframer = deframer;
        (event, self.decoded.saturating_sub(before))
    }

    fn handle(&mut self, frame: Frame<'_>) -> Option<HostEvent<P, F>> {
        let id = frame.request_id;
        match frame.body {
            Some(Body::Bind(bind)) => {
                self.binds = self.binds.saturating_add(1);
                let known = self.binds <= IPC_BINDS_MAX && bind.service_name == P::NAME;
                let reply = if known { bind_reply::<P>() } else { BindReply::default() };
                // Method tables are far shorter than a frame.
                let _ = self.send(id, Body::BindReply(reply), None);
            }
            Some(Body::Invoke(invoke)) => return self.invoke(id, &invoke),
            Some(Body::PeerIdentity(identity)) => return Some(HostEvent::PeerIdentity(identity)),
            // A host receives no replies, so they count as unknown messages.
            Some(Body::BindReply(_) | Body::InvokeReply(_) | Body::RequestError(_)) | None => {
                let _ = self.send(id, Body::RequestError("unknown request".into()), None);
            }
        }
        None
    }

    fn invoke(&mut self, id: u64, invoke: &Invoke<'_>) -> Option<HostEvent<P, F>> {
        let request = if invoke.service_id == SERVICE_ID {
            let growth = DecodeMemory::new(IPC_DECODED_BYTES_MAX);
            let request = P::decode_within(invoke.method_id, invoke.args, &growth).ok();
            let grown = IPC_DECODED_BYTES_MAX.saturating_sub(growth.left());
            self.decoded = self.decoded.saturating_add(grown);
            request
        } else {
            None
        };
        let Some(request) = request else {
            // This is sent even if no reply is wanted; see the table in `call`.
            let _ = self.send(id, Body::InvokeReply(InvokeReply::Unroutable), None);
            return None;
        };
        let fd = if P::takes_descriptor(&request) { self.fd.take() } else { None };
        let call = (!invoke.drop_reply).then_some(CallId::new(id));
        Some(HostEvent::Call { call, request, fd })
    }

    fn send(&mut self, id: u64, body: Body<'_>, fd: Option<F>) -> Result<(), FrameError> {
        let bytes = encode(id, body)?;
        self.outbox.push(bytes, None, fd);
        Ok(())
    }
}

impl<P: Port, F, M: AsRef<[u8]>> fmt::Debug for Host<P, F, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("port", &P::NAME)
            .field("partial", &self.deframer.partial_len())
            .field("queued", &self.outbox.len())
            .finish_non_exhaustive()
    }
}

fn encode(request_id: u64, body: Body<'_>) -> Result<Vec<u8>, FrameError> {
    Frame { request_id, body: Some(body) }.encode()
}

/// The methods of a port.
fn bind_reply<P: Port>() -> BindReply {
    let methods =
        P::METHODS.iter().map(|method| Method { id: method.id, name: method.name.into() });
    BindReply { success: true, service_id: SERVICE_ID, methods: methods.collect() }
}

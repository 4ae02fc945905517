//! The client's end of a connection.
//!
//! ```text
//!           new: bind is queued
//!                   │
//!      ┌────────> Binding ── refused, or closed ──> Closed: every call is rejected,
//!  calls wait       │ bind reply                      ^    then Disconnected, once
//!                   v                                 │
//!                 Bound ── close ─────────────────────┘
//! ```
//!
//! Methods are called by name: their numbers come from the bind reply. A call of a method that the service
//! does not have is rejected here, without a frame, as if the service had rejected it.

#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::unwrap_used)]

use crate::map::SortedSet;
use core::fmt;
use core::marker::PhantomData;
use std::collections::VecDeque;

use super::Rejected;
use super::bind::{Bind, BindReply, Method};
use super::call::{Invoke, InvokeReply};
use super::cut::FrameError;
use super::frame::{Body, Deframer, Frame};
use super::outbox::Outbox;
use super::port::Port;
use crate::ids::CallId;

/// An event for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// The service is bound and its methods are known.
    Bound,
    /// A reply, or one of a stream of them.
    Reply {
        /// The call it answers.
        call: CallId,
        /// The encoded response message.
        result: Result<Vec<u8>, Rejected>,
        /// Another reply will come.
        has_more: bool,
    },
    /// The connection ended; no event comes after this.
    Disconnected,
}

/// The connection is closed, so no method can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientClosed;

impl fmt::Display for ClientClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection to the service is closed")
    }
}

impl core::error::Error for ClientClosed {}

enum State<F> {
    Binding { request_id: u64, waiting: Vec<Call<F>> },
    Bound { service_id: u32, methods: Vec<Method> },
    Closed,
}

struct Call<F> {
    id: u64,
    method: &'static str,
    args: Vec<u8>,
    want_reply: bool,
    fd: Option<F>,
}

/// One connection to a service of port `P`.
pub struct Client<P: Port, F> {
    deframer: Deframer,
    events: VecDeque<ClientEvent>,
    outbox: Outbox<F>,
    state: State<F>,
    last_id: u64,
    pending: SortedSet<u64>,
    fd: Option<F>,
    port: PhantomData<fn() -> P>,
}

impl<P: Port, F> Default for Client<P, F> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Port, F> Client<P, F> {
    /// A client that binds; the connection may not be established yet.
    #[must_use]
    pub fn new() -> Self {
        let mut this = Self {
            deframer: Deframer::default(),
            events: VecDeque::new(),
            outbox: Outbox::default(),
            state: State::Binding { request_id: 1, waiting: Vec::new() },
            last_id: 1,
            pending: SortedSet::new(),
            fd: None,
            port: PhantomData,
        };
        let bind = Body::Bind(Bind { service_name: P::NAME.into() });
        // The name of a service is far shorter than a frame.
        let _ = this.send(1, bind, None);
        this
    }

    /// Calls a method. Before the service is bound the call waits.
    ///
    /// The reply comes as an event; without `want_reply` none does. A call that cannot be made (the
    /// service lacks the method, the arguments are too long for a frame) is rejected by an event.
    ///
    /// # Errors
    /// When the connection is closed.
    pub fn invoke(
        &mut self,
        request: &P::Request,
        want_reply: bool,
        fd: Option<F>,
    ) -> Result<CallId, ClientClosed> {
        if matches!(self.state, State::Closed) {
            return Err(ClientClosed);
        }
        self.last_id = self.last_id.saturating_add(1);
        let id = self.last_id;
        if want_reply {
            self.pending.insert(id);
        }
        let call =
            Call { id, method: P::method_name(request), args: P::encode(request), want_reply, fd };
        match &mut self.state {
            State::Binding { waiting, .. } => waiting.push(call),
            State::Bound { .. } => self.call(call),
            State::Closed => {}
        }
        Ok(CallId::new(id))
    }

    /// Takes bytes from the host and the descriptor that came with them.
    ///
    /// # Errors
    /// When a frame is too long: close the connection.
    pub fn receive(&mut self, bytes: &[u8], fd: Option<F>) -> Result<(), FrameError> {
        if fd.is_some() {
            self.fd = fd;
        }
        self.deframer.push(bytes)?;
        let mut deframer = core::mem::take(&mut self.deframer);
        while let Some(frame) = deframer.pop() {
            // Frames that are not protobuf are skipped, as by the host.
            if let Ok(frame) = Frame::decode(frame) {
                self.handle(frame);
            }
        }
        self.deframer = deframer;
        Ok(())
    }

    /// The connection broke or is no longer needed: rejects all calls that wait.
    pub fn close(&mut self) {
        if matches!(self.state, State::Closed) {
            return;
        }
        self.state = State::Closed;
        self.outbox.clear();
        for id in std::mem::take(&mut self.pending) {
            self.rejected(id);
        }
        self.events.push_back(ClientEvent::Disconnected);
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// The bytes that wait to be sent.
    pub fn outbox(&mut self) -> &mut Outbox<F> {
        &mut self.outbox
    }

    /// The last descriptor received, unless it was taken already.
    pub fn take_fd(&mut self) -> Option<F> {
        self.fd.take()
    }

    /// Whether the service has a method of this name; `None` until it is bound.
    #[must_use]
    pub fn has_method(&self, name: &str) -> Option<bool> {
        match &self.state {
            State::Bound { methods, .. } => Some(method_id(methods, name).is_some()),
            State::Binding { .. } | State::Closed => None,
        }
    }

    /// Whether the connection is closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    fn handle(&mut self, frame: Frame<'_>) {
        let id = frame.request_id;
        match frame.body {
            Some(Body::BindReply(reply)) => self.bound(id, reply),
            Some(Body::InvokeReply(reply)) => {
                // An unknown id is a reply that no call waits for; see `call`.
                if !self.pending.contains(&id) {
                    return;
                }
                let (result, has_more) = match reply {
                    InvokeReply::Succeeded { has_more, reply } => (Ok(reply.to_vec()), has_more),
                    InvokeReply::Unroutable | InvokeReply::Rejected => (Err(Rejected), false),
                };
                if !has_more {
                    self.pending.remove(&id);
                }
                self.events.push_back(ClientEvent::Reply {
                    call: CallId::new(id),
                    result,
                    has_more,
                });
            }
            Some(Body::RequestError(_)) => {
                // Upstream drops the call here, and its caller waits for ever.
                if matches!(self.state, State::Binding { request_id, .. } if request_id == id) {
                    self.close();
                } else if self.pending.remove(&id) {
                    self.rejected(id);
                }
            }
            Some(Body::Bind(_) | Body::Invoke(_) | Body::PeerIdentity(_)) | None => {}
        }
    }

    fn bound(&mut self, id: u64, reply: BindReply) {
        let State::Binding { request_id, waiting } = &mut self.state else {
            return;
        };
        if *request_id != id {
            return;
        }
        if !reply.success {
            self.close();
            return;
        }
        let waiting = std::mem::take(waiting);
        self.state = State::Bound { service_id: reply.service_id, methods: reply.methods };
        self.events.push_back(ClientEvent::Bound);
        for call in waiting {
            self.call(call);
        }
    }

    fn call(&mut self, call: Call<F>) {
        let State::Bound { service_id, methods } = &self.state else {
            return;
        };
        let sent = match method_id(methods, call.method) {
            None => false,
            Some(method_id) => {
                let invoke = Invoke {
                    service_id: *service_id,
                    method_id,
                    args: &call.args,
                    drop_reply: !call.want_reply,
                };
                self.send(call.id, Body::Invoke(invoke), call.fd).is_ok()
            }
        };
        if !sent && self.pending.remove(&call.id) {
            self.rejected(call.id);
        }
    }

    fn rejected(&mut self, id: u64) {
        self.events.push_back(ClientEvent::Reply {
            call: CallId::new(id),
            result: Err(Rejected),
            has_more: false,
        });
    }

    fn send(&mut self, request_id: u64, body: Body<'_>, fd: Option<F>) -> Result<(), FrameError> {
        let bytes = Frame { request_id, body: Some(body) }.encode()?;
        self.outbox.push(bytes, None, fd);
        Ok(())
    }
}

/// The number of a method. There are about a dozen.
fn method_id(methods: &[Method], name: &str) -> Option<u32> {
    methods.iter().find(|method| method.id != 0 && method.name == name).map(|method| method.id)
}

impl<P: Port, F> fmt::Debug for Client<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("port", &P::NAME)
            .field("pending", &self.pending.len())
            .field("queued", &self.outbox.len())
            .field("closed", &self.is_closed())
            .finish_non_exhaustive()
    }
}

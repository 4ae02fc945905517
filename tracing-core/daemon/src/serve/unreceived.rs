//! Sockets of connections that have ended, and whose peers have not received all that was sent to them.
//!
//! The kernel keeps what was sent until the peer receives it or is gone, on the account of this process's control
//! group, also when this end is closed. So the socket stays open, and keeps its place among the connections of its user
//! ([`connections`](super::connections)): a user that connects, asks, and leaves without receiving the answer, again
//! and again, is refused soon.
//!
//! ```text
//!   connection ends ──┬── all was received ─────────────────────────────┬──> closer, and the place is free
//!                     └── else: it is asked about ten times a second ───┘
//! ```

use std::collections::VecDeque;

use super::connections::Slot;
use crate::system::closer::{Closer, Origin};
use abi::sync::{Arc, Mutex, lock};
use os::socket::Stream;

/// How often the kernel is asked, ns.
const ASK_NS: u64 = 100_000_000;

/// How many sockets it is asked about at a time.
const SOCKETS_PER_TURN: usize = 256;

/// The socket of a connection that has ended. It goes to the closer when this is dropped.
pub(super) struct EndedSocket {
    stream: Option<Stream>,
    /// Until the socket is closed.
    slot: Option<Slot>,
    closer: Closer,
    origin: Origin,
}

impl EndedSocket {
    pub(super) fn new(stream: Stream, slot: Option<Slot>, closer: Closer, origin: Origin) -> Self {
        Self { stream: Some(stream), slot, closer, origin }
    }

    fn is_received(&self) -> bool {
        self.stream.as_ref().is_none_or(|stream| stream.bytes_unreceived() == 0)
    }

    /// Has the peer learn the end behind what it has not received. That may take long, so a thread does it.
    fn tell_end(&self) {
        if let Some(copy) = self.stream.as_ref().and_then(|stream| stream.try_clone().ok()) {
            self.closer.take_socket(self.origin, ShutDown(copy));
        }
    }
}

/// Shuts a socket down when it is dropped.
struct ShutDown(Stream);

impl Drop for ShutDown {
    fn drop(&mut self) {
        self.0.shutdown();
    }
}

impl Drop for EndedSocket {
    fn drop(&mut self) {
        let Some(stream) = self.stream.take() else { return };
        if let Err(stream) = self.closer.end_socket(stream) {
            // In this order.
            self.closer.take_socket(self.origin, (stream, self.slot.take()));
        }
    }
}

#[derive(Default)]
struct State {
    /// The one that is asked about next is the first.
    sockets: VecDeque<EndedSocket>,
    /// When to ask, boot time in ns.
    due_ns: u64,
}

/// See the [module](self). Clones have the same sockets.
#[derive(Clone, Default)]
pub(super) struct Unreceived(Arc<Mutex<State>>);

impl Unreceived {
    /// Closes `socket`, now or when its peer has received all.
    pub(super) fn end(&self, socket: EndedSocket) {
        if !socket.is_received() {
            socket.tell_end();
            lock(&self.0).sockets.push_back(socket);
        }
    }

    /// When to call [`close_received`](Self::close_received), boot time in ns.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let state = lock(&self.0);
        (!state.sockets.is_empty()).then_some(state.due_ns)
    }

    /// Closes those whose peers have received all by now.
    pub(super) fn close_received(&self, boot_ns: u64) {
        let mut state = lock(&self.0);
        if boot_ns < state.due_ns || state.sockets.is_empty() {
            return;
        }
        state.due_ns = boot_ns.saturating_add(ASK_NS);
        for _ in 0..state.sockets.len().min(SOCKETS_PER_TURN) {
            if let Some(socket) = state.sockets.pop_front()
                && !socket.is_received()
            {
                state.sockets.push_back(socket);
            }
        }
    }
}

//! Sockets of connections that have ended, and whose peers have not received all that was sent to them.
//!
//! The kernel keeps what was sent until the peer receives it or is gone, on the account of this process's control
//! group, also when this end is closed. So the socket stays open, and keeps its place among the connections of its user
//! ([`connections`](super::connections)): a user that connects, asks, and leaves without receiving the answer, again
//! and again, is refused soon.
//!
//! ```text
//!   connection ends ──┬── all was received ───────────────────────────┬──> closer, and the place is free
//!                     └── else: shut down, and asked now and then ────┘
//! ```

use std::collections::VecDeque;

use super::connections::Slot;
use crate::system::closer::{Closer, Origin};
use abi::sync::{Arc, Mutex, Weak, lock};
use os::socket::Stream;

/// After how long the next sockets are asked, ns.
const ASK_NS: u64 = 100_000_000;

/// How many sockets are asked then. With more, each one is asked more seldom.
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
}

/// Shuts a socket down when it is dropped, which may take long. The socket waits behind that, with its place.
struct ShutDown {
    socket: Option<EndedSocket>,
    /// Where it waits. Gone when the daemon has ended, which does not wait for this.
    unreceived: Weak<Mutex<State>>,
}

impl Drop for ShutDown {
    fn drop(&mut self) {
        let Some(socket) = self.socket.take() else { return };
        socket.stream.iter().for_each(Stream::shutdown);
        if let Some(state) = self.unreceived.upgrade() {
            Unreceived(state).wait_for(socket);
        }
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
    /// Closes `socket`, now or when its peer has received all. If that is later and the socket was not shut down, a
    /// thread of the closer does it, so that the peer learns the end behind what it has not received. The loop sees the
    /// socket after a second at most: while the closer is busy, it sleeps no longer.
    pub(super) fn end(&self, socket: EndedSocket, is_shut_down: bool) {
        if socket.is_received() {
            drop(socket);
        } else if is_shut_down {
            self.wait_for(socket);
        } else {
            let (closer, origin) = (socket.closer.clone(), socket.origin);
            // No copy of it: a descriptor without a place would wait there for as long as the user likes.
            let unreceived = Arc::downgrade(&self.0);
            closer.take_socket(origin, ShutDown { socket: Some(socket), unreceived });
        }
    }

    fn wait_for(&self, socket: EndedSocket) {
        lock(&self.0).sockets.push_back(socket);
    }

    /// When to call [`close_received`](Self::close_received), boot time in ns.
    pub(super) fn due_ns(&self) -> Option<u64> {
        let state = lock(&self.0);
        (!state.sockets.is_empty()).then_some(state.due_ns)
    }

    /// Closes those whose peers have received all by now, boot time in ns.
    pub(super) fn close_received(&self, now_ns: impl FnOnce() -> u64) {
        let mut state = lock(&self.0);
        if state.sockets.is_empty() {
            return;
        }
        let boot_ns = now_ns();
        if boot_ns < state.due_ns {
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

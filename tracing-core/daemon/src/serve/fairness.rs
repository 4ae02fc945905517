//! Which connections have their turn now, which later, and whose users wait.
//!
//! ```text
//!   ready to be read ──┬── its user waits ──> held ── the time is over ──> backlog
//!                      └── it does not ──┐                                    │
//!                                        ├──> users take turns: served now    │
//!   backlog, in the next turn ───────────┘         └── requests are left ─────┘
//!
//!   to be sent ──────────────────────────> users take turns, in an order of its own
//! ```
//!
//! The order is that of [`order`](super::order). A user waits if calls on its sockets take long
//! ([`slow_calls`](super::slow_calls)).

use abi::ids::ClientId;
use abi::map::{BlockMap, BlockSet};
use os::poll::Ready;

use super::order::{Order, Served};
use super::peer::PeerConnection;
use super::slow_calls::CallWaits;
use super::user::PeerUser;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Fairness {
    /// In which order connections are served.
    serve_order: Order,
    /// In which order connections are sent what waits for them.
    send_order: Order,
    /// Users whose connections are not served for a while.
    waits: CallWaits,
    /// Connections with requests that had to wait and can be handled now.
    backlog: BlockSet<ClientId>,
}

impl Fairness {
    /// When a new connection counts as served, and as sent to: now.
    pub(super) fn now(&self) -> (Served, Served) {
        (self.serve_order.now(), self.send_order.now())
    }

    /// A connection of `user` is served.
    pub(super) fn serve(&mut self, user: PeerUser) -> Served {
        self.serve_order.serve(user)
    }

    /// A connection of `user` is sent what waits for it.
    pub(super) fn send(&mut self, user: PeerUser) -> Served {
        self.send_order.serve(user)
    }

    /// Puts `ready` into the order in which it is served.
    pub(super) fn sort_to_serve(
        &self,
        ready: &mut Vec<Ready>,
        peers: &BlockMap<ClientId, PeerConnection>,
    ) {
        let about = |peer: &PeerConnection| (peer.user, peer.served);
        self.serve_order.sort(ready, |key| peers.get(&ClientId::new(key)).map(about));
    }

    /// Puts `ready` into the order in which it is sent what waits for it.
    pub(super) fn sort_to_send(
        &self,
        ready: &mut Vec<Ready>,
        peers: &BlockMap<ClientId, PeerConnection>,
    ) {
        let about = |peer: &PeerConnection| (peer.user, peer.sent);
        self.send_order.sort(ready, |key| peers.get(&ClientId::new(key)).map(about));
    }

    /// Leaves the requests of a connection for the next turn.
    pub(super) fn serve_later(&mut self, client: ClientId) {
        self.backlog.insert(client);
    }

    /// The connections whose requests were left for this turn.
    pub(super) fn take_backlog(&mut self) -> BlockSet<ClientId> {
        std::mem::take(&mut self.backlog)
    }

    /// Whether requests are left for the next turn.
    pub(super) fn has_backlog(&self) -> bool {
        !self.backlog.is_empty()
    }

    /// Calls on the sockets of `user` took so long: it waits.
    pub(super) fn charge(&mut self, user: PeerUser, cost_ns: u64, now_ns: u64) {
        self.waits.charge(user, cost_ns, now_ns);
    }

    /// Whether no connection of `user` is served now.
    pub(super) fn must_wait(&self, user: PeerUser) -> bool {
        self.waits.has(user)
    }

    /// Keeps a connection of `user` for later. False if the user does not wait.
    pub(super) fn hold(&mut self, user: PeerUser, client: ClientId) -> bool {
        self.waits.hold(user, client)
    }

    /// The connections that were kept, of users that have waited long enough by `now_ns`.
    pub(super) fn release(&mut self, now_ns: u64) -> BlockSet<ClientId> {
        self.waits.release(now_ns)
    }

    /// When the next user has waited long enough, boot time in ns.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.waits.due_ns()
    }
}

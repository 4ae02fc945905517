//! How long the calls on the sockets of peers take, and what follows if they take long.
//!
//! Before a call that sends to an AF_UNIX socket, or receives from it, returns, the kernel runs a callback for each
//! epoll watch of the other end. A peer may have millions of watches, and then the call takes a second.
//!
//! ```text
//!   a call takes long ── on a processor? ── no ──> nothing
//!                             │ yes
//!                        on a socket of our own, too? ── yes ──> nothing: it is the machine, or its kernel
//!                             │ no
//!                             ├──> its user waits for eight times as long
//!                             └──> its connection has too much of it? cut
//! ```
//!
//! The calls on a user's sockets so take a ninth of the time of the loop at most. Root and the user of the daemon do
//! not wait. What a user sends meanwhile stays in its sockets, and what it is to be sent in its queues; the poller does
//! not look at connections that became ready.
//!
//! A call that was interrupted is no fault of its peer. To know its time on the processor, two readings are needed, and
//! each is a system call. So none is made before a call took long, by the clock of the machine; from then on, for a
//! while, there is one at the beginning of each turn of the loop. The first call that takes long is free, therefore.

use os::clock;
use os::socket::Stream;

use super::user::PeerUser;
use crate::limits::{
    CALLS_FORGOTTEN_IN, CALLS_NS_MAX, CALLS_WAIT_NS_MAX, CALLS_WAIT_TIMES, CALLS_WATCHED_NS,
    SLOW_CALL_NS,
};
use abi::ids::ClientId;
use abi::map::{BlockSet, SortedMap};

/// Measures how long calls on the sockets of peers were on the processor.
pub(super) struct CallMeter {
    /// The time of the machine, ns.
    clock: Box<dyn Fn() -> u64 + Send>,
    /// The time of this thread on a processor, ns.
    processor: Box<dyn Fn() -> u64 + Send>,
    /// How much of it a call takes on a socket that no peer has, ns.
    own: Box<dyn Fn() -> u64 + Send>,
    /// A time of the clock, and what `processor` was then, or a little later.
    known: Option<(u64, u64)>,
    /// Until then, turns begin with a reading.
    watched_until_ns: u64,
}

impl CallMeter {
    /// For this thread, and the one that runs the loop later.
    pub(super) fn new() -> Self {
        let pair = Stream::pair().ok();
        let own = move || pair.as_ref().map_or(0, |(a, b)| own_ns(a, b));
        Self::with(Box::new(clock::mono_ns), Box::new(clock::thread_ns), Box::new(own))
    }

    pub(super) fn with(
        clock: Box<dyn Fn() -> u64 + Send>,
        processor: Box<dyn Fn() -> u64 + Send>,
        own: Box<dyn Fn() -> u64 + Send>,
    ) -> Self {
        Self { clock, processor, own, known: None, watched_until_ns: 0 }
    }

    /// A turn of the loop begins.
    pub(super) fn begin_turn(&mut self, now_ns: u64) {
        let is_watched = now_ns < self.watched_until_ns;
        self.known = is_watched.then(|| (now_ns, (self.processor)()));
    }

    /// Makes a call on the socket of a peer, and puts its time on the account of the connection.
    pub(super) fn measure<T>(&mut self, account: &mut CallTime, call: impl FnOnce() -> T) -> T {
        let began_ns = (self.clock)();
        let result = call();
        let ended_ns = (self.clock)();
        if ended_ns.saturating_sub(began_ns) > SLOW_CALL_NS {
            let cost_ns = self.cost(began_ns, ended_ns);
            account.add(cost_ns, ended_ns);
        }
        result
    }

    /// How much of the time of a call that took long its peer caused: at least so much.
    fn cost(&mut self, began_ns: u64, ended_ns: u64) -> u64 {
        let processor_ns = (self.processor)();
        let before = self.known;
        self.watched_until_ns = ended_ns.saturating_add(CALLS_WATCHED_NS);
        let Some((known_ns, then_ns)) = before else {
            self.known = Some((ended_ns, processor_ns));
            return 0;
        };
        // What the loop did between the reading and the call took no more of the processor than of the clock.
        let others_ns = began_ns.saturating_sub(known_ns);
        let cost_ns = processor_ns.saturating_sub(then_ns).saturating_sub(others_ns);
        let own_ns = if cost_ns > SLOW_CALL_NS { (self.own)() } else { 0 };
        self.known = Some((ended_ns.saturating_add(own_ns), processor_ns.saturating_add(own_ns)));
        let is_peers = cost_ns > SLOW_CALL_NS && cost_ns / 2 > own_ns;
        if is_peers { cost_ns } else { 0 }
    }
}

/// The time on the processor of sending and receiving a byte.
fn own_ns(a: &Stream, b: &Stream) -> u64 {
    let began_ns = clock::thread_ns();
    let _ = a.send(&[std::io::IoSlice::new(&[0])], None);
    let _ = b.receive(&mut [0]);
    clock::thread_ns().saturating_sub(began_ns)
}

/// What the calls on the socket of one connection took of the processor, as far as they took long.
#[derive(Debug, Default)]
pub(super) struct CallTime {
    /// A part of it is forgotten as time passes.
    sum_ns: u64,
    at_ns: u64,
    /// What its user does not wait for yet.
    owed_ns: u64,
    /// A call took long, for whatever reason.
    has_slow: bool,
}

impl CallTime {
    pub(super) fn add(&mut self, cost_ns: u64, now_ns: u64) {
        self.has_slow = true;
        self.owed_ns = self.owed_ns.saturating_add(cost_ns);
        let forgotten_ns = now_ns.saturating_sub(self.at_ns) / CALLS_FORGOTTEN_IN;
        // One call alone is not too much, or a machine that stops for a moment would cut its peers.
        let cost_ns = cost_ns.min(CALLS_NS_MAX);
        self.sum_ns = self.sum_ns.saturating_sub(forgotten_ns).saturating_add(cost_ns);
        self.at_ns = now_ns;
    }

    /// What its user has to wait for, once.
    pub(super) fn take_owed(&mut self) -> u64 {
        std::mem::take(&mut self.owed_ns)
    }

    /// Whether its user has to wait for a call.
    pub(super) fn owes(&self) -> bool {
        self.owed_ns > 0
    }

    /// Whether the connection is to be cut.
    pub(super) fn is_too_much(&self) -> bool {
        self.sum_ns > CALLS_NS_MAX
    }

    /// Whether further calls on the socket may take long.
    pub(super) fn has_slow(&self) -> bool {
        self.has_slow
    }
}

#[derive(Debug, Default)]
struct CallWait {
    until_ns: u64,
    /// Connections that became ready meanwhile, or have requests that were not handled.
    held: BlockSet<ClientId>,
}

/// The users that wait because calls on their sockets took long. Times are those since boot.
#[derive(Debug, Default)]
pub(super) struct CallWaits {
    users: SortedMap<PeerUser, CallWait>,
}

impl CallWaits {
    /// Calls on the sockets of `user` took so long.
    pub(super) fn charge(&mut self, user: PeerUser, cost_ns: u64, now_ns: u64) {
        let wait = self.users.get_or_insert_with(user, CallWait::default);
        let until_ns = wait.until_ns.max(now_ns);
        let until_ns = until_ns.saturating_add(cost_ns.saturating_mul(CALLS_WAIT_TIMES));
        wait.until_ns = until_ns.min(now_ns.saturating_add(CALLS_WAIT_NS_MAX));
    }

    /// Whether no connection of `user` is served now.
    pub(super) fn has(&self, user: PeerUser) -> bool {
        self.users.contains_key(&user)
    }

    /// Keeps a connection of `user` for later. False if the user does not wait.
    pub(super) fn hold(&mut self, user: PeerUser, client: ClientId) -> bool {
        let wait = self.users.get_mut(&user);
        wait.map(|wait| wait.held.insert(client)).is_some()
    }

    /// When the next user has waited long enough.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.users.values().map(|wait| wait.until_ns).min()
    }

    /// The connections of users that have waited long enough by `now_ns`.
    pub(super) fn release(&mut self, now_ns: u64) -> BlockSet<ClientId> {
        let mut released = BlockSet::new();
        self.users.retain(|_, wait| {
            let waits = wait.until_ns > now_ns;
            if !waits {
                std::mem::take(&mut wait.held).into_iter().for_each(|client| {
                    released.insert(client);
                });
            }
            waits
        });
        released
    }
}

#[cfg(test)]
mod tests;

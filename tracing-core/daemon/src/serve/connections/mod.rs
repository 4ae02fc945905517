//! Who may have how many connections. Each takes descriptors of this process, of which there is a number.
//!
//! ```text
//!   descriptors of this process
//!   ├── open at the start, files of traces, what peers pass, and what is accepted to be refused
//!   └── pool ── root and the user of the daemon ── all others together ── each of them
//!       all                1                         3/4   (7/8)              1/4
//!       producers         3/4                        1/2   (9/16)            3/16
//! ```
//!
//! So no user can use up what others need, many users leave a part for root and the user of the daemon, and producers
//! leave a part for consumers of their user and of all. A producer counts as two: its memory has a descriptor, too. The
//! parts in parentheses are for users without a connection of that kind: a few users cannot keep all others out.
//!
//! A connection counts until its socket is closed, which may take as long as its peer likes
//! ([`closer`](crate::system::closer)). So does memory that waits to be unmapped.
//!
//! What connections keep in memory is counted by user, too: each may keep little, and a user may have thousands. So are
//! sockets that keep much in the kernel. Where there is little memory, there are fewer descriptors for connections, and
//! they may keep less.

use core::fmt;

use protos::UserAccount;

use self::shares::ConnectionShares;
use super::port_kind::PortKind;
use super::refusals::Refusals;
use super::resources::Resources;
use super::user::PeerUser;
use crate::limits::{
    CONNECTION_BYTES_FREE, CONNECTION_DESCRIPTORS_MAX, DESCRIPTORS_RESERVED_MIN,
    DESCRIPTORS_RESERVED_PART,
};
use crate::system::own_user::OwnUser;
use crate::usage::Usage;
use abi::map::SortedMap;
use abi::sync::{Arc, Mutex, lock};
use service::shares::Share;

/// How many descriptors a connection takes.
pub(super) fn descriptors_of(port: PortKind) -> u64 {
    Held::default().with(port).all
}

/// What connections hold, or may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    /// Descriptors, those of producers included.
    all: u64,
    /// Descriptors of producers.
    producers: u64,
    /// Sockets that keep much in the kernel.
    large: u64,
}

impl Held {
    fn with(self, port: PortKind) -> Self {
        match port {
            PortKind::Producer => Self { all: self.all + 2, producers: self.producers + 2, ..self },
            PortKind::Consumer => Self { all: self.all + 1, ..self },
        }
    }

    fn without(self, port: PortKind) -> Self {
        match port {
            PortKind::Producer => Self {
                all: self.all.saturating_sub(2),
                producers: self.producers.saturating_sub(2),
                ..self
            },
            PortKind::Consumer => Self { all: self.all.saturating_sub(1), ..self },
        }
    }

    fn with_memory(self) -> Self {
        Self { all: self.all + 1, producers: self.producers + 1, ..self }
    }

    fn without_memory(self) -> Self {
        let (all, producers) = (self.all.saturating_sub(1), self.producers.saturating_sub(1));
        Self { all, producers, ..self }
    }

    fn with_large(self) -> Self {
        Self { large: self.large + 1, ..self }
    }

    fn without_large(self) -> Self {
        Self { large: self.large.saturating_sub(1), ..self }
    }

    fn has(self, port: PortKind) -> bool {
        match port {
            PortKind::Producer => self.producers > 0,
            PortKind::Consumer => self.all > self.producers,
        }
    }

    fn tell(self, max: Self, account: &mut UserAccount) {
        account.connection_descriptors = Some(Usage::new(self.all, max.all).to_proto());
        account.producer_descriptors = Some(Usage::new(self.producers, max.producers).to_proto());
        account.large_sockets = Some(Usage::new(self.large, max.large).to_proto());
    }

    fn fits(self, max: Self) -> bool {
        self.all <= max.all && self.producers <= max.producers
    }
}

#[derive(Debug)]
struct State {
    /// Users with connections.
    users: SortedMap<PeerUser, Held>,
    everybody: Held,
    /// Without root and the user of the daemon.
    others: Held,
    /// Descriptors for connections.
    pool: u64,
    /// With what that would be more.
    more_with: Option<&'static str>,
    shares: ConnectionShares,
    own: OwnUser,
    refused: Refusals<PeerUser>,
    /// Bytes that the connections of each user keep; only of users that have some.
    kept: SortedMap<PeerUser, usize>,
    /// Bytes that the connections of all users keep, but for root and the user of the daemon.
    kept_by_others: usize,
}

impl State {
    fn is_limited(&self, user: PeerUser) -> bool {
        user.is_limited(self.own)
    }

    fn part(&self, all: (u64, u64), producers: (u64, u64), large: u64) -> Held {
        let of = |(count, parts): (u64, u64)| {
            self.pool / parts * count + self.pool % parts * count / parts
        };
        Held { all: of(all), producers: of(producers), large }
    }

    /// What one user may have.
    fn of_one(&self) -> Held {
        self.part((1, 4), (3, 16), self.shares.large_of_one())
    }

    /// What users may have together, but for root and the user of the daemon.
    fn of_others(&self) -> Held {
        self.part((3, 4), (1, 2), self.shares.large)
    }

    /// What users may have together if the next connection is the first one of its user.
    fn of_others_at_first(&self) -> Held {
        self.part((7, 8), (9, 16), self.shares.large)
    }

    /// What all may have together.
    fn of_all(&self) -> Held {
        self.part((1, 1), (3, 4), Usage::UNLIMITED)
    }

    fn held(&self, user: PeerUser) -> Held {
        self.users.get(&user).copied().unwrap_or_default()
    }

    /// Why a connection is too much, if it is.
    fn refusal(&self, user: PeerUser, port: PortKind) -> Option<&'static str> {
        let held = self.held(user);
        if self.is_limited(user) {
            if !held.with(port).fits(self.of_one()) {
                return Some("its user");
            }
            let max = match held.has(port) {
                true => self.of_others(),
                false => self.of_others_at_first(),
            };
            if !self.others.with(port).fits(max) {
                return Some("users other than root and that of the service");
            }
        }
        let fits = self.everybody.with(port).fits(self.of_all());
        (!fits).then_some("all users together")
    }

    /// Whether one more socket of a user may keep much in the kernel.
    fn may_have_large(&self, user: PeerUser) -> bool {
        let has_room = |held: Held, max: Held| held.large < max.large;
        !self.is_limited(user)
            || has_room(self.held(user), self.of_one()) && has_room(self.others, self.of_others())
    }

    /// A connection keeps `now` bytes, and kept `before`. False if it adds to what is too much.
    fn keep(&mut self, user: PeerUser, before: usize, now: usize) -> bool {
        let changed = |sum: usize| sum.saturating_add(now).saturating_sub(before);
        let sum = changed(self.kept.get(&user).copied().unwrap_or(0));
        *self.kept.get_or_insert_with(user, || 0) = sum;
        if sum == 0 {
            self.kept.remove(&user);
        }
        let is_limited = self.is_limited(user);
        if is_limited {
            self.kept_by_others = changed(self.kept_by_others);
        }
        let Share { of_one, of_all } = self.shares.kept;
        let fits_all = !is_limited || self.kept_by_others <= of_all;
        now <= before || sum <= of_one && fits_all
    }

    fn change(&mut self, user: PeerUser, change: impl Fn(Held) -> Held) {
        self.everybody = change(self.everybody);
        if self.is_limited(user) {
            self.others = change(self.others);
        }
        let held = self.users.get_or_insert_with(user, Held::default);
        *held = change(*held);
        if *held == Held::default() {
            self.users.remove(&user);
        }
    }
}

/// Why a connection was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionRefused {
    port: PortKind,
    who: &'static str,
    more_with: Option<&'static str>,
}

/// What makes more connections possible.
const DESCRIPTORS: &str = "a higher limit of descriptors (ulimit -n, LimitNOFILE=)";
const MEMORY: &str = "more memory (MemoryMax=)";

impl fmt::Display for ConnectionRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = match self.port {
            PortKind::Producer => "producer",
            PortKind::Consumer => "consumer",
        };
        let Self { who, more_with, .. } = self;
        write!(f, "a {port} refused: {who} may have no more connections")?;
        match more_with {
            Some(what) => write!(f, "; with {what} there are more"),
            None => Ok(()),
        }
    }
}

/// See the [module](self).
#[derive(Clone, Debug)]
pub(super) struct Connections(Arc<Mutex<State>>);

impl Connections {
    /// Those of a daemon of user `own`, to which `of` is left.
    pub(super) fn new(of: Resources, own: OwnUser) -> Self {
        let left = of.descriptors;
        let reserved = (left / DESCRIPTORS_RESERVED_PART).max(DESCRIPTORS_RESERVED_MIN);
        let of_connections = left.saturating_sub(reserved);
        let shares = ConnectionShares::new(of.memory_bytes);
        let pool = of_connections.min(shares.descriptors);
        let more_with = if pool == of_connections {
            Some(DESCRIPTORS)
        } else {
            (pool < CONNECTION_DESCRIPTORS_MAX).then_some(MEMORY)
        };
        let (users, everybody, others, refused, kept) = Default::default();
        Self(Arc::new(Mutex::new(State {
            users,
            everybody,
            others,
            pool,
            more_with,
            shares,
            own,
            refused,
            kept,
            kept_by_others: 0,
        })))
    }

    /// Sets what connections of one user may keep, bytes.
    #[cfg(test)]
    pub(super) fn set_kept_max(&self, bytes: usize) {
        lock(&self.0).shares.kept = Share::of_users(bytes);
    }

    /// Takes place for a connection.
    pub(super) fn admit(&self, user: PeerUser, port: PortKind) -> Result<Slot, ConnectionRefused> {
        let mut state = lock(&self.0);
        if let Some(who) = state.refusal(user, port) {
            state.refused.note(user);
            return Err(ConnectionRefused { port, who, more_with: state.more_with });
        }
        state.change(user, |held| held.with(port));
        Ok(Slot { connections: self.clone(), user, port, kept: 0, is_large: false })
    }

    /// Takes place for the memory of a producer that has left, until it is unmapped; however many places there are.
    pub(super) fn hold_memory(&self, user: PeerUser) -> MemoryPlace {
        lock(&self.0).change(user, Held::with_memory);
        MemoryPlace { connections: self.clone(), user }
    }

    /// Refuses a connection for which too few descriptors are left.
    pub(super) fn refuse(&self, user: PeerUser, port: PortKind) -> ConnectionRefused {
        lock(&self.0).refused.note(user);
        let who = "too few descriptors are left: its user";
        ConnectionRefused { port, who, more_with: Some(DESCRIPTORS) }
    }

    /// Whether the limits that users have together count for this one.
    pub(super) fn is_limited(&self, user: PeerUser) -> bool {
        lock(&self.0).is_limited(user)
    }

    /// Users that have connections, or to whom some were refused; some come twice.
    pub(super) fn users(&self) -> Vec<PeerUser> {
        let state = lock(&self.0);
        state.users.keys().copied().chain(state.refused.users()).collect()
    }

    /// Puts what a user has into its account.
    pub(super) fn tell(&self, user: PeerUser, account: &mut UserAccount) {
        let state = lock(&self.0);
        let max = match state.is_limited(user) {
            true => state.of_one(),
            false => state.of_all(),
        };
        state.held(user).tell(max, account);
        let kept = state.kept.get(&user).copied().unwrap_or(0);
        let kept = Usage::new(kept as u64, state.shares.kept.of_one as u64);
        account.connection_bytes = Some(kept.to_proto());
        let refused = Some(state.refused.of(user));
        account.connection_descriptors.get_or_insert_default().refused = refused;
    }

    /// Puts what all users have together into their account, but for root and the user of the daemon.
    pub(super) fn tell_all(&self, account: &mut UserAccount) {
        let state = lock(&self.0);
        state.others.tell(state.of_others(), account);
        let kept = Usage::new(state.kept_by_others as u64, state.shares.kept.of_all as u64);
        account.connection_bytes = Some(kept.to_proto());
    }
}

/// The place of a connection. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Slot {
    connections: Connections,
    user: PeerUser,
    port: PortKind,
    /// Bytes that it keeps, as far as they count.
    kept: usize,
    /// The socket of the connection keeps much in the kernel.
    is_large: bool,
}

impl Slot {
    /// Whether its socket may keep much in the kernel from now on.
    pub(super) fn enlarge(&mut self) -> bool {
        let mut state = lock(&self.connections.0);
        if !self.is_large && state.may_have_large(self.user) {
            state.change(self.user, Held::with_large);
            self.is_large = true;
        }
        self.is_large
    }

    /// Whether [`keep`](Self::keep) would change nothing.
    pub(super) fn keeps(&self, bytes: usize) -> bool {
        bytes.saturating_sub(CONNECTION_BYTES_FREE) == self.kept
    }

    /// The connection keeps so many bytes now. False if it adds to what is too much for its user, or for all.
    pub(super) fn keep(&mut self, bytes: usize) -> bool {
        let now = bytes.saturating_sub(CONNECTION_BYTES_FREE);
        if now == self.kept {
            return true;
        }
        let before = std::mem::replace(&mut self.kept, now);
        lock(&self.connections.0).keep(self.user, before, now)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.keep(0);
        let mut state = lock(&self.connections.0);
        if self.is_large {
            state.change(self.user, Held::without_large);
        }
        state.change(self.user, |held| held.without(self.port));
    }
}

/// The place of memory that is not unmapped yet. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct MemoryPlace {
    connections: Connections,
    user: PeerUser,
}

impl Drop for MemoryPlace {
    fn drop(&mut self) {
        lock(&self.connections.0).change(self.user, Held::without_memory);
    }
}

mod shares;

#[cfg(test)]
mod tests;

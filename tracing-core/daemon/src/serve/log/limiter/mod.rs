//! Which lines of the log are written.
//!
//! Each peer, each user and all users together have a share: so many lines at once, and then one each so many
//! seconds. A line is written if all three have one left. A peer that connects again has a new share, its user has
//! not. Root, the user of the service and the service itself do not use up what all users have together.
//!
//! Lines that are not written are counted, and some seconds later one line tells their number.

use core::fmt;

use crate::limits::{LOG_PEERS_MAX, LOG_TELL_NS, LOG_USERS_MAX, LOG_USERS_TOLD_MAX};
use crate::serve::user::{ConnectionUser, PeerUser};
use crate::system::own_user::OwnUser;
use abi::ids::ClientId;
use abi::map::{BlockMap, SortedMap};

/// Lines that may be written.
struct Share {
    /// So many at once.
    burst: u64,
    /// Then one more after this time.
    refill_ns: u64,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// Nobody: the service wrote it by itself.
    Service,
    /// A user, and none of its connections: its session, or what a peer had asked for.
    User(PeerUser),
    Peer(ConnectionUser),
}

impl From<Option<ConnectionUser>> for About {
    fn from(who: Option<ConnectionUser>) -> Self {
        who.map_or(Self::Service, Self::Peer)
    }
}

impl About {
    fn user(self) -> Option<PeerUser> {
        match self {
            Self::Service => None,
            Self::User(user) | Self::Peer(ConnectionUser { user, .. }) => Some(user),
        }
    }
}

const S: u64 = 1_000_000_000;

const PEER: Share = Share { burst: 32, refill_ns: 4 * S };
const USER: Share = Share { burst: 128, refill_ns: S };
/// Also of the service itself.
const ALL: Share = Share { burst: 512, refill_ns: S / 4 };

/// What is left of a share.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// When all of it will be there again, boot time in ns.
    full_ns: u64,
}

impl Bucket {
    fn next(self, now_ns: u64, share: &Share) -> Option<Self> {
        let full_ns = self.full_ns.max(now_ns).saturating_add(share.refill_ns);
        let latest = now_ns.saturating_add(share.burst.saturating_mul(share.refill_ns));
        (full_ns <= latest).then_some(Self { full_ns })
    }
}

/// On whose account a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Account {
    Service,
    User(PeerUser),
    /// Users beyond the number that is kept apart.
    Others,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service => f.write_str("the service"),
            Self::User(user) => user.fmt(f),
            Self::Others => f.write_str("other users"),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    bucket: Bucket,
    /// Lines that were not written, since their number was told.
    suppressed: u64,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    peers: BlockMap<ClientId, Bucket>,
    accounts: SortedMap<Account, Entry>,
    all: Bucket,
    own: OwnUser,
    /// When the numbers of suppressed lines are told, boot time in ns.
    due_ns: Option<u64>,
}

impl Limiter {
    pub(crate) fn new(own: OwnUser) -> Self {
        Self { own, ..Self::default() }
    }

    /// Whether a line about `about` is written.
    pub(crate) fn allow(&mut self, now_ns: u64, about: impl Into<About>) -> bool {
        let about = about.into();
        let account = self.account(now_ns, about);
        let taken = self.take(now_ns, about, account);
        if !taken {
            let entry = self.accounts.get_or_insert_with(account, Entry::default);
            entry.suppressed = entry.suppressed.saturating_add(1);
            self.due_ns.get_or_insert(now_ns.saturating_add(LOG_TELL_NS));
        }
        taken
    }

    /// Takes one line of each share, or of none.
    fn take(&mut self, now_ns: u64, about: About, account: Account) -> bool {
        let entry = self.accounts.get_or_insert_with(account, Entry::default);
        let share = if about == About::Service { &ALL } else { &USER };
        let Some(of_user) = entry.bucket.next(now_ns, share) else { return false };
        let Some(user) = about.user() else {
            entry.bucket = of_user;
            return true;
        };
        let peer = match about {
            About::Peer(who) => {
                let peer = self.peers.get(&who.client).copied().unwrap_or_default();
                let Some(of_peer) = peer.next(now_ns, &PEER) else { return false };
                Some((who.client, of_peer))
            }
            _ => None,
        };
        if user.is_limited(self.own) {
            let Some(of_all) = self.all.next(now_ns, &ALL) else { return false };
            self.all = of_all;
        }
        entry.bucket = of_user;
        let Some((client, of_peer)) = peer else { return true };
        if self.peers.len() >= LOG_PEERS_MAX {
            // Peers that were never forgotten, because they were refused. What users may write bounds the rest.
            self.peers.retain(|_, bucket| bucket.full_ns > now_ns);
        }
        self.peers.insert(client, of_peer);
        true
    }

    /// One line for each user with suppressed lines, if they are due.
    pub(crate) fn poll(&mut self, now_ns: u64) -> Vec<String> {
        if self.due_ns.is_none_or(|due_ns| now_ns < due_ns) {
            return Vec::new();
        }
        self.due_ns = None;
        let (mut lines, mut users, mut more) = (Vec::new(), 0_u64, 0_u64);
        for (account, entry) in self.accounts.iter_mut() {
            let count = std::mem::take(&mut entry.suppressed);
            if count == 0 {
                continue;
            }
            if lines.len() < LOG_USERS_TOLD_MAX {
                lines.push(format!("{count} messages about {account} not shown"));
            } else {
                (users, more) = (users + 1, more.saturating_add(count));
            }
        }
        if users > 0 {
            lines.push(format!("{more} messages about {users} more users not shown"));
        }
        lines
    }

    pub(crate) fn due_ns(&self) -> Option<u64> {
        self.due_ns
    }

    pub(crate) fn forget(&mut self, client: ClientId) {
        self.peers.remove(&client);
    }

    fn account(&mut self, now_ns: u64, about: About) -> Account {
        let Some(user) = about.user() else { return Account::Service };
        let account = Account::User(user);
        if self.accounts.len() >= LOG_USERS_MAX && !self.accounts.contains_key(&account) {
            self.accounts.retain(|_, entry| entry.suppressed > 0 || entry.bucket.full_ns > now_ns);
            if self.accounts.len() >= LOG_USERS_MAX {
                return Account::Others;
            }
        }
        account
    }
}

#[cfg(test)]
mod tests;

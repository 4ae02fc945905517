//! How many instances a session has for the producers of each user, and how many bytes their configs take.
//!
//! ```text
//!   ├───────────── most of the session ─────────────┤
//!   ├── of one user ──┤                             │
//!   ├───────────── of all users ───────┤            │
//!                                       ├─ for root, and the users of the service and of the session
//! ```
//!
//! Any program can offer a data source of a common name, thousands of times over. What it gets may not be missing to
//! others: neither to the producers of other users, nor to the probes of root.

use crate::accounts::User;
use crate::limits::{INSTANCE_CONFIG_BYTES_PER_SESSION_MAX, QUOTA_PARTS, QUOTA_PARTS_OF_USERS};
use abi::map::BlockMap;

/// Whose quota counts for an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The user of its producer.
    pub(crate) user: User,
    /// The user may use up the whole session: root, the user of the service, and that of the session.
    pub(crate) is_unlimited: bool,
}

/// What an instance is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    /// The session has as many as it may have.
    Session,
    /// The user, or all limited users together, have what one or all may have.
    User,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Held {
    instances: usize,
    bytes: usize,
}

impl Held {
    fn with(self, bytes: usize) -> Self {
        Self {
            instances: self.instances.saturating_add(1),
            bytes: self.bytes.saturating_add(bytes),
        }
    }

    fn without(self, bytes: usize) -> Self {
        Self {
            instances: self.instances.saturating_sub(1),
            bytes: self.bytes.saturating_sub(bytes),
        }
    }

    /// Whether it is at most so many parts of what a session may have.
    fn fits(self, instances_max: usize, parts: usize) -> bool {
        let of = |max: usize| (max / QUOTA_PARTS).saturating_mul(parts);
        self.instances <= of(instances_max)
            && self.bytes <= of(INSTANCE_CONFIG_BYTES_PER_SESSION_MAX)
    }
}

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Quota {
    instances_per_session_max: usize,
    all: Held,
    /// Of all limited users.
    of_users: Held,
    by_user: BlockMap<User, Held>,
}

impl Quota {
    /// Of a session with at most so many instances.
    pub(crate) fn new(instances_per_session_max: usize) -> Self {
        Self {
            instances_per_session_max,
            all: Held::default(),
            of_users: Held::default(),
            by_user: BlockMap::new(),
        }
    }

    /// Whether one more instance is allowed, with a config of so many bytes.
    pub(crate) fn check(&self, owner: Owner, bytes: usize) -> Result<(), Full> {
        let max = self.instances_per_session_max;
        if !self.all.with(bytes).fits(max, QUOTA_PARTS) {
            return Err(Full::Session);
        }
        let held = self.by_user.get(&owner.user).copied().unwrap_or_default();
        let fits = owner.is_unlimited
            || held.with(bytes).fits(max, 1)
                && self.of_users.with(bytes).fits(max, QUOTA_PARTS_OF_USERS);
        if fits { Ok(()) } else { Err(Full::User) }
    }

    /// Bytes of all configs.
    pub(crate) fn bytes(&self) -> usize {
        self.all.bytes
    }

    /// How many instances one user may have.
    pub(crate) fn instances_max(&self, is_unlimited: bool) -> usize {
        let max = self.instances_per_session_max;
        if is_unlimited { max } else { max / QUOTA_PARTS }
    }

    /// The users that have instances, and how many.
    pub(crate) fn users(&self) -> impl Iterator<Item = (User, usize)> + '_ {
        self.by_user.iter().map(|(user, held)| (*user, held.instances))
    }

    pub(crate) fn add(&mut self, owner: Owner, bytes: usize) {
        self.all = self.all.with(bytes);
        if !owner.is_unlimited {
            self.of_users = self.of_users.with(bytes);
        }
        let held = self.by_user.get_or_insert_with(owner.user, Held::default);
        *held = held.with(bytes);
    }

    pub(crate) fn remove(&mut self, owner: Owner, bytes: usize) {
        self.all = self.all.without(bytes);
        if !owner.is_unlimited {
            self.of_users = self.of_users.without(bytes);
        }
        let Some(held) = self.by_user.get_mut(&owner.user) else { return };
        *held = held.without(bytes);
        if *held == Held::default() {
            self.by_user.remove(&owner.user);
        }
    }
}

#[cfg(test)]
mod tests;

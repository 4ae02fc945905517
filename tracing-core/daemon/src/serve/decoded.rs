//! Decoded requests that wait in the service, by user.
//!
//! A request may become 32 times as long when it is decoded, and the service keeps it until it is done with it. A user
//! with thousands of connections could so make it keep gigabytes. Therefore only some of its requests are decoded at a
//! time, and the others wait as they were received:
//!
//! ```text
//!   frame ──> is there room for the user? ──> decoded ──> service ──> its connection is busy: counted
//!                        ^                                                  │
//!                        └──────────── the service is done with it <────────┘
//! ```

use abi::map::SortedMap;

use super::user::User;
use crate::limits::{DECODED_BYTES_MAX, DECODED_BYTES_PER_USER_MAX};

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Decoded {
    /// Bytes, of users that have some.
    of_user: SortedMap<User, usize>,
    all: usize,
}

impl Decoded {
    /// Whether one more request of a user may be decoded. If none of it waits, always: nobody can keep others from
    /// that.
    pub(super) fn has_room(&self, user: User) -> bool {
        let fits =
            |held: &usize| *held < DECODED_BYTES_PER_USER_MAX && self.all < DECODED_BYTES_MAX;
        self.of_user.get(&user).is_none_or(fits)
    }

    /// A connection of a user has so many bytes in the service, and had `before`.
    pub(super) fn change(&mut self, user: User, before: usize, now: usize) {
        if before == now {
            return;
        }
        let changed = |sum: usize| sum.saturating_add(now).saturating_sub(before);
        self.all = changed(self.all);
        let of_user = self.of_user.get_or_insert_with(user, || 0);
        *of_user = changed(*of_user);
        if *of_user == 0 {
            self.of_user.remove(&user);
        }
    }

    /// Bytes of all users.
    #[cfg(test)]
    pub(super) fn all(&self) -> usize {
        self.all
    }
}

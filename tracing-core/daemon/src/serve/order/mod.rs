//! Which of the connections that are ready a turn serves, and in which order.
//!
//! ```text
//!   ready:  A1 A2 A3 A4 B1 C1      A, B, C: users
//!   served: A1 B1 C1 A2 | A3 A4    next time: B1? C1? A3 A4 A1 A2
//! ```
//!
//! Users take turns, and so do the connections of each user: a user may have thousands of them, and each may be ready
//! in each turn with as much as a turn reads of it. What a turn does not serve is ready in the next one. The same holds
//! for connections whose requests were read and not handled yet.

use abi::map::SortedMap;
use os::poll::Ready;

use super::user::User;

/// So few are served in any order: they delay nobody for long.
pub(super) const FEW: usize = 4;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The user that was served last.
    user: Option<User>,
    /// The connection of each user that was served last, for users that had some ready.
    last: SortedMap<User, u64>,
}

impl Order {
    /// Puts `ready` into the order in which it is served. `user_of` gives the user of a key; what has none comes first.
    pub(super) fn sort(&mut self, ready: &mut Vec<Ready>, user_of: impl Fn(u64) -> Option<User>) {
        let mut by_user = SortedMap::<User, Vec<Ready>>::new();
        let mut sorted = Vec::with_capacity(ready.len());
        for event in ready.drain(..) {
            match user_of(event.key) {
                Some(user) => by_user.get_or_insert_with(user, Vec::new).push(event),
                None => sorted.push(event),
            }
        }
        for (user, events) in by_user.iter_mut() {
            let last = self.last.get(user).copied().unwrap_or(0);
            events.sort_unstable_by_key(|event| event.key);
            let next = events.partition_point(|event| event.key <= last);
            events.rotate_left(next);
        }
        // Users without anything ready need no place.
        self.last.retain(|user, _| by_user.contains_key(user));
        let mut users: Vec<_> = by_user.into_iter().collect();
        let next = users.partition_point(|(user, _)| Some(*user) <= self.user);
        users.rotate_left(next);
        let rounds = users.iter().map(|(_, events)| events.len()).max().unwrap_or(0);
        for round in 0..rounds {
            sorted.extend(users.iter().filter_map(|(_, events)| events.get(round)));
        }
        *ready = sorted;
    }

    /// A connection of `user` was served.
    pub(super) fn served(&mut self, user: User, key: u64) {
        self.user = Some(user);
        *self.last.get_or_insert_with(user, || 0) = key;
    }
}

#[cfg(test)]
mod tests;

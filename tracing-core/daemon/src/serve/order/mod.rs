//! Which of the connections that are ready a turn serves, and in which order.
//!
//! ```text
//!   ready:  A1 A2 A3 A4 B1 C1      A, B, C: users
//!   served: A1 B1 C1 A2 | A3 A4    next time: B1? C1? A3 A4 A1 A2
//! ```
//!
//! Users take turns: a user may have thousands of connections, and each may be ready in each turn with as much as a turn
//! reads of it. The connections of a user are served in the order in which they became ready. What a turn does not serve
//! is ready in the next one, and keeps its place before those that became ready later: else connections that end and
//! come again could keep an older one waiting for ever. The same holds for connections whose requests were read and not
//! handled yet.

use abi::map::{BlockMap, SortedMap};
use os::poll::Ready;

use super::user::User;

/// So few are served in any order: they delay nobody for long.
pub(super) const FEW: usize = 4;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The user that was served last.
    user: Option<User>,
    /// The turn in which each connection became ready, for those that were not served since.
    since: BlockMap<u64, u64>,
    turn: u64,
}

impl Order {
    /// Puts `ready` into the order in which it is served. `user_of` gives the user of a key; what has none comes first.
    pub(super) fn sort(&mut self, ready: &mut Vec<Ready>, user_of: impl Fn(u64) -> Option<User>) {
        self.turn = self.turn.wrapping_add(1);
        let (mut by_user, mut since) =
            (SortedMap::<User, Vec<(u64, Ready)>>::new(), BlockMap::new());
        let mut sorted = Vec::with_capacity(ready.len());
        for event in ready.drain(..) {
            let Some(user) = user_of(event.key) else {
                sorted.push(event);
                continue;
            };
            let turn = self.since.get(&event.key).copied().unwrap_or(self.turn);
            since.insert(event.key, turn);
            by_user.get_or_insert_with(user, Vec::new).push((turn, event));
        }
        // Those that are not ready any more have no place.
        self.since = since;
        for (_, events) in by_user.iter_mut() {
            events.sort_unstable_by_key(|(turn, event)| (*turn, event.key));
        }
        let mut users: Vec<_> = by_user.into_iter().collect();
        let next = users.partition_point(|(user, _)| Some(*user) <= self.user);
        users.rotate_left(next);
        let rounds = users.iter().map(|(_, events)| events.len()).max().unwrap_or(0);
        for round in 0..rounds {
            let of_users = users.iter().filter_map(|(_, events)| events.get(round));
            sorted.extend(of_users.map(|(_, event)| *event));
        }
        *ready = sorted;
    }

    /// A connection of `user` was served.
    pub(super) fn served(&mut self, user: User, key: u64) {
        self.user = Some(user);
        self.since.remove(&key);
    }
}

#[cfg(test)]
mod tests;

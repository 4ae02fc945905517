//! Which of the connections that are ready a turn serves, and in which order.
//!
//! ```text
//!   ready:  A1 A2 A3 A4 B1 C1      A, B, C: users
//!   served: A1 B1 C1 A2 | A3 A4    next time: B1? C1? A3 A4 A1 A2
//! ```
//!
//! Users take turns: a user may have thousands of connections, and each may be ready in each turn with as much as a
//! turn reads of it. Of a user, the connection comes first that was not served for the longest time; a new one counts
//! as served when it was accepted. So those that end and come again, however often, keep no older one waiting. What a
//! turn does not serve is ready in the next one. The same holds for connections whose requests were read and not
//! handled yet.

use abi::map::SortedMap;
use os::poll::Ready;

use super::user::PeerUser;

/// So few are served in any order: they delay nobody for long.
pub(super) const FEW: usize = 4;

/// When a connection was served last: the number of connections that were served before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Served(u64);

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Order {
    /// The user that was served last.
    user: Option<PeerUser>,
    now: Served,
}

impl Order {
    /// What a new connection starts with.
    pub(super) fn now(&self) -> Served {
        self.now
    }

    /// A connection of `user` is served.
    pub(super) fn serve(&mut self, user: PeerUser) -> Served {
        self.user = Some(user);
        self.now.0 = self.now.0.wrapping_add(1);
        self.now
    }

    /// Puts `ready` into the order in which it is served. `about` tells of a key whose it is and when it was served
    /// last; what has no user comes first.
    pub(super) fn sort(
        &self,
        ready: &mut Vec<Ready>,
        about: impl Fn(u64) -> Option<(PeerUser, Served)>,
    ) {
        let mut by_user = SortedMap::<PeerUser, Vec<(Served, Ready)>>::new();
        let mut sorted = Vec::with_capacity(ready.len());
        for event in ready.drain(..) {
            match about(event.key) {
                Some((user, served)) => {
                    by_user.get_or_insert_with(user, Vec::new).push((served, event));
                }
                None => sorted.push(event),
            }
        }
        for (_, events) in by_user.iter_mut() {
            events.sort_unstable_by_key(|(served, event)| (*served, event.key));
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
}

#[cfg(test)]
mod tests;

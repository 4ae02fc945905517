//! How often something was refused to each user.

use abi::map::SortedMap;

use crate::limits::REFUSED_USERS_MAX;

/// Counts by user. Users beyond the limit are not remembered.
#[derive(Debug)]
pub(super) struct Refusals<U>(SortedMap<U, u64>);

impl<U> Default for Refusals<U> {
    fn default() -> Self {
        Self(SortedMap::new())
    }
}

impl<U: Ord + Copy> Refusals<U> {
    pub(super) fn note(&mut self, user: U) {
        if self.0.len() < REFUSED_USERS_MAX || self.0.contains_key(&user) {
            let count = self.0.get_or_insert_with(user, || 0);
            *count = count.saturating_add(1);
        }
    }

    pub(super) fn of(&self, user: U) -> u64 {
        self.0.get(&user).copied().unwrap_or(0)
    }

    pub(super) fn users(&self) -> impl Iterator<Item = U> + '_ {
        self.0.keys().copied()
    }
}

#[cfg(test)]
mod tests;

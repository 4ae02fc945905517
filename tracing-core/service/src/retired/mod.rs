//! Memory of buffers that nobody needs any more, which the service frees in pieces.
//!
//! ```text
//!   buffer ──> its memory: |################################|
//!   handle_timeout         |######################|  a piece goes back to the system
//!   handle_timeout         |###########|
//! ```
//!
//! To free a written gigabyte at once takes the system about a tenth of a second, in which all peers wait. A large
//! allocation is pages of its own, so that an allocator makes it shorter (`mremap`) without a copy. Before that the
//! sequences of its index are freed, a thousand in a piece.
//!
//! What came first is freed first, so nobody waits for memory of others that came later. It stays on the account of its
//! user until then.

use crate::accounts::{Accounts, BufferCharge, User};
use crate::buffer::Remains;
use std::collections::VecDeque;

/// Memory that is to be freed, and what is off the account of its user then.
#[derive(Debug)]
struct Entry {
    remains: Remains,
    charge: Option<BufferCharge>,
}

/// What is still to be freed.
#[derive(Debug, Default)]
pub(crate) struct Retired {
    entries: VecDeque<Entry>,
    /// How many entries there were so far.
    added: u64,
}

impl Retired {
    /// Frees it: at once if it is small, else in pieces.
    pub(crate) fn add(&mut self, remains: Remains) {
        if !remains.is_small() {
            self.push(remains, None);
        }
    }

    /// Takes `charge` off its account when all is freed that was added before.
    pub(crate) fn add_charge(&mut self, charge: BufferCharge) {
        if charge.bytes() > 0 {
            self.push(Remains::default(), Some(charge));
        }
    }

    fn push(&mut self, remains: Remains, charge: Option<BufferCharge>) {
        self.entries.push_back(Entry { remains, charge });
        self.added = self.added.saturating_add(1);
    }

    /// How much was added so far that was not small.
    pub(crate) fn added(&self) -> u64 {
        self.added
    }

    /// Whether some of it is on the account of this user.
    pub(crate) fn has_of(&self, user: User) -> bool {
        self.charges().any(|charge| charge.user() == user)
    }

    /// What is still on the accounts of users.
    pub(crate) fn charges(&self) -> impl Iterator<Item = &BufferCharge> {
        self.entries.iter().filter_map(|entry| entry.charge.as_ref())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is left, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.remains.bytes()).fold(0, usize::saturating_add)
    }

    /// Frees a piece, and takes off accounts what is free with it. Returns how many bytes and sequences it had.
    pub(crate) fn free_piece(&mut self, accounts: &mut Accounts) -> (usize, usize) {
        let first = self.entries.front_mut();
        let freed = first.map_or((0, 0), |entry| entry.remains.free_piece());
        while let Some(entry) = self.entries.front_mut()
            && entry.remains.is_empty()
        {
            entry.charge.iter_mut().for_each(|charge| charge.release(accounts));
            self.entries.pop_front();
        }
        freed
    }
}

#[cfg(test)]
mod tests;

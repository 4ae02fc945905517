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
//! sequences of its index are freed, some thousand in a piece.

use crate::accounts::User;
use crate::buffer::Remains;

/// What is still to be freed, and on whose account it was: that of a session's user, or of nobody.
#[derive(Debug, Default)]
pub(crate) struct Retired {
    remains: Vec<(Option<User>, Remains)>,
}

impl Retired {
    /// Frees it: at once if it is small, else in pieces. It was on the account of `owner`.
    pub(crate) fn add(&mut self, owner: Option<User>, remains: Remains) {
        if !remains.is_small() {
            self.remains.push((owner, remains));
        }
    }

    /// Whether some of it was on the account of this user.
    pub(crate) fn has_of(&self, user: User) -> bool {
        self.remains.iter().any(|(owner, _)| *owner == Some(user))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.remains.is_empty()
    }

    /// What is left, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.remains.iter().map(|(_, remains)| remains.bytes()).fold(0, usize::saturating_add)
    }

    /// Frees a piece. Returns how many bytes and sequences it had.
    pub(crate) fn free_piece(&mut self) -> (usize, usize) {
        let Some((_, remains)) = self.remains.last_mut() else { return (0, 0) };
        let freed = remains.free_piece();
        if remains.is_empty() {
            self.remains.pop();
        }
        freed
    }
}

#[cfg(test)]
mod tests;

//! Memory of buffers that nobody needs any more, which the service frees in pieces.
//!
//! ```text
//!   buffer ──> its memory: |################################|
//!   handle_timeout         |######################|  a piece goes back to the system
//!   handle_timeout         |###########|
//! ```
//!
//! To free a written gigabyte at once takes the system about a tenth of a second, in which all peers wait. A large
//! allocation is pages of its own, so that an allocator makes it shorter (`mremap`) without a copy.

use crate::accounts::User;
use crate::limits::FREE_PIECE_BYTES;

/// What is still to be freed, and on whose account it was: that of a session's user, or of nobody.
#[derive(Debug, Default)]
pub(crate) struct Retired {
    memories: Vec<(Option<User>, Vec<u8>)>,
}

impl Retired {
    /// Frees this memory: at once if it is small, else in pieces. It was on the account of `owner`.
    pub(crate) fn add(&mut self, owner: Option<User>, memory: Vec<u8>) {
        if memory.len() > FREE_PIECE_BYTES {
            self.memories.push((owner, memory));
        }
    }

    /// Whether some of it was on the account of this user.
    pub(crate) fn has_of(&self, user: User) -> bool {
        self.memories.iter().any(|(owner, _)| *owner == Some(user))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.memories.is_empty()
    }

    /// What is left, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.memories.iter().map(|(_, memory)| memory.capacity()).fold(0, usize::saturating_add)
    }

    /// Frees a piece. Returns how many bytes it had.
    pub(crate) fn free_piece(&mut self) -> usize {
        let Some((_, memory)) = self.memories.last_mut() else { return 0 };
        let len = memory.len();
        let left = len.saturating_sub(FREE_PIECE_BYTES);
        memory.truncate(left);
        memory.shrink_to(left);
        if left == 0 {
            self.memories.pop();
        }
        len.saturating_sub(left)
    }
}

#[cfg(test)]
mod tests;

//! Memory of trace buffers on the account of the user whose session or clone has them.
//!
//! ```text
//!   session: each buffer, as large as its config says  ─┐
//!                                                       ├─> account of the user ──> one half, all users three quarters
//!   clone: what is in its buffers, and its sequences   ─┘                           of the service's memory
//! ```
//!
//! A buffer that a session has no more is off the account at once, though its memory is freed in pieces, and only when
//! no clone is copied from it. No other session of its user begins before that, but for one that
//! ends all others; clones do not wait.

use crate::accounts::{Accounts, NoRoom, Resource, User};
use crate::buffer::TraceBuffer;
use crate::buffers::{self, Buffers};
use crate::error::SessionError;
use crate::limits;
use abi::ids::BufferId;

/// What is on the account of one user for one session or clone.
#[derive(Debug)]
pub(crate) struct BufferCharge {
    uid: u32,
    bytes: usize,
}

impl BufferCharge {
    /// Nothing yet.
    pub(crate) fn new(uid: u32) -> Self {
        Self { uid, bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes it `bytes` in all, if it is less.
    pub(crate) fn raise_to(&mut self, bytes: usize, accounts: &mut Accounts) -> Result<(), NoRoom> {
        let more = bytes.saturating_sub(self.bytes);
        let user = User::local(self.uid);
        if !accounts.charge(user, Resource::Buffers, more) {
            return Err(NoRoom::of(user, Resource::Buffers, more, accounts));
        }
        self.bytes = self.bytes.saturating_add(more);
        Ok(())
    }

    /// Takes all of it off the account.
    pub(crate) fn release(&mut self, accounts: &mut Accounts) {
        let bytes = std::mem::take(&mut self.bytes);
        accounts.release(User::local(self.uid), Resource::Buffers, bytes);
    }
}

/// What the buffers of a config count for.
pub(crate) fn of_config(config: &protos::TraceConfig) -> Result<usize, SessionError> {
    let mut sum = 0_usize;
    for buffer in &config.buffers {
        let bytes = usize::try_from(buffers::checked_bytes(buffer)?).unwrap_or(usize::MAX);
        sum = sum.saturating_add(bytes.max(limits::BUFFER_BYTES_COUNTED_MIN));
    }
    Ok(sum)
}

/// What a clone of a session with these buffers, and so much for its sequences, would count for now. A buffer that is
/// emptied before is not in it.
pub(crate) fn of_clone(
    config: &protos::TraceConfig,
    ids: &[BufferId],
    sequences: usize,
    buffers: &Buffers,
) -> usize {
    let all = config.buffers.iter().zip(ids);
    let kept = all.filter(|(config, _)| config.clear_before_clone != Some(true));
    let bytes = kept.map(|(_, id)| of_copy(*id, buffers));
    bytes.fold(sequences, usize::saturating_add)
}

/// What a copy of a buffer counts for.
pub(crate) fn of_copy(id: BufferId, buffers: &Buffers) -> usize {
    buffers.get(id).map_or(0, TraceBuffer::memory_bytes)
}

//! What connections may take of the memory: all that the shares of other things leave.
//!
//! [`service::shares`] has the other things. Where the memory is not known, only descriptors and the limits of the
//! daemon bound the connections.

use service::limits::{MEMORY_BYTES_MIN, MEMORY_PARTS};
use service::shares::{MemoryShares, Share};

use crate::limits::{
    CONNECTION_BYTES_PER_USER_MAX, CONNECTION_DESCRIPTORS_MAX, CONNECTION_PARTS, DESCRIPTOR_BYTES,
    FILES_IN_MEMORY_PER_USER_PART, FILES_IN_MEMORY_USERS_SHARE, LARGE_SOCKET_BYTES,
    LARGE_SOCKET_PARTS, LARGE_SOCKETS_MAX, LARGE_SOCKETS_PER_USER_MAX, SERVICE_PARTS, WAITING_PART,
};

/// What the kernel takes for a large socket, bytes: its own bookkeeping is as much as what is not received.
pub(super) const LARGE_BYTES: u64 = 2 * LARGE_SOCKET_BYTES as u64;

/// See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionShares {
    /// Bytes that connections keep.
    pub(super) kept: Share,
    /// Sockets that may keep much in the kernel, of all users but root and that of the daemon.
    pub(super) large: u64,
    /// Descriptors of all connections.
    pub(super) descriptors: u64,
}

impl ConnectionShares {
    /// Those of a daemon that may use so much memory; zero if nobody knows.
    pub(super) fn new(memory_bytes: u64) -> Self {
        let kept = Share::of_memory(memory_bytes, CONNECTION_BYTES_PER_USER_MAX, CONNECTION_PARTS);
        if memory_bytes == 0 {
            return Self {
                kept,
                large: LARGE_SOCKETS_MAX,
                descriptors: CONNECTION_DESCRIPTORS_MAX,
            };
        }
        let memory = memory_bytes.max(MEMORY_BYTES_MIN);
        let part = memory / MEMORY_PARTS;
        let large = (part * LARGE_SOCKET_PARTS / LARGE_BYTES).min(LARGE_SOCKETS_MAX);
        let other = [
            MemoryShares::new(memory).sum().of_all as u64,
            files_in_memory(memory),
            kept.of_all as u64,
            large * LARGE_BYTES,
            part * SERVICE_PARTS,
        ];
        let left = other.into_iter().fold(memory, u64::saturating_sub);
        Self { kept, large, descriptors: (left / DESCRIPTOR_BYTES).min(CONNECTION_DESCRIPTORS_MAX) }
    }

    /// Sockets of one user that may keep much in the kernel: the same part as where there are as many as may be.
    pub(super) fn large_of_one(&self) -> u64 {
        (LARGE_SOCKETS_PER_USER_MAX * self.large / LARGE_SOCKETS_MAX).max(1)
    }
}

/// What files in memory of all users may take at most, an eighth of it by users that have next to nothing, and what
/// waits to be written into files.
fn files_in_memory(memory: u64) -> u64 {
    let all = memory / FILES_IN_MEMORY_PER_USER_PART * FILES_IN_MEMORY_USERS_SHARE;
    all + all / 8 + memory / WAITING_PART
}

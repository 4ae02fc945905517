//! What users may have of the memory of the service: a fixed share of each thing where there is much memory, and a part
//! of it where there is little.
//!
//! ```text
//!   parts of the memory, of 256        one user   all users but root and that of the service
//!   ──────────────────────────────────────────────────────────────────────────────────────────────
//!   buffers, indexes, clones           128        192
//!   files in memory (the daemon)         8         18   with those of users that have next to nothing
//!   what waits for files (the daemon)    1          2   and 2 MiB of each user beside that
//!   data sources and writers             2          3   at most 16 MiB of one user, and  64 MiB of all
//!   memory of users that removed some    2          3           64                      256
//!   compression                          8         10           40                      160
//!   requests that wait, decoded          1          2            8                       32
//!   kept by connections (the daemon)     6          8           64                      256
//!   large sockets (the daemon)           1/2        2           13                       52
//!   connections (the daemon)             2          8   and what the others leave, up to 32,768 descriptors
//!   the service itself                              8
//! ```
//!
//! Less than [`limits::MEMORY_BYTES_MIN`] counts as that. Then all users together may have more than there is.

use crate::limits;

/// What one user may have, and what all users but root and that of the service may have together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Of one user.
    pub of_one: usize,
    /// Of all.
    pub of_all: usize,
}

impl Share {
    /// There is no limit.
    pub(crate) const UNLIMITED: Self = Self { of_one: usize::MAX, of_all: usize::MAX };

    /// So much of one user, and some times as much of all.
    #[must_use]
    pub fn of_users(of_one: usize) -> Self {
        Self { of_one, of_all: of_one.saturating_mul(limits::USERS_SHARE) }
    }

    /// `of_one` for one user, and [`limits::USERS_SHARE`] times as much for all; but no more than these `parts` of
    /// `memory_bytes`, each a [`limits::MEMORY_PARTS`]th of it: of one user, and of all. With `memory_bytes` 0 nobody
    /// knows the memory, and `parts` do not count.
    #[must_use]
    pub fn of_memory(memory_bytes: u64, of_one: usize, parts: (u64, u64)) -> Self {
        let most = Self::of_users(of_one);
        if memory_bytes == 0 {
            return most;
        }
        let part = memory_bytes.max(limits::MEMORY_BYTES_MIN) / limits::MEMORY_PARTS;
        let of = |count: u64| usize::try_from(part.saturating_mul(count)).unwrap_or(usize::MAX);
        Self { of_one: most.of_one.min(of(parts.0)), of_all: most.of_all.min(of(parts.1)) }
    }

    /// That of trace buffers: fractions of the memory, without a limit if nobody knows how much that is.
    fn of_buffers(memory_bytes: u64) -> Self {
        let part = |(part, of): (u64, u64)| {
            let bytes = memory_bytes.checked_div(of).unwrap_or(0).saturating_mul(part);
            usize::try_from(bytes).unwrap_or(usize::MAX)
        };
        match memory_bytes {
            0 => Self::UNLIMITED,
            _ => Self {
                of_one: part(limits::BUFFERS_OF_ONE),
                of_all: part(limits::BUFFERS_OF_USERS),
            },
        }
    }
}

/// The shares of all things that the service keeps in memory for users.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryShares {
    /// Trace buffers with their indexes, numbers of sequences, and clones.
    pub(crate) buffers: Share,
    /// Registered data sources and writers.
    pub(crate) sources: Share,
    /// Shared memory of users that were caught removing what they committed.
    pub(crate) caught_memory: Share,
    /// What compresses.
    pub(crate) codecs: Share,
    /// Requests that wait, decoded. Each user may have one beside that.
    pub(crate) decoded: Share,
}

impl MemoryShares {
    /// Those of a service that may use so much memory; zero if nobody knows.
    #[must_use]
    pub fn new(memory_bytes: u64) -> Self {
        use limits::{
            CAUGHT_SMB_PARTS, CODEC_BYTES_PER_USER_MAX, CODEC_PARTS, DECODED_BYTES_PER_USER_MAX,
            DECODED_PARTS, SMB_BYTES_PER_USER_MAX, SOURCE_BYTES_PER_USER_MAX, SOURCE_PARTS,
        };
        let share = |of_one, parts| Share::of_memory(memory_bytes, of_one, parts);
        Self {
            buffers: Share::of_buffers(memory_bytes),
            sources: share(SOURCE_BYTES_PER_USER_MAX, SOURCE_PARTS),
            caught_memory: share(SMB_BYTES_PER_USER_MAX, CAUGHT_SMB_PARTS),
            codecs: share(CODEC_BYTES_PER_USER_MAX, CODEC_PARTS),
            decoded: share(DECODED_BYTES_PER_USER_MAX, DECODED_PARTS),
        }
    }

    /// What one user may have of all these, and what all users together, bytes.
    #[must_use]
    pub fn sum(&self) -> Share {
        let Self { buffers, sources, caught_memory, codecs, decoded } = *self;
        let all = [buffers, sources, caught_memory, codecs, decoded];
        let sum = |of: fn(&Share) -> usize| all.iter().map(of).fold(0, usize::saturating_add);
        Share { of_one: sum(|share| share.of_one), of_all: sum(|share| share.of_all) }
    }
}

impl Default for MemoryShares {
    fn default() -> Self {
        Self::new(0)
    }
}

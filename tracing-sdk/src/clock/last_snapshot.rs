//! What a thread knows of a clock of the program without a lock: its id, and the number of its last snapshot.
//!
//! A clock has an id from its first snapshot on. A thread that finds the id finds the number, too: else it would write
//! an event of that clock without a snapshot before it, and readers would lose the event.
//!
//! ```text
//!   snapshot, locked:  number ──> id                         (release)
//!   event:             id ──> number ──> was it written?      (acquire)
//! ```
//!
//! `tracing-core/loom` explores this very code.

use abi::sync::{AtomicU32, Ordering};

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct LastSnapshot {
    /// 0: it has no snapshot.
    pub(crate) clock_id: AtomicU32,
    /// Counts the snapshots, from 1.
    pub(crate) version: AtomicU32,
}

impl LastSnapshot {
    /// The id of the clock. None without a snapshot.
    pub(crate) fn clock_id(&self) -> Option<u32> {
        // With the release in `set_first`: who sees the id sees the number of a snapshot.
        Some(self.clock_id.load(Ordering::Acquire)).filter(|id| *id != 0)
    }

    /// Call it after the id was found. 0: the clock is one of the kernel, and has none.
    pub(crate) fn version(&self) -> u32 {
        self.version.load(Ordering::Relaxed)
    }

    /// Call it under the lock, when the list has the first snapshot.
    pub(crate) fn set_first(&self, clock_id: u32) {
        self.version.store(1, Ordering::Relaxed);
        self.clock_id.store(clock_id, Ordering::Release);
    }

    /// Call it under the lock, when the list has a later snapshot.
    pub(crate) fn set_version(&self, version: u32) {
        self.version.store(version, Ordering::Relaxed);
    }
}

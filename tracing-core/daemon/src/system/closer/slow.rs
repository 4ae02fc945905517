//! Users whose memory takes long to map and to unmap.
//!
//! Both wait for a lock of the kernel that belongs to the memory and not to a process. A peer may map its memory a
//! million times, and free its pages again and again: each time the kernel looks at all these mappings, which takes
//! hundreds of ms, and holds that lock. A thread of ours that waits for it holds the lock of this process's addresses
//! meanwhile: the loop goes on, but would have to wait where it needs new addresses itself.
//!
//! Therefore only one thread at a time is busy with the memory of a user. After a job that took long the next one
//! waits eight times as long, and no memory that this user made is mapped: the service makes it. Root and the user of
//! the daemon are trusted.

use crate::limits::{MEMORY_WAIT_NS_MAX, MEMORY_WAIT_TIMES, SLOW_MEMORY_NS};
use abi::map::SortedMap;

/// By user: until when its memory waits, boot time in ns.
#[derive(Default)]
pub(super) struct SlowMemory(SortedMap<u32, u64>);

impl SlowMemory {
    /// A job about memory of a user ended now, and took so long.
    pub(super) fn note(&mut self, uid: u32, took_ns: u64, now_ns: u64) {
        if took_ns > SLOW_MEMORY_NS {
            let wait_ns = took_ns.saturating_mul(MEMORY_WAIT_TIMES).min(MEMORY_WAIT_NS_MAX);
            *self.0.get_or_insert_with(uid, || 0) = now_ns.saturating_add(wait_ns);
        }
    }

    /// Whether the memory of a user waits, as far as is known since the last [`forget`](Self::forget).
    pub(super) fn has(&self, uid: u32) -> bool {
        self.0.contains_key(&uid)
    }

    /// Lets those go on that have waited until `now_ns`.
    pub(super) fn forget(&mut self, now_ns: u64) {
        self.0.retain(|_, until_ns| *until_ns > now_ns);
    }

    /// When the next one may go on.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.0.values().copied().min()
    }
}

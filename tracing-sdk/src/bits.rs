//! Which instances record a category, and the number that tells a thread to look at its instances again.
//!
//! An instance that starts has a new generation before its bit is set. So a thread that finds the bit finds the
//! generation, too, and learns of the instance before it writes:
//!
//! ```text
//!   start, locked:   generation + 1 ──> bit is set         (release)
//!   event:           bits are loaded ──> generation again?  (acquire)
//! ```
//!
//! `tracing-core/loom` explores this very code.

use abi::sync::{AtomicU32, Ordering, fence};

/// The word of a category; see [`category`](crate::category).
pub(crate) struct Bits {
    pub(crate) instances: AtomicU32,
    /// The number of the category in interned data; set when it is registered.
    pub(crate) iid: AtomicU32,
}

impl Bits {
    #[inline(always)]
    pub(crate) fn load(&self) -> u32 {
        // Almost every call finds zero, and needs no order then; `Generation::behind_bits` gives it.
        self.instances.load(Ordering::Relaxed)
    }

    pub(crate) fn iid(&self) -> u32 {
        self.iid.load(Ordering::Relaxed)
    }

    /// The number comes first: a thread that finds the bits finds the number.
    pub(crate) fn register(&self, iid: u32, instances: u32) {
        self.iid.store(iid, Ordering::Relaxed);
        self.instances.store(instances, Ordering::Release);
    }

    pub(crate) fn switch_on(&self, instances: u32) {
        self.instances.fetch_or(instances, Ordering::Release);
    }

    pub(crate) fn switch_off(&self, instances: u32) {
        // An instance that has stopped can be found a little longer: nobody reads what is written for it.
        self.instances.fetch_and(!instances, Ordering::Relaxed);
    }
}

/// Changes whenever an instance starts, stops, or must clear its incremental state. It changes under a lock.
pub(crate) struct Generation(pub(crate) AtomicU32);

impl Generation {
    /// Call it before the bits of an instance are switched on.
    pub(crate) fn change(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Call it under the lock.
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Call it after bits that are not zero were loaded.
    #[inline(always)]
    pub(crate) fn behind_bits(&self) -> u32 {
        // With the release of the bits: an instance whose bit was seen has its generation.
        fence(Ordering::Acquire);
        self.0.load(Ordering::Relaxed)
    }
}

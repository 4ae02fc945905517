//! The word of a data source: which slots are in use, and the number that tells a thread to look at them again.
//!
//! Instances start and stop under a lock. An instance that starts has a new generation before its bit is set, so a
//! thread that finds the bit finds the generation, too, and learns of the instance before it writes:
//!
//! ```text
//!   start, locked:   generation + 1 ──> bit is set      (release)
//!   trace point:     bits are loaded ──> generation      (acquire)
//! ```
//!
//! `tracing-core/loom` explores this very code.

use abi::sync::{AtomicU32, Ordering};

/// The bit of a data source that is not registered.
pub(crate) const NEW: u32 = 1 << 31;

/// See the [module](self).
pub(crate) struct Word {
    /// A bit for each slot, and [`NEW`].
    pub(crate) bits: AtomicU32,
    /// Changes whenever an instance starts, stops, or must clear its incremental state.
    pub(crate) generation: AtomicU32,
}

impl Word {
    /// Not zero if an instance runs, or the data source is not registered.
    #[inline(always)]
    pub(crate) fn load(&self) -> u32 {
        self.bits.load(Ordering::Relaxed)
    }

    /// The first call returns true.
    pub(crate) fn set_registered(&self) -> bool {
        self.bits.fetch_and(!NEW, Ordering::Relaxed) & NEW != 0
    }

    /// The slots in use, and the generation that is current for them.
    pub(crate) fn current(&self) -> (u32, u32) {
        // With the release in `start`: an instance whose bit is seen has its generation.
        let bits = self.bits.load(Ordering::Acquire) & !NEW;
        (bits, self.generation())
    }

    /// Under the lock it does not change.
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Call it under the lock, when the slot has its instance.
    pub(crate) fn start(&self, slot: usize) {
        self.change();
        self.bits.fetch_or(1 << slot, Ordering::Release);
    }

    /// Call it under the lock, when the slot has no instance any more.
    pub(crate) fn stop(&self, slot: usize) {
        self.bits.fetch_and(!(1 << slot), Ordering::Relaxed);
        self.change();
    }

    /// Call it under the lock, when no slot has an instance any more.
    pub(crate) fn stop_all(&self) {
        self.bits.fetch_and(NEW, Ordering::Relaxed);
        self.change();
    }

    /// Makes each thread look at its instances again. Call it under the lock.
    pub(crate) fn change(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }
}

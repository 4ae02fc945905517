//! How many handles of a span there are: it ends with the last one.
//!
//! `tracing-core/loom` explores this very code.

use abi::sync::{AtomicUsize, Ordering};

/// See the [module](self).
pub(crate) struct Handles(pub(crate) AtomicUsize);

impl Handles {
    /// A span has one.
    #[inline]
    pub(crate) fn start(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    /// The caller has a handle, so the span does not end meanwhile.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives one back. True if it was the last one.
    #[inline]
    pub(crate) fn remove(&self) -> bool {
        // The holder of the only one is alone, and needs no exchange.
        self.0.load(Ordering::Acquire) == 1 || self.0.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

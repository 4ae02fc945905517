//! Places in the source.

#[cfg(feature = "tracing")]
use core::sync::atomic::{AtomicUsize, Ordering};

/// A place in the source.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    /// The file.
    pub file: &'static str,
    /// The function; may be empty.
    pub function: &'static str,
    /// The line, from 1.
    pub line: u32,
}

/// A place that a call site names again and again: sequences find its number without a hash.
#[cfg(feature = "tracing")]
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) location: Location,
    /// Among all places of the process.
    pub(super) index: usize,
}

/// Only call sites of `tracing` have one.
#[cfg(not(feature = "tracing"))]
#[derive(Debug)]
pub(crate) enum Place {}

#[cfg(feature = "tracing")]
impl Place {
    pub(crate) fn new(location: Location) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        Self { location, index: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

//! Places to write into: [`FixedSink`] over the caller's buffer, `HeapSink` over growing slabs.
//! Shared memory has its own in `tracing-core`.

mod fixed;
#[cfg(feature = "alloc")]
mod heap;

pub use fixed::FixedSink;
#[cfg(feature = "alloc")]
pub use heap::HeapSink;

//! Outputs of writers. A sink becomes a [`StreamOf`](crate::StreamOf). All sinks produce the same
//! message; they differ in the owner of the memory and in what happens when it is full.
//!
//! | sink | memory | when it is full | needs |
//! |---|---|---|---|
//! | [`FixedSink`] | one buffer of the caller, initialized or not | an error | |
//! | [`RangesSink`] | several buffers of the caller | an error | `alloc` for iterators |
//! | [`WindowSink`] | a window before an `io::Write`, a `BufMut` or a closure | written to the output | |
//! | `AppendSink` | the end of a `Vec<u8>` or `BytesMut` | grows in one piece | `alloc` |
//! | `HeapSink` | its own blocks, which never move | allocates another block | `alloc` |
//!
//! The sink for shared memory is in `tracing-core`. Your own sink must implement
//! [`Sink`](crate::Sink).

#[cfg(feature = "alloc")]
mod append;
mod borrowed;
mod fixed;
#[cfg(feature = "alloc")]
mod heap;
mod ranges;
mod window;

#[cfg(feature = "alloc")]
pub use append::{AppendSink, Growable};
pub use fixed::FixedSink;
#[cfg(feature = "alloc")]
pub use heap::HeapSink;
#[cfg(feature = "alloc")]
pub use ranges::Collected;
pub use ranges::{Pieces, RangesSink, Table};
#[cfg(feature = "bytes")]
pub use window::BufMutOutput;
#[cfg(feature = "std")]
pub use window::IoOutput;
pub use window::{Output, WindowError, WindowSink};

#[cfg(all(test, feature = "alloc"))]
mod props;
#[cfg(all(test, feature = "alloc"))]
mod tests;

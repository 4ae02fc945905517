//! Places to write into. All are handed to [`StreamOf`](crate::StreamOf), and all give the same
//! message; they differ in whose memory it is and in what happens when it is full.
//!
//! | sink | memory | when it is full | needs |
//! |---|---|---|---|
//! | [`FixedSink`] | one buffer of the caller's, initialised or not | an error | |
//! | [`RangesSink`] | pieces of the caller's: a table, an iterator, a closure | an error | `alloc` for iterators |
//! | [`WindowSink`] | a window of constant length before an `io::Write`, a `BufMut`, a closure | written out | |
//! | `AppendSink` | behind the content of a `Vec<u8>` or `BytesMut` | grows, in one piece | `alloc` |
//! | `HeapSink` | slabs of its own, which never move | another slab | `alloc` |
//!
//! Shared memory has its own in `tracing-core`; [`Sink`](crate::Sink) is what one has to implement.

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

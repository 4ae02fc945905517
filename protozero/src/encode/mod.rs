//! Writing: only appends, and stores each length after its body.
//!
//! Bytes go to the *ranges* of a [`Sink`]: contiguous pieces of memory at any addresses (a caller's
//! buffer, blocks on the heap, chunks of shared memory). The length of a message is unknown while
//! it is written, so the writer reserves a *slot* for it: one byte, because most messages are
//! short. It keeps space for three more bytes after the written ones.
//!
//! ```text
//!  open           tag | s                            s = slot, with the distance to the next outer slot
//!  write          tag | s | body . . .               (0: there is no outer slot of one byte)
//!  close, at most 127 bytes:
//!                 tag | n | body . . .               nothing moves
//!  close, more:   tag | n n | body . . .             the body moves by one, two or three bytes
//!  a long child or string begins in a message with a slot of one byte, or the range ends:
//!                 tag | s s s s | body . . .         all open slots grow to four bytes: they are *wide*,
//!                                                    and store the offset of the next outer wide slot
//!  close, wide slot in the current range:
//!                 tag | n n n n | body . . .         length as padded varint
//!  close, slot in an earlier range (perhaps already passed to a reader):
//!                 tag | 0 0 0 0 | body ... ][ ...    Sink::fill delivers the length later
//! ```
//!
//! So a short message costs one store. A long message moves the few bytes that were written when
//! the writer detected that it is long. Lengths that are delivered later always have four bytes.
//! Open slots form a linked list in their own bytes, so the depth of messages is limited only by
//! memory, and no allocator is needed.
//!
//! The write pointer is a value in the innermost open [`Scope`]. The module `cursor` explains this,
//! and has the invariants for all unsafe code here.
//!
//! Nothing here fails. When a sink has no more ranges, the stream ignores further writes but counts
//! them, and [`StreamOf::error`] returns the error.

mod cursor;
mod nested;
mod packed;
mod scalar;
mod slot;
mod slow;
mod stream;

pub use cursor::{Range, Sink, SwapSink};
pub use nested::Scope;
pub use packed::Packed;
pub(crate) use packed::packed;
pub use slot::{OpenSlots, Slot};
pub use stream::{Stream, StreamOf};

#[cfg(all(test, feature = "alloc"))]
pub(crate) mod props;
#[cfg(test)]
mod tests;

//! Writing: append only, each length after its body.
//!
//! Bytes go to a [`Sink`]'s *ranges*: contiguous pieces of memory that need not lie beside each
//! other (a caller's buffer, slabs of a heap, chunks of shared memory). A message's length is not
//! known while it is being written, so a *slot* is reserved for it: one byte, because most messages are
//! short, and room for three more is kept free behind what is written.
//!
//! ```text
//!  open           tag | s                            s = slot, tells how far back the next outer one is
//!  write          tag | s | body . . .               (0: there is none of one byte)
//!  close, at most 127 bytes:
//!                 tag | n | body . . .               nothing moves
//!  close, more:   tag | n n | body . . .             the body moves by one, two or three bytes
//!  a long child or string begins in a message that is short so far, or the range ends:
//!                 tag | s s s s | body . . .         all open slots grow to four bytes: they are *wide*,
//!                                                    and hold the offset of the next outer wide one
//!  close, wide slot in the current range:
//!                 tag | n n n n | body . . .         length as padded varint
//!  close, slot in an earlier range (perhaps already handed to a reader):
//!                 tag | 0 0 0 0 | body ... ][ ...    Sink::fill sends the length after it
//! ```
//!
//! So short messages cost one store, long ones move the little that was written when they turned out
//! to be long, and lengths that must come later always have four bytes. Threading the open slots
//! through their own bytes makes nesting as deep as memory allows without an allocator.
//!
//! The write pointer lives in the innermost open [`Scope`], by value: see `cursor.rs` for how, and for the
//! invariants all unsafe code here rests on.
//!
//! Nothing here fails: once a sink has no more ranges the stream swallows what follows and keeps
//! counting, and the error waits in [`StreamOf::error`].

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

//! Writing: append only, each length after its body.
//!
//! Bytes go to a [`Sink`]'s *ranges*: contiguous pieces of memory that need not lie beside each
//! other (a caller's buffer, slabs of a heap, chunks of shared memory). A message's length is not
//! known while it is being written, so four bytes are *reserved* for it, a [`Slot`]:
//!
//! ```text
//!  open          tag | s s s s |                     s = slot, holds the offset of the next outer
//!  write         tag | s s s s | body . . .              open slot of the same range
//!  close, body of at most 127 bytes, slot in the current range:
//!                tag | n | body . . .                the body moves back three bytes
//!  close, longer body, slot in the current range:
//!                tag | n n n n | body . . .          length as padded varint
//!  close, slot in an earlier range (perhaps already handed to a reader):
//!                tag | 0 0 0 0 | body ... ][ ...     Sink::fill sends the length after it
//! ```
//!
//! Threading the open slots through their own reserved bytes makes nesting as deep as memory
//! allows without an allocator: a range that ends only has to walk that list to tell its sink
//! which lengths will follow.
//!
//! Nothing here fails: once a sink has no more ranges the stream swallows what follows and keeps
//! counting, and the error waits in [`StreamOf::error`].

mod cursor;
mod nested;
mod packed;
mod scalar;
mod slot;
mod stream;

pub use cursor::{Range, Sink};
pub use nested::Scope;
pub use packed::Packed;
pub(crate) use packed::packed;
pub use slot::{OpenSlots, Slot};
pub use stream::{Stream, StreamOf};

#[cfg(all(test, feature = "alloc"))]
pub(crate) mod props;
#[cfg(test)]
mod tests;

//! The contract between a stream and its sink, from which the stream gets memory.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::encode::slot::{OpenSlots, Slot};
use crate::error::WriteError;

/// A range of memory from a sink.
///
/// Creating one is safe and has no effect. Its memory is writable because of the promise of `unsafe
/// impl Sink`; a stream accepts ranges only from the functions of a sink.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    pub(super) ptr: NonNull<u8>,
    pub(super) len: usize,
    pub(super) used: usize,
}

impl Range {
    /// The `len` bytes at `ptr`.
    #[inline]
    #[must_use]
    pub const fn from_raw(ptr: NonNull<u8>, len: usize) -> Self {
        Self { ptr, len, used: 0 }
    }

    /// The same range, but writing begins at byte `used`: the bytes before it belong to the sink (a
    /// fragment header, earlier packets). Offsets still count from the start of the range.
    #[inline]
    #[must_use]
    pub const fn after(mut self, used: usize) -> Self {
        self.used = used;
        self
    }

    /// Number of writable bytes.
    #[inline]
    #[must_use]
    pub const fn free_bytes(&self) -> usize {
        self.len.saturating_sub(self.used)
    }
}

/// A source of memory to write into.
///
/// While a message is open, the functions are called from code that cannot unwind: a panic in them
/// aborts the program.
///
/// # Safety
/// An implementation promises for every [`Range`] that it returns:
/// - **S1** its `len` bytes at its `ptr` are valid for reads and writes through that pointer, and
///   there are no references to them except to cells or atomics;
/// - **S2** no other code in this process writes them while the stream may write: until the next
///   call of `next_range` (in which the sink may take the old range back *after* its last access to
///   `open`, and then must not panic) or of `end_root`, or until the stream is dropped;
/// - **S3** the stream does not write a range again that was taken back in `end_root` or between
///   two roots: the next `begin_root` returns another range or an error;
/// - **S4** all of this is true on every thread on which the stream may be, if the implementor is
///   `Send`.
pub unsafe trait Sink {
    /// The current range is full: its first `used` bytes are written, and the rest stays unused.
    /// Returns the next range, of at least 16 bytes, or an error.
    ///
    /// After an error, the stream ignores everything until the next root message begins. It
    /// continues to count bytes, so that open lengths still get their value.
    ///
    /// `open` are the messages whose length is open in the old range. The sink must remember enough
    /// to find their bytes when [`Sink::fill`] is called. If there is no range yet, `used` is 0 and
    /// `open` is empty.
    ///
    /// # Errors
    /// [`WriteError`] if there is no memory.
    fn next_range(&mut self, used: usize, open: &mut OpenSlots<'_>) -> Result<Range, WriteError>;

    /// Delivers the length of a message that began in an earlier range: a padded varint for the
    /// four bytes at `slot`.
    ///
    /// There is no call for a message whose writer was leaked (`mem::forget`). Such slots end with
    /// the root message.
    fn fill(&mut self, slot: Slot, length: [u8; 4]);

    /// A root message begins; `used` bytes of the current range are written. Returns a range in
    /// which to continue, or `None` to continue in the current one.
    ///
    /// # Errors
    /// [`WriteError`] if there is no memory: the stream ignores the whole message.
    #[inline]
    fn begin_root(&mut self, used: usize) -> Result<Option<Range>, WriteError> {
        let _ = used;
        Ok(None)
    }

    /// The root message ends at `used`. Returns the position at which to continue, which is at most
    /// `used`: a sink that adds a frame may have moved the message.
    ///
    /// After an error in this message `used` is 0, because the stream has no range.
    #[inline]
    fn end_root(&mut self, used: usize) -> usize {
        used
    }
}

/// A sink that a program may replace by another one while a stream uses it.
///
/// # Safety
/// An implementation promises:
/// - **S5** each `begin_root` returns a range or an error, never `None`; and neither `begin_root`
///   nor `end_root` assumes that `used` belongs to the last range of this sink.
pub unsafe trait SwapSink: Sink {}

//! Where memory to write into comes from: the contract between a stream and its sink.
#![allow(unsafe_code)]

use core::ptr::NonNull;

use crate::encode::slot::{OpenSlots, Slot};
use crate::error::WriteError;

/// A piece of memory a sink hands out.
///
/// Making one is safe and means nothing; what makes its memory writable is the promise of
/// `unsafe impl Sink`, from whose functions alone a stream accepts it.
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

    /// The same range with writing to begin at byte `used` of it: what lies before is the sink's
    /// (a fragment header, earlier packets). Offsets still count from the range's first byte.
    #[inline]
    #[must_use]
    pub const fn after(mut self, used: usize) -> Self {
        self.used = used;
        self
    }

    /// Bytes that can be written.
    #[inline]
    #[must_use]
    pub const fn room(&self) -> usize {
        self.len.saturating_sub(self.used)
    }
}

/// Something that hands out memory to write into.
///
/// While a message is open its functions are called from where nothing can unwind: a panic in them
/// aborts the program.
///
/// # Safety
/// An implementation promises, for every [`Range`] it returns:
/// - **S1** its `len` bytes at its `ptr` are valid for reads and writes through that pointer, and no
///   reference to them exists but to cells or atomics;
/// - **S2** nobody else in this process writes them as long as the stream may: from then until the
///   next call of `next_range` (where the sink may take the old range back *after* its last look at
///   `open`, and then must not panic) or `end_root`, or until the stream is dropped;
/// - **S3** a range taken back in `end_root`, or between two roots, is not written again: the next
///   `begin_root` returns another range or an error;
/// - **S4** all this holds on whichever thread the stream lives, if the implementor is `Send`.
pub unsafe trait Sink {
    /// The current range is full (`used` bytes of it hold data, the tail stays unwritten): gives
    /// the next one, of at least 16 bytes, or an error.
    ///
    /// After an error the stream swallows everything until the next root message begins; it keeps
    /// counting bytes, so that lengths deferred earlier still get their value.
    ///
    /// `open` are the messages whose length is still open in the old range. The sink remembers
    /// them as far as it needs to find their bytes when [`Sink::fill`] comes. `used` is 0 and
    /// `open` empty while there is no range at all.
    ///
    /// # Errors
    /// [`WriteError`] when there is no memory to hand out.
    fn next_range(&mut self, used: usize, open: &mut OpenSlots<'_>) -> Result<Range, WriteError>;

    /// The length of a message that began in an earlier range is known: a padded varint for the
    /// four bytes at `slot`.
    ///
    /// A message whose writer was forgotten (`mem::forget`) is never told; the root's end settles
    /// what is left.
    fn fill(&mut self, slot: Slot, length: [u8; 4]);

    /// A root message begins, with `used` bytes of the current range holding data. Gives a range to
    /// go on with, or `None` to go on where the stream is.
    ///
    /// # Errors
    /// [`WriteError`] when there is no memory: the whole message is swallowed.
    #[inline]
    fn begin_root(&mut self, used: usize) -> Result<Option<Range>, WriteError> {
        let _ = used;
        Ok(None)
    }

    /// The root message is finished at `used`. Returns the position from which to go on, at most
    /// `used`: a sink that framed the message may have moved it.
    ///
    /// After an error in this message `used` is 0: the stream has no range any more.
    #[inline]
    fn end_root(&mut self, used: usize) -> usize {
        used
    }
}

/// A sink that a program may reach while a stream has it, and put another in its place.
///
/// # Safety
/// An implementation promises:
/// - **S5** each `begin_root` returns a range or an error, never `None`, and neither it nor `end_root`
///   trusts `used` to be about the range this sink handed out last.
pub unsafe trait SwapSink: Sink {}

//! Appends to a buffer that grows in one piece: `Vec<u8>`, and `BytesMut` with feature `bytes`. The
//! result needs no copy at the end.
//!
//! ```text
//!  content of the buffer | finished roots | open root ...  |  spare capacity |
//!  0                     start                             len               capacity
//!                                                          └── the range ────┘
//! ```
//!
//! A range is always the start of the spare capacity, and as long as everything that was appended
//! so far. When it is full, its bytes become content, the buffer grows if necessary, and writing
//! continues after it. The buffer may move when it grows, so open lengths are found by their index.
//!
//! A range is zeroed before the stream gets it. [`Sink`] receives only a number of written bytes,
//! and a wrong number must not expose uninitialized memory.
#![allow(unsafe_code)]

use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::DerefMut;
use core::ptr::NonNull;

use crate::encode::{OpenSlots, Range, Sink, Slot, StreamOf};
use crate::error::WriteError;

/// Length of the first range.
const RANGE_MIN: usize = 256;

/// A buffer that grows in one piece. Implemented for `Vec<u8>` and, with feature `bytes`, for
/// `BytesMut`.
///
/// # Safety
/// `spare_capacity` returns at least the requested length. It lies after the content, and stays in
/// place until the next call. Its initialized bytes remain initialized if the content is at the
/// same address in the next call. It panics only before it changes anything. `set_len` changes only
/// the length.
pub unsafe trait Growable: DerefMut<Target = [u8]> {
    /// The free space after the content: at least `additional` bytes.
    fn spare_capacity(&mut self, additional: usize) -> &mut [MaybeUninit<u8>];

    /// Makes the first `len` bytes the content.
    ///
    /// # Safety
    /// These bytes are initialized, and `len` does not exceed the capacity.
    unsafe fn set_len(&mut self, len: usize);
}

// SAFETY: a `Vec` moves its content only in `reserve`, which keeps all initialized bytes when it
// grows in place; `set_len` only stores a number.
unsafe impl Growable for Vec<u8> {
    #[inline]
    fn spare_capacity(&mut self, additional: usize) -> &mut [MaybeUninit<u8>] {
        self.reserve(additional);
        self.spare_capacity_mut()
    }

    #[inline]
    unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: the caller guarantees it.
        unsafe { self.set_len(len) };
    }
}

#[cfg(feature = "bytes")]
// SAFETY: a `BytesMut` moves its content only in `reserve`, which keeps all bytes that it does not
// move; `set_len` only stores a number.
unsafe impl Growable for bytes::BytesMut {
    #[inline]
    fn spare_capacity(&mut self, additional: usize) -> &mut [MaybeUninit<u8>] {
        self.reserve(additional);
        self.spare_capacity_mut()
    }

    #[inline]
    unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: the caller guarantees it.
        unsafe { self.set_len(len) };
    }
}

/// Appends to the caller's buffer, in place.
///
/// Each finished root message is content of the buffer, even if the stream is dropped. A failed
/// root message is removed. A root message whose scope was leaked (`mem::forget`) is removed by the
/// next one or by `finish`; a dropped stream leaves its written part in the buffer.
///
/// ```
/// use protozero::{AppendSink, field};
///
/// let mut bytes = b"head".to_vec();
/// let mut stream = AppendSink::stream(&mut bytes);
/// field::uint32::<1>(&mut stream.root(), 300);
/// assert_eq!(stream.finish()?, b"\x08\xac\x02");
/// assert_eq!(bytes, b"head\x08\xac\x02");
/// # Ok::<(), protozero::WriteError>(())
/// ```
#[derive(Debug)]
pub struct AppendSink<'v, B> {
    buffer: &'v mut B,
    /// Length of the content before the stream began.
    start: usize,
    /// Index of the first byte of the current range.
    base: usize,
    /// Length of the current range.
    len: usize,
    /// Index of the open root message, or of the next one.
    root: usize,
    /// The stream has no range of this sink.
    lost: bool,
    /// Open lengths in earlier ranges, with their indices.
    open: Vec<(Slot, usize)>,
    /// Address of the buffer's content when the last range was created, and the index up to which
    /// its memory was initialized. The memory of a failed message need not be zeroed again.
    zeroed: (usize, usize),
    /// Number of zeroed bytes.
    #[cfg(test)]
    pub(super) zeroed_count: usize,
}

impl<'v, B: Growable> AppendSink<'v, B> {
    /// A stream that appends to `buffer`.
    #[inline]
    pub fn stream(buffer: &'v mut B) -> StreamOf<Self> {
        let start = buffer.len();
        let (open, zeroed) = (Vec::new(), (0, 0));
        StreamOf::new(Self {
            buffer,
            start,
            base: start,
            len: 0,
            root: start,
            lost: true,
            open,
            zeroed,
            #[cfg(test)]
            zeroed_count: 0,
        })
    }

    fn range(&mut self) -> Range {
        // As long as everything appended so far: each byte is zeroed about once, and moved when the
        // buffer grows.
        let more = self.buffer.len().saturating_sub(self.start).max(RANGE_MIN);
        let base = self.buffer.len();
        let spare = self.buffer.spare_capacity(more);
        let range = spare.get_mut(..more).unwrap_or_default();
        // If the buffer did not move, it is the same memory, and only this sink has written to it.
        let at = range.as_ptr().addr().wrapping_sub(base);
        let (was_at, until) = self.zeroed;
        let done = if at == was_at { until.saturating_sub(base).min(range.len()) } else { 0 };
        range[done..].fill(MaybeUninit::new(0));
        #[cfg(test)]
        {
            self.zeroed_count += range.len() - done;
        }
        self.zeroed = (at, if at == was_at { until } else { 0 }.max(base + range.len()));
        self.lost = false;
        self.base = base;
        self.len = range.len();
        Range::from_raw(NonNull::from(range).cast(), self.len)
    }

    /// Makes the start of the current range content.
    fn keep(&mut self, used: usize) {
        let len = self.base + used.min(self.len);
        if len > self.buffer.len() {
            // SAFETY: the bytes are initialized and within the capacity: all `len` bytes of the
            // range were zeroed, and they follow `base` bytes of content, which only `cut`
            // shortens.
            unsafe { self.buffer.set_len(len) };
        }
    }

    /// Removes the content from `len` on.
    fn cut(&mut self, len: usize) {
        if len < self.buffer.len() {
            // SAFETY: `len` is less than the length of the content.
            unsafe { self.buffer.set_len(len) };
        }
        self.base = self.buffer.len();
        self.len = 0;
        self.lost = true;
    }
}

// SAFETY:
// - valid: each range is spare capacity of a buffer that this sink borrows mutably, and which does
//   not move until `range` is called again (`Growable`);
// - unshared: only this sink can access the buffer, and it reads only the content. A range becomes
//   content after the stream has left it, or between two roots in a part that the stream does not
//   write again;
// - thread: the memory of the buffer belongs to no thread.
unsafe impl<B: Growable> Sink for AppendSink<'_, B> {
    fn next_range(&mut self, used: usize, open: &mut OpenSlots<'_>) -> Result<Range, WriteError> {
        let base = self.base;
        self.open.extend(open.map(|slot| (slot, base + slot.offset as usize)));
        self.keep(used);
        Ok(self.range())
    }

    fn fill(&mut self, slot: Slot, length: [u8; 4]) {
        let Some(at) = self.open.iter().rposition(|(open, _)| *open == slot) else { return };
        let (_, from) = self.open[at];
        // Later messages that are still in the list were leaked.
        self.open.truncate(at);
        if let Some(bytes) = self.buffer.get_mut(from..).and_then(<[u8]>::first_chunk_mut) {
            *bytes = length;
        }
    }

    #[inline]
    fn begin_root(&mut self, _used: usize) -> Result<Option<Range>, WriteError> {
        Ok(self.lost.then(|| self.range()))
    }

    fn end_root(&mut self, used: usize) -> usize {
        self.open.clear();
        if used == 0 {
            // Either the message failed, and the stream has lost its range, or the message is empty
            // and begins its range. (A range is requested only when there are bytes for it.)
            self.cut(self.root);
            return used;
        }
        self.keep(used);
        self.root = self.buffer.len();
        used
    }
}

impl<'v, B: Growable> StreamOf<AppendSink<'v, B>> {
    /// The appended bytes.
    ///
    /// # Errors
    /// The first [`WriteError`]: a message or string is too long for its length field. The buffer
    /// then contains the root messages that did not fail.
    pub fn finish(mut self) -> Result<&'v mut [u8], WriteError> {
        self.end_forgotten();
        let error = self.first_error();
        let AppendSink { buffer, start, .. } = self.into_sink();
        match error {
            Some(error) => Err(error),
            None => Ok(buffer.get_mut(start..).unwrap_or_default()),
        }
    }
}

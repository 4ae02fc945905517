//! Behind the content of a buffer that grows and stays in one piece: `Vec<u8>`, and `BytesMut` with
//! feature `bytes`. Nothing is glued together at the end.
//!
//! ```text
//!  content of the buffer | finished roots | open root ...  |  spare capacity |
//!  0                     start                             len               capacity
//!                                                          └── the range ────┘
//! ```
//!
//! A range is always the front of the spare capacity, as long as what was appended so far. When it is
//! full its bytes become content, the buffer grows if it must, and writing goes on behind. Growing
//! may move the buffer: lengths still open are found by their index.
//!
//! A range is zeroed before it is handed out. [`Sink`] is told in a number how much of it was
//! written, and numbers are not to be trusted with uninitialised memory.
#![allow(unsafe_code)]

use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::DerefMut;
use core::ptr::NonNull;

use crate::encode::{OpenSlots, Range, Sink, Slot, StreamOf};
use crate::error::WriteError;

/// Bytes of the first range.
const RANGE_MIN: usize = 256;

/// A buffer that grows in one piece. Implemented for `Vec<u8>` and, with feature `bytes`, for
/// `BytesMut`.
///
/// # Safety
/// `spare_capacity` is at least as long as asked for, lies behind the content and stays where it is
/// until the buffer is asked for more; what is initialised there stays so if the content is at the same
/// address then. It panics only before it changes anything. `set_len` changes
/// the length and nothing else.
pub unsafe trait Growable: DerefMut<Target = [u8]> {
    /// Room behind the content: at least `additional` bytes.
    fn spare_capacity(&mut self, additional: usize) -> &mut [MaybeUninit<u8>];

    /// Makes the first `len` bytes the content.
    ///
    /// # Safety
    /// They are initialised, and no more than the capacity.
    unsafe fn set_len(&mut self, len: usize);
}

// SAFETY: a `Vec` moves its content only in `reserve`, which keeps all bytes of what it makes longer,
// and `set_len` stores a number.
unsafe impl Growable for Vec<u8> {
    #[inline]
    fn spare_capacity(&mut self, additional: usize) -> &mut [MaybeUninit<u8>] {
        self.reserve(additional);
        self.spare_capacity_mut()
    }

    #[inline]
    unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: passed on from the caller.
        unsafe { self.set_len(len) };
    }
}

#[cfg(feature = "bytes")]
// SAFETY: a `BytesMut` moves its content only in `reserve`, which keeps all bytes it does not move,
// and `set_len` stores a number.
unsafe impl Growable for bytes::BytesMut {
    #[inline]
    fn spare_capacity(&mut self, additional: usize) -> &mut [MaybeUninit<u8>] {
        self.reserve(additional);
        self.spare_capacity_mut()
    }

    #[inline]
    unsafe fn set_len(&mut self, len: usize) {
        // SAFETY: passed on from the caller.
        unsafe { self.set_len(len) };
    }
}

/// Appends to the caller's buffer, in place.
///
/// Each finished root message is content of the buffer, also if the stream is then dropped; one that
/// failed is taken out again. One whose scope was forgotten is taken out by the next one or by `finish`;
/// a stream that is dropped instead leaves what there is of it.
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
    /// Content before the stream began.
    start: usize,
    /// Index of the current range's first byte.
    base: usize,
    /// Bytes of the current range.
    len: usize,
    /// Index at which the open root message, or else the next, begins.
    root: usize,
    /// The stream has no range of ours.
    lost: bool,
    /// Lengths still open in earlier ranges, and where they belong.
    open: Vec<(Slot, usize)>,
    /// Address of the buffer's content when the last range was handed out, and the index up to which
    /// its memory was initialised then: what is lost with a message need not be zeroed again.
    zeroed: (usize, usize),
    /// Bytes zeroed so far.
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
        // As much again as was appended: each byte is zeroed about once, and moved by growth.
        let more = self.buffer.len().saturating_sub(self.start).max(RANGE_MIN);
        let base = self.buffer.len();
        let spare = self.buffer.spare_capacity(more);
        let range = spare.get_mut(..more).unwrap_or_default();
        // A buffer that did not move is the same memory, longer or not; nobody but this sink has been
        // there in between.
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

    /// Makes the front of the current range content.
    fn keep(&mut self, used: usize) {
        let len = self.base + used.min(self.len);
        if len > self.buffer.len() {
            // SAFETY: initialised and in the capacity: all `len` bytes of the range were zeroed once, and
            // lie behind `base` bytes of content, of which none is taken away but by `cut`.
            unsafe { self.buffer.set_len(len) };
        }
    }

    /// Takes content from `len` on away.
    fn cut(&mut self, len: usize) {
        if len < self.buffer.len() {
            // SAFETY: fewer bytes than are content.
            unsafe { self.buffer.set_len(len) };
        }
        self.base = self.buffer.len();
        self.len = 0;
        self.lost = true;
    }
}

// SAFETY:
// - valid: each range is spare capacity of a buffer borrowed mutably by this sink, which does not
//   move until `range` is called again (`Growable`);
// - unshared: nobody else reaches the buffer; this sink looks at its content only, and the range
//   becomes content when the stream has left it, or between two roots in a part it does not write
//   again;
// - thread: the buffer's memory belongs to no thread.
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
        // What was opened later and is still in the list was forgotten.
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
            // The message failed, which took the range away from the stream, or it is empty and the
            // first of its range. (A range is asked for only when there are bytes for it.)
            self.cut(self.root);
            return used;
        }
        self.keep(used);
        self.root = self.buffer.len();
        used
    }
}

impl<'v, B: Growable> StreamOf<AppendSink<'v, B>> {
    /// What was appended.
    ///
    /// # Errors
    /// The first [`WriteError`]: a message or string too long for its length field. The buffer then
    /// holds the root messages that did not fail.
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

//! One range: the caller's buffer. Needs no allocator.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::slice;

use crate::encode::{OpenSlots, Range, Sink, Slot, StreamOf};
use crate::error::WriteError;

/// Writes into a borrowed buffer. If the message does not fit, `finish` returns an error.
#[derive(Debug)]
pub struct FixedSink<'b> {
    ptr: NonNull<u8>,
    len: usize,
    buffer: PhantomData<&'b mut [u8]>,
}

// SAFETY: it represents a `&mut [u8]`, which may move to another thread.
unsafe impl Send for FixedSink<'_> {}

impl<'b> FixedSink<'b> {
    /// A stream into `buffer`.
    #[inline]
    pub fn stream(buffer: &'b mut [u8]) -> StreamOf<Self> {
        let len = buffer.len();
        // Keeps a raw pointer, because no reference may exist while the stream's cursor does.
        let ptr = NonNull::from(buffer).cast();
        Self::with_memory(ptr, len)
    }

    /// A stream into `buffer`, which may be uninitialized.
    #[inline]
    pub fn stream_uninit(buffer: &'b mut [MaybeUninit<u8>]) -> StreamOf<Self> {
        let len = buffer.len();
        let ptr = NonNull::from(buffer).cast();
        Self::with_memory(ptr, len)
    }

    #[inline]
    fn with_memory(ptr: NonNull<u8>, len: usize) -> StreamOf<Self> {
        StreamOf::with_range(Self { ptr, len, buffer: PhantomData }, Range::from_raw(ptr, len))
    }
}

// SAFETY:
// - valid and unshared: the range is a buffer that is borrowed mutably for `'b`, and this sink
//   keeps no reference to it;
// - it is handed out once, by `over`, and taken back only by `finish`, which consumes the stream;
// - thread: a `&mut [u8]` may be used from any thread.
unsafe impl Sink for FixedSink<'_> {
    #[cold]
    fn next_range(&mut self, _used: usize, _open: &mut OpenSlots<'_>) -> Result<Range, WriteError> {
        Err(WriteError::Full { capacity: self.len })
    }

    // Never called: there is no earlier range.
    fn fill(&mut self, _slot: Slot, _length: [u8; 4]) {}
}

impl<'b> StreamOf<FixedSink<'b>> {
    /// The written part of the buffer.
    ///
    /// # Errors
    /// The first [`WriteError`], usually because the buffer is too small.
    pub fn finish(self) -> Result<&'b mut [u8], WriteError> {
        if let Some(error) = self.first_error() {
            return Err(error);
        }
        let used = self.used();
        let sink = self.into_sink();
        debug_assert!(used <= sink.len);
        // SAFETY:
        // - valid: `used` is at most the length of the buffer borrowed for `'b`, and the stream
        //   wrote each of these bytes;
        // - unshared: the stream, which had the only pointer, is consumed.
        Ok(unsafe { slice::from_raw_parts_mut(sink.ptr.as_ptr(), used) })
    }
}

//! The caller's memory as a raw pointer: no reference to it may exist beside a stream's cursor.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;

use crate::encode::Range;

/// Memory borrowed for `'b`, of which a stream writes the front.
///
/// - **B1** `len` bytes at `ptr` are valid for reads and writes for as long as `'b`, and nobody else
///   uses them: they were borrowed mutably, or belong to an allocation kept beside this.
#[derive(Debug)]
pub(super) struct Borrowed<'b> {
    ptr: NonNull<u8>,
    len: usize,
    memory: PhantomData<&'b mut [u8]>,
}

// SAFETY: as `&mut [u8]`, which it stands for, may move to another thread.
unsafe impl Send for Borrowed<'_> {}

impl<'b> Borrowed<'b> {
    #[inline]
    pub(super) fn new(memory: &'b mut [u8]) -> Self {
        let len = memory.len();
        Self { ptr: NonNull::from(memory).cast(), len, memory: PhantomData }
    }

    /// The content of `memory`.
    ///
    /// # Safety
    /// `memory` is kept, and neither used nor dropped, as long as this.
    #[cfg(feature = "alloc")]
    pub(super) unsafe fn of_allocation(memory: &mut alloc::vec::Vec<u8>) -> Self {
        let len = memory.len();
        let ptr = NonNull::new(memory.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Self { ptr, len, memory: PhantomData }
    }

    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// All of it.
    #[inline]
    pub(super) const fn range(&self) -> Range {
        Range::from_raw(self.ptr, self.len)
    }

    /// Its first `used` bytes; no more than there are.
    ///
    /// # Safety
    /// Those bytes are initialised, and no stream writes them while the reference lives.
    #[inline]
    pub(super) unsafe fn front(&mut self, used: usize) -> &mut [u8] {
        let used = used.min(self.len);
        // SAFETY:
        // - valid: within the memory (B1), initialised as the caller says;
        // - unshared: `self` is borrowed mutably, and the caller vouches for the stream.
        unsafe { slice::from_raw_parts_mut(self.ptr.as_ptr(), used) }
    }

    /// Its first `used` bytes, given back for good; no more than there are.
    ///
    /// # Safety
    /// Those bytes are initialised, and no stream writes them any more.
    #[inline]
    pub(super) unsafe fn into_front(self, used: usize) -> &'b mut [u8] {
        let used = used.min(self.len);
        // SAFETY: as above (B1), and `self`, the only holder of the pointer, is gone.
        unsafe { slice::from_raw_parts_mut(self.ptr.as_ptr(), used) }
    }
}

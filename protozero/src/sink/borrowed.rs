//! The caller's memory as a raw pointer, because no reference to it may exist while a stream's
//! cursor does.
#![allow(unsafe_code)]

use core::marker::PhantomData;
use core::ptr::NonNull;
use core::slice;

use crate::encode::Range;

/// Memory that is borrowed for `'b`. A stream writes its front part.
///
/// - **B1** `len` bytes at `ptr` are valid for reads and writes for `'b`, and no other code uses
///   them: they were borrowed mutably, or belong to an allocation that is kept beside this value.
#[derive(Debug)]
pub(super) struct Borrowed<'b> {
    ptr: NonNull<u8>,
    len: usize,
    memory: PhantomData<&'b mut [u8]>,
}

// SAFETY: it represents a `&mut [u8]`, which may move to another thread.
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
    /// `memory` is kept, and neither used nor dropped, while this value exists.
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

    /// The whole memory.
    #[inline]
    pub(super) const fn range(&self) -> Range {
        Range::from_raw(self.ptr, self.len)
    }

    /// The first `used` bytes, or all if there are fewer.
    ///
    /// # Safety
    /// These bytes are initialized, and no stream writes them during the lifetime of the reference.
    #[inline]
    pub(super) unsafe fn front(&mut self, used: usize) -> &mut [u8] {
        let used = used.min(self.len);
        // SAFETY:
        // - valid: within the memory (B1), and initialized, as the caller guarantees;
        // - unshared: `self` is borrowed mutably, and the caller guarantees that no stream writes.
        unsafe { slice::from_raw_parts_mut(self.ptr.as_ptr(), used) }
    }

    /// The first `used` bytes, or all if there are fewer, for the rest of `'b`.
    ///
    /// # Safety
    /// These bytes are initialized, and no stream writes them again.
    #[inline]
    pub(super) unsafe fn into_front(self, used: usize) -> &'b mut [u8] {
        let used = used.min(self.len);
        // SAFETY: as above (B1); `self`, the only owner of the pointer, is consumed.
        unsafe { slice::from_raw_parts_mut(self.ptr.as_ptr(), used) }
    }
}

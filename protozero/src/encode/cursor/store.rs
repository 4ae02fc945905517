//! Plain stores: numbers, tags, varints and short strings, at an address that the caller has
//! checked. Words of encoded bytes are little-endian on every machine; `to_le` is free on
//! little-endian machines.
#![allow(unsafe_code)]

use core::ptr::{self, NonNull};

use crate::wire::{tag, varint};

/// Stores `value` at `to + at`.
///
/// # Safety
/// `at + size_of::<T>()` bytes at `to` are writable, and `T` has no padding.
#[inline(always)]
pub(super) unsafe fn put<T>(to: NonNull<u8>, at: usize, value: T) {
    // SAFETY: in bounds, as the caller guarantees.
    let to = unsafe { to.add(at) };
    // SAFETY: writable, as the caller guarantees; `write_unaligned` needs no alignment.
    unsafe { to.cast::<T>().write_unaligned(value) };
}

/// Stores a tag at `to` and returns its length.
///
/// # Safety
/// Eight bytes at `to` are writable.
#[inline(always)]
pub(super) unsafe fn put_tag(to: NonNull<u8>, tag: tag::Encoded) -> usize {
    // `tag` is a constant in every caller, so the compiler keeps one of these stores.
    match tag.len {
        // SAFETY: 1 <= 8, guaranteed by the caller.
        1 => unsafe { put(to, 0, tag.bytes as u8) },
        // SAFETY: 2 <= 8, guaranteed by the caller.
        2 => unsafe { put(to, 0, (tag.bytes as u16).to_le()) },
        // SAFETY: 8 <= 8, guaranteed by the caller.
        _ => unsafe { put(to, 0, tag.bytes.to_le()) },
    }
    tag.len
}

/// Stores `value` as a varint at `to + at`, and returns the number of bytes from `to` to its end.
///
/// # Safety
/// `at + 10` bytes at `to` are writable.
#[inline(always)]
pub(super) unsafe fn put_varint(to: NonNull<u8>, at: usize, value: u64) -> usize {
    // Well predicted, because most fields are always small (interning ids, types, flags) or always
    // large (times).
    if value < 0x80 {
        // SAFETY: `at + 1` is within the bytes that the caller guarantees.
        unsafe { put(to, at, value as u8) };
        at + 1
    } else if value >> 56 == 0 {
        let (word, len) = varint::word_long(value);
        // SAFETY: `at + 8` is within the bytes that the caller guarantees.
        unsafe { put(to, at, word.to_le()) };
        at + len
    } else {
        let (word, tail, len) = varint::wide(value);
        // SAFETY: `at + 8` is within the bytes that the caller guarantees.
        unsafe { put(to, at, word.to_le()) };
        // SAFETY: `at + 8 + 2` is within the bytes that the caller guarantees.
        unsafe { put(to, at + 8, tail.to_le()) };
        at + len
    }
}

/// Copies `bytes` to `to`. Names and categories are short, and two overlapping moves are faster
/// than a call of memcpy.
///
/// # Safety
/// `to` is valid for writes of `bytes.len()` bytes, and these do not overlap `bytes`.
#[inline(always)]
pub(super) unsafe fn copy(bytes: &[u8], to: NonNull<u8>) {
    macro_rules! ends {
        ($n:literal) => {
            if bytes.len() >= $n {
                // The first `$n` and the last `$n` bytes cover all bytes.
                let end = bytes.len() - $n;
                // SAFETY: in bounds of `bytes`, checked above.
                let from = unsafe { bytes.as_ptr().add(end) };
                // SAFETY: in bounds, as the caller guarantees.
                let tail = unsafe { to.add(end) };
                // SAFETY: readable, checked above; writable and not overlapping, as the caller
                // guarantees.
                unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), $n) };
                // SAFETY: as above.
                unsafe { ptr::copy_nonoverlapping(from, tail.as_ptr(), $n) };
                return;
            }
        };
    }
    if bytes.len() > 32 {
        // SAFETY: the caller guarantees it.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        return;
    }
    ends!(16);
    ends!(8);
    ends!(4);
    ends!(2);
    ends!(1);
}

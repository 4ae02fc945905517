//! A bounded raw write pointer over one range, and the only unsafe code of the writer.
//!
//! ```text
//! start            ptr                      end
//!   | written bytes | free: any content      |
//! ```
//!
//! Every function here is safe to call with any argument: bounds are checked once per field, by
//! one comparison with a constant slack, and what does not fit is refused with `false` for the
//! caller to take the slow road across ranges. The slack lets a varint be one eight-byte store and
//! a short move be sixteen-byte blocks; what they spill beyond `ptr` lands in free bytes.
//!
//! Invariants of [`Cursor`]:
//! - **C1** `start <= ptr <= end`, and all three point into (or one past) one range.
//! - **C2** `[start, end)` is readable and writable until the sink takes the range back, which it
//!   does only through `&mut` of the stream that owns this cursor: the contract of
//!   [`Sink`].
//! - **C3** `end - start <= RANGE_MAX`, so that offsets fit a `u32` and are never [`NONE`](super::slot::NONE).
//! - **C4** no reference into the range exists; bytes are reached through raw pointers only, so that a
//!   peer that scribbles over shared memory can change values and nothing else.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};

use super::slot::{OpenSlots, SLOT_LEN, Slot};
use crate::error::WriteError;
use crate::wire::{tag, varint};

/// Free bytes a scalar asks for before it stores anything: the longest tag (5) and varint (10), or
/// the tag and an eight-byte store.
const SLACK: usize = 16;

/// Longest range that is used; the rest of a longer one is left alone.
const RANGE_MAX: usize = (i32::MAX as usize) - SLACK;

/// A piece of memory a sink hands out.
///
/// Making one is safe and means nothing; what makes its memory writable is the promise of
/// `unsafe impl Sink`, from whose functions alone a stream accepts it.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    ptr: NonNull<u8>,
    len: usize,
    used: usize,
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

/// See the module.
pub(super) struct Cursor {
    ptr: NonNull<u8>,
    end: NonNull<u8>,
    start: NonNull<u8>,
}

// SAFETY:
// - the pointers are plain addresses here; what they lead to belongs to the sink, and `Sink` asks
//   that the ranges of a sink that is `Send` be writable from whichever thread owns the stream;
// - a stream is `Send` only if its sink is, because it holds both.
unsafe impl Send for Cursor {}

impl Cursor {
    /// A cursor over no bytes at all.
    #[inline]
    pub(super) const fn empty() -> Self {
        let nowhere = NonNull::dangling();
        Self { ptr: nowhere, end: nowhere, start: nowhere }
    }

    /// Moves to the beginning of `range`. The caller vouches by being the stream, which passes on
    /// only what its sink returned (C2).
    #[inline]
    pub(super) fn install(&mut self, range: Range) {
        let len = range.len.min(RANGE_MAX);
        let used = range.used.min(len);
        self.start = range.ptr;
        // SAFETY: in bounds: `used <= len`, and the sink owns `len` bytes at `ptr` (C2).
        self.ptr = unsafe { range.ptr.add(used) };
        // SAFETY: in bounds or one past: as above.
        self.end = unsafe { range.ptr.add(len) };
    }

    /// Bytes from the beginning of the range to the write pointer.
    #[inline(always)]
    pub(super) fn used(&self) -> usize {
        self.ptr.as_ptr().addr() - self.start.as_ptr().addr()
    }

    /// Free bytes.
    #[inline(always)]
    pub(super) fn room(&self) -> usize {
        self.end.as_ptr().addr() - self.ptr.as_ptr().addr()
    }

    /// Takes written bytes back so that `used` remain; more than there are changes nothing.
    #[inline]
    pub(super) fn rewind(&mut self, used: usize) {
        if used < self.used() {
            // SAFETY: in bounds: `used` is below the current distance from `start` (C1).
            self.ptr = unsafe { self.start.add(used) };
        }
    }

    /// Moves the write pointer to `at` bytes behind `from`, where it stands.
    ///
    /// # Safety
    /// `from` is the write pointer, and `at <= self.room()`.
    #[inline(always)]
    unsafe fn advance(&mut self, from: NonNull<u8>, at: usize) {
        // SAFETY: in bounds: promised by the caller (C1).
        self.ptr = unsafe { from.add(at) };
    }

    /// Appends a tag and a varint, unless fewer than [`SLACK`] bytes are free.
    #[inline(always)]
    pub(super) fn varint(&mut self, tag: tag::Encoded, value: u64) -> bool {
        let to = self.ptr;
        if self.room() < SLACK {
            return false;
        }
        // SAFETY: SLACK bytes are free, checked above (C2).
        let at = unsafe { put_tag(to, tag) };
        // SAFETY: a tag is at most 5 bytes, and 5 + 10 <= SLACK.
        let at = unsafe { put_varint(to, at, value) };
        // SAFETY: `at` <= 15 <= SLACK.
        unsafe { self.advance(to, at) };
        true
    }

    /// Appends a varint alone, unless fewer than [`SLACK`] bytes are free.
    #[inline(always)]
    pub(super) fn bare_varint(&mut self, value: u64) -> bool {
        let to = self.ptr;
        if self.room() < SLACK {
            return false;
        }
        // SAFETY: 10 <= SLACK, which is free (C2).
        let at = unsafe { put_varint(to, 0, value) };
        // SAFETY: `at` <= 10 <= SLACK.
        unsafe { self.advance(to, at) };
        true
    }

    /// Appends a tag and the bytes of a fixed-width number, unless fewer than [`SLACK`] bytes are
    /// free.
    #[inline(always)]
    pub(super) fn fixed<const LEN: usize>(&mut self, tag: tag::Encoded, value: [u8; LEN]) -> bool {
        const { assert!(LEN <= 8) };
        let to = self.ptr;
        if self.room() < SLACK {
            return false;
        }
        // SAFETY: SLACK bytes are free, checked above (C2).
        let at = unsafe { put_tag(to, tag) };
        // SAFETY: 5 + 8 <= SLACK.
        unsafe { put(to, at, value) };
        // SAFETY: as above.
        unsafe { self.advance(to, at + LEN) };
        true
    }

    /// Appends the bytes of a fixed-width number alone, unless fewer than [`SLACK`] are free.
    #[inline(always)]
    pub(super) fn bare_fixed<const LEN: usize>(&mut self, value: [u8; LEN]) -> bool {
        const { assert!(LEN <= 8) };
        let to = self.ptr;
        if self.room() < SLACK {
            return false;
        }
        // SAFETY: 8 <= SLACK, which is free (C2).
        unsafe { put(to, 0, value) };
        // SAFETY: as above.
        unsafe { self.advance(to, LEN) };
        true
    }

    /// Appends a tag, the canonical length and `bytes`, unless they and [`SLACK`] do not fit.
    #[inline(always)]
    pub(super) fn bytes(&mut self, tag: tag::Encoded, bytes: &[u8]) -> bool {
        let to = self.ptr;
        let room = self.room();
        if room < SLACK || bytes.len() > room - SLACK {
            return false;
        }
        // SAFETY: SLACK bytes are free, checked above (C2).
        let at = unsafe { put_tag(to, tag) };
        // SAFETY: 5 + 10 <= SLACK.
        let at = unsafe { put_varint(to, at, bytes.len() as u64) };
        // SAFETY: in bounds: `at` <= 15 <= SLACK.
        let body = unsafe { to.add(at) };
        // SAFETY:
        // - writable: `at + bytes.len() <= SLACK + bytes.len() <= room` (C2);
        // - apart: `bytes` is a reference, and none leads into a range (C4).
        unsafe { copy(bytes, body) };
        // SAFETY: as above.
        unsafe { self.advance(to, at + bytes.len()) };
        true
    }

    /// Appends as much of `bytes` as fits and returns how many those are.
    #[inline]
    pub(super) fn append(&mut self, bytes: &[u8]) -> usize {
        let n = bytes.len().min(self.room());
        // SAFETY:
        // - readable and writable: `n` is at most either length (C2);
        // - apart: `bytes` is a reference, and none leads into a range (C4).
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.ptr.as_ptr(), n) };
        // SAFETY: `n <= room`.
        unsafe { self.advance(self.ptr, n) };
        n
    }

    /// Appends a tag and a slot that holds `link`; `None` if fewer than [`SLACK`] bytes are free.
    #[inline(always)]
    pub(super) fn open(&mut self, tag: tag::Encoded, link: u32) -> Option<u32> {
        let to = self.ptr;
        if self.room() < SLACK {
            return None;
        }
        // SAFETY: SLACK bytes are free, checked above (C2).
        let at = unsafe { put_tag(to, tag) };
        // SAFETY: 5 + 4 <= SLACK.
        unsafe { put(to, at, link) };
        // SAFETY: as above.
        unsafe { self.advance(to, at + SLOT_LEN) };
        Some((self.used() - SLOT_LEN) as u32)
    }

    /// Appends a slot that holds `link`; `None` if it does not fit in one piece.
    pub(super) fn reserve(&mut self, link: u32) -> Option<u32> {
        let offset = self.used() as u32;
        (self.room() >= SLOT_LEN).then(|| {
            self.append(&link.to_ne_bytes());
            offset
        })
    }

    /// Stores the length of the message whose slot is at `offset` and which ends at the write
    /// pointer: in one byte, moving the body back by three, if it has at most 127 bytes, else
    /// padded. False if there is no such slot or the body is too long.
    #[inline(always)]
    pub(super) fn close(&mut self, offset: u32) -> bool {
        // A slot that is not there (offset past the write pointer) wraps around to more than
        // PADDED_MAX: both numbers are below 2^32, on machines of any width.
        let end = u64::from(offset) + SLOT_LEN as u64;
        let len = (self.used() as u64).wrapping_sub(end);
        if len <= u64::from(varint::ONE_BYTE_MAX) {
            let len = len as usize;
            // SAFETY: in bounds: `offset + SLOT_LEN + len == used`, by the subtraction above.
            let slot = unsafe { self.start.add(offset as usize) };
            // SAFETY: as above.
            let body = unsafe { slot.add(SLOT_LEN) };
            // SAFETY: as above.
            let to = unsafe { slot.add(1) };
            if self.room() >= SLACK {
                let mut at = 0;
                while at < len {
                    // SAFETY: in bounds: `at < len`.
                    let from = unsafe { body.add(at) };
                    // SAFETY: in bounds: before `from`.
                    let to = unsafe { to.add(at) };
                    // SAFETY: readable (C2): starts before the write pointer, where SLACK more
                    // bytes follow; `MaybeUninit` asks nothing of their content.
                    let block = unsafe { from.cast::<MaybeUninit<[u8; SLACK]>>().read_unaligned() };
                    // SAFETY: writable (C2): ends three bytes before the block just read. The next
                    // block begins past what is stored here, so it is still as it was.
                    unsafe { to.cast::<MaybeUninit<[u8; SLACK]>>().write_unaligned(block) };
                    at += SLACK;
                }
            } else {
                // SAFETY: both lie between `start` and `ptr` (C2); `copy` allows the overlap.
                unsafe { ptr::copy(body.as_ptr(), to.as_ptr(), len) };
            }
            // SAFETY: writable: the slot's first byte (C2).
            unsafe { slot.write(len as u8) };
            // SAFETY: in bounds: three of the slot's bytes lie before `ptr` (C1).
            self.ptr = unsafe { self.ptr.sub(SLOT_LEN - 1) };
            true
        } else if len <= u64::from(varint::PADDED_MAX) {
            self.write4(offset, varint::padded(len as u32));
            true
        } else {
            false
        }
    }

    /// The four bytes at `offset`; zero if they are not all written.
    #[inline]
    pub(super) fn read4(&self, offset: u32) -> u32 {
        if self.used() < SLOT_LEN || offset as usize > self.used() - SLOT_LEN {
            return 0;
        }
        // SAFETY: in bounds: checked above (C1).
        let from = unsafe { self.start.add(offset as usize) };
        // SAFETY: readable and written before (C2); no alignment asked.
        unsafe { from.cast::<u32>().read_unaligned() }
    }

    /// Replaces the four bytes at `offset`, if they are all written.
    #[inline]
    pub(super) fn write4(&mut self, offset: u32, bytes: [u8; SLOT_LEN]) {
        if self.used() < SLOT_LEN || offset as usize > self.used() - SLOT_LEN {
            return;
        }
        // SAFETY: in bounds: checked above (C1).
        let to = unsafe { self.start.add(offset as usize) };
        // SAFETY: writable (C2); no alignment asked.
        unsafe { to.cast::<[u8; SLOT_LEN]>().write_unaligned(bytes) };
    }
}

/// Stores `value` at `at` bytes past `to`.
///
/// # Safety
/// `at + size_of::<T>()` bytes at `to` are writable, and `T` has no padding.
#[inline(always)]
unsafe fn put<T>(to: NonNull<u8>, at: usize, value: T) {
    // SAFETY: in bounds: promised by the caller.
    let to = unsafe { to.add(at) };
    // SAFETY: writable, promised by the caller; `write_unaligned` asks no alignment.
    unsafe { to.cast::<T>().write_unaligned(value) };
}

/// Stores a tag at `to` and returns its length.
///
/// # Safety
/// Eight bytes at `to` are writable.
#[inline(always)]
unsafe fn put_tag(to: NonNull<u8>, tag: tag::Encoded) -> usize {
    // `tag` is a constant in every caller, so one of these stores remains.
    match tag.len {
        // SAFETY: 1 <= 8, promised by the caller.
        1 => unsafe { put(to, 0, tag.bytes as u8) },
        // SAFETY: 2 <= 8, promised by the caller.
        2 => unsafe { put(to, 0, tag.bytes as u16) },
        // SAFETY: 8 <= 8, promised by the caller.
        _ => unsafe { put(to, 0, tag.bytes) },
    }
    tag.len
}

/// Stores `value` as varint at `at` and returns the bytes from `to` to its end.
///
/// # Safety
/// `at + 10` bytes at `to` are writable.
#[inline(always)]
unsafe fn put_varint(to: NonNull<u8>, at: usize, value: u64) -> usize {
    // Most fields are always small or always not: interning ids, types, flags against times.
    if value < 0x80 {
        // SAFETY: `at + 1` is within what the caller promised.
        unsafe { put(to, at, value as u8) };
        at + 1
    } else if value < 1 << 56 {
        let (word, len) = varint::word(value);
        // SAFETY: `at + 8` is within what the caller promised.
        unsafe { put(to, at, word) };
        at + len
    } else {
        let (word, tail, len) = varint::wide(value);
        // SAFETY: `at + 8` is within what the caller promised.
        unsafe { put(to, at, word) };
        // SAFETY: `at + 8 + 2` is within what the caller promised.
        unsafe { put(to, at + 8, tail) };
        at + len
    }
}

/// Copies `bytes` to `to`. Names and categories are short, and two overlapping moves cost less than
/// a call of memcpy.
///
/// # Safety
/// `to` is valid for `bytes.len()` bytes of writes, none of which are in `bytes`.
#[inline(always)]
unsafe fn copy(bytes: &[u8], to: NonNull<u8>) {
    /// Stores the first and the last `N` bytes, which together are all of them.
    ///
    /// # Safety
    /// As for `copy`.
    #[inline(always)]
    unsafe fn ends<const N: usize>(head: [u8; N], tail: [u8; N], len: usize, to: NonNull<u8>) {
        // SAFETY: in bounds: `tail` was taken from the end of `len` bytes.
        let end = unsafe { to.add(len - N) };
        // SAFETY: writable, promised by the caller.
        unsafe { to.cast::<[u8; N]>().write_unaligned(head) };
        // SAFETY: writable, promised by the caller.
        unsafe { end.cast::<[u8; N]>().write_unaligned(tail) };
    }
    macro_rules! ends {
        ($n:literal) => {
            if let (Some(head), Some(tail)) = (bytes.first_chunk::<$n>(), bytes.last_chunk::<$n>())
            {
                // SAFETY: passed on from the caller.
                return unsafe { ends(*head, *tail, bytes.len(), to) };
            }
        };
    }
    if bytes.len() > 32 {
        // SAFETY: promised by the caller.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to.as_ptr(), bytes.len()) };
        return;
    }
    ends!(16);
    ends!(8);
    ends!(4);
    ends!(2);
    ends!(1);
}

//! The write pointer, and nearly all unsafe code of the writer.
//!
//! ```text
//! start                              ptr          end          limit
//!   | tag | s | body . . tag | s | body | free: any content | reserve |     s = narrow slot
//!             `<--- link ----'                              3 bytes each
//! ```
//!
//! A [`Cursor`] is two addresses in registers. The open message owns it, passes it to its child,
//! and gets it back when the child ends. Only slow paths need the [`RangeState`] of the stream: the
//! range, and which open messages have a slot of one byte (*narrow*) or four bytes (*wide*). A
//! [`Frame`] is what an open message stores about its slot.
//!
//! A *place* is a number that grows along the stream: the upper half is the number of the range,
//! from 1, and the lower half is the offset in it. Two places with a difference below 2^31 are in
//! the same range. One subtraction therefore shows whether a message began in this range, and how
//! long it is.
//!
//! Narrow messages are always the innermost ones, because making a slot wide makes all outer slots
//! wide, too. [`RangeState::wide`] is the place that separates them: the bodies of narrow messages
//! begin after it.
//!
//! Invariants:
//! - **C1** a cursor is nowhere (`ptr` dangles, `last` is 0), or points into (or one past) the
//!   current range of its stream and may write up to its *end*, `last + SLACK`: `start <= ptr <=
//!   end <= limit`. At most one cursor of a stream is not nowhere, and the stream takes it before
//!   it returns the range to the sink.
//! - **C2** `[start, limit)` is readable and writable until the sink takes the range back. It does
//!   so only through `&mut` of the stream: this is the contract of [`Sink`]. The sink of a stream
//!   is replaced only by a sink that never continues in an earlier range ([`SwapSink`]). The bytes
//!   between the start of writing and `ptr` were written; the rest may be uninitialized.
//! - **C3** `limit - start <= RANGE_MAX`, so that offsets fit 31 bits.
//! - **C4** there are no references into the range. Bytes are accessed through raw pointers only,
//!   so that a peer that overwrites shared memory can change values and nothing else.
//! - **C5** while a frame is narrow (`body > wide`), its body begins at place `body` of the current
//!   range, at or before `ptr`, and its slot is the byte before. The cursor's end is `3 * narrow`
//!   bytes before `limit`. An error and a new range both set `wide` after all existing frames.
#![allow(unsafe_code)]

mod range;
mod range_state;
mod store;

use core::ptr::{self, NonNull};

use self::store::{copy, put, put_tag, put_varint};
use super::slot::SLOT_LEN;
use crate::wire::{tag, varint};

pub use range::{Range, Sink, SwapSink};
pub(super) use range_state::{Direction, RangeState};

/// Free bytes that a scalar needs before it stores anything: the longest tag (5) and varint (10),
/// or the tag and a store of eight bytes.
const SLACK: usize = 16;

/// Bytes a narrow slot grows by when it becomes wide.
const GROWTH: usize = SLOT_LEN - 1;

/// Maximum length of a range. The rest of a longer one is not used.
const RANGE_MAX: usize = (i32::MAX as usize) - SLACK;

/// If a child begins after more bytes of a narrow message, the message is made wide first: few
/// bytes must move now, and many at its end. It is also the largest distance that a link can store.
const NARROW_MAX: u64 = varint::ONE_BYTE_MAX as u64;

/// Bytes at both ends of the address space that are not used. They exceed every number that is
/// added to an address before a comparison.
const EDGE: usize = 256;

/// Moving up to this number of bytes is worth it, to save two bytes in each length of the outer
/// messages.
const MOVED_MAX: u64 = 512;

/// The write pointer; see the [module](self).
pub(super) struct Cursor {
    ptr: NonNull<u8>,
    /// The last address after which [`SLACK`] bytes are free, if there is one.
    last: usize,
}

/// What an open message stores about its slot; see the [module](self).
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Place of the body when it began. Each narrow slot before it, its own included, may have
    /// grown since then. 0 means that there is no slot.
    body: u64,
    /// Number of open narrow slots, this one included, when it was opened; 0 if it was wide from
    /// the beginning.
    narrow: u32,
}

// SAFETY:
// - the pointer is a plain address here. Its memory belongs to the sink, and `Sink` requires that
//   the ranges of a `Send` sink are writable from every thread that owns the stream;
// - a stream is `Send` only if its sink is, because it contains both.
unsafe impl Send for Cursor {}

impl Frame {
    /// A message without a slot: a root, or a message that was opened after an error.
    pub(super) const NONE: Self = Self { body: 0, narrow: 0 };

    #[inline(always)]
    pub(super) fn parts(self) -> (u64, u32) {
        (self.body, self.narrow)
    }

    /// The inverse of [`Frame::parts`].
    #[inline]
    pub(super) fn from_parts(body: u64, narrow: u32) -> Self {
        Self { body, narrow }
    }

    /// The number of the range with the slot, and the slot's offset after it became wide.
    pub(super) fn slot(self) -> Option<(u32, u32)> {
        let wide = self.wide_body();
        (self.body != 0).then(|| ((wide >> 32) as u32 - 1, wide as u32 - SLOT_LEN as u32))
    }

    /// Treats a wide slot as if it had been narrow, so that one byte is used if it is enough.
    pub(super) fn compact(self) -> Self {
        let narrow = u32::from(self.body != 0);
        Self { body: self.body.saturating_sub(GROWTH as u64), narrow }
    }

    /// Place of the body after its slot became wide.
    #[inline]
    pub(super) fn wide_body(self) -> u64 {
        self.body + u64::from(self.narrow) * GROWTH as u64
    }
}

impl Cursor {
    /// A cursor without any bytes.
    pub(super) const NOWHERE: Self = Self { ptr: NonNull::dangling(), last: 0 };

    #[inline(always)]
    pub(super) fn take(&mut self) -> Self {
        core::mem::replace(self, Self::NOWHERE)
    }

    #[inline(always)]
    pub(super) fn is_nowhere(&self) -> bool {
        self.ptr == NonNull::dangling()
    }

    /// Number of free bytes.
    #[inline]
    fn free_bytes(&self) -> usize {
        if self.is_nowhere() { 0 } else { self.last + SLACK - self.ptr.as_ptr().addr() }
    }

    /// True if at least `more` bytes and [`SLACK`] are free. False if the cursor is nowhere.
    #[inline(always)]
    fn has(&self, more: usize) -> bool {
        self.ptr.as_ptr().addr() + more <= self.last
    }

    /// Appends a tag and a varint, unless fewer than [`SLACK`] bytes are free.
    #[inline(always)]
    pub(super) fn varint(&mut self, tag: tag::Encoded, value: u64) -> bool {
        let to = self.ptr;
        if !self.has(0) {
            return false;
        }
        // SAFETY: SLACK bytes are free, checked above (C2).
        let at = unsafe { put_tag(to, tag) };
        // SAFETY: a tag is at most 5 bytes, and 5 + 10 <= SLACK.
        let at = unsafe { put_varint(to, at, value) };
        // SAFETY: in bounds: `at` <= 15 <= SLACK (C1).
        self.ptr = unsafe { to.add(at) };
        true
    }

    /// Appends a varint without a tag, unless fewer than [`SLACK`] bytes are free.
    #[inline(always)]
    pub(super) fn bare_varint(&mut self, value: u64) -> bool {
        let to = self.ptr;
        if !self.has(0) {
            return false;
        }
        // SAFETY: 10 <= SLACK, which is free (C2).
        let at = unsafe { put_varint(to, 0, value) };
        // SAFETY: in bounds: `at` <= 10 <= SLACK (C1).
        self.ptr = unsafe { to.add(at) };
        true
    }

    /// Appends a tag, unless fewer than [`SLACK`] bytes are free.
    #[inline(always)]
    pub(super) fn tag(&mut self, tag: tag::Encoded) -> bool {
        let to = self.ptr;
        if !self.has(0) {
            return false;
        }
        // SAFETY: SLACK bytes are free, checked above (C2).
        let at = unsafe { put_tag(to, tag) };
        // SAFETY: in bounds: `at` <= 5 <= SLACK (C1).
        self.ptr = unsafe { to.add(at) };
        true
    }

    /// Appends a tag and the bytes of a fixed-width number, unless fewer than [`SLACK`] bytes are
    /// free.
    #[inline(always)]
    pub(super) fn fixed<const LEN: usize>(&mut self, tag: tag::Encoded, value: [u8; LEN]) -> bool {
        const { assert!(LEN <= 8) };
        let to = self.ptr;
        if !self.has(0) {
            return false;
        }
        // SAFETY: SLACK bytes are free, checked above (C2).
        let at = unsafe { put_tag(to, tag) };
        // SAFETY: 5 + 8 <= SLACK.
        unsafe { put(to, at, value) };
        // SAFETY: in bounds: as above (C1).
        self.ptr = unsafe { to.add(at + LEN) };
        true
    }

    /// Appends the bytes of a fixed-width number without a tag, unless fewer than [`SLACK`] bytes
    /// are free.
    #[inline(always)]
    pub(super) fn bare_fixed<const LEN: usize>(&mut self, value: [u8; LEN]) -> bool {
        const { assert!(LEN <= SLACK) };
        let to = self.ptr;
        if !self.has(0) {
            return false;
        }
        // SAFETY: LEN <= SLACK, which is free (C2).
        unsafe { put(to, 0, value) };
        // SAFETY: in bounds: as above (C1).
        self.ptr = unsafe { to.add(LEN) };
        true
    }

    /// Appends a tag, the length and `bytes`, unless there are more than 127 bytes, or they and
    /// [`SLACK`] do not fit.
    #[inline(always)]
    pub(super) fn bytes(&mut self, tag: tag::Encoded, bytes: &[u8]) -> bool {
        let (to, len) = (self.ptr, bytes.len());
        if len > varint::ONE_BYTE_MAX as usize || !self.has(len) {
            return false;
        }
        // SAFETY: SLACK bytes are free, checked above (C2).
        let at = unsafe { put_tag(to, tag) };
        // SAFETY: 5 + 1 <= SLACK.
        unsafe { put(to, at, len as u8) };
        // SAFETY: in bounds: `at + 1` <= 6 <= SLACK.
        let body = unsafe { to.add(at + 1) };
        // SAFETY:
        // - writable: `at + 1 + len <= SLACK + len <= room` (C2);
        // - not overlapping: `bytes` is a reference, and no reference points into a range (C4).
        unsafe { copy(bytes, body) };
        // SAFETY: in bounds: as above (C1).
        self.ptr = unsafe { body.add(len) };
        true
    }

    /// Appends as much of `bytes` as fits, and returns the number of appended bytes.
    #[inline]
    pub(super) fn append(&mut self, bytes: &[u8]) -> usize {
        let n = bytes.len().min(self.free_bytes());
        // SAFETY:
        // - readable and writable: `n` is at most either length (C2);
        // - not overlapping: `bytes` is a reference, and no reference points into a range (C4).
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.ptr.as_ptr(), n) };
        // SAFETY: in bounds: `n <= room` (C1).
        self.ptr = unsafe { self.ptr.add(n) };
        n
    }

    /// Opens a narrow message inside the message of `frame`; the child gets the cursor. Returns
    /// `None` and appends nothing if fewer than [`SLACK`] bytes are free, or `frame` must become
    /// wide first.
    #[inline(always)]
    pub(super) fn open(
        &mut self,
        state: &RangeState,
        frame: Frame,
        tag: tag::Encoded,
    ) -> Option<(Self, Frame)> {
        let to = self.ptr;
        if !self.has(0) {
            return None;
        }
        // The distance to the slot of the next outer narrow message; 0 if there is none.
        let (mut link, mut narrow) = (0, 1);
        if frame.body > state.wide {
            let len = state.place(to) - frame.body;
            if len > NARROW_MAX {
                return None;
            }
            link = len as u8 + 1 + tag.len as u8;
            narrow = frame.narrow + 1;
        }
        // SAFETY: SLACK bytes are free, checked above (C2).
        let at = unsafe { put_tag(to, tag) };
        // SAFETY: 5 + 1 <= SLACK.
        unsafe { put(to, at, link) };
        // SAFETY: in bounds: as above (C1).
        let ptr = unsafe { to.add(at + 1) };
        // GROWTH bytes are free after the 6 bytes that were just used (C5).
        let last = self.last - GROWTH;
        *self = Self::NOWHERE;
        Some((Self { ptr, last }, Frame { body: state.place(ptr), narrow }))
    }

    /// Ends the narrow message of `frame` if it has at most 127 bytes; the parent gets the cursor.
    /// Otherwise returns false and does nothing.
    #[inline(always)]
    pub(super) fn close(&mut self, state: &RangeState, frame: Frame) -> bool {
        // This is the length if the message began in this range and no child was leaked. If one
        // was, the cursor is nowhere, below all addresses, and the subtraction wraps to a large
        // number.
        let len = state.place(self.ptr).wrapping_sub(frame.body);
        if len > u64::from(varint::ONE_BYTE_MAX) || frame.body <= state.wide {
            return false;
        }
        // SAFETY: in bounds: the frame is narrow, and its slot precedes its body of `len` bytes (C5).
        let slot = unsafe { self.ptr.sub(len as usize + 1) };
        // SAFETY: writable: before `ptr` (C2).
        unsafe { slot.write(len as u8) };
        // Frees the reserve of this frame (C5).
        self.last += GROWTH;
        true
    }
}

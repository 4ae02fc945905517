//! The write pointer, and nearly all unsafe code of the writer.
//!
//! ```text
//! start                              ptr          end          limit
//!   | tag | s | body . . tag | s | body | free: any content | reserve |     s = narrow slot
//!             `<--- link ----'                              3 bytes each
//! ```
//!
//! A [`Cursor`] is two addresses that live in registers: an open message owns it, hands it to the
//! child it opens and gets it back when the child ends. What only slow paths need is the
//! [`RangeState`] of the stream: the range, and which open messages have a slot of one byte (*narrow*)
//! and which of four (*wide*). A [`Frame`] is what an open message remembers of its own slot.
//!
//! A *place* is a number that grows along the stream: the range's number, from 1, in the upper half and
//! the offset in the lower. Two places less than 2^31 apart are in the same range, so one subtraction
//! tells both that a message began in this range and how long it is.
//!
//! Narrow messages are the innermost ones: whoever makes a slot wide makes all outer ones wide, and
//! [`RangeState::wide`] is a mark that parts them by the place where their bodies begin.
//!
//! Invariants:
//! - **C1** a cursor is nowhere (`ptr` dangles, `last` is 0) or points into (or one past) the current
//!   range of its stream, and may write up to its *end*, `last + SLACK`: `start <= ptr <= end <= limit`.
//!   At most one cursor of a stream is not nowhere, and the stream takes it before it lets the sink
//!   have the range back.
//! - **C2** `[start, limit)` is readable and writable until the sink takes the range back, which it
//!   does only through `&mut` of the stream: the contract of [`Sink`]. The sink of a stream is not
//!   replaced, but by one that never goes on in a range from before ([`SwapSink`]). What lies between where the range
//!   was begun and `ptr` was written; the rest may be uninitialised.
//! - **C3** `limit - start <= RANGE_MAX`, so that offsets fit 31 bits.
//! - **C4** no reference into the range exists; bytes are reached through raw pointers only, so that a
//!   peer that scribbles over shared memory can change values and nothing else.
//! - **C5** while a frame is narrow (`body > wide`) its body begins at place `body` of the current
//!   range, at or before `ptr`, with its slot in the byte before; the cursor's end is `3 * narrow`
//!   bytes before `limit`. Failing, and a new range, set `wide` past all frames there are.
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

/// Free bytes a scalar asks for before it stores anything: the longest tag (5) and varint (10), or
/// the tag and an eight-byte store.
const SLACK: usize = 16;

/// Bytes a narrow slot grows by when it becomes wide.
const GROWTH: usize = SLOT_LEN - 1;

/// Longest range that is used; the rest of a longer one is left alone.
const RANGE_MAX: usize = (i32::MAX as usize) - SLACK;

/// A child that opens further into a narrow message makes it wide first: few bytes have to move now,
/// and many would at its end. Also what a link can tell.
const NARROW_MAX: u64 = varint::ONE_BYTE_MAX as u64;

/// Bytes at either end of the address space that are not used: more than is ever added to an address
/// before it is compared.
const EDGE: usize = 256;

/// Bytes worth moving to spare outer messages two bytes each of their lengths.
const MOVED_MAX: u64 = 512;

/// See the [module](self).
pub(super) struct Cursor {
    ptr: NonNull<u8>,
    /// The last address with [`SLACK`] free bytes behind it, if there is one.
    last: usize,
}

/// What an open message knows of its slot; see the [module](self).
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Place of the body as it was when it began: each narrow slot up to it, its own included, may have
    /// grown since. 0: there is no slot.
    body: u64,
    /// Narrow slots up to this one when it was opened; 0 if it was wide from the beginning.
    narrow: u32,
}

// SAFETY:
// - the pointer is a plain address here; what it leads to belongs to the sink, and `Sink` asks that
//   the ranges of a sink that is `Send` be writable from whichever thread owns the stream;
// - a stream is `Send` only if its sink is, because it holds both.
unsafe impl Send for Cursor {}

impl Frame {
    /// Of a message without a slot: a root, or one opened while the stream swallows.
    pub(super) const NONE: Self = Self { body: 0, narrow: 0 };

    #[inline(always)]
    pub(super) fn parts(self) -> (u64, u32) {
        (self.body, self.narrow)
    }

    /// A frame of what [`Frame::parts`] gave.
    #[inline]
    pub(super) fn from_parts(body: u64, narrow: u32) -> Self {
        Self { body, narrow }
    }

    /// Number of the range with the slot, and the slot's offset once it is wide.
    pub(super) fn slot(self) -> Option<(u32, u32)> {
        let wide = self.wide_body();
        (self.body != 0).then(|| ((wide >> 32) as u32 - 1, wide as u32 - SLOT_LEN as u32))
    }

    /// The same of a wide slot, as if it had been narrow: one byte will be enough where it is.
    pub(super) fn compact(self) -> Self {
        let narrow = u32::from(self.body != 0);
        Self { body: self.body.saturating_sub(GROWTH as u64), narrow }
    }

    /// Place of the body once its slot is wide.
    #[inline]
    pub(super) fn wide_body(self) -> u64 {
        self.body + u64::from(self.narrow) * GROWTH as u64
    }
}

impl Cursor {
    /// A cursor over no bytes at all.
    pub(super) const NOWHERE: Self = Self { ptr: NonNull::dangling(), last: 0 };

    #[inline(always)]
    pub(super) fn take(&mut self) -> Self {
        core::mem::replace(self, Self::NOWHERE)
    }

    #[inline(always)]
    pub(super) fn is_nowhere(&self) -> bool {
        self.ptr == NonNull::dangling()
    }

    /// Free bytes.
    #[inline]
    fn room(&self) -> usize {
        if self.is_nowhere() { 0 } else { self.last + SLACK - self.ptr.as_ptr().addr() }
    }

    /// True if at least `more` bytes and [`SLACK`] are free; false if the cursor is nowhere.
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

    /// Appends a varint alone, unless fewer than [`SLACK`] bytes are free.
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

    /// Appends a tag alone, unless fewer than [`SLACK`] bytes are free.
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

    /// Appends the bytes of a fixed-width number alone, unless fewer than [`SLACK`] are free.
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

    /// Appends a tag, the length and `bytes`, unless they are more than 127 or they and [`SLACK`] do
    /// not fit.
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
        // - apart: `bytes` is a reference, and none leads into a range (C4).
        unsafe { copy(bytes, body) };
        // SAFETY: in bounds: as above (C1).
        self.ptr = unsafe { body.add(len) };
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
        // SAFETY: in bounds: `n <= room` (C1).
        self.ptr = unsafe { self.ptr.add(n) };
        n
    }

    /// Opens a narrow message inside the one of `frame`; the cursor is the child's then. `None`, and
    /// nothing appended, if fewer than [`SLACK`] bytes are free or `frame` has to become wide first.
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
        // The distance to the slot of the next outer narrow message, if there is one.
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
        // GROWTH bytes are free behind the 6 that were just used (C5).
        let last = self.last - GROWTH;
        *self = Self::NOWHERE;
        Some((Self { ptr, last }, Frame { body: state.place(ptr), narrow }))
    }

    /// Ends the narrow message of `frame` if it has at most 127 bytes; false, and nothing done, if it
    /// has more or is not narrow. The cursor is the parent's then.
    #[inline(always)]
    pub(super) fn close(&mut self, state: &RangeState, frame: Frame) -> bool {
        // Without a child forgotten (then the cursor is nowhere, below all addresses, and this wraps
        // around) and in the range it began in this is the length.
        let len = state.place(self.ptr).wrapping_sub(frame.body);
        if len > u64::from(varint::ONE_BYTE_MAX) || frame.body <= state.wide {
            return false;
        }
        // SAFETY: in bounds: the frame is narrow, and its slot precedes its body of `len` bytes (C5).
        let slot = unsafe { self.ptr.sub(len as usize + 1) };
        // SAFETY: writable: before `ptr` (C2).
        unsafe { slot.write(len as u8) };
        // The reserve of this frame (C5).
        self.last += GROWTH;
        true
    }
}

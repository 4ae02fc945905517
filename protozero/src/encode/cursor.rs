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
//! [`Ground`] of the stream: the range, and which open messages have a slot of one byte (*narrow*)
//! and which of four (*wide*). A [`Frame`] is what an open message remembers of its own slot.
//!
//! A *place* is a number that grows along the stream: the range's number, from 1, in the upper half and
//! the offset in the lower. Two places less than 2^31 apart are in the same range, so one subtraction
//! tells both that a message began in this range and how long it is.
//!
//! Narrow messages are the innermost ones: whoever makes a slot wide makes all outer ones wide, and
//! [`Ground::wide`] is a mark that parts them by the place where their bodies begin.
//!
//! Invariants:
//! - **C1** a cursor is nowhere (`ptr` dangles, `last` is 0) or points into (or one past) the current
//!   range of its stream, and may write up to its *end*, `last + SLACK`: `start <= ptr <= end <= limit`.
//!   At most one cursor of a stream is not nowhere, and the stream takes it before it lets the sink
//!   have the range back.
//! - **C2** `[start, limit)` is readable and writable until the sink takes the range back, which it
//!   does only through `&mut` of the stream: the contract of [`Sink`]. What lies between where the range
//!   was begun and `ptr` was written; the rest may be uninitialised.
//! - **C3** `limit - start <= RANGE_MAX`, so that offsets fit 31 bits.
//! - **C4** no reference into the range exists; bytes are reached through raw pointers only, so that a
//!   peer that scribbles over shared memory can change values and nothing else.
//! - **C5** while a frame is narrow (`body > wide`) its body begins at place `body` of the current
//!   range, at or before `ptr`, with its slot in the byte before; the cursor's end is `3 * narrow`
//!   bytes before `limit`. Failing, and a new range, set `wide` past all frames there are.
#![allow(unsafe_code)]

mod range;
mod store;

use core::ptr::{self, NonNull};

use self::store::{copy, put, put_tag, put_varint};
use super::scalar::SMALL;
use super::slot::{NONE, SLOT_LEN};
use crate::wire::{tag, varint};

pub use range::{Range, Sink};

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

/// The range being written, and which slots in it are wide.
pub(super) struct Ground {
    start: NonNull<u8>,
    limit: NonNull<u8>,
    /// An address plus this is a place.
    origin: u64,
    /// Frames whose body begins at this place or before are not narrow.
    wide: u64,
    /// Offset of the innermost wide open slot of the range; each holds that of the next outer one.
    pub(super) head: u32,
}

// SAFETY:
// - the pointers are plain addresses here; what they lead to belongs to the sink, and `Sink` asks
//   that the ranges of a sink that is `Send` be writable from whichever thread owns the stream;
// - a stream is `Send` only if its sink is, because it holds both.
unsafe impl Send for Ground {}

// SAFETY: as above.
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
        ground: &Ground,
        frame: Frame,
        tag: tag::Encoded,
    ) -> Option<(Self, Frame)> {
        let to = self.ptr;
        if !self.has(0) {
            return None;
        }
        // The distance to the slot of the next outer narrow message, if there is one.
        let (mut link, mut narrow) = (0, 1);
        if frame.body > ground.wide {
            let len = ground.place(to) - frame.body;
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
        Some((Self { ptr, last }, Frame { body: ground.place(ptr), narrow }))
    }

    /// Ends the narrow message of `frame` if it has at most 127 bytes; false, and nothing done, if it
    /// has more or is not narrow. The cursor is the parent's then.
    #[inline(always)]
    pub(super) fn close(&mut self, ground: &Ground, frame: Frame) -> bool {
        // Without a child forgotten (then the cursor is nowhere, below all addresses, and this wraps
        // around) and in the range it began in this is the length.
        let len = ground.place(self.ptr).wrapping_sub(frame.body);
        if len > u64::from(varint::ONE_BYTE_MAX) || frame.body <= ground.wide {
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

impl Ground {
    /// No range.
    pub(super) const NONE: Self = Self {
        start: NonNull::dangling(),
        limit: NonNull::dangling(),
        origin: 0,
        wide: u64::MAX,
        head: NONE,
    };

    /// The ground of `range`, the stream's `number`th from 0, and a cursor at its beginning. The caller
    /// vouches by being the stream, which passes on only what its sink returned (C2).
    #[inline]
    pub(super) fn new(range: Range, number: u32) -> (Self, Cursor) {
        let len = range.len.min(RANGE_MAX);
        // Hardly a program has memory at the ends of the address space. None is used there, for the
        // sake of sums of `ptr` and `last` with small numbers.
        let apart = usize::MAX - EDGE - len;
        let len = if (EDGE..apart).contains(&range.ptr.as_ptr().addr()) { len } else { 0 };
        let used = range.used.min(len);
        // SAFETY: in bounds: `used <= len`, and the sink owns `len` bytes at `ptr` (C2).
        let ptr = unsafe { range.ptr.add(used) };
        // SAFETY: in bounds or one past: as above.
        let limit = unsafe { range.ptr.add(len) };
        let place = (u64::from(number) + 1) << 32;
        let origin = place.wrapping_sub(range.ptr.as_ptr().addr() as u64);
        let ground = Self { start: range.ptr, limit, origin, wide: place - 1, head: NONE };
        let at = Cursor { ptr, last: ground.last() };
        (ground, at)
    }

    /// Swallows: no range, and all frames there are cease to be narrow.
    pub(super) fn fail(&mut self) {
        *self = Self { origin: self.origin, ..Self::NONE };
    }

    /// Bytes from the beginning of the range to the cursor; 0 if it is nowhere.
    #[inline(always)]
    pub(super) fn used(&self, at: &Cursor) -> usize {
        if at.is_nowhere() { 0 } else { at.ptr.as_ptr().addr() - self.start.as_ptr().addr() }
    }

    /// Free bytes behind the cursor, reserves included.
    #[inline]
    pub(super) fn room(&self, at: &Cursor) -> usize {
        if at.is_nowhere() { 0 } else { self.limit.as_ptr().addr() - at.ptr.as_ptr().addr() }
    }

    #[inline(always)]
    fn place(&self, ptr: NonNull<u8>) -> u64 {
        self.origin.wrapping_add(ptr.as_ptr().addr() as u64)
    }

    /// The place of a cursor that is not nowhere.
    #[inline(always)]
    pub(super) fn place_of(&self, at: &Cursor) -> u64 {
        self.place(at.ptr)
    }

    /// The place of the range's first byte.
    pub(super) fn first(&self) -> u64 {
        self.place(self.start)
    }

    /// Place of the frame's body; 0 without a slot.
    #[inline]
    pub(super) fn body(&self, frame: Frame) -> u64 {
        if self.is_narrow(frame) { frame.body } else { frame.wide_body() }
    }

    /// True if the message of `frame` is narrow and too long to open another inside it.
    pub(super) fn is_long(&self, at: &Cursor, frame: Frame) -> bool {
        self.is_narrow(frame) && self.place(at.ptr).wrapping_sub(frame.body) > NARROW_MAX
    }

    #[inline(always)]
    fn is_narrow(&self, frame: Frame) -> bool {
        !SMALL && frame.body > self.wide
    }

    /// Takes written bytes back so that `used` remain; more than there are changes nothing. No open message
    /// is narrow, and none begins behind `used`.
    #[inline]
    pub(super) fn rewind(&mut self, at: Cursor, used: usize) -> Cursor {
        if used >= self.used(&at) {
            return at;
        }
        // SAFETY: in bounds: `used` is below the current distance from `start` (C1).
        let ptr = unsafe { self.start.add(used) };
        self.wide = self.place(ptr);
        Cursor { ptr, last: at.last }
    }

    /// Ends the narrow message of `frame` with a canonical length in front of more than 127 bytes, which
    /// move. Gives the cursor back where it is better to make outer slots wide in the same go.
    pub(super) fn close_long(&self, at: Cursor, frame: Frame) -> Result<Cursor, Cursor> {
        let len = self.place(at.ptr).wrapping_sub(frame.body);
        let width = varint::len(len);
        if !self.is_narrow(frame)
            || at.is_nowhere()
            || width > SLOT_LEN
            || (frame.narrow > 1 && len > MOVED_MAX)
        {
            return Err(at);
        }
        let used = self.used(&at);
        let body = used - len as usize;
        self.shift(body, used, body + width - 1);
        let (word, _) = varint::word(len);
        // SAFETY: in bounds: the slot's byte precedes the body (C5).
        let slot = unsafe { self.start.add(body - 1) };
        // SAFETY: writable: the slot and the `width - 1` bytes that are free now (C2); apart: a local.
        unsafe { ptr::copy_nonoverlapping(word.to_le_bytes().as_ptr(), slot.as_ptr(), width) };
        // SAFETY: in bounds: `width - 1 <= GROWTH` bytes of the frame's reserve (C5).
        let ptr = unsafe { at.ptr.add(width - 1) };
        // The reserve of this frame (C5).
        Ok(Cursor { ptr, last: at.last + GROWTH })
    }

    /// Makes the slots of `frame`, the innermost message, and of all outer ones wide.
    ///
    /// ```text
    /// s . . . s . . s . . . .   ^ ptr      links lead from right to left
    /// s s s s . . . s s s s . . s s s s . . . .   ^ ptr
    /// ```
    ///
    /// The links lie in memory a peer may share: a forged one puts lengths in wrong places, all of
    /// which are in front of the cursor.
    pub(super) fn widen(&mut self, at: Cursor, frame: Frame) -> Cursor {
        if !self.is_narrow(frame) || at.is_nowhere() {
            return at;
        }
        let count = frame.narrow as usize;
        let (mut slot, mut end) = ((frame.body as u32 as usize).wrapping_sub(1), self.used(&at));
        let head = slot.wrapping_add((count - 1) * GROWTH);
        for by in (0..count).rev().map(|outside| outside * GROWTH) {
            let outer = slot.saturating_sub(usize::from(self.get(slot)));
            let body = slot.wrapping_add(1);
            self.shift(body, end, body.wrapping_add(by + GROWTH));
            let next = if by == 0 { self.head } else { (outer + by - GROWTH) as u32 };
            self.set4(slot.wrapping_add(by), next.to_ne_bytes());
            (end, slot) = (slot, outer);
        }
        self.head = head as u32;
        // SAFETY: in bounds: the reserves of `count` narrow frames (C5).
        let ptr = unsafe { at.ptr.add(count * GROWTH) };
        self.wide = self.place(ptr);
        Cursor { ptr, last: self.last() }
    }

    /// Opens a narrow message whose tag is written already, with no more room than its slot may come to
    /// need. Gives the cursor back if there is less.
    pub(super) fn open_tight(&self, at: Cursor, frame: Frame) -> Result<(Cursor, Frame), Cursor> {
        if at.room() < SLOT_LEN {
            return Err(at);
        }
        let (mut link, mut narrow) = (0, 1);
        if self.is_narrow(frame) {
            // At most NARROW_MAX and a tag: longer ones were made wide before.
            link = (self.place(at.ptr) - frame.body + 1) as u8;
            narrow = frame.narrow + 1;
        }
        // SAFETY: writable: SLOT_LEN bytes are free (C2).
        unsafe { at.ptr.write(link) };
        // SAFETY: in bounds: as above.
        let ptr = unsafe { at.ptr.add(1) };
        // SLOT_LEN - 1 == GROWTH bytes are free behind it (C5).
        let last = at.last - GROWTH;
        Ok((Cursor { ptr, last }, Frame { body: self.place(ptr), narrow }))
    }

    /// Opens a message with a wide slot whose tag is written already, in a message that is not narrow.
    /// Gives the cursor back if the slot does not fit.
    pub(super) fn open_wide(&mut self, mut at: Cursor) -> Result<(Cursor, Frame), Cursor> {
        if at.room() < SLOT_LEN {
            return Err(at);
        }
        let offset = self.used(&at) as u32;
        at.append(&self.head.to_ne_bytes());
        self.head = offset;
        self.wide = self.place(at.ptr);
        let frame = Frame { body: self.wide, narrow: 0 };
        Ok((at, frame))
    }

    /// Ends the message of `frame`, whose wide slot is in this range, with `length`. If one byte is enough
    /// for it and would have been had no padded message been inside, the body moves back.
    pub(super) fn close_wide(
        &mut self,
        at: Cursor,
        frame: Frame,
        length: [u8; SLOT_LEN],
    ) -> Cursor {
        let body = frame.wide_body() as u32;
        let slot = body.wrapping_sub(SLOT_LEN as u32);
        // Forged links (shared memory) must lead outwards.
        let outer = self.get4(slot);
        self.head = if outer < slot { outer } else { NONE };
        let used = self.used(&at);
        let len = used.wrapping_sub(body as usize);
        if frame.narrow == 0 || len > varint::ONE_BYTE_MAX as usize {
            self.set4(slot as usize, length);
            return at;
        }
        self.shift(body as usize, used, body as usize - GROWTH);
        let mut at = self.rewind(at, slot as usize);
        at.append(&[len as u8]);
        // SAFETY: in bounds: `len` bytes behind the slot, where they were just moved (C1).
        Cursor { ptr: unsafe { at.ptr.add(len) }, last: at.last }
    }

    /// See [`Cursor::last`].
    #[inline]
    fn last(&self) -> usize {
        self.limit.as_ptr().addr() - SLACK
    }

    fn len(&self) -> usize {
        self.limit.as_ptr().addr() - self.start.as_ptr().addr()
    }

    /// The byte at offset `at`, which was written; 0 if it is not in the range.
    fn get(&self, at: usize) -> u8 {
        if at >= self.len() {
            return 0;
        }
        // SAFETY: in bounds: checked above (C2).
        let from = unsafe { self.start.add(at) };
        // SAFETY: readable (C2), and written before, says the caller.
        unsafe { from.read() }
    }

    /// The four bytes at `offset`, which were written; 0 if they are not in the range.
    pub(super) fn get4(&self, offset: u32) -> u32 {
        let at = offset as usize;
        if self.len() < SLOT_LEN || at > self.len() - SLOT_LEN {
            return 0;
        }
        // SAFETY: in bounds: checked above (C2).
        let from = unsafe { self.start.add(at) };
        // SAFETY: readable (C2), and written before, says the caller; no alignment asked.
        unsafe { from.cast::<u32>().read_unaligned() }
    }

    /// Replaces the four bytes at offset `at`, if they are in the range.
    pub(super) fn set4(&mut self, at: usize, bytes: [u8; SLOT_LEN]) {
        if self.len() < SLOT_LEN || at > self.len() - SLOT_LEN {
            return;
        }
        // SAFETY: in bounds: checked above (C2).
        let to = unsafe { self.start.add(at) };
        // SAFETY: writable (C2); no alignment asked.
        unsafe { to.cast::<[u8; SLOT_LEN]>().write_unaligned(bytes) };
    }

    /// Moves the bytes between offsets `from` and `to` to offset `at`, if all of that is in the range.
    fn shift(&self, from: usize, to: usize, at: usize) {
        if from >= to || to > self.len() || at > self.len() - (to - from) {
            return;
        }
        // SAFETY: in bounds: `from < to <= len`, checked above (C2).
        let from_ptr = unsafe { self.start.add(from) };
        // SAFETY: in bounds: checked above (C2).
        let to_ptr = unsafe { self.start.add(at) };
        // SAFETY: both lie in the range (C2), and `copy` allows the overlap.
        unsafe { ptr::copy(from_ptr.as_ptr(), to_ptr.as_ptr(), to - from) };
    }
}

//! The current range: its data for slow paths, and how its slots become wide.
//!
//! The invariants C1 to C5 are those of [`cursor`](super).
#![allow(unsafe_code)]

use core::ptr::{self, NonNull};

use super::super::slot::SMALL;
use super::super::slot::{NONE, SLOT_LEN};
use super::{Cursor, EDGE, Frame, GROWTH, MOVED_MAX, NARROW_MAX, RANGE_MAX, Range, SLACK};
use crate::wire::varint;

/// The current range, and which of its slots are wide.
pub(in super::super) struct RangeState {
    start: NonNull<u8>,
    limit: NonNull<u8>,
    /// Address + `origin` = place.
    origin: u64,
    /// Frames whose body begins at or before this place are not narrow.
    pub(super) wide: u64,
    /// Offset of the innermost open wide slot of the range. Each wide slot stores the offset of the
    /// next outer one.
    pub(in super::super) head: u32,
    /// Offset at which the stream began to write. The bytes before it belong to the sink.
    floor: u32,
}

/// The direction of a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Direction {
    /// To the next outer message, whose slot comes before this one.
    Outwards,
    /// To the next inner message, after [`OpenSlots`](super::super::OpenSlots) reversed the list.
    Inwards,
}

// SAFETY: as for `Cursor`.
unsafe impl Send for RangeState {}

impl RangeState {
    /// No range.
    pub(in super::super) const NONE: Self = Self {
        start: NonNull::dangling(),
        limit: NonNull::dangling(),
        origin: 0,
        wide: u64::MAX,
        head: NONE,
        floor: 0,
    };

    /// The state of `range`, the stream's range `number`, from 0, and a cursor at its start. Only
    /// the stream calls this, with ranges that its sink returned (C2).
    #[inline]
    pub(in super::super) fn new(range: Range, number: u32) -> (Self, Cursor) {
        let len = range.len.min(RANGE_MAX);
        // Memory at the ends of the address space is not used, so that `ptr` and `last` plus small
        // numbers do not overflow. Programs rarely have memory there.
        let above = range.ptr.as_ptr().addr().wrapping_sub(EDGE);
        let len = if above < usize::MAX - 2 * EDGE - len { len } else { 0 };
        let used = range.used.min(len);
        // SAFETY: in bounds: `used <= len`, and the sink owns `len` bytes at `ptr` (C2).
        let ptr = unsafe { range.ptr.add(used) };
        // SAFETY: in bounds or one past: as above.
        let limit = unsafe { range.ptr.add(len) };
        let place = (u64::from(number) + 1) << 32;
        let origin = place.wrapping_sub(range.ptr.as_ptr().addr() as u64);
        let floor = used as u32;
        let state = Self { start: range.ptr, limit, origin, wide: place - 1, head: NONE, floor };
        let at = Cursor { ptr, last: state.last() };
        (state, at)
    }

    /// After an error: there is no range, and no frame is narrow.
    pub(in super::super) fn fail(&mut self) {
        *self = Self { origin: self.origin, ..Self::NONE };
    }

    /// Bytes from the start of the range to the cursor; 0 if the cursor is nowhere.
    #[inline(always)]
    pub(in super::super) fn used(&self, at: &Cursor) -> usize {
        if at.is_nowhere() { 0 } else { at.ptr.as_ptr().addr() - self.start.as_ptr().addr() }
    }

    /// Free bytes after the cursor, including reserves.
    #[inline]
    pub(in super::super) fn free_bytes(&self, at: &Cursor) -> usize {
        if at.is_nowhere() { 0 } else { self.limit.as_ptr().addr() - at.ptr.as_ptr().addr() }
    }

    #[inline(always)]
    pub(super) fn place(&self, ptr: NonNull<u8>) -> u64 {
        self.origin.wrapping_add(ptr.as_ptr().addr() as u64)
    }

    /// The place of a cursor, which must not be nowhere.
    #[inline(always)]
    pub(in super::super) fn place_of(&self, at: &Cursor) -> u64 {
        self.place(at.ptr)
    }

    /// The place of the range's first byte.
    pub(in super::super) fn first(&self) -> u64 {
        self.place(self.start)
    }

    /// Place of the frame's body; 0 if it has no slot.
    #[inline]
    pub(in super::super) fn body(&self, frame: Frame) -> u64 {
        if self.is_narrow(frame) { frame.body } else { frame.wide_body() }
    }

    /// True if the message of `frame` is narrow, and too long to open another message inside it.
    pub(in super::super) fn is_long(&self, at: &Cursor, frame: Frame) -> bool {
        self.is_narrow(frame) && self.place(at.ptr).wrapping_sub(frame.body) > NARROW_MAX
    }

    #[inline(always)]
    fn is_narrow(&self, frame: Frame) -> bool {
        !SMALL && frame.body > self.wide
    }

    /// Removes written bytes, so that `used` remain. A larger `used` changes nothing. No open
    /// message may be narrow or begin after `used`.
    #[inline]
    pub(in super::super) fn rewind(&mut self, at: Cursor, used: usize) -> Cursor {
        if used >= self.used(&at) {
            return at;
        }
        // SAFETY: in bounds: `used` is below the current distance from `start` (C1).
        let ptr = unsafe { self.start.add(used) };
        self.wide = self.place(ptr);
        Cursor { ptr, last: at.last }
    }

    /// Ends the narrow message of `frame` if it has more than 127 bytes: moves the body, and stores
    /// a canonical length before it. Returns the cursor as an error if it is better to make all
    /// slots wide at once.
    pub(in super::super) fn close_long(&self, at: Cursor, frame: Frame) -> Result<Cursor, Cursor> {
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
        // The slot of a narrow frame precedes its body, and the bytes up to the moved body are
        // free.
        for (at, byte) in (body - 1..body + width - 1).zip(varint::word(len).0.to_le_bytes()) {
            self.set(at, byte);
        }
        // SAFETY: in bounds: `width - 1 <= GROWTH` bytes of the frame's reserve (C5).
        let ptr = unsafe { at.ptr.add(width - 1) };
        // Frees the reserve of this frame (C5).
        Ok(Cursor { ptr, last: at.last + GROWTH })
    }

    /// Makes the slots of `frame`, the innermost message, and of all outer messages wide.
    ///
    /// ```text
    /// s . . . s . . s . . . .   ^ ptr      links point from right to left
    /// s s s s . . . s s s s . . s s s s . . . .   ^ ptr
    /// ```
    ///
    /// A forged link (see [`Self::link`]) can only put lengths in wrong places of the same packet.
    pub(in super::super) fn widen(&mut self, at: Cursor, frame: Frame) -> Cursor {
        if !self.is_narrow(frame) || at.is_nowhere() {
            return at;
        }
        let count = frame.narrow as usize;
        let (mut slot, mut end) = ((frame.body as u32 as usize).wrapping_sub(1), self.used(&at));
        let head = slot.wrapping_add((count - 1) * GROWTH);
        for by in (0..count).rev().map(|outside| outside * GROWTH) {
            let outer = self.narrow_link(slot);
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

    /// Opens a narrow message whose tag is already written, if there are at least as many bytes as
    /// its slot may need. Otherwise returns the cursor as an error.
    pub(in super::super) fn open_tight(
        &self,
        at: Cursor,
        frame: Frame,
    ) -> Result<(Cursor, Frame), Cursor> {
        if at.free_bytes() < SLOT_LEN {
            return Err(at);
        }
        let (mut link, mut narrow) = (0, 1);
        if self.is_narrow(frame) {
            // At most NARROW_MAX plus a tag: longer messages were made wide before.
            link = (self.place(at.ptr) - frame.body + 1) as u8;
            narrow = frame.narrow + 1;
        }
        // SAFETY: writable: SLOT_LEN bytes are free (C2).
        unsafe { at.ptr.write(link) };
        // SAFETY: in bounds: as above.
        let ptr = unsafe { at.ptr.add(1) };
        // SLOT_LEN - 1 == GROWTH bytes are free after it (C5).
        let last = at.last - GROWTH;
        Ok((Cursor { ptr, last }, Frame { body: self.place(ptr), narrow }))
    }

    /// Opens a message with a wide slot, inside a message that is not narrow. Its tag is already
    /// written. Returns the cursor as an error if the slot does not fit.
    pub(in super::super) fn open_wide(
        &mut self,
        mut at: Cursor,
    ) -> Result<(Cursor, Frame), Cursor> {
        if at.free_bytes() < SLOT_LEN {
            return Err(at);
        }
        let offset = self.used(&at) as u32;
        at.append(&self.head.to_ne_bytes());
        self.head = offset;
        self.wide = self.place(at.ptr);
        let frame = Frame { body: self.wide, narrow: 0 };
        Ok((at, frame))
    }

    /// Ends the message of `frame`, whose wide slot is in this range, with `length`. If the message
    /// began narrow and its length now fits one byte, moves the body back and stores one byte.
    pub(in super::super) fn close_wide(
        &mut self,
        at: Cursor,
        frame: Frame,
        length: [u8; SLOT_LEN],
    ) -> Cursor {
        let body = frame.wide_body() as u32;
        let slot = body.wrapping_sub(SLOT_LEN as u32);
        self.head = self.link(slot, Direction::Outwards);
        let used = self.used(&at);
        let len = used.wrapping_sub(body as usize);
        if frame.narrow == 0 || len > varint::ONE_BYTE_MAX as usize {
            self.set4(slot as usize, length);
            return at;
        }
        self.shift(body as usize, used, body as usize - GROWTH);
        let mut at = self.rewind(at, slot as usize);
        at.append(&[len as u8]);
        // SAFETY: in bounds: `len` bytes after the slot, to which they were just moved (C1).
        Cursor { ptr: unsafe { at.ptr.add(len) }, last: at.last }
    }

    /// The value for [`Cursor::last`].
    #[inline]
    fn last(&self) -> usize {
        // Saturates only if nothing fits.
        self.limit.as_ptr().addr().saturating_sub(SLACK)
    }

    fn len(&self) -> usize {
        self.limit.as_ptr().addr() - self.start.as_ptr().addr()
    }

    /// Reads the link in the narrow slot at offset `slot`; returns the offset of the next outer
    /// narrow slot, or `slot` for the outermost.
    ///
    /// Only this function and [`Self::link`] read the range back. A peer may have changed the
    /// bytes, so they are read once, with a volatile read, and the result is always in this packet
    /// and never further inwards.
    fn narrow_link(&self, slot: usize) -> usize {
        if slot >= self.len() {
            return slot;
        }
        // SAFETY: in bounds: checked above (C2).
        let from = unsafe { self.start.add(slot) };
        // SAFETY: readable (C2), and written when the message was opened.
        let distance = unsafe { from.read_volatile() };
        slot.saturating_sub(usize::from(distance)).max(self.floor as usize)
    }

    /// Reads the link in the wide slot at `slot`. Returns [`NONE`] if it is the last one, or if a
    /// peer made it point in the wrong direction or out of this packet. So every list ends, and its
    /// slots are in this packet.
    pub(in super::super) fn link(&self, slot: u32, direction: Direction) -> u32 {
        let at = slot as usize;
        if self.len() < SLOT_LEN || at > self.len() - SLOT_LEN {
            return NONE;
        }
        // SAFETY: in bounds: checked above (C2).
        let from = unsafe { self.start.add(at) };
        // SAFETY: readable (C2), and written when the slot became wide; an array of bytes needs no
        // alignment.
        let link = u32::from_ne_bytes(unsafe { from.cast::<[u8; SLOT_LEN]>().read_volatile() });
        let leads = match direction {
            Direction::Outwards => self.floor <= link && link < slot,
            Direction::Inwards => slot < link,
        };
        if leads { link } else { NONE }
    }

    /// Replaces the byte at offset `at`, if it is in the range.
    fn set(&self, at: usize, byte: u8) {
        if at < self.len() {
            // SAFETY: in bounds: checked above (C2).
            let to = unsafe { self.start.add(at) };
            // SAFETY: writable (C2).
            unsafe { to.write(byte) };
        }
    }

    /// Replaces the four bytes at offset `at`, if they are in the range.
    pub(in super::super) fn set4(&mut self, at: usize, bytes: [u8; SLOT_LEN]) {
        if self.len() < SLOT_LEN || at > self.len() - SLOT_LEN {
            return;
        }
        // SAFETY: in bounds: checked above (C2).
        let to = unsafe { self.start.add(at) };
        // SAFETY: writable (C2), without alignment.
        unsafe { to.cast::<[u8; SLOT_LEN]>().write_unaligned(bytes) };
    }

    /// Moves the bytes between offsets `from` and `to` to offset `at`, if both parts are in the
    /// range.
    fn shift(&self, from: usize, to: usize, at: usize) {
        if from >= to || to > self.len() || at > self.len() - (to - from) {
            return;
        }
        // SAFETY: in bounds: `from < to <= len`, checked above (C2).
        let from_ptr = unsafe { self.start.add(from) };
        // SAFETY: in bounds: checked above (C2).
        let to_ptr = unsafe { self.start.add(at) };
        // SAFETY: both parts are in the range (C2), and `copy` allows overlaps.
        unsafe { ptr::copy(from_ptr.as_ptr(), to_ptr.as_ptr(), to - from) };
    }
}

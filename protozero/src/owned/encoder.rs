//! The buffer for encoding owned messages. It is filled from its end to its start.
//!
//! ```text
//!   free                                  written so far
//!  |  .  .  .  .  .  .  .  .  .  .  .  . |tag|len|body ........ |   <- a nested message: its body
//!  0                                                          end      first, then length, then tag
//! ```
//!
//! An owned message is complete before encoding starts, so it can be written from its last field to
//! its first. When the tag of a nested message is written, its length is the number of bytes
//! written since its end: one pass, no cached sizes, and every length in its shortest form.
//!
//! If the buffers are too short, their content is lost. From then on the encoder only counts bytes, and
//! the caller encodes the message again into a buffer of that length.
//!
//! A message for the start of a caller's buffer is first written to a buffer on the stack, which is
//! in the cache. If that is full, the rest is written to the end of the caller's buffer. A short
//! message therefore touches the caller's memory only once, at its final place.
//!
//! ```text
//!   stack   |  .  .  [ tail ]          caller's   | .  .  .  .  .  [ head ]
//!                                  at last:       | head | tail | .  .  .
//! ```

use alloc::vec::Vec;

use super::backward::Backward;
use crate::decode::limits::DEPTH_MAX;
use crate::error::WriteError;
use crate::wire::tag::Encoded;
use crate::wire::{tag, varint};

/// Maximum length of a message, string or bytes (protobuf's limit).
const BYTES_MAX: usize = i32::MAX as usize;

/// Length of the buffer on the heap for messages that are too long for the stack.
const SPILL_LEN: usize = 4096;

/// More elements than these make a message that is not short.
const FEW_ELEMENTS: usize = 8;

/// What an encoder has written.
pub(super) struct Written<'b> {
    /// The length of the message, even if it did not fit the buffers.
    pub(super) len: usize,
    /// The end of the message, in the first buffer.
    pub(super) tail: Backward<'b>,
    /// What comes before that, in the second one. Empty if that is not needed. `None` if there is no second one.
    pub(super) head: Option<Backward<'b>>,
}

impl Written<'_> {
    /// Whether the message is in the buffers. If they were too short, nothing of it is.
    pub(super) fn is_whole(&self) -> bool {
        let head = self.head.as_ref().map_or(0, Backward::filled_len);
        self.len == self.tail.filled_len() + head
    }
}

/// Writes fields from the last to the first.
pub struct Encoder<'b> {
    /// The buffer that is filled now. It has no length after all of them were too short.
    buffer: Backward<'b>,
    /// The one before it, which is full.
    full: Option<Backward<'b>>,
    /// The length of this buffer and what was written outside of it: to the one before it, or only counted.
    len_max: usize,
    /// The next buffer, for when this one is full.
    pub(super) next: Option<Backward<'b>>,
    /// The buffer after that. It gets its memory when it is needed.
    pub(super) spill: Option<&'b mut Vec<u8>>,
    /// Number of open messages around the current one.
    depth: u32,
    error: Option<WriteError>,
}

impl<'b> Encoder<'b> {
    /// Fills `buffer` from its end.
    #[inline]
    pub(super) fn new(buffer: Backward<'b>) -> Self {
        Self {
            len_max: buffer.capacity(),
            buffer,
            full: None,
            next: None,
            spill: None,
            depth: 0,
            error: None,
        }
    }

    /// Only counts, inside of `depth` open messages.
    pub(super) fn counting(depth: u32) -> Self {
        Self { depth, ..Self::new(Backward::EMPTY) }
    }

    /// Says that so many elements come, so that more of the caller's buffer is in the cache when they are written.
    #[inline(always)]
    pub fn expect_elements(&self, count: usize) {
        if count > FEW_ELEMENTS {
            self.prefetch_more();
        }
    }

    #[inline(never)]
    fn prefetch_more(&self) {
        if let Some(next) = &self.next {
            next.prefetch_more();
        }
    }

    /// Whether bytes were only counted, because the buffers were too short.
    fn is_counted(&self) -> bool {
        self.buffer.capacity() == 0
    }

    /// Number of bytes written or counted.
    #[inline]
    pub fn written(&self) -> usize {
        self.len_max.wrapping_sub(self.buffer.free())
    }

    /// Records an error. The first one is kept.
    #[cold]
    #[inline(never)]
    fn fail(&mut self, error: WriteError) {
        self.error.get_or_insert(error);
    }

    /// What was written.
    ///
    /// # Errors
    /// The first error.
    #[inline]
    pub(super) fn finish(self) -> Result<Written<'b>, WriteError> {
        let len = self.written();
        match self.error {
            Some(error) => Err(error),
            None if len > BYTES_MAX => Err(WriteError::TooLong { len: len as u64 }),
            None => Ok(match self.full {
                Some(tail) => Written { len, tail, head: Some(self.buffer) },
                None => Written { len, tail: self.buffer, head: self.next },
            }),
        }
    }

    /// Writes `bytes` before the written bytes.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        if !self.buffer.put(bytes) {
            self.raw_in_next(bytes);
        }
    }

    /// [`Encoder::raw`] without enough space: continues in the next buffer, if there is one.
    #[cold]
    #[inline(never)]
    fn raw_in_next(&mut self, bytes: &[u8]) {
        if self.is_counted() {
            return self.count_more(bytes.len());
        }
        let spill = || {
            let spill = self.spill.take()?;
            spill.reserve_exact(SPILL_LEN);
            Some(Backward::of_any(spill.spare_capacity_mut()))
        };
        let Some(next) = self.next.take().or_else(spill) else { return self.count(bytes.len()) };
        self.len_max = self.written().saturating_add(next.capacity());
        self.full = Some(core::mem::replace(&mut self.buffer, next));
        self.raw(bytes);
    }

    /// Counts bytes and drops the written ones: the buffer is too short.
    #[inline(never)]
    fn count(&mut self, len: usize) {
        self.len_max = self.written().saturating_add(len);
        self.buffer = Backward::EMPTY;
        self.full = None;
    }

    /// [`Encoder::count`] after the first call of it.
    #[inline(always)]
    fn count_more(&mut self, len: usize) {
        // The same shared bytes may be counted many times. The sum fits 64 bits, but maybe not 32.
        self.len_max = self.len_max.saturating_add(len);
    }

    /// Writes the low `len` bytes of `word`. `len` is at most eight, and the bytes above must be
    /// zero.
    #[inline(always)]
    fn word(&mut self, word: u64, len: usize) {
        // The bytes end where the written ones begin; the zeros before them remain free space.
        if !self.buffer.put_last((word << (64 - 8 * len)).to_le_bytes(), len) {
            self.word_slow(word, len);
        }
    }

    /// [`Encoder::word`] with less than eight free bytes.
    #[cold]
    #[inline(never)]
    fn word_slow(&mut self, word: u64, len: usize) {
        if self.is_counted() {
            return self.count_more(len);
        }
        self.raw(&word.to_le_bytes()[..len]);
    }

    /// Writes a tag and a varint.
    #[inline(always)]
    fn tagged(&mut self, tag: u32, value: u64) {
        if tag >= 0x80 {
            return self.tagged_long(Encoded::of(tag), value);
        }
        // Most field numbers and most values are small.
        if value < 0x80 {
            // One store instead of two.
            if !self.buffer.put_last((tag as u16 | (value as u16) << 8).to_le_bytes(), 2) {
                self.tagged_slow(tag as u8, value);
            }
            return;
        }
        // Many others have two bytes.
        let two = value as u32 & 0x7f | 0x80 | (value as u32 >> 7) << 8;
        if value < 0x4000 && self.buffer.put_last((two << 16 | tag << 8).to_le_bytes(), 3) {
            return;
        }
        self.tagged_wide(tag as u8, value);
    }

    /// [`Encoder::tagged`] with a tag of two or more bytes.
    #[inline(never)]
    fn tagged_long(&mut self, tag: Encoded, value: u64) {
        if value < 0x80 {
            return self.word(value << (8 * tag.len) | tag.bytes, tag.len + 1);
        }
        self.bare_varint(value);
        self.word(tag.bytes, tag.len);
    }

    /// [`Encoder::tagged`] with a tag of one byte and a value of two or more.
    #[inline(never)]
    fn tagged_wide(&mut self, tag: u8, value: u64) {
        if value >> 49 == 0 && self.buffer.free() >= 8 {
            let (word, len) = varint::word_long(value);
            return self.word(word << 8 | u64::from(tag), len + 1);
        }
        if self.is_counted() {
            return self.count_more(varint::len(value) + 1);
        }
        self.tagged_widest(tag, value);
    }

    #[inline(never)]
    fn tagged_widest(&mut self, tag: u8, value: u64) {
        if self.buffer.free() < 16 {
            return self.tagged_slow(tag, value);
        }
        let (word, len) = if value >> 56 == 0 {
            let (word, len) = varint::word(value);
            (u128::from(word), len)
        } else {
            let (word, tail, len) = varint::wide(value);
            (u128::from(tail) << 64 | u128::from(word), len)
        };
        // One store instead of two, so that it does not read what it just wrote.
        let whole = (word << 8 | u128::from(tag)) << (8 * (15 - len));
        let fits = self.buffer.put_last(whole.to_le_bytes(), len + 1);
        debug_assert!(fits, "there are 16 bytes");
    }

    #[cold]
    #[inline(never)]
    fn tagged_slow(&mut self, tag: u8, value: u64) {
        if self.is_counted() {
            return self.count_more(varint::len(value) + 1);
        }
        self.bare_varint(value);
        self.byte(tag);
    }

    /// Writes a varint.
    #[inline(always)]
    pub fn bare_varint(&mut self, value: u64) {
        if value < 0x80 {
            return self.byte(value as u8);
        }
        if value >> 56 != 0 {
            return self.varint_over_eight(value);
        }
        let (word, len) = varint::word(value);
        self.word(word, len);
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        if !self.buffer.put(&[byte]) {
            self.raw_in_next(&[byte]);
        }
    }

    #[inline(never)]
    fn varint_over_eight(&mut self, value: u64) {
        let (word, tail, len) = varint::wide(value);
        self.word(u64::from(tail), len - 8);
        self.word(word, 8);
    }

    /// Writes four bytes.
    #[inline]
    pub fn bare_fixed32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    /// Writes eight bytes.
    #[inline]
    pub fn bare_fixed64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    /// Writes a tag.
    #[inline]
    pub fn tag(&mut self, number: u32, wire_type: u32) {
        let tag = tag::tag(number, wire_type);
        self.bare_varint(u64::from(tag));
    }

    /// Writes a varint field.
    #[inline]
    pub fn varint(&mut self, number: u32, value: u64) {
        self.tagged(tag::tag(number, tag::VARINT), value);
    }

    /// Writes a four-byte field.
    #[inline]
    pub fn fixed32(&mut self, number: u32, value: u32) {
        self.bare_fixed32(value);
        self.tag(number, tag::FIXED32);
    }

    /// Writes an eight-byte field.
    #[inline]
    pub fn fixed64(&mut self, number: u32, value: u64) {
        self.bare_fixed64(value);
        self.tag(number, tag::FIXED64);
    }

    /// Writes a field with a length.
    #[inline]
    pub fn field(&mut self, number: u32, bytes: &[u8]) {
        self.raw(bytes);
        self.length(number, bytes.len());
    }

    /// Opens a nested message at its end. Pass the result to [`Encoder::close`]. `None` if no
    /// decoder accepts this depth.
    #[inline]
    pub fn open(&mut self) -> Option<usize> {
        let end = self.open_flat()?;
        self.depth += 1;
        Some(end)
    }

    /// [`Encoder::open`] for a message in which no other one is opened. [`Encoder::run`] closes it.
    #[inline]
    pub fn open_flat(&mut self) -> Option<usize> {
        if self.depth == DEPTH_MAX {
            self.fail(WriteError::TooDeep { depth: DEPTH_MAX });
            return None;
        }
        Some(self.written())
    }

    /// Writes the tag and length of the message that ends at `end`.
    #[inline]
    pub fn close(&mut self, number: u32, end: usize) {
        self.depth -= 1;
        self.run(number, end);
    }

    /// [`Encoder::close`] for a packed field, which is not a message, and for a message in which none was opened.
    #[inline]
    pub fn run(&mut self, number: u32, end: usize) {
        self.length(number, self.written().wrapping_sub(end));
    }

    #[inline]
    fn length(&mut self, number: u32, len: usize) {
        // One that is too long makes the whole message so.
        self.tagged(tag::tag(number, tag::LEN), len as u64);
    }

    /// Writes the begin tag of a group, which [`Encoder::open`] opened after its end tag.
    #[inline]
    pub fn close_group(&mut self, number: u32) {
        self.depth -= 1;
        self.tag(number, tag::BEGIN_GROUP);
    }
}

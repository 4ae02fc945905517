//! The buffer owned messages are encoded into, filled from its end.
//!
//! ```text
//!   free                                  written so far
//!  |  .  .  .  .  .  .  .  .  .  .  .  . |tag|len|body ........ |   <- a nested message: its body
//!  0                                                          end      first, then length, then tag
//! ```
//!
//! An owned message is complete before its first byte is written, so it can be gone through from its
//! last field to its first. When a nested message's tag is due, its length is the number of bytes
//! written since: no second pass over the message, no cached sizes, and always the shortest length.
//!
//! A buffer that turns out too short costs what is in it; from there on bytes are counted only, and
//! the message is gone through again with a buffer of just that length. Where the caller's buffer is
//! to hold the message at its front, it begins, at its end, on the stack, which is warm, and only what
//! that has no room for goes to the end of the caller's. So memory that is in no cache is met once,
//! where the message belongs, unless the message is long.
//!
//! ```text
//!   stack   |  .  .  [ tail ]          caller's   | .  .  .  .  .  [ head ]
//!                                  in the end:    | head | tail | .  .  .
//! ```

use alloc::vec::Vec;

use crate::decode::limits::DEPTH_MAX;
use crate::error::WriteError;
use crate::wire::tag::Encoded;
use crate::wire::{tag, varint};

use super::Encode;

/// Longest message, string or bytes (protobuf's own limit).
const BYTES_MAX: usize = i32::MAX as usize;

/// Messages up to this size are encoded on the stack first, in bytes.
const SCRATCH_LEN: usize = 512;

/// Takes fields from the last to the first.
pub struct Encoder<'b> {
    /// The part of the buffer in front of what is written.
    free: &'b mut [u8],
    /// Bytes of the buffer; none once it was too short.
    capacity: usize,
    /// Bytes that are not in it: those in the buffer before, and those that were counted only.
    elsewhere: usize,
    /// Where to go on when there is no room left.
    next: Option<&'b mut [u8]>,
    /// Bytes written before that was begun.
    before: usize,
    /// Messages open around the one being written.
    depth: u32,
    error: Option<WriteError>,
}

impl<'b> Encoder<'b> {
    /// Fills `buffer` from its end.
    #[inline]
    pub(crate) fn new(buffer: &'b mut [u8]) -> Self {
        let capacity = buffer.len();
        Self { free: buffer, capacity, elsewhere: 0, next: None, before: 0, depth: 0, error: None }
    }

    /// Bytes written and counted so far.
    #[inline]
    pub fn written(&self) -> usize {
        (self.capacity - self.free.len()).saturating_add(self.elsewhere)
    }

    /// Notes an error; the first one is reported.
    #[cold]
    #[inline(never)]
    fn fail(&mut self, error: WriteError) {
        self.error.get_or_insert(error);
    }

    /// Bytes of the message, whether or not they fit the buffer.
    ///
    /// # Errors
    /// The first error.
    fn finish(self) -> Result<usize, WriteError> {
        match self.error {
            Some(error) => Err(error),
            None if self.written() > BYTES_MAX => {
                Err(WriteError::TooLong { len: self.written() as u64 })
            }
            None => Ok(self.written()),
        }
    }

    /// Puts `bytes` in front of what was written.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        match self.free.len().checked_sub(bytes.len()) {
            Some(at) => {
                let (free, into) = core::mem::take(&mut self.free).split_at_mut(at);
                into.copy_from_slice(bytes);
                self.free = free;
            }
            None => self.raw_beyond(bytes),
        }
    }

    /// As [`Encoder::raw`], where there is no room: in the next buffer, if there is one.
    #[cold]
    #[inline(never)]
    fn raw_beyond(&mut self, bytes: &[u8]) {
        let Some(next) = self.next.take() else { return self.count(bytes.len()) };
        self.before = self.written();
        self.elsewhere = self.before;
        self.capacity = next.len();
        self.free = next;
        self.raw(bytes);
    }

    /// Counts bytes, and gives up those written: the buffer is too short.
    #[inline(never)]
    fn count(&mut self, len: usize) {
        self.elsewhere = self.written().saturating_add(len);
        self.capacity = 0;
        self.free = &mut [];
    }

    /// Puts the low `len` bytes of `word` in front: at most eight, and zeros above them.
    #[inline(always)]
    fn word(&mut self, word: u64, len: usize) {
        let Some(rest) = self.free.len().checked_sub(8) else { return self.narrow(word, len) };
        let free = core::mem::take(&mut self.free);
        if let Some(last) = free[rest..].first_chunk_mut::<8>() {
            // They are stored to end where the written ones begin; the zeros in front stay free.
            *last = (word << (64 - 8 * len)).to_le_bytes();
        }
        self.free = &mut free[..rest + 8 - len];
    }

    /// As [`Encoder::word`], where less than eight bytes are free.
    #[inline(never)]
    fn narrow(&mut self, word: u64, len: usize) {
        self.raw(&word.to_le_bytes()[..len]);
    }

    /// Puts a tag and a varint in front.
    #[inline(always)]
    fn tagged(&mut self, tag: u32, value: u64) {
        if tag >= 0x80 {
            return self.tagged_long(Encoded::of(tag), value);
        }
        // Most numbers are small, and so are most values.
        if value < 0x80 {
            if self.free.len() < 2 {
                return self.tagged_slow(tag as u8, value);
            }
            let at = self.free.len() - 2;
            let (free, last) = core::mem::take(&mut self.free).split_at_mut(at);
            last.copy_from_slice(&[tag as u8, value as u8]);
            self.free = free;
            return;
        }
        self.tagged_wide(tag as u8, value);
    }

    /// As [`Encoder::tagged`], with a tag of two bytes or more.
    #[inline(never)]
    fn tagged_long(&mut self, tag: Encoded, value: u64) {
        if value < 0x80 {
            return self.word(value << (8 * tag.len) | tag.bytes, tag.len + 1);
        }
        self.bare_varint(value);
        self.word(tag.bytes, tag.len);
    }

    /// As [`Encoder::tagged`], with a tag of one byte and a value of more.
    #[inline(never)]
    fn tagged_wide(&mut self, tag: u8, value: u64) {
        if value >> 49 == 0 && self.free.len() >= 8 {
            let (word, len) = varint::word_long(value);
            return self.word(word << 8 | u64::from(tag), len + 1);
        }
        self.tagged_widest(tag, value);
    }

    #[inline(never)]
    fn tagged_widest(&mut self, tag: u8, value: u64) {
        if self.free.len() < 16 {
            return self.tagged_slow(tag, value);
        }
        let (word, len) = if value >> 56 == 0 {
            let (word, len) = varint::word(value);
            (u128::from(word), len)
        } else {
            let (word, tail, len) = varint::wide(value);
            (u128::from(tail) << 64 | u128::from(word), len)
        };
        let free = core::mem::take(&mut self.free);
        let rest = free.len() - len - 1;
        if let Some(last) = free.last_chunk_mut::<16>() {
            // As in `word`, in one piece: what was just stored is not looked at again.
            let whole = word << 8 | u128::from(tag);
            *last = (whole << (8 * (15 - len))).to_le_bytes();
        }
        self.free = &mut free[..rest];
    }

    #[inline(never)]
    fn tagged_slow(&mut self, tag: u8, value: u64) {
        if self.capacity == 0 {
            return self.count(varint::len(value) + 1);
        }
        self.bare_varint(value);
        self.byte(tag);
    }

    /// Puts a varint in front.
    #[inline(always)]
    pub fn bare_varint(&mut self, value: u64) {
        if value < 0x80 {
            return self.byte(value as u8);
        }
        if value >> 56 != 0 {
            return self.wide(value);
        }
        let (word, len) = varint::word(value);
        self.word(word, len);
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        match core::mem::take(&mut self.free).split_last_mut() {
            Some((last, free)) => {
                *last = byte;
                self.free = free;
            }
            None => self.raw_beyond(&[byte]),
        }
    }

    #[inline(never)]
    fn wide(&mut self, value: u64) {
        let (word, tail, len) = varint::wide(value);
        self.word(u64::from(tail), len - 8);
        self.word(word, 8);
    }

    /// Puts four bytes in front.
    #[inline]
    pub fn bare_fixed32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    /// Puts eight bytes in front.
    #[inline]
    pub fn bare_fixed64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    /// Puts a tag in front.
    #[inline]
    pub fn tag(&mut self, number: u32, wire_type: u32) {
        let tag = tag::tag(number, wire_type);
        self.bare_varint(u64::from(tag));
    }

    /// A varint field.
    #[inline]
    pub fn varint(&mut self, number: u32, value: u64) {
        self.tagged(tag::tag(number, tag::VARINT), value);
    }

    /// A four-byte field.
    #[inline]
    pub fn fixed32(&mut self, number: u32, value: u32) {
        self.bare_fixed32(value);
        self.tag(number, tag::FIXED32);
    }

    /// An eight-byte field.
    #[inline]
    pub fn fixed64(&mut self, number: u32, value: u64) {
        self.bare_fixed64(value);
        self.tag(number, tag::FIXED64);
    }

    /// A field with a length.
    #[inline]
    pub fn field(&mut self, number: u32, bytes: &[u8]) {
        self.raw(bytes);
        self.length(number, bytes.len());
    }

    /// Begins, at its end, a message inside this one; the place to hand to [`Encoder::close`]. None
    /// if that were too deep for any reader.
    #[inline]
    pub fn open(&mut self) -> Option<usize> {
        if self.depth == DEPTH_MAX {
            self.fail(WriteError::TooDeep { depth: DEPTH_MAX });
            return None;
        }
        self.depth += 1;
        Some(self.written())
    }

    /// Puts length and tag in front of all that was written since `end`.
    #[inline]
    pub fn close(&mut self, number: u32, end: usize) {
        self.depth -= 1;
        self.run(number, end);
    }

    /// As [`Encoder::close`] for what is no message.
    #[inline]
    pub fn run(&mut self, number: u32, end: usize) {
        self.length(number, self.written().saturating_sub(end));
    }

    #[inline]
    fn length(&mut self, number: u32, len: usize) {
        if len > BYTES_MAX {
            self.fail(WriteError::TooLong { len: len as u64 });
        }
        self.tagged(tag::tag(number, tag::LEN), len as u64);
    }

    /// Ends, at its beginning, a group opened by [`Encoder::open`] after its end tag was written.
    #[inline]
    pub fn close_group(&mut self, number: u32) {
        self.depth -= 1;
        self.tag(number, tag::BEGIN_GROUP);
    }
}

/// Bytes of `message`, errors aside.
pub(crate) fn count(message: &impl Encode) -> usize {
    let mut out = Encoder::new(&mut []);
    message.encode_fields(&mut out);
    out.written()
}

/// Encodes `message` and, if `framed`, its length in front, into the end of `buffer`; the bytes that
/// takes, which may be more than the buffer has.
///
/// # Errors
/// [`WriteError::TooLong`], [`WriteError::TooDeep`].
pub(crate) fn fill(
    message: &impl Encode,
    framed: bool,
    buffer: &mut [u8],
) -> Result<usize, WriteError> {
    let mut out = Encoder::new(buffer);
    message.encode_fields(&mut out);
    if framed {
        out.bare_varint(out.written() as u64);
    }
    out.finish()
}

/// Encodes `message` to the front of `buffer`; its length in bytes.
///
/// # Errors
/// As [`fill`], and [`WriteError::Full`].
pub(crate) fn to_front(message: &impl Encode, buffer: &mut [u8]) -> Result<usize, WriteError> {
    let mut scratch = [0; SCRATCH_LEN];
    let mut out = Encoder::new(&mut scratch);
    out.next = Some(&mut *buffer);
    message.encode_fields(&mut out);
    let tail = if out.next.is_some() { out.written() } else { out.before };
    let len = out.finish()?;
    let capacity = buffer.len();
    if len > capacity {
        return Err(WriteError::Full { capacity });
    }
    let head = len - tail;
    if head > 0 {
        buffer.copy_within(capacity - head.., 0);
    }
    buffer[head..len].copy_from_slice(&scratch[SCRATCH_LEN - tail..]);
    Ok(len)
}

/// Hands the encoding of `message` to `then`.
///
/// # Errors
/// As [`fill`], and those of `then`.
pub(crate) fn encoded<T>(
    message: &impl Encode,
    framed: bool,
    then: impl FnOnce(&[u8]) -> Result<T, WriteError>,
) -> Result<T, WriteError> {
    let mut scratch = [0; SCRATCH_LEN];
    let len = fill(message, framed, &mut scratch)?;
    match SCRATCH_LEN.checked_sub(len) {
        Some(at) => then(&scratch[at..]),
        None => {
            let mut bytes = alloc::vec![0; len];
            fill(message, framed, &mut bytes)?;
            then(&bytes)
        }
    }
}

/// The encoding of `message`, in a vector of just that length.
///
/// # Errors
/// As [`fill`].
pub(crate) fn to_vec(message: &impl Encode, framed: bool) -> Result<Vec<u8>, WriteError> {
    let mut scratch = [0; SCRATCH_LEN];
    let len = fill(message, framed, &mut scratch)?;
    if let Some(at) = SCRATCH_LEN.checked_sub(len) {
        return Ok(scratch[at..].to_vec());
    }
    let mut bytes = alloc::vec![0; len];
    fill(message, framed, &mut bytes)?;
    Ok(bytes)
}

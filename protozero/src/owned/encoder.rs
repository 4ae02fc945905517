//! The buffer owned messages are encoded into, filled from its end.
//!
//! ```text
//!   free                            at        written so far
//!  |  .  .  .  .  .  .  .  .  .  .  |tag|len|body ........ |   <- a nested message: its body first,
//!  0                                                        end   then its length, then its tag
//! ```
//!
//! An owned message is complete before its first byte is written, so it can be gone through from its
//! last field to its first. When a nested message's tag is due, its length is the number of bytes
//! written since: no second pass over the message, no cached sizes, and always the shortest length.

use alloc::vec::Vec;

use crate::decode::limits::DEPTH_MAX;
use crate::error::WriteError;
use crate::wire::{tag, varint};

/// Longest message, string or bytes (protobuf's own limit).
const BYTES_MAX: usize = i32::MAX as usize;

/// Bytes a field of a number takes at most: two varints.
const STEP: usize = 8;

enum Buffer<'b> {
    Heap(Vec<u8>),
    /// Goes on in the heap when it is full.
    Scratch(&'b mut [u8]),
    /// Ends with an error when it is full.
    Fixed(&'b mut [u8]),
    /// Bytes are counted and forgotten.
    Count,
}

/// Takes fields from the last to the first.
pub struct Encoder<'b> {
    buffer: Buffer<'b>,
    /// Bytes written, or counted.
    len: usize,
    /// Messages open around the one being written.
    depth: u32,
    error: Option<WriteError>,
}

impl<'b> Encoder<'b> {
    fn new(buffer: Buffer<'b>) -> Self {
        Self { buffer, len: 0, depth: 0, error: None }
    }

    /// Begins in `scratch` and goes on in the heap.
    pub fn spilling(scratch: &'b mut [u8]) -> Self {
        Self::new(Buffer::Scratch(scratch))
    }

    /// Stays within `buffer`.
    pub fn fixed(buffer: &'b mut [u8]) -> Self {
        Self::new(Buffer::Fixed(buffer))
    }

    /// Counts bytes only.
    pub fn counting() -> Self {
        Self::new(Buffer::Count)
    }

    /// Bytes written so far.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Notes an error; the first one is reported.
    #[cold]
    #[inline(never)]
    pub fn fail(&mut self, error: WriteError) {
        self.error.get_or_insert(error);
    }

    /// What was written.
    ///
    /// # Errors
    /// The first error.
    pub fn written(&mut self) -> Result<&[u8], WriteError> {
        self.check()?;
        let len = self.len;
        let bytes = self.bytes();
        Ok(bytes.len().checked_sub(len).and_then(|at| bytes.get(at..)).unwrap_or_default())
    }

    /// What was written, in a vector of its own.
    ///
    /// # Errors
    /// The first error.
    pub fn into_vec(mut self) -> Result<Vec<u8>, WriteError> {
        self.check()?;
        match self.buffer {
            Buffer::Heap(mut bytes) => {
                let at = bytes.len().saturating_sub(self.len);
                bytes.copy_within(at.., 0);
                bytes.truncate(self.len);
                Ok(bytes)
            }
            _ => self.written().map(<[u8]>::to_vec),
        }
    }

    /// Moves what was written to the front of the fixed buffer; its length.
    ///
    /// # Errors
    /// The first error.
    pub fn into_front(mut self) -> Result<usize, WriteError> {
        self.check()?;
        let len = self.len;
        let bytes = self.bytes();
        let at = bytes.len().saturating_sub(len);
        bytes.copy_within(at.., 0);
        Ok(len)
    }

    /// # Errors
    /// The first error.
    pub fn check(&self) -> Result<(), WriteError> {
        match self.error {
            Some(error) => Err(error),
            None if self.len > BYTES_MAX => Err(WriteError::TooLong { len: self.len as u64 }),
            None => Ok(()),
        }
    }

    #[inline(always)]
    fn bytes(&mut self) -> &mut [u8] {
        match &mut self.buffer {
            Buffer::Heap(bytes) => bytes,
            Buffer::Scratch(bytes) | Buffer::Fixed(bytes) => bytes,
            Buffer::Count => &mut [],
        }
    }

    /// The last `room` of the free bytes, if there are so many.
    #[inline(always)]
    fn free(&mut self, room: usize) -> Option<&mut [u8]> {
        let len = self.len;
        let bytes = self.bytes();
        let at = bytes.len().checked_sub(len)?;
        bytes.get_mut(at.checked_sub(room)?..at)
    }

    /// Makes room for `room` bytes; false if what follows is only counted.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, room: usize) -> bool {
        let capacity = match &self.buffer {
            Buffer::Heap(bytes) => bytes.len(),
            Buffer::Scratch(bytes) => bytes.len(),
            Buffer::Fixed(bytes) => {
                let capacity = bytes.len();
                self.buffer = Buffer::Count;
                self.fail(WriteError::Full { capacity });
                return false;
            }
            Buffer::Count => return false,
        };
        let needed = self.len.saturating_add(room);
        if needed > BYTES_MAX {
            self.buffer = Buffer::Count;
            self.fail(WriteError::TooLong { len: needed as u64 });
            return false;
        }
        let mut new = alloc::vec![0; needed.max(capacity.saturating_mul(2)).max(256)];
        let (len, at) = (self.len, new.len() - self.len);
        let old = self.bytes();
        new[at..].copy_from_slice(&old[old.len() - len..]);
        self.buffer = Buffer::Heap(new);
        true
    }

    /// Puts `bytes` in front of what was written.
    #[inline(never)]
    pub fn raw(&mut self, bytes: &[u8]) {
        if self.free(bytes.len()).is_some() || self.grow(bytes.len()) {
            if let Some(free) = self.free(bytes.len()) {
                free.copy_from_slice(bytes);
            }
        }
        self.len = self.len.saturating_add(bytes.len());
    }

    /// Puts `LEN` bytes in front.
    #[inline(always)]
    fn bare_fixed<const LEN: usize>(&mut self, bytes: [u8; LEN]) {
        match self.free(LEN) {
            Some(free) => {
                free.copy_from_slice(&bytes);
                self.len += LEN;
            }
            None => self.raw(&bytes),
        }
    }

    /// Puts four bytes in front.
    #[inline]
    pub fn bare_fixed32(&mut self, value: u32) {
        self.bare_fixed(value.to_le_bytes());
    }

    /// Puts eight bytes in front.
    #[inline]
    pub fn bare_fixed64(&mut self, value: u64) {
        self.bare_fixed(value.to_le_bytes());
    }

    /// Puts a varint in front.
    #[inline]
    pub fn bare_varint(&mut self, value: u64) {
        if value >= 1 << 56 {
            return self.wide_varint(value);
        }
        let (word, len) = varint::word(value);
        match self.free(STEP) {
            // Its bytes end where the written ones begin; the zeros before it are still free.
            Some(free) => {
                free.copy_from_slice(&(word << (64 - 8 * len)).to_le_bytes());
                self.len += len;
            }
            None => self.narrow_varint(word, len),
        }
    }

    #[cold]
    #[inline(never)]
    fn narrow_varint(&mut self, word: u64, len: usize) {
        self.raw(&word.to_le_bytes()[..len]);
    }

    #[inline(never)]
    fn wide_varint(&mut self, value: u64) {
        let mut out = [0; varint::LEN_MAX];
        let len = varint::encode(value, &mut out);
        self.raw(&out[..len]);
    }

    /// Puts a tag in front.
    #[inline]
    pub fn tag(&mut self, number: u32, wire_type: u32) {
        self.bare_varint(u64::from(tag::tag(number, wire_type)));
    }

    /// A varint field.
    #[inline(never)]
    pub fn varint(&mut self, number: u32, value: u64) {
        self.bare_varint(value);
        self.tag(number, tag::VARINT);
    }

    /// A four-byte field.
    #[inline(never)]
    pub fn fixed32(&mut self, number: u32, value: u32) {
        self.bare_fixed(value.to_le_bytes());
        self.tag(number, tag::FIXED32);
    }

    /// An eight-byte field.
    #[inline(never)]
    pub fn fixed64(&mut self, number: u32, value: u64) {
        self.bare_fixed(value.to_le_bytes());
        self.tag(number, tag::FIXED64);
    }

    /// A field with a length.
    #[inline(never)]
    pub fn field(&mut self, number: u32, bytes: &[u8]) {
        if bytes.len() > BYTES_MAX {
            self.fail(WriteError::TooLong { len: bytes.len() as u64 });
        }
        self.raw(bytes);
        self.bare_varint(bytes.len() as u64);
        self.tag(number, tag::LEN);
    }

    /// Puts the length of all that was written in front of it.
    ///
    /// # Errors
    /// The first error.
    pub fn frame(&mut self) -> Result<(), WriteError> {
        self.check()?;
        self.bare_varint(self.len as u64);
        Ok(())
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
        Some(self.len)
    }

    /// Puts length and tag in front of all that was written since `end`.
    #[inline(never)]
    pub fn close(&mut self, number: u32, end: usize) {
        self.depth -= 1;
        self.run(number, end);
    }

    /// As [`Encoder::close`] for what is no message.
    #[inline(never)]
    pub fn run(&mut self, number: u32, end: usize) {
        let len = self.len - end;
        if len > BYTES_MAX {
            self.fail(WriteError::TooLong { len: len as u64 });
        }
        self.bare_varint(len as u64);
        self.tag(number, tag::LEN);
    }

    /// Ends, at its beginning, a group opened by [`Encoder::open`] after its end tag was written.
    #[inline(never)]
    pub fn close_group(&mut self, number: u32) {
        self.depth -= 1;
        self.tag(number, tag::BEGIN_GROUP);
    }
}

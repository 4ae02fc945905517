//! Encoded fields, in memory that is used again for the next packet.

use protozero::wire::varint;

use crate::ftrace::table::plan::Tag;

/// Bytes that a tag and a varint take at most, rounded up to what is stored at once.
const WINDOW: usize = 16;

/// Grows as it is written; keeps its memory when it is cleared.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    /// Zeros, or what an earlier packet left, from `at` on.
    bytes: Vec<u8>,
    at: usize,
}

impl Buffer {
    /// What was written since the last [`Buffer::clear`].
    pub(crate) fn written(&self) -> &[u8] {
        self.bytes.get(..self.at).unwrap_or_default()
    }

    pub(crate) fn clear(&mut self) {
        self.at = 0;
    }

    pub(crate) fn len(&self) -> usize {
        self.at
    }

    /// Forgets all bytes behind the first `len`.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.at = self.at.min(len);
    }

    /// Appends a field that is a varint.
    #[inline]
    pub(crate) fn uint(&mut self, tag: Tag, value: u64) {
        if value >= 1 << 56 {
            return self.wide(tag, value);
        }
        let (word, len) = varint::word(value);
        self.reserve(WINDOW);
        let Some(to) = self.bytes.get_mut(self.at..self.at + WINDOW) else { return };
        let (head, len_of_tag) = (tag.bytes.to_le_bytes(), usize::from(tag.len));
        if let Some(to) = to.first_chunk_mut() {
            *to = head;
        }
        if let Some(to) = to.get_mut(len_of_tag..).and_then(|to| to.first_chunk_mut()) {
            *to = word.to_le_bytes();
        }
        self.at += len_of_tag + len;
    }

    /// [`Buffer::uint`] of a value that takes nine or ten bytes, such as a negative one.
    #[inline(never)]
    fn wide(&mut self, tag: Tag, value: u64) {
        let (word, end, len) = varint::wide(value);
        let low = u128::from(end) << 64 | u128::from(word);
        let whole = u128::from(tag.bytes) | low << (8 * u32::from(tag.len));
        self.store(whole, usize::from(tag.len) + len);
    }

    /// Appends a field that is bytes or text.
    #[inline]
    pub(crate) fn bytes(&mut self, tag: Tag, bytes: &[u8]) {
        self.uint(tag, bytes.len() as u64);
        self.raw(bytes);
    }

    /// Appends encoded fields.
    #[inline]
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let end = self.at + bytes.len();
        if self.bytes.len() < end {
            self.grow(end);
        }
        if let Some(to) = self.bytes.get_mut(self.at..end) {
            to.copy_from_slice(bytes);
            self.at = end;
        }
    }

    /// Appends the tag of a nested message, and a byte for its length. [`Buffer::end`] takes what it returns.
    #[inline]
    pub(crate) fn begin(&mut self, tag: Tag) -> usize {
        self.store(tag.bytes.into(), usize::from(tag.len) + 1);
        self.at
    }

    /// Ends the message that begins at `body`: stores its length. A body of more than 127 bytes is moved.
    #[inline]
    pub(crate) fn end(&mut self, body: usize) {
        let len = self.at - body;
        match self.bytes.get_mut(body.wrapping_sub(1)) {
            Some(byte) if len < 128 => *byte = len as u8,
            _ => self.end_long(body, len),
        }
    }

    fn end_long(&mut self, body: usize, len: usize) {
        let (word, more) = varint::word(len as u64);
        let (from, to) = (body, body + more - 1);
        self.reserve(more);
        self.bytes.copy_within(from..from + len, to);
        let head = self.bytes.get_mut(body - 1..to).unwrap_or_default();
        head.copy_from_slice(word.to_le_bytes().get(..more).unwrap_or_default());
        self.at = to + len;
    }

    /// Stores sixteen bytes, of which the first `len` count.
    #[inline]
    fn store(&mut self, word: u128, len: usize) {
        self.reserve(WINDOW);
        if let Some(to) = self.bytes.get_mut(self.at..).and_then(|free| free.first_chunk_mut()) {
            *to = word.to_le_bytes();
            self.at += len;
        }
    }

    #[inline]
    fn reserve(&mut self, more: usize) {
        let end = self.at + more;
        if self.bytes.len() < end {
            self.grow(end);
        }
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        self.bytes.resize(end.next_power_of_two().max(4096), 0);
    }
}

//! The bytes that a parser has written.

use alloc::vec::Vec;

use crate::json::base64;
use crate::json::output::Output;

/// Encoded fields.
pub(super) struct Encoded(Output);

impl Encoded {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        Self(Output::with_capacity(bytes))
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// What was written behind `len` bytes.
    pub(super) fn get(&self, len: usize) -> &[u8] {
        self.0.text().get(len..).unwrap_or_default()
    }

    /// [`Encoded::get`], for changes.
    pub(super) fn since(&mut self, len: usize) -> &mut [u8] {
        let end = self.0.len();
        self.0.bytes_mut().get_mut(len..end).unwrap_or_default()
    }

    /// Takes back what was written behind `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.0.put(bytes);
    }

    /// Writes the bytes that base64 means. None if it is not base64, else whether there are none.
    pub(super) fn base64(&mut self, text: &[u8]) -> Option<bool> {
        let mut bytes = Vec::new();
        base64::decode(text, &mut bytes).then(|| {
            self.text(&bytes, bytes.len());
            bytes.is_empty()
        })
    }

    #[inline(always)]
    pub(super) fn tag(&mut self, number: u32, wire_type: u32) {
        self.varint((u64::from(number) << 3) | u64::from(wire_type));
    }

    #[inline(always)]
    pub(super) fn varint(&mut self, value: u64) {
        match value {
            ..0x80 => self.0.push(value as u8),
            _ => self.long_varint(value),
        }
    }

    #[inline(never)]
    fn long_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Writes a length and the first `len` bytes of `from`.
    #[inline(always)]
    pub(super) fn text(&mut self, from: &[u8], len: usize) {
        self.varint(len as u64);
        self.0.put_short(from, len);
    }

    /// Writes a tag, a length and the first `len` bytes of `from`.
    #[inline(always)]
    pub(super) fn text_field(&mut self, tag: u32, from: &[u8], len: usize) {
        match (tag, len, from.first_chunk()) {
            (..0x80, ..=16, Some(from)) => self.0.put_behind([tag as u8, len as u8], from, len),
            _ => {
                self.varint(tag.into());
                self.text(from, len);
            }
        }
    }

    /// Begins content behind a length. Returns the place where it begins.
    #[inline]
    pub(super) fn begin(&mut self) -> usize {
        self.0.push(0);
        self.0.len()
    }

    /// Ends content that begins at `content`: stores its length before it.
    pub(super) fn end(&mut self, content: usize) {
        let before = self.0.len();
        let len = before - content;
        if len < 0x80 {
            self.0.bytes_mut()[content - 1] = len as u8;
            return;
        }
        self.varint(len as u64);
        let more = self.0.len() - before - 1;
        self.0.truncate(before + more);
        let bytes = self.0.bytes_mut();
        let mut length = [0; 10];
        length[..=more].copy_from_slice(&bytes[before..=before + more]);
        bytes.copy_within(content..before, content + more);
        bytes[content - 1..content + more].copy_from_slice(&length[..=more]);
    }
}

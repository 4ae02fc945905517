//! The bytes that a parser has written.

use alloc::vec::Vec;

use crate::json::base64;

pub(super) const VARINT: u32 = 0;
pub(super) const FIXED64: u32 = 1;
pub(super) const LEN: u32 = 2;
pub(super) const GROUP: u32 = 3;
pub(super) const GROUP_END: u32 = 4;
pub(super) const FIXED32: u32 = 5;

/// Encoded fields.
#[derive(Default)]
pub(super) struct Output(Vec<u8>);

impl Output {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes back what was written behind `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Whether all bytes from `begin` on are zero.
    pub(super) fn is_zero_from(&self, begin: usize) -> bool {
        self.0[begin..].iter().all(|&byte| byte == 0)
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Writes the bytes that base64 means. False if it is not base64.
    pub(super) fn base64(&mut self, text: &[u8]) -> bool {
        let content = self.begin();
        let is_base64 = base64::decode(text, &mut self.0);
        self.end(content);
        is_base64
    }

    pub(super) fn tag(&mut self, number: u32, wire_type: u32) {
        self.varint((u64::from(number) << 3) | u64::from(wire_type));
    }

    pub(super) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Writes a length and bytes.
    pub(super) fn text(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// Begins content behind a length. Returns the place where it begins.
    pub(super) fn begin(&mut self) -> usize {
        self.0.push(0);
        self.0.len()
    }

    /// Ends content that begins at `content`: stores its length before it.
    pub(super) fn end(&mut self, content: usize) {
        let len = self.0.len() - content;
        if len < 0x80 {
            self.0[content - 1] = len as u8;
            return;
        }
        let before = self.0.len();
        self.varint(len as u64);
        let more = self.0.len() - before - 1;
        let mut length = [0; 10];
        length[..more + 1].copy_from_slice(&self.0[before..]);
        self.0.truncate(before + more);
        self.0.copy_within(content..before, content + more);
        self.0[content - 1..content + more].copy_from_slice(&length[..more + 1]);
    }
}

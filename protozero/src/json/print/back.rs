//! Text that is written from its end to its start.
//!
//! ```text
//!  block    |        free        |"id":"7","n":2}|
//!                                 at
//!  parts    full blocks, the last of the text first
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use super::scalar::{self, PAIRS, Target};
use crate::json::output::Output;
use crate::json::scan;
use crate::json::table::{Field, SHORT_KEY_BYTES, Table};

/// Bytes of the block.
const BLOCK: usize = 2000;
/// Twenty digits, a minus and two quotes.
const NUMBER_BYTES: usize = 24;

pub(super) struct Back {
    block: [u8; BLOCK],
    /// Where the text in the block begins.
    at: usize,
    parts: Vec<Vec<u8>>,
}

impl Back {
    pub(super) fn new() -> Self {
        Self { block: [0; BLOCK], at: BLOCK, parts: Vec::new() }
    }

    /// The text, if it is UTF-8.
    pub(super) fn into_string(self) -> Option<String> {
        let first = self.block.get(self.at..).unwrap_or_default();
        let len = self.parts.iter().fold(first.len(), |len, part| len + part.len());
        let mut text = Vec::with_capacity(len);
        text.extend_from_slice(first);
        self.parts.iter().rev().for_each(|part| text.extend_from_slice(part));
        String::from_utf8(text).ok()
    }

    /// Where the text begins, until more is written. Two equal places have nothing between them.
    #[inline(always)]
    pub(super) fn place(&self) -> (usize, usize) {
        (self.parts.len(), self.at)
    }

    /// Moves what is in the block to the parts.
    #[cold]
    #[inline(never)]
    fn flush(&mut self) {
        if let Some(text) = self.block.get(self.at..)
            && !text.is_empty()
        {
            self.parts.push(text.to_vec());
        }
        self.at = BLOCK;
    }

    /// `N` bytes before the text.
    #[inline(always)]
    fn free_bytes<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
        if self.at < N {
            self.flush();
        }
        self.block.get_mut(..self.at)?.last_chunk_mut::<N>()
    }

    #[inline(always)]
    pub(super) fn push(&mut self, byte: u8) {
        if let Some([to]) = self.free_bytes::<1>() {
            *to = byte;
            self.at -= 1;
        }
    }

    /// Takes back the byte that was written last.
    #[inline]
    pub(super) fn pop(&mut self) {
        self.at = (self.at + 1).min(BLOCK);
    }

    /// Replaces the byte that was written last.
    #[inline(always)]
    pub(super) fn replace(&mut self, byte: u8) {
        if let Some(to) = self.block.get_mut(self.at) {
            *to = byte;
        }
    }

    /// Writes the comma, the name and the colon of a field.
    #[inline(always)]
    pub(super) fn key(&mut self, table: &Table, field: &Field) {
        let len = usize::from(field.short_key_len);
        if len == 0 {
            let (key, len) = table.padded_key(field, false);
            return self.put(key.get(..len).unwrap_or_default());
        }
        if let Some(to) = self.free_bytes::<SHORT_KEY_BYTES>() {
            *to = field.end_key;
            self.at -= len;
        }
    }

    /// Writes what was printed elsewhere.
    #[inline(never)]
    pub(super) fn part(&mut self, text: Vec<u8>) {
        self.flush();
        self.parts.push(text);
    }

    /// Writes `bytes` as base64 in quotes.
    #[inline(never)]
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        let mut text = Output::with_capacity(bytes.len() / 3 * 4 + 8);
        scalar::bytes(bytes, &mut text);
        self.put(text.text());
    }

    /// Writes `text` in quotes, with escapes.
    #[inline(always)]
    pub(super) fn string(&mut self, text: &[u8]) {
        let len = text.len() + 2;
        if self.at < len {
            self.flush();
        }
        let begin = self.at.wrapping_sub(len);
        if let Some([open, to @ .., close]) = self.block.get_mut(begin..self.at) {
            (*open, *close) = (b'"', b'"');
            if scan::copy_plain(text, to) {
                self.at = begin;
                return;
            }
        }
        self.escaped(text);
    }

    /// [`string`](Self::string) of a text that is long or has escapes.
    #[inline(never)]
    fn escaped(&mut self, text: &[u8]) {
        let mut len = 2;
        scan::escape(text, |part| len += part.len());
        if len > BLOCK {
            let mut escaped = Vec::with_capacity(len);
            escaped.push(b'"');
            scan::escape(text, |part| escaped.extend_from_slice(part));
            escaped.push(b'"');
            return self.part(escaped);
        }
        if self.at < len {
            self.flush();
        }
        self.at -= len;
        let mut at = self.at;
        let mut put = |part: &[u8]| {
            if let Some(to) = self.block.get_mut(at..at + part.len()) {
                to.copy_from_slice(part);
            }
            at += part.len();
        };
        put(b"\"");
        scan::escape(text, &mut put);
        put(b"\"");
    }
}

impl Target for Back {
    #[inline(always)]
    fn put(&mut self, text: &[u8]) {
        if self.at < text.len() {
            self.flush();
        }
        match self.at.checked_sub(text.len()) {
            Some(begin) => {
                if let Some(to) = self.block.get_mut(begin..self.at) {
                    to.copy_from_slice(text);
                    self.at = begin;
                }
            }
            None => self.part(text.to_vec()),
        }
    }

    #[inline(always)]
    fn integer(&mut self, mut value: u64, is_negative: bool, is_quoted: bool) {
        let Some(to) = self.free_bytes::<NUMBER_BYTES>() else { return };
        let is_zero = value == 0;
        let mut at = NUMBER_BYTES;
        let mut put = |byte: u8| {
            at -= 1;
            if let Some(to) = to.get_mut(at) {
                *to = byte;
            }
        };
        if is_quoted {
            put(b'"');
        }
        while value >= 10 {
            let [tens, ones] = PAIRS[(value % 100) as usize];
            put(ones);
            put(tens);
            value /= 100;
        }
        // A number with an even number of digits has none left, but zero has one.
        if value != 0 || is_zero {
            put(b'0' + value as u8);
        }
        if is_negative {
            put(b'-');
        }
        if is_quoted {
            put(b'"');
        }
        self.at -= NUMBER_BYTES - at;
    }
}

//! What a printer or a parser has written.
//!
//! The memory behind it is zeroed, so that a short string is copied in whole words, over its end.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::scan;

/// Bytes that a word at the end may be too long.
const SLACK: usize = 16;

/// Bytes that are zeroed at once, shortly before they are used.
const STEP: usize = 1024;

/// Text in memory that grows.
pub(super) struct Output {
    /// The text, and free memory.
    bytes: Vec<u8>,
    len: usize,
}

impl Output {
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let mut memory = Vec::with_capacity(bytes);
        memory.resize(bytes.min(STEP), 0);
        Self { bytes: memory, len: 0 }
    }

    /// Length of the text, bytes.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Takes back what is behind the first `len` bytes.
    pub(super) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    pub(super) fn text(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    /// The written bytes, and zeros or what was taken back behind them.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }

    /// The text, if all strings in it are UTF-8.
    pub(super) fn into_string(self) -> Option<String> {
        String::from_utf8(self.into_bytes()).ok()
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, more: usize) {
        self.bytes.resize(self.len + more + SLACK + STEP, 0);
    }

    /// At least `need` free bytes.
    #[inline(always)]
    fn free(&mut self, need: usize) -> &mut [u8] {
        if self.bytes.len() - self.len < need {
            self.grow(need);
        }
        self.bytes.get_mut(self.len..).unwrap_or_default()
    }

    #[inline(always)]
    pub(super) fn push(&mut self, byte: u8) {
        if let Some(to) = self.free(1).first_mut() {
            *to = byte;
            self.len += 1;
        }
    }

    #[inline(always)]
    pub(super) fn put(&mut self, text: &[u8]) {
        if let Some(to) = self.free(text.len()).get_mut(..text.len()) {
            to.copy_from_slice(text);
            self.len += text.len();
        }
    }

    /// Appends the first `len` bytes of `text`, of which 16 are copied if there are as many.
    #[inline(always)]
    pub(super) fn put_short(&mut self, text: &[u8], len: usize) {
        match (len, text.first_chunk::<16>()) {
            (..=16, Some(from)) => {
                if let Some(to) = self.free(16).first_chunk_mut::<16>() {
                    *to = *from;
                    self.len += len;
                }
            }
            _ => self.put(text.get(..len).unwrap_or_default()),
        }
    }

    /// Appends the first `len` bytes of `text`, and copies all.
    #[inline(always)]
    pub(super) fn put_part<const N: usize>(&mut self, text: &[u8; N], len: usize) {
        if let Some(to) = self.free(N).first_chunk_mut::<N>() {
            *to = *text;
            self.len += len;
        }
    }

    /// Appends two bytes and the first `len` bytes of `text`, and copies all.
    #[inline(always)]
    pub(super) fn put_behind(&mut self, [first, second]: [u8; 2], text: &[u8; 16], len: usize) {
        if let Some([to_first, to_second, to @ ..]) = self.free(18).first_chunk_mut::<18>() {
            (*to_first, *to_second) = (first, second);
            to.copy_from_slice(text);
            self.len += 2 + len;
        }
    }

    /// Appends `count` times `byte`.
    pub(super) fn fill(&mut self, byte: u8, count: usize) {
        if let Some(to) = self.free(count).get_mut(..count) {
            to.fill(byte);
            self.len += count;
        }
    }

    /// Appends groups of four digits: `put` stores each.
    pub(super) fn put_groups(&mut self, count: usize, put: impl FnOnce(&mut [[u8; 4]])) {
        if let Some(to) = self.free(count * 4).get_mut(..count * 4) {
            put(to.as_chunks_mut::<4>().0);
            self.len += count * 4;
        }
    }

    /// Appends `text` in quotes, with escapes.
    #[inline]
    pub(super) fn put_string(&mut self, text: &[u8]) {
        self.put_quoted::<0, false>(&[], 0, text);
    }

    /// Appends the first `before_len` bytes of `before`, and copies all; `text` in quotes, with escapes; and with
    /// `COLON` a colon.
    #[inline]
    pub(super) fn put_quoted<const N: usize, const COLON: bool>(
        &mut self,
        before: &[u8; N],
        before_len: usize,
        text: &[u8],
    ) {
        let len = text.len();
        let free = self.free(N + len + SLACK);
        if let Some(to) = free.first_chunk_mut::<N>() {
            *to = *before;
        }
        let is_plain = match free.get_mut(before_len..) {
            Some([quote, to @ ..]) => {
                *quote = b'"';
                let is_plain = scan::copy_plain(text, to);
                if let Some([quote, colon, ..]) = to.get_mut(len..) {
                    (*quote, *colon) = (b'"', b':');
                }
                is_plain
            }
            _ => false,
        };
        self.len += before_len;
        match is_plain {
            true => self.len += len + 2 + usize::from(COLON),
            false => self.put_escaped(text, COLON),
        }
    }

    #[cold]
    #[inline(never)]
    fn put_escaped(&mut self, text: &[u8], has_colon: bool) {
        self.push(b'"');
        scan::escape(text, |part| self.put(part));
        self.push(b'"');
        if has_colon {
            self.push(b':');
        }
    }
}

impl fmt::Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.put(text.as_bytes());
        Ok(())
    }
}

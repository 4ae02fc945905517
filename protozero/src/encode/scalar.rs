//! One function per wire kind: a check and a few stores when the field fits the current range,
//! else the slow road, which stages the field on the stack and splits it.

use super::nested::Scope;
use super::stream::Stream;
use crate::error::WriteError;
use crate::wire::{tag, varint};

/// Longest string or bytes field (protobuf's own limit).
const BYTES_MAX: u64 = i32::MAX as u64;

impl Scope<'_> {
    /// Appends varint field `N`.
    #[inline(always)]
    pub fn varint<const N: u32>(&mut self, value: u64) {
        let tag = const { tag::Encoded::new(N, tag::VARINT) };
        if !self.stream.cursor.varint(tag, value) {
            varint_slow(self.stream, tag, value);
        }
    }

    /// Appends four-byte field `N`.
    #[inline(always)]
    pub fn fixed32<const N: u32>(&mut self, value: u32) {
        let tag = const { tag::Encoded::new(N, tag::FIXED32) };
        if !self.stream.cursor.fixed(tag, value.to_le_bytes()) {
            staged(self.stream, tag, &value.to_le_bytes());
        }
    }

    /// Appends eight-byte field `N`.
    #[inline(always)]
    pub fn fixed64<const N: u32>(&mut self, value: u64) {
        let tag = const { tag::Encoded::new(N, tag::FIXED64) };
        if !self.stream.cursor.fixed(tag, value.to_le_bytes()) {
            staged(self.stream, tag, &value.to_le_bytes());
        }
    }

    /// Appends field `N` of `bytes` with their canonical length.
    #[inline(always)]
    pub fn bytes<const N: u32>(&mut self, bytes: &[u8]) {
        let tag = const { tag::Encoded::new(N, tag::LEN) };
        if !self.stream.cursor.bytes(tag, bytes) {
            bytes_slow(self.stream, tag, &[bytes]);
        }
    }

    /// Appends field `N` of all `pieces` in one: one tag, the summed length.
    #[inline]
    pub fn bytes_gather<const N: u32>(&mut self, pieces: &[&[u8]]) {
        let tag = const { tag::Encoded::new(N, tag::LEN) };
        bytes_slow(self.stream, tag, pieces);
    }

    /// Appends bytes that already are fields of this message, verbatim.
    #[inline]
    pub fn raw(&mut self, fields: &[u8]) {
        self.stream.write(fields);
    }
}

impl Stream<'_> {
    /// Appends a varint without a tag.
    #[inline(always)]
    pub(super) fn bare_varint(&mut self, value: u64) {
        if !self.cursor.bare_varint(value) {
            self.bare_varint_slow(value);
        }
    }

    /// Appends a fixed-width number without a tag.
    #[inline(always)]
    pub(super) fn bare_fixed<const LEN: usize>(&mut self, value: [u8; LEN]) {
        if !self.cursor.bare_fixed(value) {
            self.write(&value);
        }
    }

    #[cold]
    #[inline(never)]
    fn bare_varint_slow(&mut self, value: u64) {
        let mut out = [0; varint::LEN_MAX];
        let len = varint::encode(value, &mut out);
        self.write(&out[..len]);
    }
}

#[cold]
#[inline(never)]
fn varint_slow(stream: &mut Stream<'_>, tag: tag::Encoded, value: u64) {
    let mut out = [0; varint::LEN_MAX];
    let len = varint::encode(value, &mut out);
    staged(stream, tag, &out[..len]);
}

/// Writes a tag and what follows it.
#[cold]
#[inline(never)]
fn staged(stream: &mut Stream<'_>, tag: tag::Encoded, rest: &[u8]) {
    stream.write(&tag.bytes.to_le_bytes()[..tag.len]);
    stream.write(rest);
}

/// Not `cold`: a large payload always comes this way.
#[inline(never)]
fn bytes_slow(stream: &mut Stream<'_>, tag: tag::Encoded, pieces: &[&[u8]]) {
    let len = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.len() as u64));
    if len > BYTES_MAX {
        return stream.fail(WriteError::TooLong { len });
    }
    varint_slow(stream, tag, len);
    for piece in pieces {
        stream.write(piece);
    }
}

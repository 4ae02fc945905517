//! One function per wire kind: a check and a few stores when the field fits the current range,
//! else the slow road, which stages the field on the stack and splits it.

use super::cursor::{Cursor, Frame};
use super::nested::Scope;
use super::stream::Stream;
use crate::error::WriteError;
use crate::wire::{tag, varint};

/// Setters are calls, and all take the slow road, which has to be there anyway.
pub(super) const SMALL: bool = cfg!(feature = "small");

/// Longest string or bytes field (protobuf's own limit).
const BYTES_MAX: u64 = i32::MAX as u64;

impl Scope<'_> {
    /// Appends varint field `N`.
    #[inline(always)]
    pub fn varint<const N: u32>(&mut self, value: u64) {
        self.varint_tagged(const { tag::Encoded::new(N, tag::VARINT) }, value);
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    pub(super) fn varint_tagged(&mut self, tag: tag::Encoded, value: u64) {
        if SMALL || !self.at.varint(tag, value) {
            self.at = self.stream.varint_slow(self.at.take(), self.frame, tag, value);
        }
    }

    /// Appends four-byte field `N`.
    #[inline(always)]
    pub fn fixed32<const N: u32>(&mut self, value: u32) {
        self.fixed32_tagged(const { tag::Encoded::new(N, tag::FIXED32) }, value);
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn fixed32_tagged(&mut self, tag: tag::Encoded, value: u32) {
        if SMALL || !self.at.fixed(tag, value.to_le_bytes()) {
            let value = u64::from(value);
            self.at = self.stream.fixed_slow::<4>(self.at.take(), self.frame, tag, value);
        }
    }

    /// Appends eight-byte field `N`.
    #[inline(always)]
    pub fn fixed64<const N: u32>(&mut self, value: u64) {
        self.fixed64_tagged(const { tag::Encoded::new(N, tag::FIXED64) }, value);
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn fixed64_tagged(&mut self, tag: tag::Encoded, value: u64) {
        if SMALL || !self.at.fixed(tag, value.to_le_bytes()) {
            self.at = self.stream.fixed_slow::<8>(self.at.take(), self.frame, tag, value);
        }
    }

    /// Appends field `N` of `bytes` with their canonical length.
    #[inline(always)]
    pub fn bytes<const N: u32>(&mut self, bytes: &[u8]) {
        self.bytes_tagged(const { tag::Encoded::new(N, tag::LEN) }, bytes);
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn bytes_tagged(&mut self, tag: tag::Encoded, bytes: &[u8]) {
        if SMALL || !self.at.bytes(tag, bytes) {
            self.at = self.stream.bytes_slow(self.at.take(), self.frame, tag, bytes);
        }
    }

    /// Appends field `N` of all `pieces` in one: one tag, the summed length.
    #[inline]
    pub fn bytes_gather<const N: u32>(&mut self, pieces: &[&[u8]]) {
        let tag = const { tag::Encoded::new(N, tag::LEN) };
        self.at = self.stream.gather(self.at.take(), self.frame, tag, pieces);
    }

    /// Appends bytes that already are fields of this message, verbatim.
    #[inline]
    pub fn raw(&mut self, fields: &[u8]) {
        self.at = self.stream.write_long(self.at.take(), self.frame, fields);
    }

    /// Appends a varint without a tag.
    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    pub(super) fn bare_varint(&mut self, value: u64) {
        if SMALL || !self.at.bare_varint(value) {
            self.at = self.stream.bare_varint_slow(self.at.take(), self.frame, value);
        }
    }

    /// Appends a fixed-width number without a tag.
    #[inline(always)]
    pub(super) fn bare_fixed<const LEN: usize>(&mut self, value: [u8; LEN]) {
        if SMALL || !self.at.bare_fixed(value) {
            self.at = self.stream.write(self.at.take(), self.frame, &value);
        }
    }
}

impl Stream<'_> {
    #[cold]
    #[inline(never)]
    fn bare_varint_slow(&mut self, at: Cursor, frame: Frame, value: u64) -> Cursor {
        let mut out = [0; varint::LEN_MAX];
        let len = varint::encode(value, &mut out);
        self.write(at, frame, out.get(..len).unwrap_or_default())
    }

    #[cold]
    #[inline(never)]
    fn varint_slow(&mut self, at: Cursor, frame: Frame, tag: tag::Encoded, value: u64) -> Cursor {
        let at = self.write_tag(at, frame, tag);
        self.bare_varint_slow(at, frame, value)
    }

    #[cold]
    #[inline(never)]
    fn fixed_slow<const LEN: usize>(
        &mut self,
        at: Cursor,
        frame: Frame,
        tag: tag::Encoded,
        value: u64,
    ) -> Cursor {
        let at = self.write_tag(at, frame, tag);
        self.write(at, frame, value.to_le_bytes().get(..LEN).unwrap_or_default())
    }

    /// Not `cold`: a large payload always comes this way.
    #[inline(never)]
    fn bytes_slow(&mut self, at: Cursor, frame: Frame, tag: tag::Encoded, bytes: &[u8]) -> Cursor {
        self.gather(at, frame, tag, &[bytes])
    }

    #[inline(never)]
    fn gather(&mut self, at: Cursor, frame: Frame, tag: tag::Encoded, pieces: &[&[u8]]) -> Cursor {
        let len = pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.len() as u64));
        if len > BYTES_MAX {
            return self.fail(at, WriteError::TooLong { len });
        }
        // What is outside gets long too: now there is little to move.
        let at =
            if len > u64::from(varint::ONE_BYTE_MAX) { self.ground.widen(at, frame) } else { at };
        let at = self.varint_slow(at, frame, tag, len);
        pieces.iter().fold(at, |at, piece| self.write(at, frame, piece))
    }

    #[inline(never)]
    fn write_long(&mut self, at: Cursor, frame: Frame, bytes: &[u8]) -> Cursor {
        let long = bytes.len() > varint::ONE_BYTE_MAX as usize;
        let at = if long { self.ground.widen(at, frame) } else { at };
        self.write(at, frame, bytes)
    }
}

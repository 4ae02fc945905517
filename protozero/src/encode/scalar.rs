//! One function per wire type. If the field fits the current range, it is a check and a few stores.
//! Otherwise the slow path builds the field on the stack and splits it.

use super::nested::Scope;
use super::slot::SMALL;
use super::slow::{self, number};
use crate::wire::tag;

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
            let (body, narrow) = self.frame.parts();
            let (at, tag) = (self.at.take(), number(tag));
            self.at = slow::varint(self.stream, at, body, narrow, tag, value);
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
            let (body, narrow) = self.frame.parts();
            let (at, tag) = (self.at.take(), number(tag));
            self.at = slow::fixed::<4>(self.stream, at, body, narrow, tag, u64::from(value));
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
            let (body, narrow) = self.frame.parts();
            let (at, tag) = (self.at.take(), number(tag));
            self.at = slow::fixed::<8>(self.stream, at, body, narrow, tag, value);
        }
    }

    /// Appends `bytes` as field `N`, with their canonical length.
    #[inline(always)]
    pub fn bytes<const N: u32>(&mut self, bytes: &[u8]) {
        self.bytes_tagged(const { tag::Encoded::new(N, tag::LEN) }, bytes);
    }

    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    fn bytes_tagged(&mut self, tag: tag::Encoded, bytes: &[u8]) {
        if SMALL || !self.at.bytes(tag, bytes) {
            let (body, narrow) = self.frame.parts();
            let (at, tag) = (self.at.take(), number(tag));
            self.at = slow::bytes(self.stream, at, body, narrow, tag, bytes);
        }
    }

    /// Appends all `pieces` as one field `N`: one tag, and the sum of the lengths.
    #[inline]
    pub fn bytes_gather<const N: u32>(&mut self, pieces: &[&[u8]]) {
        let tag = const { tag::Encoded::new(N, tag::LEN) };
        let (body, narrow) = self.frame.parts();
        let (at, tag) = (self.at.take(), number(tag));
        self.at = slow::gather(self.stream, at, body, narrow, tag, pieces);
    }

    /// Appends encoded fields of this message, unchanged.
    #[inline]
    pub fn raw(&mut self, fields: &[u8]) {
        let (body, narrow) = self.frame.parts();
        self.at = slow::raw(self.stream, self.at.take(), body, narrow, fields);
    }

    /// Appends a varint without a tag.
    #[cfg_attr(not(feature = "small"), inline(always))]
    #[cfg_attr(feature = "small", inline(never))]
    pub(super) fn bare_varint(&mut self, value: u64) {
        if SMALL || !self.at.bare_varint(value) {
            let (body, narrow) = self.frame.parts();
            self.at = slow::bare_varint(self.stream, self.at.take(), body, narrow, value);
        }
    }

    /// Appends a fixed-width number without a tag.
    #[inline(always)]
    pub(super) fn bare_fixed<const LEN: usize>(&mut self, value: [u8; LEN]) {
        if SMALL || !self.at.bare_fixed(value) {
            let (body, narrow) = self.frame.parts();
            self.at = slow::raw(self.stream, self.at.take(), body, narrow, &value);
        }
    }
}

//! The input of the rewriter, in pieces.

use super::scan::{self, Next};
use crate::encode::Scope;
use crate::error::{DecodeErrorKind, ReadError};
use crate::wire::{hostile, tag, varint};

/// A message in pieces, only one of which must be in memory at a time.
///
/// A `&[u8]` is an input, and [`Slices`] combines several. A file can be one in constant memory:
/// `chunk` returns the content of its buffer, and refills an empty buffer.
pub trait Input {
    /// The next bytes, the same ones until some are consumed. Empty only at the end.
    fn chunk(&mut self) -> &[u8];

    /// Advances by `len` bytes, at most the length of the last `chunk`.
    fn consume(&mut self, len: usize);
}

impl Input for &[u8] {
    #[inline]
    fn chunk(&mut self) -> &[u8] {
        self
    }

    #[inline]
    fn consume(&mut self, len: usize) {
        *self = self.get(len..).unwrap_or_default();
    }
}

/// Several slices of any length, one after another.
#[derive(Clone, Debug)]
pub struct Slices<'a, I> {
    rest: I,
    at: &'a [u8],
}

impl<'a, I: Iterator> Slices<'a, I> {
    /// The message in `pieces`.
    pub fn new(pieces: impl IntoIterator<IntoIter = I>) -> Self {
        Self { rest: pieces.into_iter(), at: &[] }
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Input for Slices<'a, I> {
    #[inline]
    fn chunk(&mut self) -> &[u8] {
        while self.at.is_empty() {
            match self.rest.next() {
                Some(piece) => self.at = piece,
                None => break,
            }
        }
        self.at
    }

    #[inline]
    fn consume(&mut self, len: usize) {
        self.at = self.at.get(len..).unwrap_or_default();
    }
}

/// A varint with its encoded bytes, which may have padding.
#[derive(Default)]
pub(super) struct Varint {
    pub(super) value: u64,
    bytes: [u8; varint::LEN_MAX],
    len: usize,
}

impl Varint {
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// An input with a position and a limit.
pub(super) struct Source<I> {
    input: I,
    /// Number of consumed bytes.
    pub(super) offset: usize,
    /// Bytes after this offset are not read.
    pub(super) limit: usize,
}

impl<I: Input> Source<I> {
    pub(super) fn new(input: I) -> Self {
        Self { input, offset: 0, limit: usize::MAX }
    }

    /// The next bytes, up to the limit.
    pub(super) fn chunk(&mut self) -> &[u8] {
        let left = self.limit.saturating_sub(self.offset);
        let chunk = self.input.chunk();
        chunk.get(..left).unwrap_or(chunk)
    }

    pub(super) fn consume(&mut self, len: usize) {
        self.offset = self.offset.saturating_add(len);
        self.input.consume(len);
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.chunk().first()?;
        self.consume(1);
        Some(byte)
    }

    /// Reads a varint. `at` is the offset of its field.
    pub(super) fn varint(&mut self, at: usize) -> Result<Varint, ReadError> {
        let mut varint = Varint::default();
        while let Some(place) = varint.bytes.get_mut(varint.len) {
            *place = self.byte().ok_or(DecodeErrorKind::Truncated.at(at))?;
            let last = *place < 0x80;
            varint.len += 1;
            if last {
                let (value, _) = hostile::varint(varint.as_bytes()).map_err(|kind| kind.at(at))?;
                varint.value = value;
                return Ok(varint);
            }
        }
        Err(DecodeErrorKind::VarintTooLong.at(at))
    }

    /// Reads the tag at `at`, which may lie in several pieces.
    pub(super) fn tag(&mut self, at: usize) -> Result<(Next, Varint), ReadError> {
        let varint = self.varint(at)?;
        Ok((scan::classify(varint.value, 0), varint))
    }

    /// Copies a number. Its tag, at offset `at`, was read.
    pub(super) fn copy_scalar(
        &mut self,
        scope: &mut Scope<'_>,
        wire_type: u32,
        at: usize,
    ) -> Result<(), ReadError> {
        let len = match wire_type {
            tag::FIXED32 => 4,
            tag::FIXED64 => 8,
            _ => {
                scope.piece(self.varint(at)?.as_bytes());
                return Ok(());
            }
        };
        let to = self.offset.saturating_add(len);
        if to > self.limit {
            return Err(DecodeErrorKind::Truncated.at(at));
        }
        self.copy(scope, to, at)
    }

    /// Copies the bytes up to offset `to`. `at` is the offset of the field.
    pub(super) fn copy(
        &mut self,
        scope: &mut Scope<'_>,
        to: usize,
        at: usize,
    ) -> Result<(), ReadError> {
        while self.offset < to {
            let left = to - self.offset;
            let chunk = self.chunk();
            let piece = chunk.get(..left).unwrap_or(chunk);
            if piece.is_empty() {
                return Err(DecodeErrorKind::Truncated.at(at));
            }
            scope.piece(piece);
            let len = piece.len();
            self.consume(len);
        }
        Ok(())
    }
}

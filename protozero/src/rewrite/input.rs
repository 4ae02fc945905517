//! Where the message comes from, piece by piece.

use super::scan::{self, Stop};
use crate::encode::Scope;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::wire::{tag, varint};

/// A message in pieces, of which one at a time has to be in memory.
///
/// A `&[u8]` is one, [`Slices`] makes one of several. A file in constant memory is one, too:
/// `chunk` is then what its buffer holds, refilled when it is empty.
pub trait Input {
    /// What comes next: the same bytes until some are consumed, empty at the end only.
    fn chunk(&mut self) -> &[u8];

    /// Goes on by `len` bytes, at most those that `chunk` last gave.
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

/// Pieces one after the other, of any lengths.
#[derive(Clone, Debug)]
pub struct Slices<'a, I> {
    rest: I,
    at: &'a [u8],
}

impl<'a, I: Iterator> Slices<'a, I> {
    /// The message that `pieces` are together.
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

/// A varint as it was, padding included.
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

/// An input with a position and a bound.
pub(super) struct Source<I> {
    input: I,
    /// Bytes consumed.
    pub(super) offset: usize,
    /// Nothing is read past this offset.
    pub(super) limit: usize,
}

impl<I: Input> Source<I> {
    pub(super) fn new(input: I) -> Self {
        Self { input, offset: 0, limit: usize::MAX }
    }

    /// What comes next, up to the limit.
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

    /// Reads a varint of the field that begins at `at`.
    pub(super) fn varint(&mut self, at: usize) -> Result<Varint, DecodeError> {
        let mut varint = Varint::default();
        for (group, place) in varint.bytes.iter_mut().enumerate() {
            let byte = self.byte().ok_or(DecodeErrorKind::Truncated.at(at))?;
            *place = byte;
            varint.len += 1;
            varint.value |= u64::from(byte & 0x7f) << (7 * group);
            if byte < 0x80 {
                return Ok(varint);
            }
        }
        Err(DecodeErrorKind::VarintTooLong.at(at))
    }

    /// Reads the tag at `at`, which may lie in several pieces.
    pub(super) fn tag(&mut self, at: usize) -> Result<(Stop, Varint), DecodeError> {
        let varint = self.varint(at)?;
        Ok((scan::stop(varint.value, 0), varint))
    }

    /// Copies the value of a field with neither length nor group; its tag was read, and began at
    /// `at`.
    pub(super) fn copy_scalar(
        &mut self,
        scope: &mut Scope<'_>,
        wire_type: u32,
        at: usize,
    ) -> Result<(), DecodeError> {
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

    /// Copies bytes up to offset `to`, of the field that begins at `at`.
    pub(super) fn copy(
        &mut self,
        scope: &mut Scope<'_>,
        to: usize,
        at: usize,
    ) -> Result<(), DecodeError> {
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

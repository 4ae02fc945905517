//! Bytes in several slices.
//!
//! ```text
//!              ┌── slice ──┐ ┌── slice ──┐ ┌── slice ──┐ ┌── slice ──┐
//!  Pieces::new             [                                        ]
//!  a part of it     [ head ] [        middle         ] [ tail ]
//! ```
//!
//! A part begins in one slice, may contain whole slices, and ends in another slice. Three borrows
//! therefore describe any part, independent of the number of slices.

use core::fmt;

use super::group::Source;
use super::take;
use crate::error::DecodeErrorKind;
use crate::wire::varint::LEN_MAX;

/// Bytes in one or several slices. The bytes are borrowed for `'a`, and the list of slices for
/// `'s`.
#[derive(Clone, Copy)]
pub struct Pieces<'s, 'a> {
    /// Not empty, unless there are no bytes at all.
    head: &'a [u8],
    middle: &'s [&'a [u8]],
    tail: &'a [u8],
    /// Length of `head`, `middle` and `tail` together.
    len: usize,
}

impl<'s, 'a> Pieces<'s, 'a> {
    /// The bytes of `slices`, one after another. Slices may be empty.
    #[must_use]
    pub fn new(slices: &'s [&'a [u8]]) -> Self {
        // The list can repeat a slice, so the sum may exceed the address space.
        let len = slices.iter().fold(0usize, |sum, slice| sum.saturating_add(slice.len()));
        Self { head: &[], middle: slices, tail: &[], len }.with_head()
    }

    /// The bytes of one slice.
    #[inline]
    #[must_use]
    pub const fn one(slice: &'a [u8]) -> Self {
        Self { head: slice, middle: &[], tail: &[], len: slice.len() }
    }

    /// Number of bytes.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if there are no bytes.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes, if they lie in one slice.
    #[inline]
    #[must_use]
    pub const fn as_slice(&self) -> Option<&'a [u8]> {
        if self.head.len() == self.len { Some(self.head) } else { None }
    }

    /// The slices, without empty ones.
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + Clone + use<'s, 'a> {
        let ends = [self.head, self.tail];
        let [head, tail] = ends.map(core::iter::once);
        head.chain(self.middle.iter().copied()).chain(tail).filter(|slice| !slice.is_empty())
    }

    /// Copies as many bytes as fit into `out`, and returns their number.
    pub fn copy_to(&self, out: &mut [u8]) -> usize {
        let mut done = 0;
        for slice in self.iter() {
            let Some(out) = out.get_mut(done..) else { break };
            let len = slice.len().min(out.len());
            // Not `copy_from_slice`: without inlining it compares the lengths, and panics.
            out.iter_mut().zip(slice).for_each(|(out, byte)| *out = *byte);
            done += len;
            if len < slice.len() {
                break;
            }
        }
        done
    }

    /// Whether the bytes are UTF-8. A character may lie in several slices.
    #[must_use]
    pub fn is_utf8(&self) -> bool {
        // Collects a character that lies in several slices: at most four bytes.
        let mut cut = [0; 4];
        let mut cut_len = 0;
        for mut slice in self.iter() {
            while cut_len != 0 {
                let Some((byte, rest)) = slice.split_first() else { break };
                let Some(next) = cut.get_mut(cut_len) else { return false };
                *next = *byte;
                cut_len += 1;
                slice = rest;
                match core::str::from_utf8(cut.get(..cut_len).unwrap_or_default()) {
                    Ok(_) => cut_len = 0,
                    Err(error) if error.error_len().is_some() => return false,
                    Err(_) => {}
                }
            }
            let Err(error) = core::str::from_utf8(slice) else { continue };
            let end = slice.get(error.valid_up_to()..).unwrap_or_default();
            let Some(kept) = cut.get_mut(..end.len()).filter(|_| error.error_len().is_none())
            else {
                return false;
            };
            kept.iter_mut().zip(end).for_each(|(kept, byte)| *kept = *byte);
            cut_len = end.len();
        }
        cut_len == 0
    }

    /// Removes and returns the first `len` bytes; `None` if there are fewer.
    #[must_use]
    pub fn take(&mut self, len: usize) -> Option<Self> {
        let left = self.len.checked_sub(len)?;
        if let Some((head, rest)) = self.head.split_at_checked(len) {
            *self = Self { head: rest, len: left, ..*self }.with_head();
            return Some(Self::one(head));
        }
        let mut missing = len.checked_sub(self.head.len())?;
        for (at, slice) in self.middle.iter().enumerate() {
            if let Some((tail, rest)) = slice.split_at_checked(missing) {
                let (middle, more) = self.middle.split_at_checked(at)?;
                let more = more.get(1..).unwrap_or_default();
                let taken = Self { head: self.head, middle, tail, len };
                *self = Self { head: rest, middle: more, tail: self.tail, len: left }.with_head();
                return Some(taken);
            }
            missing -= slice.len();
        }
        let (tail, rest) = self.tail.split_at_checked(missing)?;
        let taken = Self { tail, len, ..*self };
        *self = Self { head: rest, middle: &[], tail: &[], len: left };
        Some(taken)
    }

    /// The first slice that is not empty.
    #[inline]
    pub(super) const fn head(&self) -> &'a [u8] {
        self.head
    }

    /// Removes the first `len` bytes, which must lie in the first slice.
    #[inline]
    pub(super) fn without_first(self, len: usize) -> Self {
        let head = self.head.get(len..).unwrap_or_default();
        Self { head, len: self.len.saturating_sub(len), ..self }.with_head()
    }

    /// Makes the head non-empty, if any bytes are left.
    #[inline]
    fn with_head(mut self) -> Self {
        while self.head.is_empty() && self.len != 0 {
            if let [first, rest @ ..] = self.middle {
                (self.head, self.middle) = (first, rest);
            } else {
                (self.head, self.tail) = (self.tail, &[]);
                break;
            }
        }
        self
    }

    /// Applies `take`, a function for slices that reads at most ten bytes. A value in several
    /// slices is first copied to the stack.
    #[inline]
    fn take_with<T: Copy>(
        &mut self,
        take: impl for<'b> Fn(&'b [u8]) -> take::Taken<'b, T>,
    ) -> Result<T, DecodeErrorKind> {
        if let Ok((value, rest)) = take(self.head) {
            *self = self.without_first(self.head.len() - rest.len());
            return Ok(value);
        }
        let mut bytes = [0; LEN_MAX];
        let len = self.copy_to(&mut bytes);
        let bytes = bytes.get(..len).unwrap_or_default();
        let (value, rest) = take(bytes)?;
        // `copy_to` read these bytes, so they exist.
        let _ = self.take(len - rest.len());
        Ok(value)
    }

    /// Reads a number of `LEN` bytes.
    #[inline]
    pub(super) fn array<const LEN: usize>(&mut self) -> Result<[u8; LEN], DecodeErrorKind> {
        self.take_with(take::array)
    }

    /// Reads a length and that many bytes.
    #[inline]
    pub(super) fn bytes(&mut self) -> Result<Self, DecodeErrorKind> {
        let len = self.varint()?;
        self.exactly(len)
    }

    #[inline]
    fn exactly(&mut self, len: u64) -> Result<Self, DecodeErrorKind> {
        let len = usize::try_from(len).map_err(|_| DecodeErrorKind::Truncated)?;
        self.take(len).ok_or(DecodeErrorKind::Truncated)
    }
}

#[cfg(feature = "alloc")]
impl<'a> Pieces<'_, 'a> {
    /// The bytes as one slice: copied only if they lie in several.
    #[must_use]
    pub fn to_cow(&self) -> alloc::borrow::Cow<'a, [u8]> {
        match self.as_slice() {
            Some(slice) => alloc::borrow::Cow::Borrowed(slice),
            None => alloc::borrow::Cow::Owned(self.to_vec()),
        }
    }

    /// A copy of the bytes.
    #[must_use]
    pub fn to_vec(&self) -> alloc::vec::Vec<u8> {
        let mut out = alloc::vec::Vec::with_capacity(self.len);
        self.iter().for_each(|slice| out.extend_from_slice(slice));
        out
    }
}

impl Source for Pieces<'_, '_> {
    #[inline]
    fn left(&self) -> usize {
        self.len
    }

    #[inline]
    fn tag(&mut self) -> Result<u32, DecodeErrorKind> {
        self.take_with(take::tag)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, DecodeErrorKind> {
        self.take_with(take::varint)
    }

    #[inline]
    fn skip(&mut self, len: u64) -> Result<(), DecodeErrorKind> {
        self.exactly(len).map(drop)
    }
}

/// Compares the bytes, independent of the slices.
impl PartialEq<[u8]> for Pieces<'_, '_> {
    fn eq(&self, other: &[u8]) -> bool {
        let mut other = other;
        self.len == other.len()
            && self.iter().all(|slice| match other.split_at_checked(slice.len()) {
                Some((front, rest)) => {
                    other = rest;
                    front == slice
                }
                None => false,
            })
    }
}

impl fmt::Debug for Pieces<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

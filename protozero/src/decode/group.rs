//! Groups: nested messages between a begin tag and an end tag, without a length.
//!
//! ```text
//!  0b  08 05  13  18 07  14  0c        1 { 1: 5  2 { 3: 7 } }
//!  ^           ^          ^   ^
//!  begin 1     begin 2  end 2 end 1
//! ```
//!
//! The end of a group is found only by skipping all of its fields. This is a loop, not a recursion:
//! the numbers of the open groups are in an array, whose length limits the depth.

use super::limits::DEPTH_MAX;
use super::take::{self, Taken};
use crate::error::DecodeErrorKind;
use crate::wire::tag;

/// The input of [`skip_group`].
pub(super) trait Source {
    /// Number of unread bytes.
    fn left(&self) -> usize;
    /// Reads a tag.
    fn tag(&mut self) -> Result<u32, DecodeErrorKind>;
    /// Reads a varint.
    fn varint(&mut self) -> Result<u64, DecodeErrorKind>;
    /// Skips `len` bytes.
    fn skip(&mut self, len: u64) -> Result<(), DecodeErrorKind>;
}

/// Skips the rest of group `number`, after its begin tag, including its end tag. Returns the number
/// of unread bytes before the end tag.
pub(super) fn skip_group(from: &mut impl Source, number: u32) -> Result<usize, DecodeErrorKind> {
    // Numbers of the open groups, innermost last.
    let mut open = [0; DEPTH_MAX as usize];
    let mut depth = 0;
    let mut begin = Some(number);
    loop {
        if let Some(number) = begin {
            *open.get_mut(depth).ok_or(DecodeErrorKind::TooDeep)? = number;
            depth += 1;
        }
        let left = from.left();
        let tag = from.tag()?;
        begin = None;
        match tag & 7 {
            tag::VARINT => drop(from.varint()?),
            tag::FIXED64 => from.skip(8)?,
            tag::LEN => {
                let len = from.varint()?;
                from.skip(len)?;
            }
            tag::BEGIN_GROUP => begin = Some(tag >> 3),
            tag::END_GROUP => {
                depth = depth.saturating_sub(1);
                if open.get(depth) != Some(&(tag >> 3)) {
                    return Err(DecodeErrorKind::EndGroup);
                }
                if depth == 0 {
                    return Ok(left);
                }
            }
            tag::FIXED32 => from.skip(4)?,
            _ => return Err(DecodeErrorKind::WireType),
        }
    }
}

impl Source for &[u8] {
    #[inline]
    fn left(&self) -> usize {
        self.len()
    }

    #[inline]
    fn tag(&mut self) -> Result<u32, DecodeErrorKind> {
        let (tag, rest) = take::tag(self)?;
        *self = rest;
        Ok(tag)
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, DecodeErrorKind> {
        let (value, rest) = take::varint(self)?;
        *self = rest;
        Ok(value)
    }

    #[inline]
    fn skip(&mut self, len: u64) -> Result<(), DecodeErrorKind> {
        *self = take::exactly(self, len)?.1;
        Ok(())
    }
}

/// Reads the body of group `number`, after its begin tag, and skips its end tag.
#[inline(never)]
pub(super) fn group(from: &[u8], number: u32) -> Taken<'_, &[u8]> {
    let mut rest = from;
    let left = skip_group(&mut rest, number)?;
    let body = from.len().checked_sub(left).and_then(|len| from.get(..len));
    Ok((body.unwrap_or_default(), rest))
}

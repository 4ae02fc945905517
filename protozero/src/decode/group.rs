//! Groups: nested messages between a begin and an end tag instead of behind a length.
//!
//! ```text
//!  0b  08 05  13  18 07  14  0c        1 { 1: 5  2 { 3: 7 } }
//!  ^           ^          ^   ^
//!  begin 1     begin 2  end 2 end 1
//! ```
//!
//! Where a group ends is known only after all of its fields were passed over. That is done in a
//! loop: the numbers of the groups that are open lie in an array, which bounds how many may be.

use super::limits::DEPTH_MAX;
use super::take::{self, Taken};
use crate::error::DecodeErrorKind;
use crate::wire::tag;

/// Numbers of the groups that are open, the innermost last.
pub(super) struct Open {
    numbers: [u32; DEPTH_MAX as usize],
    depth: usize,
}

impl Open {
    /// The group `number` alone.
    #[inline]
    pub(super) const fn new(number: u32) -> Self {
        let mut numbers = [0; DEPTH_MAX as usize];
        numbers[0] = number;
        Self { numbers, depth: 1 }
    }

    /// A group begins.
    #[inline]
    pub(super) fn begin(&mut self, number: u32) -> Result<(), DecodeErrorKind> {
        let slot = self.numbers.get_mut(self.depth).ok_or(DecodeErrorKind::TooDeep)?;
        *slot = number;
        self.depth += 1;
        Ok(())
    }

    /// A group ends; was it the outermost one?
    #[inline]
    pub(super) fn end(&mut self, number: u32) -> Result<bool, DecodeErrorKind> {
        self.depth = self.depth.saturating_sub(1);
        if self.numbers.get(self.depth) == Some(&number) {
            Ok(self.depth == 0)
        } else {
            Err(DecodeErrorKind::EndGroup)
        }
    }
}

/// Takes the body of the group `number`, whose begin tag was taken, and its end tag after it.
#[inline(never)]
pub(super) fn group(from: &[u8], number: u32) -> Taken<'_, &[u8]> {
    let mut open = Open::new(number);
    let mut rest = from;
    loop {
        let (next, after) = take::tag(rest)?;
        let number = next >> 3;
        let after = match next & 7 {
            tag::VARINT => take::varint(after)?.1,
            tag::FIXED64 => take::array::<8>(after)?.1,
            tag::LEN => take::bytes(after)?.1,
            tag::BEGIN_GROUP => {
                open.begin(number)?;
                after
            }
            tag::END_GROUP => {
                if open.end(number)? {
                    let body = from.get(..from.len() - rest.len()).unwrap_or_default();
                    return Ok((body, after));
                }
                after
            }
            tag::FIXED32 => take::array::<4>(after)?.1,
            _ => return Err(DecodeErrorKind::WireType),
        };
        rest = after;
    }
}

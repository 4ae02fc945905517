//! Where a value comes from: fields that are read, or a value that was read before.

use alloc::boxed::Box;

use super::stop::Stop;
use crate::decode::{Fields, Value as Wire};
use crate::wire::tag::LEN;

/// The next value, whose type is known.
pub(super) trait Source<'b> {
    fn varint(&mut self) -> Result<u64, Box<Stop>>;
    fn fixed32(&mut self) -> Result<u32, Box<Stop>>;
    fn fixed64(&mut self) -> Result<u64, Box<Stop>>;
    fn bytes(&mut self) -> Result<&'b [u8], Box<Stop>>;
    /// A message behind `tag`, which says if it is a group.
    fn message(&mut self, tag: u32) -> Result<&'b [u8], Box<Stop>>;
}

impl<'b> Source<'b> for &mut Fields<'b> {
    #[inline(always)]
    fn varint(&mut self) -> Result<u64, Box<Stop>> {
        self.uint64().map_err(|_| self.fail().into())
    }

    #[inline(always)]
    fn fixed32(&mut self) -> Result<u32, Box<Stop>> {
        Fields::fixed32(self).map_err(|_| self.fail().into())
    }

    #[inline(always)]
    fn fixed64(&mut self) -> Result<u64, Box<Stop>> {
        Fields::fixed64(self).map_err(|_| self.fail().into())
    }

    #[inline(always)]
    fn bytes(&mut self) -> Result<&'b [u8], Box<Stop>> {
        Fields::bytes(self).map_err(|_| self.fail().into())
    }

    #[inline(always)]
    fn message(&mut self, tag: u32) -> Result<&'b [u8], Box<Stop>> {
        match tag & 7 {
            LEN => Source::bytes(self),
            _ => self.group(tag).map_err(|_| self.fail().into()),
        }
    }
}

/// A value that was read. The caller has compared its encoding with its type.
impl<'b> Source<'b> for Wire<'b> {
    fn varint(&mut self) -> Result<u64, Box<Stop>> {
        Ok(if let Wire::Varint(bits) = *self { bits } else { 0 })
    }

    fn fixed32(&mut self) -> Result<u32, Box<Stop>> {
        Ok(if let Wire::Fixed32(bits) = *self { bits } else { 0 })
    }

    fn fixed64(&mut self) -> Result<u64, Box<Stop>> {
        Ok(if let Wire::Fixed64(bits) = *self { bits } else { 0 })
    }

    fn bytes(&mut self) -> Result<&'b [u8], Box<Stop>> {
        Ok(if let Wire::Len(bytes) = *self { bytes } else { &[] })
    }

    fn message(&mut self, _tag: u32) -> Result<&'b [u8], Box<Stop>> {
        Ok(if let Wire::Len(bytes) | Wire::Group(bytes) = *self { bytes } else { &[] })
    }
}

//! Packed runs: one field holding many numbers and no tags between them. The length is reserved and
//! filled in as for a message, so that the numbers are gone through once.

use super::nested::Scope;
use super::stream::Stream;

/// An open packed run.
pub struct Packed<'a, 's> {
    stream: &'a mut Stream<'s>,
}

impl Packed<'_, '_> {
    /// Appends an element of a varint kind.
    #[inline(always)]
    pub fn varint(&mut self, value: u64) {
        self.stream.bare_varint(value);
    }

    /// Appends an element of a four-byte kind.
    #[inline(always)]
    pub fn fixed32(&mut self, value: u32) {
        self.stream.bare_fixed(value.to_le_bytes());
    }

    /// Appends an element of an eight-byte kind.
    #[inline(always)]
    pub fn fixed64(&mut self, value: u64) {
        self.stream.bare_fixed(value.to_le_bytes());
    }
}

/// Appends packed field `N`; `put` appends one element. An empty run is a tag and a zero.
#[inline(always)]
pub(crate) fn packed<const N: u32, I: IntoIterator>(
    scope: &mut Scope<'_>,
    items: I,
    mut put: impl FnMut(&mut Packed<'_, '_>, I::Item),
) {
    let run = scope.nested::<N>();
    let mut packed = Packed { stream: &mut *run.stream };
    for item in items {
        put(&mut packed, item);
    }
}

//! Packed fields: many numbers in one field, without tags between them. The length is filled in
//! later, as for a message, so that one pass over the numbers is enough.

use super::nested::Scope;

/// An open packed field. Elements are appended one by one, and dropping it ends the field. Without
/// elements it is a tag and a zero.
pub struct Packed<'w> {
    run: Scope<'w>,
}

impl Packed<'_> {
    /// Appends an element of a varint kind.
    #[inline(always)]
    pub fn varint(&mut self, value: u64) {
        self.run.bare_varint(value);
    }

    /// Appends an element of a four-byte kind.
    #[inline(always)]
    pub fn fixed32(&mut self, value: u32) {
        self.run.bare_fixed(value.to_le_bytes());
    }

    /// Appends an element of an eight-byte kind.
    #[inline(always)]
    pub fn fixed64(&mut self, value: u64) {
        self.run.bare_fixed(value.to_le_bytes());
    }
}

impl Scope<'_> {
    /// Opens packed field `N`.
    #[inline(always)]
    pub fn packed<const N: u32>(&mut self) -> Packed<'_> {
        Packed { run: self.nested::<N>() }
    }
}

/// Appends packed field `N`; `put` appends one element. If the number of elements is known and they
/// have `WIDTH` bytes each (0 means varints), the length is written first.
#[inline(always)]
pub(crate) fn packed<const N: u32, const WIDTH: u32, I: IntoIterator>(
    scope: &mut Scope<'_>,
    items: I,
    mut put: impl FnMut(&mut Packed<'_>, I::Item),
) {
    let items = items.into_iter();
    let mut run = match announced(items.size_hint(), WIDTH) {
        Some(len) => Packed { run: scope.nested_sized::<N>(len) },
        None => scope.packed::<N>(),
    };
    for item in items {
        put(&mut run, item);
    }
}

/// Length of the packed elements, if their number is known.
#[inline(always)]
fn announced((count, most): (usize, Option<usize>), width: u32) -> Option<u32> {
    if width == 0 || most != Some(count) {
        return None;
    }
    u32::try_from(count).ok()?.checked_mul(width).filter(|len| *len <= i32::MAX as u32)
}

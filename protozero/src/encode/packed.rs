//! Packed runs: one field holding many numbers and no tags between them. The length is filled in as for
//! a message, so that the numbers are gone through once.

use super::nested::Scope;

/// An open packed run, to which elements are appended one by one; dropping it ends it. An empty run is a
/// tag and a zero.
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

/// Appends packed field `N`; `put` appends one element. Elements of `WIDTH` bytes (0: varints) whose
/// number is known beforehand get their length in front at once.
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

/// Bytes of a run, if its number of elements is known.
#[inline(always)]
fn announced((count, most): (usize, Option<usize>), width: u32) -> Option<u32> {
    if width == 0 || most != Some(count) {
        return None;
    }
    u32::try_from(count).ok()?.checked_mul(width).filter(|len| *len <= i32::MAX as u32)
}

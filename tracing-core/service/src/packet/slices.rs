//! The slices of one packet. Nearly all packets have one slice, for which nothing is allocated.

use core::ops::Deref;

/// Slices of one packet, in order. Reads as `[&[u8]]`.
///
/// A packet over several chunks has a slice for each fragment that is not empty, possibly none.
#[derive(Clone, Debug)]
pub struct Slices<'a>(Inner<'a>);

#[derive(Clone, Debug)]
enum Inner<'a> {
    One(&'a [u8]),
    Many(Vec<&'a [u8]>),
}

impl<'a> Slices<'a> {
    /// A packet with one slice.
    #[inline]
    #[must_use]
    pub const fn one(slice: &'a [u8]) -> Self {
        Self(Inner::One(slice))
    }

    /// Bytes of all slices together.
    #[must_use]
    pub fn bytes_len(&self) -> usize {
        self.iter().map(|s| s.len()).sum()
    }

    /// A copy of all bytes.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.concat()
    }
}

impl<'a> FromIterator<&'a [u8]> for Slices<'a> {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(iter: I) -> Self {
        Self(Inner::Many(iter.into_iter().collect()))
    }
}

impl<'a> Deref for Slices<'a> {
    type Target = [&'a [u8]];

    #[inline]
    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Inner::One(slice) => core::slice::from_ref(slice),
            Inner::Many(slices) => slices,
        }
    }
}

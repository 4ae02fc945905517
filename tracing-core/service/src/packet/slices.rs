//! The list of slices that make up one packet: mostly one, and then nothing is allocated.

use core::ops::Deref;

/// Slices of one packet, in order. Reads as `[&[u8]]`.
///
/// A packet written in several chunks has a slice for each that held some of it; a packet made of
/// nothing has none at all.
#[derive(Clone, Debug)]
pub struct Slices<'a>(Inner<'a>);

#[derive(Clone, Debug)]
enum Inner<'a> {
    One(&'a [u8]),
    Many(Vec<&'a [u8]>),
}

impl<'a> Slices<'a> {
    /// A packet that lies in one piece.
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

    /// A copy in one piece.
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

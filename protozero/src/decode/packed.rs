//! Packed fields: elements one after another, without tags. The iterators end after their first
//! error.

use super::take;
use crate::error::{DecodeErrorKind, ReadError};

/// The varints of a packed field, without a type: the caller converts each (`v as i32`,
/// [`zigzag`](crate::wire::zigzag)). Offsets of errors count from the start of the packed elements.
#[derive(Clone, Debug)]
pub struct PackedVarint<'a> {
    one: Option<u64>,
    run: &'a [u8],
    /// Length of `run` at the beginning.
    len: usize,
}

impl<'a> PackedVarint<'a> {
    /// The elements of the packed field `run`.
    #[inline]
    #[must_use]
    pub const fn new(run: &'a [u8]) -> Self {
        Self { one: None, run, len: run.len() }
    }

    #[inline]
    pub(super) const fn one(value: u64) -> Self {
        Self { one: Some(value), run: &[], len: 0 }
    }
}

impl Iterator for PackedVarint<'_> {
    type Item = Result<u64, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(one) = self.one.take() {
            return Some(Ok(one));
        }
        if self.run.is_empty() {
            return None;
        }
        Some(match take::varint(self.run) {
            Ok((value, rest)) => {
                self.run = rest;
                Ok(value)
            }
            Err(kind) => {
                let offset = self.len - self.run.len();
                self.run = &[];
                Err(kind.at(offset))
            }
        })
    }
}

impl core::iter::FusedIterator for PackedVarint<'_> {}

macro_rules! fixed {
    ($(#[$doc:meta])* $name:ident, $type:ty, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name<'a> {
            one: Option<$type>,
            run: &'a [u8],
        }

        impl<'a> $name<'a> {
            /// The elements of the packed field `run`.
            ///
            /// # Errors
            /// [`DecodeErrorKind::PackedLength`] if `run` ends inside of an element.
            #[inline]
            pub const fn new(run: &'a [u8]) -> Result<Self, DecodeErrorKind> {
                if run.len() % $len == 0 {
                    Ok(Self { one: None, run })
                } else {
                    Err(DecodeErrorKind::PackedLength)
                }
            }

            #[inline]
            pub(super) const fn one(value: $type) -> Self {
                Self { one: Some(value), run: &[] }
            }
        }

        impl Iterator for $name<'_> {
            type Item = $type;

            #[inline]
            fn next(&mut self) -> Option<$type> {
                if let Some(one) = self.one.take() {
                    return Some(one);
                }
                let (bytes, rest) = self.run.split_first_chunk::<$len>()?;
                self.run = rest;
                Some(<$type>::from_le_bytes(*bytes))
            }

            #[inline]
            fn size_hint(&self) -> (usize, Option<usize>) {
                let n = self.run.len() / $len + usize::from(self.one.is_some());
                (n, Some(n))
            }
        }

        impl ExactSizeIterator for $name<'_> {}
        impl core::iter::FusedIterator for $name<'_> {}
    };
}

fixed! {
    /// The four-byte numbers of a packed field, without a type.
    PackedFixed32, u32, 4
}
fixed! {
    /// The eight-byte numbers of a packed field, without a type.
    PackedFixed64, u64, 8
}

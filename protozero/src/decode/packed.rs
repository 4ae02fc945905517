//! Packed runs: elements side by side without tags. Iterators end after their first error.

use super::take;
use crate::error::{DecodeError, DecodeErrorKind};

/// The varints of a packed run, still untyped: convert each (`v as i32`,
/// [`zigzag`](crate::wire::zigzag)). Offsets of errors count from the beginning of the run.
#[derive(Clone, Debug)]
pub struct PackedVarint<'a> {
    one: Option<u64>,
    run: &'a [u8],
    /// Bytes of the run.
    len: usize,
}

impl<'a> PackedVarint<'a> {
    /// The elements of `run`.
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
    type Item = Result<u64, DecodeError>;

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
            /// The elements of `run`.
            ///
            /// # Errors
            /// [`DecodeErrorKind::PackedLength`] if the run ends inside an element.
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
    /// The four-byte numbers of a packed run, still untyped.
    PackedFixed32, u32, 4
}
fixed! {
    /// The eight-byte numbers of a packed run, still untyped.
    PackedFixed64, u64, 8
}

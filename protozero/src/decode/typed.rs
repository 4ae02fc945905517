//! What all generated readers have in common: a message where it lies, and an iterator over its
//! fields, lazy and in wire order, that stops at the first error.
//!
//! A generated reader is [`TypedReader`] with an enum of the message's fields; the enum alone knows
//! tags. The reader is only the bytes, so that a variant with a nested message stays small; what
//! iterating takes is in [`TypedFields`].

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::fields::{Fields, Malformed};
use crate::error::DecodeError;

/// An enum with a variant per field of a message.
pub trait TypedField<'a>: Sized {
    /// Reads what follows `tag`; `None` when that was only the head of a packed run.
    ///
    /// # Errors
    /// [`Malformed`], about which [`Fields::fail`] knows more.
    fn read(fields: &mut Fields<'a>, tag: u32) -> Result<Option<Self>, Malformed>;
}

/// A message, read where it lies: `for field in reader`.
///
/// Unknown fields are yielded, packed runs come one by one, nested messages are not entered until
/// somebody iterates over them. After an error there are no more fields; only a string that is not
/// UTF-8 can be passed over.
pub struct TypedReader<'a, F> {
    bytes: &'a [u8],
    kind: PhantomData<fn() -> F>,
}

impl<'a, F> TypedReader<'a, F> {
    /// Reads the message encoded in `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, kind: PhantomData }
    }

    /// The encoded message.
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its fields, as `into_iter` gives them.
    #[inline]
    #[must_use]
    pub const fn iter(&self) -> TypedFields<'a, F> {
        TypedFields { fields: Fields::new(self.bytes), kind: PhantomData }
    }
}

impl<'a, F: TypedField<'a>> IntoIterator for TypedReader<'a, F> {
    type Item = Result<F, DecodeError>;
    type IntoIter = TypedFields<'a, F>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, F: TypedField<'a>> IntoIterator for &TypedReader<'a, F> {
    type Item = Result<F, DecodeError>;
    type IntoIter = TypedFields<'a, F>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The fields of a message, in wire order.
pub struct TypedFields<'a, F> {
    fields: Fields<'a>,
    kind: PhantomData<fn() -> F>,
}

impl<'a, F: TypedField<'a>> Iterator for TypedFields<'a, F> {
    type Item = Result<F, DecodeError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let tag = match self.fields.next_tag() {
                Ok(Some(tag)) => tag,
                Ok(None) => return None,
                Err(Malformed) => return Some(Err(self.fields.fail())),
            };
            match F::read(&mut self.fields, tag) {
                Ok(Some(field)) => return Some(Ok(field)),
                Ok(None) => {}
                Err(Malformed) => return Some(Err(self.fields.fail())),
            }
        }
    }
}

impl<'a, F: TypedField<'a>> FusedIterator for TypedFields<'a, F> {}

// By hand, since a derive would ask the same of the field enum, which contains readers itself.
macro_rules! plain {
    ($type:ident, $inner:ident) => {
        impl<F> Clone for $type<'_, F> {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<F> Copy for $type<'_, F> {}

        impl<F> fmt::Debug for $type<'_, F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($type)).field(&self.$inner).finish()
            }
        }
    };
}
plain!(TypedReader, bytes);
plain!(TypedFields, fields);

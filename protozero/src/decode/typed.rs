//! What all generated readers have in common: a message where it lies, and an iterator over its
//! fields, lazy and in wire order, that stops at the first error.
//!
//! A generated reader comes with an enum of the message's fields, which alone knows tags. The reader
//! is only the bytes, so that a variant with a nested message stays small; what iterating takes is in
//! [`TypedFields`].

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

    /// Whether the message has a field that is written with `tag`.
    fn knows(tag: u32) -> bool;
}

/// A generated reader: the bytes of a message, of which the type is known.
pub trait MessageReader<'a>: Copy {
    /// Its fields.
    type Field: TypedField<'a>;

    /// Reads the message encoded in `bytes`.
    fn from_bytes(bytes: &'a [u8]) -> Self;
}

/// The fields of a message, in wire order.
pub struct TypedFields<'a, F> {
    fields: Fields<'a>,
    kind: PhantomData<fn() -> F>,
}

impl<'a, F> TypedFields<'a, F> {
    /// The fields of the message encoded in `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { fields: Fields::new(bytes), kind: PhantomData }
    }
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

// By hand, since a derive would ask the same of the field enum.
impl<F> Clone for TypedFields<'_, F> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for TypedFields<'_, F> {}

impl<F> fmt::Debug for TypedFields<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TypedFields").field(&self.fields).finish()
    }
}

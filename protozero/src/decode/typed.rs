//! The common parts of generated readers: a lazy iterator over the fields of an encoded message, in
//! wire order, which ends at the first error.
//!
//! A generated reader comes with an enum of the message's fields, which knows the tags. The reader
//! contains only the bytes, so that an enum variant with a nested message stays small. The state of
//! an iteration is in [`TypedFields`].

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::fields::{Fields, Malformed};
use crate::error::ReadError;

/// An enum with one variant per field of a message.
pub trait TypedField<'a>: Sized {
    /// Reads the field after `tag`; `None` if it was the start of a packed field.
    ///
    /// # Errors
    /// [`Malformed`]; [`Fields::fail`] returns the reason.
    fn read(fields: &mut Fields<'a>, tag: u32) -> Result<Option<Self>, Malformed>;

    /// Whether the message has a field with this tag.
    fn knows(tag: u32) -> bool;
}

/// A generated reader: the encoded bytes of a message of a known type.
pub trait MessageReader<'a>: Copy {
    /// The enum of the fields.
    type Field: TypedField<'a>;

    /// Reads the message encoded in `bytes`.
    fn from_bytes(bytes: &'a [u8]) -> Self;
}

/// Iterates over the fields of a message, in wire order.
pub struct TypedFields<'a, F> {
    fields: Fields<'a>,
    kind: PhantomData<fn() -> F>,
}

impl<'a, F> TypedFields<'a, F> {
    /// Iterates over the fields of the message `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { fields: Fields::new(bytes), kind: PhantomData }
    }
}

impl<'a, F: TypedField<'a>> Iterator for TypedFields<'a, F> {
    type Item = Result<F, ReadError>;

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

// Written by hand, because a derive would require the traits of the field enum.
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

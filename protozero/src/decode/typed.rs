//! What all generated readers have in common: an iterator over the fields of one message, lazy and in
//! wire order, that stops at the first error.
//!
//! A generated reader is this type with an enum of the message's fields; the enum alone knows tags.

use core::fmt;
use core::marker::PhantomData;

use super::fields::Fields;
use crate::error::DecodeError;

/// An enum with a variant per field of a message.
pub trait TypedField<'a>: Sized {
    /// Reads what follows `tag`; `None` when that was only the head of a packed run.
    ///
    /// # Errors
    /// [`DecodeError`] if the field is malformed.
    fn read(fields: &mut Fields<'a>, tag: u32) -> Result<Option<Self>, DecodeError>;
}

/// Reads a message where it lies. Unknown fields are yielded, packed runs come one by one, nested
/// messages are not entered until somebody iterates over them.
///
/// After an error there are no more fields; only a string that is not UTF-8 can be passed over.
pub struct TypedReader<'a, F> {
    fields: Fields<'a>,
    kind: PhantomData<fn() -> F>,
}

impl<'a, F> TypedReader<'a, F> {
    /// Reads the message encoded in `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { fields: Fields::new(bytes), kind: PhantomData }
    }
}

impl<'a, F: TypedField<'a>> TypedReader<'a, F> {
    #[inline(always)]
    fn field(&mut self) -> Result<Option<F>, DecodeError> {
        loop {
            let Some(tag) = self.fields.next_tag()? else { return Ok(None) };
            if let Some(field) = F::read(&mut self.fields, tag)? {
                return Ok(Some(field));
            }
        }
    }
}

impl<'a, F: TypedField<'a>> Iterator for TypedReader<'a, F> {
    type Item = Result<F, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.field().transpose()
    }
}

// By hand, since a derive would ask the same of the field enum, which contains readers itself.
impl<F> Clone for TypedReader<'_, F> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for TypedReader<'_, F> {}

impl<F> fmt::Debug for TypedReader<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields.fmt(f)
    }
}

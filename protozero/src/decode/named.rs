//! Access to fields by name: the base of the accessors and tables of generated readers.
//!
//! ```text
//!  message   | 1 | 8 | 3 | 3 | 99 | 8 | 3 |
//!  table       1 = Some    8 = Some(the last one)
//!              3 = from ─┴────────────┘ to; iterating reads this part again
//!              unknown = 99
//! ```
//!
//! Nothing is copied or allocated: a singular field is its last occurrence, and a repeated field is
//! the part of the message that contains it. The size of a table depends on the number of fields in
//! the schema, not on the number of fields in the message.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::field::Field;
use super::fields::{Fields, Malformed, Span};
use super::kind::{Kind, Read};
use super::typed::TypedField;
use crate::error::ReadError;
use crate::wire::tag::LEN;

/// The elements of a repeated field, packed or unpacked, in wire order. Iterating decodes them.
pub struct Repeated<'a, T, K> {
    span: Span<'a>,
    /// Tag of an unpacked element.
    element: u32,
    kind: PhantomData<fn() -> (T, K)>,
}

impl<'a, T: Read<'a, K>, K: Kind> Repeated<'a, T, K> {
    /// The elements with tag `element` in the message `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8], element: u32) -> Self {
        Self { span: Span::all(bytes), element, kind: PhantomData }
    }

    /// Iterates over the elements.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> Elements<'a, T, K> {
        Elements { fields: self.span.fields(), element: self.element, kind: PhantomData }
    }

    /// Adds the field after `tag`, which was just read. For implementations of [`Table`].
    ///
    /// # Errors
    /// Those of [`Fields::skip`].
    #[inline(always)]
    pub fn extend(
        &mut self,
        fields: &mut Fields<'a>,
        tag: u32,
        element: u32,
    ) -> Result<(), Malformed> {
        self.element = element;
        self.span.extend(fields, tag)
    }
}

impl<'a, T: Read<'a, K>, K: Kind> IntoIterator for Repeated<'a, T, K> {
    type Item = Result<T, ReadError>;
    type IntoIter = Elements<'a, T, K>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Read<'a, K>, K: Kind> IntoIterator for &Repeated<'a, T, K> {
    type Item = Result<T, ReadError>;
    type IntoIter = Elements<'a, T, K>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterator over a [`Repeated`] field. It ends after an error, except after a string that is not
/// UTF-8.
pub struct Elements<'a, T, K> {
    fields: Fields<'a>,
    element: u32,
    kind: PhantomData<fn() -> (T, K)>,
}

impl<'a, T: Read<'a, K>, K: Kind> Elements<'a, T, K> {
    #[inline(always)]
    fn advance(&mut self) -> Result<Option<T>, Malformed> {
        while let Some(tag) = self.fields.next_tag()? {
            if tag == self.element {
                return T::read(&mut self.fields, tag).map(Some);
            }
            if K::PACKABLE && tag == self.element & !7 | LEN {
                self.fields.begin_run(self.element)?;
            } else {
                self.fields.skip(tag)?;
            }
        }
        Ok(None)
    }
}

impl<'a, T: Read<'a, K>, K: Kind> Iterator for Elements<'a, T, K> {
    type Item = Result<T, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(element) => element.map(Ok),
            Err(Malformed) => Some(Err(self.fields.fail())),
        }
    }
}

impl<'a, T: Read<'a, K>, K: Kind> FusedIterator for Elements<'a, T, K> {}

/// The unknown fields of a message: they are not in the schema, or have another wire type there.
/// [`Field::raw`] contains the encoded field for copying.
pub struct Unknown<'a, F> {
    span: Span<'a>,
    kind: PhantomData<fn() -> F>,
}

impl<'a, F: TypedField<'a>> Unknown<'a, F> {
    /// The unknown fields of the message `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { span: Span::all(bytes), kind: PhantomData }
    }

    /// Iterates over the fields.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> UnknownIter<'a, F> {
        UnknownIter { fields: self.span.fields(), kind: PhantomData }
    }

    /// Adds the field after `tag`, which was just read. For implementations of [`Table`].
    ///
    /// # Errors
    /// Those of [`Fields::unknown`].
    #[inline(always)]
    pub fn extend(&mut self, fields: &mut Fields<'a>, tag: u32) -> Result<(), Malformed> {
        fields.unknown(tag)?;
        self.span.extend_to(fields);
        Ok(())
    }
}

impl<'a, F: TypedField<'a>> IntoIterator for Unknown<'a, F> {
    type Item = Result<Field<'a>, ReadError>;
    type IntoIter = UnknownIter<'a, F>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, F: TypedField<'a>> IntoIterator for &Unknown<'a, F> {
    type Item = Result<Field<'a>, ReadError>;
    type IntoIter = UnknownIter<'a, F>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterator over [`Unknown`] fields.
pub struct UnknownIter<'a, F> {
    fields: Fields<'a>,
    kind: PhantomData<fn() -> F>,
}

impl<'a, F: TypedField<'a>> UnknownIter<'a, F> {
    fn advance(&mut self) -> Result<Option<Field<'a>>, Malformed> {
        while let Some(tag) = self.fields.next_tag()? {
            if !F::knows(tag) {
                return self.fields.unknown(tag).map(Some);
            }
            self.fields.skip(tag)?;
        }
        Ok(None)
    }
}

impl<'a, F: TypedField<'a>> Iterator for UnknownIter<'a, F> {
    type Item = Result<Field<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(field) => field.map(Ok),
            Err(Malformed) => Some(Err(self.fields.fail())),
        }
    }
}

impl<'a, F: TypedField<'a>> FusedIterator for UnknownIter<'a, F> {}

/// A message as a struct with one member per field. Every generated reader has one.
pub trait Table<'a>: Default {
    /// Reads the field after `tag`.
    ///
    /// # Errors
    /// [`Malformed`]; [`Fields::fail`] returns the reason.
    fn take(&mut self, fields: &mut Fields<'a>, tag: u32) -> Result<(), Malformed>;
}

/// Decodes the message `bytes` into a table, in one pass.
///
/// # Errors
/// [`ReadError`] if `bytes` is not a valid message, or a singular string is not UTF-8.
#[inline]
pub fn table<'a, T: Table<'a>>(bytes: &'a [u8]) -> Result<T, ReadError> {
    let mut fields = Fields::new(bytes);
    let mut table = T::default();
    let mut pass = || {
        while let Some(tag) = fields.next_tag()? {
            table.take(&mut fields, tag)?;
        }
        Ok(())
    };
    match pass() {
        Ok(()) => Ok(table),
        Err(Malformed) => Err(fields.fail()),
    }
}

/// The last field with `tag`.
///
/// # Errors
/// [`ReadError`] if `bytes` is not a valid message, or the field is a string that is not UTF-8.
#[inline]
pub fn last<'a, T: Read<'a, K>, K: Kind>(
    bytes: &'a [u8],
    tag: u32,
) -> Result<Option<T>, ReadError> {
    last_of(bytes, |other| other == tag, |fields, tag| T::read(fields, tag).map(Some))
}

/// The last field for whose tag `any` returns true, decoded by `read`.
///
/// # Errors
/// Those of [`last`].
#[inline]
pub fn last_of<'a, T>(
    bytes: &'a [u8],
    any: impl Fn(u32) -> bool,
    read: impl Fn(&mut Fields<'a>, u32) -> Result<Option<T>, Malformed>,
) -> Result<Option<T>, ReadError> {
    let mut fields = Fields::new(bytes);
    let mut found = None;
    let mut pass = || {
        while let Some(tag) = fields.next_tag()? {
            if any(tag) {
                found = read(&mut fields, tag)?;
            } else {
                fields.skip(tag)?;
            }
        }
        Ok(())
    };
    match pass() {
        Ok(()) => Ok(found),
        Err(Malformed) => Err(fields.fail()),
    }
}

// Written by hand, because a derive would require the traits of the type parameters.
macro_rules! impl_copy {
    ($($type:ident<$($parameter:ident),*> { $($field:ident),* })*) => {$(
        impl<$($parameter),*> Clone for $type<'_, $($parameter),*> {
            #[inline]
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<$($parameter),*> Copy for $type<'_, $($parameter),*> {}
    )*};
}
impl_copy! {
    Repeated<T, K> { span, element }
    Elements<T, K> { fields, element }
    Unknown<F> { span }
    UnknownIter<F> { fields }
}

/// No elements.
impl<T, K> Default for Repeated<'_, T, K> {
    #[inline]
    fn default() -> Self {
        Self { span: Span::default(), element: 0, kind: PhantomData }
    }
}

/// No fields.
impl<F> Default for Unknown<'_, F> {
    #[inline]
    fn default() -> Self {
        Self { span: Span::default(), kind: PhantomData }
    }
}

/// Shows the elements up to the first error.
impl<'a, T: Read<'a, K> + fmt::Debug, K: Kind> fmt::Debug for Repeated<'a, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map_while(Result::ok)).finish()
    }
}

/// Shows the fields up to the first error.
impl<'a, F: TypedField<'a>> fmt::Debug for Unknown<'a, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map_while(Result::ok)).finish()
    }
}

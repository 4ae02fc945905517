//! Fields by name: what the accessors and tables of generated readers are made of.
//!
//! ```text
//!  message   | 1 | 8 | 3 | 3 | 99 | 8 | 3 |
//!  table       1 = Some    8 = Some(the last one)
//!              3 = from ─┴────────────┘ to, passed over once more by who iterates
//!              unknown = 99
//! ```
//!
//! Nothing is copied and nothing allocated: a singular field is its last occurrence, a repeated one is
//! the part of the message it lies in. What a table costs depends on how many fields the message's
//! type has, not on their numbers.

use core::fmt;
use core::iter::FusedIterator;
use core::marker::PhantomData;

use super::field::Field;
use super::fields::{Fields, Malformed, Span};
use super::kind::{Kind, Read};
use super::typed::TypedField;
use crate::error::DecodeError;
use crate::wire::tag::LEN;

/// The elements of a repeated field, read as one iterates: packed and unpacked alike, in wire order.
pub struct Repeated<'a, T, K> {
    span: Span<'a>,
    /// Tag of an element that stands alone.
    element: u32,
    kind: PhantomData<fn() -> (T, K)>,
}

impl<'a, T: Read<'a, K>, K: Kind> Repeated<'a, T, K> {
    /// The elements with tag `element` in the message encoded in `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8], element: u32) -> Self {
        Self { span: Span::all(bytes), element, kind: PhantomData }
    }

    /// The elements.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> Elements<'a, T, K> {
        Elements { fields: self.span.fields(), element: self.element, kind: PhantomData }
    }

    /// From within a [`Table`]: takes the field in whose `tag` was just read.
    ///
    /// # Errors
    /// As [`Fields::skip`].
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
    type Item = Result<T, DecodeError>;
    type IntoIter = Elements<'a, T, K>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T: Read<'a, K>, K: Kind> IntoIterator for &Repeated<'a, T, K> {
    type Item = Result<T, DecodeError>;
    type IntoIter = Elements<'a, T, K>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterates over a [`Repeated`] field. After an error there are no more elements; only a string that
/// is not UTF-8 can be passed over.
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
    type Item = Result<T, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(element) => element.map(Ok),
            Err(Malformed) => Some(Err(self.fields.fail())),
        }
    }
}

impl<'a, T: Read<'a, K>, K: Kind> FusedIterator for Elements<'a, T, K> {}

/// The fields a message has and its type does not: of a newer schema, or of another wire type than
/// the schema says. [`Field::raw`] is a field verbatim, to be written out again.
pub struct Unknown<'a, F> {
    span: Span<'a>,
    kind: PhantomData<fn() -> F>,
}

impl<'a, F: TypedField<'a>> Unknown<'a, F> {
    /// Those in the message encoded in `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { span: Span::all(bytes), kind: PhantomData }
    }

    /// The fields.
    #[inline]
    #[must_use]
    pub fn iter(&self) -> UnknownIter<'a, F> {
        UnknownIter { fields: self.span.fields(), kind: PhantomData }
    }

    /// From within a [`Table`]: takes the field in whose `tag` was just read.
    ///
    /// # Errors
    /// As [`Fields::unknown`].
    #[inline(always)]
    pub fn extend(&mut self, fields: &mut Fields<'a>, tag: u32) -> Result<(), Malformed> {
        fields.unknown(tag)?;
        self.span.note(fields);
        Ok(())
    }
}

impl<'a, F: TypedField<'a>> IntoIterator for Unknown<'a, F> {
    type Item = Result<Field<'a>, DecodeError>;
    type IntoIter = UnknownIter<'a, F>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, F: TypedField<'a>> IntoIterator for &Unknown<'a, F> {
    type Item = Result<Field<'a>, DecodeError>;
    type IntoIter = UnknownIter<'a, F>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterates over [`Unknown`] fields.
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
    type Item = Result<Field<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.advance() {
            Ok(field) => field.map(Ok),
            Err(Malformed) => Some(Err(self.fields.fail())),
        }
    }
}

impl<'a, F: TypedField<'a>> FusedIterator for UnknownIter<'a, F> {}

/// A message as a struct: a member per field. Generated readers have one each.
pub trait Table<'a>: Default {
    /// Reads what follows `tag`.
    ///
    /// # Errors
    /// [`Malformed`], about which [`Fields::fail`] knows more.
    fn take(&mut self, fields: &mut Fields<'a>, tag: u32) -> Result<(), Malformed>;
}

/// The table of the message encoded in `bytes`, in one pass.
///
/// # Errors
/// [`DecodeError`] if `bytes` is no message, or a singular string is not UTF-8.
#[inline]
pub fn table<'a, T: Table<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
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

/// The last field with `tag`, passing over all others.
///
/// # Errors
/// [`DecodeError`] if `bytes` is no message, or the field is a string that is not UTF-8.
#[inline]
pub fn last<'a, T: Read<'a, K>, K: Kind>(
    bytes: &'a [u8],
    tag: u32,
) -> Result<Option<T>, DecodeError> {
    last_of(bytes, |other| other == tag, |fields, tag| T::read(fields, tag).map(Some))
}

/// The last field whose tag is one of `any`, as `read` has it.
///
/// # Errors
/// As [`last`].
#[inline]
pub fn last_of<'a, T>(
    bytes: &'a [u8],
    any: impl Fn(u32) -> bool,
    read: impl Fn(&mut Fields<'a>, u32) -> Result<Option<T>, Malformed>,
) -> Result<Option<T>, DecodeError> {
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

// By hand, since a derive would ask the same of the types that only stand for something.
macro_rules! plain {
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
plain! {
    Repeated<T, K> { span, element }
    Elements<T, K> { fields, element }
    Unknown<F> { span }
    UnknownIter<F> { fields }
}

/// None.
impl<T, K> Default for Repeated<'_, T, K> {
    #[inline]
    fn default() -> Self {
        Self { span: Span::default(), element: 0, kind: PhantomData }
    }
}

/// None.
impl<F> Default for Unknown<'_, F> {
    #[inline]
    fn default() -> Self {
        Self { span: Span::default(), kind: PhantomData }
    }
}

/// The elements, up to an error.
impl<'a, T: Read<'a, K> + fmt::Debug, K: Kind> fmt::Debug for Repeated<'a, T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map_while(Result::ok)).finish()
    }
}

/// The fields, up to an error.
impl<'a, F: TypedField<'a>> fmt::Debug for Unknown<'a, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map_while(Result::ok)).finish()
    }
}

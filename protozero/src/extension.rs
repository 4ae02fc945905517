//! Extensions: fields that one schema adds to a message of another schema.
//!
//! ```text
//!  extend Base { optional int32 priority = 100; }
//!
//!  Base { known fields, unknown_fields }        the struct has no member for field 100
//!                            │
//!        Extension { 100, Single<Int32> }       a constant with its number and type
//! ```
//!
//! An extension is a typed view of a message's unknown fields. A message therefore keeps extensions
//! that its own code does not know, and encodes them unchanged until a program sets them. Generated
//! code has a constant for each extension. Without generated code:
//!
#![cfg_attr(feature = "derive", doc = "```")]
#![cfg_attr(not(feature = "derive"), doc = "```text")]
//! use protozero::extension::{Extendable, Extension, Int32, Single};
//! use protozero::{Message, UnknownFields};
//!
//! #[derive(Clone, PartialEq, Debug, Default, Message)]
//! struct Base {
//!     #[pb(unknown, extensions)]
//!     unknown_fields: UnknownFields,
//! }
//! const PRIORITY: Extension<Base, Single<Int32>> = Extension::new("pkg.priority", 100);
//!
//! let mut base = Base::decode(b"\xa0\x06\x07")?;
//! assert_eq!(base.extension(&PRIORITY)?, Some(7));
//! base.set_extension(&PRIORITY, &8);
//! assert_eq!(base.encode_to_vec(), b"\xa0\x06\x08");
//! # Ok::<(), protozero::DecodeError>(())
//! ```

use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;

use crate::decode::{DecodeContext, DecodeMemory, Field};
use crate::encode::Scope;
use crate::error::{ReadError, WriteError};
use crate::message::{GROWTH_FREE, GROWTH_MAX};
use crate::owned::{self, Encode, Encoder, Kind, Output, Packable, Read, ReadPacked, encoded};
use crate::unknown::UnknownFields;
use crate::wire::tag;

pub use crate::owned::{
    Bool, Bytes, Double, Enum, Fixed32, Fixed64, Float, Group, Int32, Int64, Nested, Sfixed32,
    Sfixed64, Sint32, Sint64, Text, Uint32, Uint64,
};

/// A field that extends messages of type `E`. `S` is its shape: [`Single`], [`Repeated`],
/// [`Packed`] or [`Unpacked`] of a kind.
pub struct Extension<E, S> {
    name: &'static str,
    number: u32,
    of: PhantomData<fn(E) -> S>,
}

impl<E, S: Shape> Extension<E, S> {
    /// An extension with its full name (without a leading dot) and its field number.
    ///
    /// # Panics
    /// If `number` is 0 or above 2^29-1. In a `const`, that is a compile error.
    #[must_use]
    pub const fn new(name: &'static str, number: u32) -> Self {
        assert!(number != 0 && number <= tag::NUMBER_MAX, "field number out of range");
        Self { name, number, of: PhantomData }
    }

    /// Full name, without a leading dot.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Field number.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Reads the value from `fields`, for example those of a reader. Ignores other fields, and
    /// fields with another wire type.
    ///
    /// # Errors
    /// [`ReadError`] if a field contains a malformed message, packed field or string. The offset
    /// counts from the start of that field.
    pub fn read<'a>(
        &self,
        fields: impl IntoIterator<Item = Field<'a>>,
    ) -> Result<S::Value, ReadError> {
        let mut value = S::Value::default();
        let mut left = GROWTH_FREE;
        for field in fields.into_iter().filter(|field| field.number == self.number) {
            left = left.saturating_add(field.raw.len().saturating_mul(GROWTH_MAX));
            let memory = DecodeMemory::new(left);
            S::merge(&mut value, &field, DecodeContext::new().with_growth(&memory))?;
            left = memory.left();
        }
        Ok(value)
    }

    /// Appends `value` to the open message `scope`, which must be one of type `E`.
    ///
    /// # Errors
    /// [`WriteError`] if `value` is too long or has too many levels; nothing is written then.
    pub fn append(&self, scope: &mut Scope<'_>, value: &S::Set) -> Result<(), WriteError> {
        encoded(&ExtensionMessage { extension: self, value }, false, |bytes| {
            scope.raw(bytes);
            Ok(())
        })
    }
}

/// A message that consists of one extension.
struct ExtensionMessage<'e, E, S: Shape> {
    extension: &'e Extension<E, S>,
    value: &'e S::Set,
}

impl<E, S: Shape> Encode for ExtensionMessage<'_, E, S> {
    fn encode_fields<O: Output>(&self, out: &mut O) {
        out.through(|out| S::put(out, self.extension.number, self.value));
    }
}

impl<E, S> Clone for Extension<E, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E, S> Copy for Extension<E, S> {}

impl<E, S> fmt::Debug for Extension<E, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] = {}", self.name, self.number)
    }
}

/// A message that other schemas may extend: its field of unknown fields is marked `extensions`.
pub trait Extendable: Sized {
    /// The unknown fields, extensions included.
    fn unknown_fields(&self) -> &UnknownFields;

    /// The unknown fields, extensions included.
    fn unknown_fields_mut(&mut self) -> &mut UnknownFields;

    /// True if there is a field with this number, even if it cannot be decoded.
    fn has_extension<S: Shape>(&self, extension: &Extension<Self, S>) -> bool {
        self.unknown_fields().iter().any(|field| field.number == extension.number)
    }

    /// The value: an `Option` for a [`Single`] extension, a `Vec` for the others.
    ///
    /// # Errors
    /// As [`Extension::read`].
    fn extension<S: Shape>(&self, extension: &Extension<Self, S>) -> Result<S::Value, ReadError> {
        extension.read(self.unknown_fields().iter())
    }

    /// Replaces the value. The new field is the last of the unknown fields.
    ///
    /// # Panics
    /// If `value` is longer than 2^31-1 bytes or has more levels than decoders accept.
    fn set_extension<S: Shape>(&mut self, extension: &Extension<Self, S>, value: &S::Set) {
        self.clear_extension(extension);
        let unknown = self.unknown_fields_mut();
        let done = encoded(&ExtensionMessage { extension, value }, false, |bytes| {
            unknown.push_encoded(bytes);
            Ok(())
        });
        if let Err(error) = done {
            panic!("{error}");
        }
    }

    /// Removes the value.
    fn clear_extension<S: Shape>(&mut self, extension: &Extension<Self, S>) {
        if self.has_extension(extension) {
            self.unknown_fields_mut().retain(|field| field.number != extension.number);
        }
    }
}

/// How often an extension may occur in a message, and how it is encoded.
pub trait Shape {
    /// The result of reading.
    type Value: Default;

    /// The argument of setting: the value, or a slice of the elements.
    type Set: ?Sized;

    /// Merges one field. Ignores a field that is not of this kind.
    ///
    /// # Errors
    /// As [`Extension::read`].
    fn merge(
        value: &mut Self::Value,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError>;

    /// Writes a value.
    fn put(out: &mut Encoder<'_>, number: u32, value: &Self::Set);
}

/// At most one value of kind `K`.
#[derive(Debug)]
pub struct Single<K>(PhantomData<K>);

/// Any number of strings, bytes or messages.
#[derive(Debug)]
pub struct Repeated<K>(PhantomData<K>);

/// Any number of numbers, in one packed field.
#[derive(Debug)]
pub struct Packed<K>(PhantomData<K>);

/// Any number of numbers, one field each.
#[derive(Debug)]
pub struct Unpacked<K>(PhantomData<K>);

impl<K: for<'a> Read<'a>> Shape for Single<K> {
    type Value = Option<K::Owned>;
    type Set = K::Owned;

    fn merge(
        value: &mut Self::Value,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        owned::merge_optional::<K>(value, field, context).map(drop)
    }

    fn put(out: &mut Encoder<'_>, number: u32, value: &K::Owned) {
        K::put(out, number, value);
    }
}

impl<K: for<'a> Read<'a>> Shape for Repeated<K> {
    type Value = Vec<K::Owned>;
    type Set = [K::Owned];

    fn merge(
        value: &mut Self::Value,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        owned::merge_repeated::<K>(value, field, context).map(drop)
    }

    fn put(out: &mut Encoder<'_>, number: u32, value: &[K::Owned]) {
        owned::put_repeated::<K>(out, number, value);
    }
}

macro_rules! runs {
    ($($shape:ident $put:ident)*) => {$(
        impl<K: Packable + ReadPacked> Shape for $shape<K> {
            type Value = Vec<<K as Kind>::Owned>;
            type Set = [<K as Kind>::Owned];

            fn merge(
                value: &mut Self::Value,
                field: &Field<'_>,
                context: DecodeContext<'_>,
            ) -> Result<(), ReadError> {
                owned::merge_packed::<K>(value, field, context).map(drop)
            }

            fn put(out: &mut Encoder<'_>, number: u32, value: &Self::Set) {
                owned::$put::<K>(out, number, value);
            }
        }
    )*};
}

runs! {
    Packed put_packed
    Unpacked put_repeated
}

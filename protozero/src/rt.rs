//! The names that generated and derived code uses. Hand-written code uses [`field`](crate::field)
//! and the rest of the crate.
//!
//! The functions are generic over the field number, so that tags are constants in the code that
//! calls them.

pub use crate::__enumeration as enumeration;
pub use crate::__enumeration_text as enumeration_text;
pub use crate::__named as named;
pub use crate::__reader as reader;
pub use crate::__writer as writer;
pub use crate::decode::{
    DecodeContext, Field, Fields, Malformed, MessageReader, PackedFixed32, PackedFixed64,
    PackedVarint, Reader, Repeated, Table, Text, TypedField, TypedFields, Unknown, Value, kind,
    last, last_of, table,
};
#[cfg(feature = "alloc")]
pub use crate::described;
pub use crate::encode::Scope;
pub use crate::enumeration::{debug_enum, enum_from_number, enum_from_str, known};
pub use crate::error::{DecodeErrorKind, ReadError, WriteError};
pub use crate::field::{
    bool, bytes, bytes_gather, double, enumeration, fixed32, fixed64, float, group, group_raw,
    int32, int64, message, message_raw, packed_bool, packed_double, packed_enumeration,
    packed_fixed32, packed_fixed64, packed_float, packed_int32, packed_int64, packed_sfixed32,
    packed_sfixed64, packed_sint32, packed_sint64, packed_uint32, packed_uint64, raw, sfixed32,
    sfixed64, sint32, sint64, string, uint32, uint64,
};
#[cfg(feature = "alloc")]
pub use crate::owned;
pub use crate::service::CallError;
pub use crate::wire::tag::{FIXED32, FIXED64, LEN, VARINT, tag};
pub use crate::wire::zigzag;
pub use crate::writer::Writer;
/// Heap types of generated code, under the same names with and without std.
#[cfg(feature = "alloc")]
pub mod heap {
    pub use alloc::boxed::Box;
    pub use alloc::collections::BTreeMap;
    pub use alloc::string::String;
    #[cfg(target_has_atomic = "ptr")]
    pub use alloc::sync::Arc;
    pub use alloc::vec::Vec;
}

#[cfg(feature = "alloc")]
pub use crate::{
    __compact as compact, __compact_oneof as compact_oneof, __extendable as extendable,
    __inside_compact as inside_compact, __oneof as oneof, __owned as owned, __unknown as unknown,
    __view as view, __view_oneof as view_oneof,
};

/// Declares a writer from one line per field.
///
/// ```
/// use protozero::{FixedSink, Writer, rt};
///
/// rt::writer! { PolygonWriter, "shape.Polygon";
///     /// Name on the map.
///     value name(&str) = 1 as string;
///     packed corners(i32) = 2 as packed_sint32;
///     message holes(PolygonWriter<'_>) = 3, holes_raw;
///     bytes texture = 5, texture_gather;
/// }
///
/// let mut buffer = [0; 64];
/// let mut stream = FixedSink::stream(&mut buffer);
/// let mut polygon = PolygonWriter::from_scope(stream.root());
/// polygon.name("box").corners([-1, 1]).texture(b"!");
/// polygon.holes().name("h");
/// drop(polygon);
/// assert_eq!(stream.finish()?, b"\x0a\x03box\x12\x02\x01\x02\x2a\x01!\x1a\x03\x0a\x01h");
/// # Ok::<(), protozero::WriteError>(())
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __writer {
    (
        $name:ident, $full:literal $(;)?
        $(
            $(#[$meta:meta])*
            $shape:ident $field:ident $(($ty:ty))? = $number:literal $(as $call:ident)?
                $(, $other:ident)?;
        )*
    ) => {
        #[doc = ::core::concat!("Writes a `", $full, "`. Dropping it closes the message.")]
        pub struct $name<'w> {
            s: $crate::Scope<'w>,
        }

        impl<'w> $crate::Writer<'w> for $name<'w> {
            const NAME: &'static str = $full;
            #[inline(always)]
            fn from_scope(s: $crate::Scope<'w>) -> Self {
                Self { s }
            }
            #[inline(always)]
            fn scope_mut(&mut self) -> &mut $crate::Scope<'w> {
                &mut self.s
            }
        }

        #[allow(dead_code, non_snake_case, clippy::all, reason = "a program may use only a part of it")]
        impl $name<'_> {
            /// Appends encoded fields unchanged.
            #[inline]
            pub fn append_raw(&mut self, fields: &[u8]) -> &mut Self {
                $crate::rt::raw(&mut self.s, fields);
                self
            }

            $($crate::__setter! {
                $shape [$(#[$meta])*] $field $(($ty))? $number $($call)? $(, $other)?
            })*
        }
    };
}

/// The setters of one line of [`__writer`](crate::__writer).
#[doc(hidden)]
#[macro_export]
macro_rules! __setter {
    (value [$($head:tt)*] $name:ident ($ty:ty) $number:literal $call:ident) => {
        $($head)*
        #[inline]
        pub fn $name(&mut self, value: $ty) -> &mut Self {
            $crate::rt::$call::<$number>(&mut self.s, value);
            self
        }
    };
    (enumeration [$($head:tt)*] $name:ident ($ty:ty) $number:literal) => {
        $($head)*
        #[inline]
        pub fn $name(&mut self, value: $ty) -> &mut Self {
            $crate::rt::enumeration::<$number>(&mut self.s, value.0);
            self
        }
    };
    (packed [$($head:tt)*] $name:ident ($ty:ty) $number:literal $call:ident) => {
        $($head)*
        #[inline]
        pub fn $name(
            &mut self,
            values: impl ::core::iter::IntoIterator<Item = $ty>,
        ) -> &mut Self {
            $crate::rt::$call::<$number>(&mut self.s, values);
            self
        }
    };
    (packed_enum [$($head:tt)*] $name:ident ($ty:ty) $number:literal) => {
        $($head)*
        #[inline]
        pub fn $name(
            &mut self,
            values: impl ::core::iter::IntoIterator<Item = $ty>,
        ) -> &mut Self {
            let values = ::core::iter::Iterator::map(
                ::core::iter::IntoIterator::into_iter(values),
                |value| value.0,
            );
            $crate::rt::packed_enumeration::<$number>(&mut self.s, values);
            self
        }
    };
    (bytes [$($head:tt)*] $name:ident $number:literal, $gather:ident) => {
        $($head)*
        #[inline]
        pub fn $name(&mut self, value: &[u8]) -> &mut Self {
            $crate::rt::bytes::<$number>(&mut self.s, value);
            self
        }

        /// Appends the same field; its content lies in several slices.
        #[inline]
        pub fn $gather(&mut self, parts: &[&[u8]]) -> &mut Self {
            $crate::rt::bytes_gather::<$number>(&mut self.s, parts);
            self
        }
    };
    (message [$($head:tt)*] $name:ident ($writer:ty) $number:literal, $raw:ident) => {
        $($head)*
        #[inline]
        pub fn $name(&mut self) -> $writer {
            $crate::rt::message::<$number, _>(&mut self.s)
        }

        /// Appends the same field; `body` is encoded already.
        #[inline]
        pub fn $raw(&mut self, body: &[u8]) -> &mut Self {
            $crate::rt::message_raw::<$number>(&mut self.s, body);
            self
        }
    };
    (group [$($head:tt)*] $name:ident ($writer:ty) $number:literal, $raw:ident) => {
        $($head)*
        #[inline]
        pub fn $name(&mut self) -> $writer {
            $crate::rt::group::<$number, _>(&mut self.s)
        }

        /// Appends the same field; `body` is encoded already.
        #[inline]
        pub fn $raw(&mut self, body: &[u8]) -> &mut Self {
            $crate::rt::group_raw::<$number>(&mut self.s, body);
            self
        }
    };
}

/// A method of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodInfo {
    /// Number of the method in this service, from 1, in order of declaration.
    pub id: u32,
    /// Its name in the `.proto`.
    pub name: &'static str,
    /// True if one request can have several replies.
    pub streaming: bool,
    /// True if one call can have several requests.
    pub client_streaming: bool,
}

/// Decodes the message of a call. Who makes a malformed call must not cost more than others: its error has no path, for
/// which the bytes would be read again.
///
/// # Errors
/// [`CallError::Decode`].
#[cfg(feature = "alloc")]
pub fn decode_within<M: crate::Message>(
    bytes: &[u8],
    context: DecodeContext<'_>,
) -> Result<M, CallError> {
    let mut message = M::default();
    message.merge_fields(bytes, context)?;
    Ok(message)
}

/// What decoding the arguments of a call may allocate, unless the caller says otherwise: see
/// [`Message::decode`](crate::Message::decode).
#[cfg(feature = "alloc")]
#[must_use]
pub fn growth(bytes: &[u8]) -> crate::DecodeMemory<'static> {
    crate::DecodeMemory::new(crate::message::growth(bytes))
}

/// Encodes the message of a call.
#[cfg(feature = "alloc")]
pub fn encode<M: crate::Message>(message: &M) -> alloc::vec::Vec<u8> {
    message.encode_to_vec()
}

/// Reads a field of kind `K` as the variant that `wrap` makes. For implementations of
/// [`TypedField::read`].
///
/// # Errors
/// As [`kind::Read::read`].
#[inline(always)]
pub fn read_as<'a, T: kind::Read<'a, K>, K: kind::Kind, F>(
    fields: &mut Fields<'a>,
    tag: u32,
    wrap: impl FnOnce(T) -> F,
) -> Result<Option<F>, Malformed> {
    T::read(fields, tag).map(|value| Some(wrap(value)))
}

/// Reads a field that the schema does not contain. For implementations of [`TypedField::read`].
///
/// # Errors
/// As [`Fields::unknown`].
#[inline(always)]
pub fn read_unknown<'a, F>(
    fields: &mut Fields<'a>,
    tag: u32,
    wrap: impl FnOnce(Field<'a>) -> F,
) -> Result<Option<F>, Malformed> {
    fields.unknown(tag).map(|field| Some(wrap(field)))
}

/// Reads a field of kind `K` into its member of a [`Table`].
///
/// # Errors
/// As [`kind::Read::read`].
#[inline(always)]
pub fn take<'a, T: kind::Read<'a, K>, K: kind::Kind>(
    fields: &mut Fields<'a>,
    tag: u32,
    place: &mut Option<T>,
) -> Result<(), Malformed> {
    T::read(fields, tag).map(|value| *place = Some(value))
}

/// Reads a member of a oneof into its member of a [`Table`].
///
/// # Errors
/// As [`kind::Read::read`].
#[inline(always)]
pub fn take_as<'a, T: kind::Read<'a, K>, K: kind::Kind, F>(
    fields: &mut Fields<'a>,
    tag: u32,
    wrap: impl FnOnce(T) -> F,
    place: &mut Option<F>,
) -> Result<(), Malformed> {
    T::read(fields, tag).map(|value| *place = Some(wrap(value)))
}

/// Enters a packed field. For implementations of [`TypedField::read`].
///
/// # Errors
/// As [`Fields::begin_run`].
#[inline(always)]
pub fn run<'a, F: TypedField<'a>>(
    fields: &mut Fields<'a>,
    element: u32,
) -> Result<Option<F>, Malformed> {
    fields.begin_run(element).map(|()| None)
}

//! Exactly the names generated and derived code may use; not for people.
//!
//! All is generic over the field number, so that tags are constants of the code they end up in.

pub use crate::__enumeration as enumeration;
pub use crate::__reader as reader;
pub use crate::__writer as writer;
pub use crate::decode::{
    DecodeContext, Field, Fields, Malformed, MessageReader, PackedFixed32, PackedFixed64,
    PackedVarint, Reader, Repeated, Table, Text, TypedField, TypedFields, Unknown, Value, kind,
    last, last_of, table,
};
pub use crate::encode::Scope;
pub use crate::enumeration::debug_enum;
pub use crate::error::{DecodeError, DecodeErrorKind, WriteError};
#[cfg(feature = "alloc")]
pub use crate::owned;
pub use crate::service::CallError;
pub use crate::wire::tag::{FIXED32, FIXED64, LEN, VARINT, tag};
pub use crate::wire::zigzag;
/// What generated code keeps on the heap, under the names it has in programs with std.
#[cfg(feature = "alloc")]
pub mod heap {
    pub use alloc::boxed::Box;
    pub use alloc::collections::BTreeMap;
    pub use alloc::string::String;
    pub use alloc::vec::Vec;
}

#[cfg(feature = "alloc")]
pub use crate::{__extendable as extendable, __oneof as oneof, __owned as owned};

use crate::encode::packed;

/// A generated writer.
pub trait Writer<'w>: Sized {
    /// Full name of the message, without a leading dot.
    const NAME: &'static str;

    /// A writer of the message `scope` has opened.
    fn from_scope(scope: Scope<'w>) -> Self;

    /// The open message, for fields its schema does not know: extensions, and what is copied.
    fn scope_mut(&mut self) -> &mut Scope<'w>;

    /// Appends a field as a reader met it, tag included: see [`Scope::append_field`].
    #[inline]
    fn append_field(&mut self, field: &Field<'_>) {
        self.scope_mut().append_field(field);
    }
}

/// Declares a writer, out of a line per field.
///
/// ```
/// use protozero::{FixedSink, Writer, rt};
///
/// rt::writer! { PolygonWriter, "shape.Polygon";
///     /// What people call it.
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
        #[doc = ::core::concat!("Writes a `", $full, "`; dropping it closes the message.")]
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

        #[allow(dead_code, non_snake_case, clippy::all, reason = "made for whoever needs it")]
        impl $name<'_> {
            /// Appends already encoded fields, verbatim.
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

        /// The same, out of several pieces.
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

        /// The same, whose body is encoded already.
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

        /// The same, whose body is encoded already.
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
    /// Our number for it, from 1 in order of declaration.
    pub id: u32,
    /// Its name in the `.proto`.
    pub name: &'static str,
    /// True if one request has several replies.
    pub streaming: bool,
    /// True if one call has several requests.
    pub client_streaming: bool,
}

macro_rules! scalars {
    ($($(#[$doc:meta])*
       $name:ident, $packed:ident, $type:ty, $wire:ident, $width:literal,
       |$v:ident| $convert:expr;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub fn $name<const N: u32>(scope: &mut Scope<'_>, $v: $type) {
            scope.$wire::<N>($convert);
        }

        /// The same, as a packed run; empty is a tag and a zero.
        #[inline]
        pub fn $packed<const N: u32>(
            scope: &mut Scope<'_>,
            values: impl IntoIterator<Item = $type>,
        ) {
            packed::<N, $width, _>(scope, values, |run, $v| run.$wire($convert));
        }
        )*
    };
}

// Signed numbers and enums are widened with their sign first: a negative one takes ten bytes.
scalars! {
    /// Appends an `int32`.
    int32, packed_int32, i32, varint, 0, |v| i64::from(v) as u64;
    /// Appends an `int64`.
    int64, packed_int64, i64, varint, 0, |v| v as u64;
    /// Appends a `uint32`.
    uint32, packed_uint32, u32, varint, 0, |v| u64::from(v);
    /// Appends a `uint64`.
    uint64, packed_uint64, u64, varint, 0, |v| v;
    /// Appends a `sint32`.
    sint32, packed_sint32, i32, varint, 0, |v| u64::from(zigzag::encode32(v));
    /// Appends a `sint64`.
    sint64, packed_sint64, i64, varint, 0, |v| zigzag::encode64(v);
    /// Appends a `bool`.
    bool, packed_bool, bool, varint, 1, |v| u64::from(v);
    /// Appends an enum.
    enumeration, packed_enumeration, i32, varint, 0, |v| i64::from(v) as u64;
    /// Appends a `fixed32`.
    fixed32, packed_fixed32, u32, fixed32, 4, |v| v;
    /// Appends a `sfixed32`.
    sfixed32, packed_sfixed32, i32, fixed32, 4, |v| v as u32;
    /// Appends a `float`.
    float, packed_float, f32, fixed32, 4, |v| v.to_bits();
    /// Appends a `fixed64`.
    fixed64, packed_fixed64, u64, fixed64, 8, |v| v;
    /// Appends a `sfixed64`.
    sfixed64, packed_sfixed64, i64, fixed64, 8, |v| v as u64;
    /// Appends a `double`.
    double, packed_double, f64, fixed64, 8, |v| v.to_bits();
}

/// Appends `bytes`.
#[inline(always)]
pub fn bytes<const N: u32>(scope: &mut Scope<'_>, value: &[u8]) {
    scope.bytes::<N>(value);
}

/// Appends a `string`.
#[inline(always)]
pub fn string<const N: u32>(scope: &mut Scope<'_>, value: &str) {
    scope.bytes::<N>(value.as_bytes());
}

/// Appends one `bytes` or `string` field made of several pieces.
#[inline]
pub fn bytes_gather<const N: u32>(scope: &mut Scope<'_>, pieces: &[&[u8]]) {
    scope.bytes_gather::<N>(pieces);
}

/// Opens a nested message.
#[inline(always)]
pub fn message<'a, const N: u32, W: Writer<'a>>(scope: &'a mut Scope<'_>) -> W {
    W::from_scope(scope.nested::<N>())
}

/// Opens a group, or a message with delimited encoding.
#[inline(always)]
pub fn group<'a, const N: u32, W: Writer<'a>>(scope: &'a mut Scope<'_>) -> W {
    W::from_scope(scope.group::<N>())
}

/// Appends a group whose body (the fields between its tags) is encoded already.
#[inline]
pub fn group_raw<const N: u32>(scope: &mut Scope<'_>, body: &[u8]) {
    scope.group::<N>().raw(body);
}

/// Appends fields that are encoded already.
#[inline]
pub fn raw(scope: &mut Scope<'_>, fields: &[u8]) {
    scope.raw(fields);
}

/// Appends a nested message whose body is encoded already, with its canonical length.
#[inline(always)]
pub fn message_raw<const N: u32>(scope: &mut Scope<'_>, body: &[u8]) {
    scope.bytes::<N>(body);
}

/// Decodes the message of a call.
///
/// # Errors
/// [`CallError::Decode`].
#[cfg(feature = "alloc")]
pub fn decode<M: crate::Message>(bytes: &[u8]) -> Result<M, CallError> {
    M::decode(bytes).map_err(CallError::Decode)
}

/// Encodes the message of a call.
#[cfg(feature = "alloc")]
pub fn encode<M: crate::Message>(message: &M) -> alloc::vec::Vec<u8> {
    message.encode_to_vec()
}

/// Reads a field of kind `K`, from within a [`TypedField::read`], as the variant `wrap` makes.
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

/// Reads a field that the schema does not know, from within a [`TypedField::read`].
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

/// Reads a field of kind `K` into its place in a [`Table`].
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

/// Reads a member of a oneof into its place in a [`Table`].
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

/// Enters a packed run, from within a [`TypedField::read`].
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

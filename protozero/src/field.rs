//! Functions that append a field of a given type and number to an open message. Generated setters
//! call them, and so can hand-written code.
//!
//! ```
//! use protozero::{FixedSink, WriteError, field};
//!
//! let mut buffer = [0; 64];
//! let mut stream = FixedSink::stream(&mut buffer);
//! {
//!     let mut order = stream.root();
//!     field::uint64::<1>(&mut order, 42);
//!     field::string::<2>(&mut order, "apples");
//!     field::packed_sint32::<3>(&mut order, [-1, 1]);
//!     field::double::<1>(&mut order.nested::<4>(), 0.5);
//! }
//! assert_eq!(stream.finish()?.len(), 25);
//! # Ok::<(), WriteError>(())
//! ```
//!
//! The number `N`, 1 to 2^29 - 1, is a constant, so the tag is computed at compile time; an invalid
//! number does not compile. Nothing here fails: `finish` reports a full sink.

use crate::Writer;
use crate::encode::{Scope, packed};
use crate::wire::zigzag;

macro_rules! scalars {
    ($($(#[$doc:meta])*
       $name:ident, $packed:ident, $type:ty, $wire:ident, $width:literal,
       |$v:ident| $convert:expr;)*) => {
        $($(#[$doc])*
        #[inline(always)]
        pub fn $name<const N: u32>(scope: &mut Scope<'_>, $v: $type) {
            scope.$wire::<N>($convert);
        }

        /// Appends a packed field. Without elements it is a tag and a zero.
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

// Signed numbers and enums are sign-extended first, so a negative one takes ten bytes.
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

/// Appends one `bytes` or `string` field whose content lies in several slices.
#[inline]
pub fn bytes_gather<const N: u32>(scope: &mut Scope<'_>, pieces: &[&[u8]]) {
    scope.bytes_gather::<N>(pieces);
}

/// Opens a nested message.
#[inline(always)]
pub fn message<'a, const N: u32, W: Writer<'a>>(scope: &'a mut Scope<'_>) -> W {
    W::from_scope(scope.nested::<N>())
}

/// Opens a nested message with a length of four bytes: see [`Scope::nested_padded`].
#[inline]
pub fn message_padded<'a, const N: u32, W: Writer<'a>>(scope: &'a mut Scope<'_>) -> W {
    W::from_scope(scope.nested_padded::<N>())
}

/// Opens a nested message whose body will have exactly `len` bytes: see [`Scope::nested_sized`].
#[inline]
pub fn message_sized<'a, const N: u32, W: Writer<'a>>(scope: &'a mut Scope<'_>, len: u32) -> W {
    W::from_scope(scope.nested_sized::<N>(len))
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

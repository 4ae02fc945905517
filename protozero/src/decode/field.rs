//! One field of an encoded message, and its typed views.

use super::packed::{PackedFixed32, PackedFixed64, PackedVarint};
use super::utf8::utf8;
use crate::error::DecodeErrorKind;
use crate::wire::zigzag;

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Field number, 1 to 2^29-1.
    pub number: u32,
    /// The value, by wire type.
    pub value: Value<'a>,
    /// Encoded tag and value, for copying the field.
    pub raw: &'a [u8],
}

/// An undecoded value. Only the schema knows its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// Integers, bools, enums.
    Varint(u64),
    /// Eight-byte numbers, little-endian.
    Fixed64(u64),
    /// Messages, strings, bytes, packed runs.
    Len(&'a [u8]),
    /// The body of a group (a message), without its two tags. [`Field::raw`] includes the tags.
    Group(&'a [u8]),
    /// Four-byte numbers, little-endian.
    Fixed32(u32),
}

macro_rules! varint_views {
    ($($(#[$doc:meta])* $name:ident -> $type:ty = |$v:ident| $convert:expr;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// [`DecodeErrorKind::WireTypeMismatch`] if the value is not a varint.
        #[inline]
        pub const fn $name(self) -> Result<$type, DecodeErrorKind> {
            match self {
                Value::Varint($v) => Ok($convert),
                _ => Err(DecodeErrorKind::WireTypeMismatch),
            }
        })*
    };
}

macro_rules! fixed_views {
    ($($(#[$doc:meta])* $name:ident -> $type:ty = $wire:ident |$v:ident| $convert:expr;)*) => {
        $($(#[$doc])*
        ///
        /// # Errors
        /// [`DecodeErrorKind::WireTypeMismatch`] if the value has another width.
        #[inline]
        pub const fn $name(self) -> Result<$type, DecodeErrorKind> {
            match self {
                Value::$wire($v) => Ok($convert),
                _ => Err(DecodeErrorKind::WireTypeMismatch),
            }
        })*
    };
}

impl<'a> Value<'a> {
    varint_views! {
        /// As `uint64`.
        uint64 -> u64 = |v| v;
        /// As `uint32`: the low 32 bits.
        uint32 -> u32 = |v| v as u32;
        /// As `int64`.
        int64 -> i64 = |v| v as i64;
        /// As `int32` or enum: the low 32 bits.
        int32 -> i32 = |v| v as i32;
        /// As `sint64`.
        sint64 -> i64 = |v| zigzag::decode64(v);
        /// As `sint32`: uses the low 32 bits.
        sint32 -> i32 = |v| zigzag::decode32(v as u32);
        /// As `bool`: every number except 0 is true.
        bool -> bool = |v| v != 0;
    }

    fixed_views! {
        /// As `fixed32`.
        fixed32 -> u32 = Fixed32 |v| v;
        /// As `sfixed32`.
        sfixed32 -> i32 = Fixed32 |v| v as i32;
        /// As `float`.
        float -> f32 = Fixed32 |v| f32::from_bits(v);
        /// As `fixed64`.
        fixed64 -> u64 = Fixed64 |v| v;
        /// As `sfixed64`.
        sfixed64 -> i64 = Fixed64 |v| v as i64;
        /// As `double`.
        double -> f64 = Fixed64 |v| f64::from_bits(v);
    }

    /// As `bytes`, or as the body of a message.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value has no length.
    #[inline]
    pub const fn bytes(self) -> Result<&'a [u8], DecodeErrorKind> {
        match self {
            Value::Len(bytes) => Ok(bytes),
            _ => Err(DecodeErrorKind::WireTypeMismatch),
        }
    }

    /// As the body of a message, with a length or as a group.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value is neither.
    #[inline]
    pub const fn body(self) -> Result<&'a [u8], DecodeErrorKind> {
        match self {
            Value::Len(body) | Value::Group(body) => Ok(body),
            _ => Err(DecodeErrorKind::WireTypeMismatch),
        }
    }

    /// As the body of a group.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value is not a group.
    #[inline]
    pub const fn group(self) -> Result<&'a [u8], DecodeErrorKind> {
        match self {
            Value::Group(body) => Ok(body),
            _ => Err(DecodeErrorKind::WireTypeMismatch),
        }
    }

    /// As `string`.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value has no length, [`DecodeErrorKind::Utf8`]
    /// if it is not UTF-8.
    #[inline]
    pub fn string(self) -> Result<&'a str, DecodeErrorKind> {
        utf8(self.bytes()?)
    }

    /// The elements of a repeated varint field: all elements of a packed field, or the one unpacked
    /// element. Both encodings are legal for the same field.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value is neither.
    #[inline]
    pub const fn varints(self) -> Result<PackedVarint<'a>, DecodeErrorKind> {
        match self {
            Value::Varint(v) => Ok(PackedVarint::one(v)),
            Value::Len(run) => Ok(PackedVarint::new(run)),
            _ => Err(DecodeErrorKind::WireTypeMismatch),
        }
    }

    /// The elements of a repeated four-byte field, packed or unpacked.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value is neither,
    /// [`DecodeErrorKind::PackedLength`] if the length of a packed field is not a multiple of four.
    #[inline]
    pub const fn fixed32s(self) -> Result<PackedFixed32<'a>, DecodeErrorKind> {
        match self {
            Value::Fixed32(v) => Ok(PackedFixed32::one(v)),
            Value::Len(run) => PackedFixed32::new(run),
            _ => Err(DecodeErrorKind::WireTypeMismatch),
        }
    }

    /// The elements of a repeated eight-byte field, packed or unpacked.
    ///
    /// # Errors
    /// [`DecodeErrorKind::WireTypeMismatch`] if the value is neither,
    /// [`DecodeErrorKind::PackedLength`] if the length of a packed field is not a multiple of
    /// eight.
    #[inline]
    pub const fn fixed64s(self) -> Result<PackedFixed64<'a>, DecodeErrorKind> {
        match self {
            Value::Fixed64(v) => Ok(PackedFixed64::one(v)),
            Value::Len(run) => PackedFixed64::new(run),
            _ => Err(DecodeErrorKind::WireTypeMismatch),
        }
    }
}

//! The kinds of fields, as types. They select the decoding where the Rust type is not enough: an
//! `i32` can be an `int32`, a `sint32` or a `sfixed32`.

use super::fields::{Fields, Malformed};
use super::text::Text;
use super::typed::MessageReader;

/// A kind of field.
pub trait Kind {
    /// Whether a repeated field of this kind may be packed.
    const PACKABLE: bool;
}

/// A Rust type as which fields of kind `K` can be read.
pub trait Read<'a, K: Kind>: Sized {
    /// Reads the value after `tag`, which is an unpacked field of this kind.
    ///
    /// # Errors
    /// [`Malformed`]; [`Fields::fail`] returns the reason.
    fn read(fields: &mut Fields<'a>, tag: u32) -> Result<Self, Malformed>;
}

macro_rules! scalars {
    ($($kind:ident $type:ty, $read:ident;)*) => {$(
        #[doc = concat!("`", stringify!($read), "`.")]
        #[derive(Clone, Copy, Debug)]
        pub enum $kind {}

        impl Kind for $kind {
            const PACKABLE: bool = true;
        }

        impl<'a> Read<'a, $kind> for $type {
            #[inline(always)]
            fn read(fields: &mut Fields<'a>, _: u32) -> Result<Self, Malformed> {
                fields.$read()
            }
        }
    )*};
}

scalars! {
    Int32 i32, int32;
    Int64 i64, int64;
    Uint32 u32, uint32;
    Uint64 u64, uint64;
    Sint32 i32, sint32;
    Sint64 i64, sint64;
    Bool bool, bool;
    Fixed32 u32, fixed32;
    Sfixed32 i32, sfixed32;
    Float f32, float;
    Fixed64 u64, fixed64;
    Sfixed64 i64, sfixed64;
    Double f64, double;
}

/// An enum.
#[derive(Clone, Copy, Debug)]
pub enum Enumeration {}

impl Kind for Enumeration {
    const PACKABLE: bool = true;
}

impl<'a, E: crate::Enumeration> Read<'a, Enumeration> for E {
    #[inline(always)]
    fn read(fields: &mut Fields<'a>, _: u32) -> Result<Self, Malformed> {
        fields.enumeration().map(E::from_i32)
    }
}

macro_rules! unpackable {
    ($($(#[$doc:meta])* $kind:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $kind {}

        impl Kind for $kind {
            const PACKABLE: bool = false;
        }
    )*};
}

unpackable! {
    /// `string`.
    String;
    /// `bytes`.
    Bytes;
    /// A message with a length.
    Message;
    /// A message as a group.
    Group;
}

impl<'a> Read<'a, String> for &'a str {
    #[inline(always)]
    fn read(fields: &mut Fields<'a>, _: u32) -> Result<Self, Malformed> {
        fields.string()
    }
}

impl<'a> Read<'a, String> for Text<'a> {
    #[inline(always)]
    fn read(fields: &mut Fields<'a>, _: u32) -> Result<Self, Malformed> {
        fields.bytes().map(Text::new)
    }
}

impl<'a> Read<'a, Bytes> for &'a [u8] {
    #[inline(always)]
    fn read(fields: &mut Fields<'a>, _: u32) -> Result<Self, Malformed> {
        fields.bytes()
    }
}

impl<'a, R: MessageReader<'a>> Read<'a, Message> for R {
    #[inline(always)]
    fn read(fields: &mut Fields<'a>, _: u32) -> Result<Self, Malformed> {
        fields.bytes().map(R::from_bytes)
    }
}

impl<'a, R: MessageReader<'a>> Read<'a, Group> for R {
    #[inline(always)]
    fn read(fields: &mut Fields<'a>, tag: u32) -> Result<Self, Malformed> {
        fields.group(tag).map(R::from_bytes)
    }
}

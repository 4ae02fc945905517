//! Numbers, bools and enumerations.

use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem;

use super::{Holds, Implicit, Key, Kind, Output, Packable, Read};
use crate::decode::{DecodeContext, Field, Value};
use crate::error::{DecodeErrorKind, ReadError};
use crate::message::Enumeration;
use crate::unknown::UnknownFields;
use crate::wire::{varint, zigzag};

/// Kinds that are decoded from packed fields.
pub trait ReadPacked: Packable {
    /// Decodes one value or a packed field; returns false if `value` is neither.
    fn merge_elements(into: &mut Vec<Self::Owned>, value: Value<'_>) -> Result<bool, ReadError>;

    /// Decodes a whole field. Each invalid number of a closed enumeration goes to `unknown`, as
    /// protobuf requires; without `unknown` it is dropped.
    fn merge_keeping_unknown(
        into: &mut Vec<Self::Owned>,
        _unknown: Option<&mut UnknownFields>,
        field: &Field<'_>,
        _context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        Self::merge_elements(into, field.value)
    }
}

/// Runs `$push` for each element of a packed or unpacked field.
macro_rules! for_each_element {
    (varints, $value:expr, |$v:ident| $push:expr) => {
        match $value.varints() {
            Ok(run) => {
                for element in run {
                    let $v = element?;
                    $push;
                }
                Ok(true)
            }
            Err(_) => Ok(false),
        }
    };
    ($fixed:ident, $value:expr, |$v:ident| $push:expr) => {
        match $value.$fixed() {
            Ok(run) => {
                for $v in run {
                    $push;
                }
                Ok(true)
            }
            Err(DecodeErrorKind::WireTypeMismatch) => Ok(false),
            Err(kind) => Err(kind.at(0)),
        }
    };
}

macro_rules! scalars {
    ($($marker:ident $type:ty as $key:ident, $get:ident, $all:ident |$w:ident| $from:expr,
        $put:ident, $bare:ident |$v:ident| $into:expr, |$d:ident| $default:expr;)*) => {$(
        #[doc = concat!("`", stringify!($get), "`.")]
        #[derive(Debug)]
        pub enum $marker {}

        impl Kind for $marker {
            type Owned = $type;
            const HOLDS: Holds = Holds::Value(Key::$key);

            #[inline]
            fn put<O: Output>(out: &mut O, number: u32, value: &$type) {
                let $v = *value;
                out.$put(number, $into);
            }
        }

        impl Read<'_> for $marker {
            #[inline]
            fn merge(
                slot: &mut $type,
                field: &Field<'_>,
                _: DecodeContext<'_>,
            ) -> Result<bool, ReadError> {
                let Ok(value) = field.value.$get() else { return Ok(false) };
                *slot = value;
                Ok(true)
            }
        }

        impl Implicit for $marker {
            #[inline]
            fn is_default(value: &$type) -> bool {
                let $d = *value;
                $default
            }
        }

        impl Packable for $marker {
            #[inline]
            fn put_bare<O: Output>(out: &mut O, value: &$type) {
                let $v = *value;
                out.$bare($into);
            }
        }

        impl ReadPacked for $marker {
            fn merge_elements(into: &mut Vec<$type>, value: Value<'_>) -> Result<bool, ReadError> {
                for_each_element!($all, value, |$w| into.push($from))
            }
        }
    )*};
}

// Signed numbers are sign-extended, so a negative one takes ten bytes. Only positive zero is the
// default of a float: -0.0 is a different value.
scalars! {
    Int32 i32 as Signed, int32, varints |w| w as i32, varint, bare_varint |v| i64::from(v) as u64, |v| v == 0;
    Int64 i64 as Signed, int64, varints |w| w as i64, varint, bare_varint |v| v as u64, |v| v == 0;
    Uint32 u32 as Unsigned, uint32, varints |w| w as u32, varint, bare_varint |v| u64::from(v), |v| v == 0;
    Uint64 u64 as Unsigned, uint64, varints |w| w, varint, bare_varint |v| v, |v| v == 0;
    Sint32 i32 as Zigzag, sint32, varints |w| zigzag::decode32(w as u32),
        varint, bare_varint |v| u64::from(zigzag::encode32(v)), |v| v == 0;
    Sint64 i64 as Zigzag, sint64, varints |w| zigzag::decode64(w),
        varint, bare_varint |v| zigzag::encode64(v), |v| v == 0;
    Bool bool as Bool, bool, varints |w| w != 0, varint, bare_varint |v| u64::from(v), |v| !v;
    Fixed32 u32 as Unsigned, fixed32, fixed32s |w| w, fixed32, bare_fixed32 |v| v, |v| v == 0;
    Sfixed32 i32 as Signed, sfixed32, fixed32s |w| w as i32, fixed32, bare_fixed32 |v| v as u32, |v| v == 0;
    Float f32 as Other, float, fixed32s |w| f32::from_bits(w),
        fixed32, bare_fixed32 |v| v.to_bits(), |v| v.to_bits() == 0;
    Fixed64 u64 as Unsigned, fixed64, fixed64s |w| w, fixed64, bare_fixed64 |v| v, |v| v == 0;
    Sfixed64 i64 as Signed, sfixed64, fixed64s |w| w as i64, fixed64, bare_fixed64 |v| v as u64, |v| v == 0;
    Double f64 as Other, double, fixed64s |w| f64::from_bits(w),
        fixed64, bare_fixed64 |v| v.to_bits(), |v| v.to_bits() == 0;
}

/// An enumeration, open or closed.
#[derive(Debug)]
pub struct Enum<E>(PhantomData<E>);

impl<E: Enumeration> Kind for Enum<E> {
    type Owned = E;

    #[inline]
    fn put<O: Output>(out: &mut O, number: u32, value: &E) {
        Int32::put(out, number, &value.to_i32());
    }
}

impl<E: Enumeration> Read<'_> for Enum<E> {
    fn merge(slot: &mut E, field: &Field<'_>, _: DecodeContext<'_>) -> Result<bool, ReadError> {
        let Ok(number) = field.value.int32() else { return Ok(false) };
        let Some(value) = E::try_from_i32(number) else { return Ok(false) };
        *slot = value;
        Ok(true)
    }

    fn is_invalid(value: &Value<'_>) -> bool {
        matches!(value, Value::Varint(_))
    }
}

impl<E: Enumeration> Implicit for Enum<E> {
    #[inline]
    fn is_default(value: &E) -> bool {
        // Absent, it is 0 for others, and the default here.
        value.to_i32() == 0 && E::default().to_i32() == 0
    }
}

impl<E: Enumeration> Packable for Enum<E> {
    #[inline]
    fn put_bare<O: Output>(out: &mut O, value: &E) {
        Int32::put_bare(out, &value.to_i32());
    }
}

/// Ignores invalid numbers of a closed enumeration.
impl<E: Enumeration> ReadPacked for Enum<E> {
    fn merge_elements(into: &mut Vec<E>, value: Value<'_>) -> Result<bool, ReadError> {
        for_each_element!(varints, value, |v| into.extend(E::try_from_i32(v as i32)))
    }

    fn merge_keeping_unknown(
        into: &mut Vec<E>,
        unknown: Option<&mut UnknownFields>,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        let Ok(run) = field.value.varints() else { return Ok(false) };
        let tag_len = varint::len(u64::from(field.number) << 3);
        let mut blocks = unknown.as_deref().map_or(0, UnknownFields::growth);
        let mut strangers = Vec::new();
        for number in run {
            // The low 32 bits are the number. An invalid number is kept with all its bits.
            let number = number?;
            match E::try_from_i32(number as i32) {
                Some(value) => into.push(value),
                None if unknown.is_none() => {}
                None => {
                    // A byte of a packed field becomes up to six.
                    let bytes = mem::take(&mut blocks) + tag_len + varint::len(number);
                    context.grow(bytes).map_err(|kind| kind.at(0))?;
                    strangers.push(number);
                }
            }
        }
        // An error above leaves no number.
        if let Some(unknown) = unknown {
            strangers.into_iter().for_each(|number| unknown.push_varint(field.number, number));
        }
        Ok(true)
    }
}

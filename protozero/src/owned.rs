//! What the derive macros call: one function for each way a field may be held, generic over a marker
//! of its kind, so that a schema of thousands of fields instantiates little code.
//!
//! The `merge_*` functions say whether the field was understood; what was not is kept by the caller.

use alloc::string::String;
use alloc::vec::Vec;
use core::marker::PhantomData;
use core::mem::size_of;

use crate::decode::{DecodeContext, Field, Value};
use crate::encode::Scope;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::message::{Enumeration, Message};
use crate::rt;
use crate::unknown::UnknownFields;
use crate::wire::zigzag::{decode32, decode64};

/// How one value of a kind is held, written and read.
pub trait Kind {
    /// The Rust type.
    type Owned: Default;

    /// Writes one value as field `N`.
    fn put<const N: u32>(out: &mut Scope<'_>, value: &Self::Owned);

    /// Takes one value over; false if the field has another wire type.
    fn merge(
        slot: &mut Self::Owned,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<bool, DecodeError>;
}

/// Kinds with presence of their own accord: a field that holds the default is not written.
pub trait Implicit: Kind {
    /// Is this what an absent field reads as?
    fn is_default(value: &Self::Owned) -> bool;
}

/// Kinds of which many may share one field.
pub trait Packable: Kind {
    /// Writes all values as field `N`.
    fn put_packed<const N: u32>(out: &mut Scope<'_>, values: &[Self::Owned]);

    /// Takes over one value or a packed run of them; false if the field is neither.
    fn merge_all(into: &mut Vec<Self::Owned>, value: Value<'_>) -> Result<bool, DecodeError>;
}

/// Kinds that may be the variant of a oneof, a list element and so on: all of them. A message costs
/// memory before it has a single field, and that is charged here.
fn fresh<K: Kind>(context: DecodeContext<'_>) -> Result<K::Owned, DecodeError> {
    context.grow(size_of::<K::Owned>()).map_err(|kind| kind.at(0))?;
    Ok(K::Owned::default())
}

/// Runs over the elements of a field that stands alone or is a packed run.
macro_rules! each {
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
    ($($marker:ident $type:ty, $put:ident, $packed:ident, $get:ident, $all:ident,
        |$v:ident| $convert:expr, |$d:ident| $default:expr;)*) => {$(
        #[doc = concat!("`", stringify!($put), "`.")]
        #[derive(Debug)]
        pub enum $marker {}

        impl Kind for $marker {
            type Owned = $type;

            #[inline]
            fn put<const N: u32>(out: &mut Scope<'_>, value: &$type) {
                rt::$put::<N>(out, *value);
            }

            #[inline]
            fn merge(slot: &mut $type, field: &Field<'_>, _: DecodeContext<'_>) -> Result<bool, DecodeError> {
                Ok(match field.value.$get() {
                    Ok(value) => { *slot = value; true }
                    Err(_) => false,
                })
            }
        }

        impl Implicit for $marker {
            #[inline]
            fn is_default($d: &$type) -> bool {
                $default
            }
        }

        impl Packable for $marker {
            fn put_packed<const N: u32>(out: &mut Scope<'_>, values: &[$type]) {
                rt::$packed::<N>(out, values.iter().copied());
            }

            fn merge_all(into: &mut Vec<$type>, value: Value<'_>) -> Result<bool, DecodeError> {
                each!($all, value, |$v| into.push($convert))
            }
        }
    )*};
}

// A float is left out only if it is a positive zero: -0.0 is another number.
scalars! {
    Int32 i32, int32, packed_int32, int32, varints, |v| v as i32, |d| *d == 0;
    Int64 i64, int64, packed_int64, int64, varints, |v| v as i64, |d| *d == 0;
    Uint32 u32, uint32, packed_uint32, uint32, varints, |v| v as u32, |d| *d == 0;
    Uint64 u64, uint64, packed_uint64, uint64, varints, |v| v, |d| *d == 0;
    Sint32 i32, sint32, packed_sint32, sint32, varints, |v| decode32(v as u32), |d| *d == 0;
    Sint64 i64, sint64, packed_sint64, sint64, varints, |v| decode64(v), |d| *d == 0;
    Bool bool, bool, packed_bool, bool, varints, |v| v != 0, |d| !*d;
    Fixed32 u32, fixed32, packed_fixed32, fixed32, fixed32s, |v| v, |d| *d == 0;
    Sfixed32 i32, sfixed32, packed_sfixed32, sfixed32, fixed32s, |v| v as i32, |d| *d == 0;
    Float f32, float, packed_float, float, fixed32s, |v| f32::from_bits(v), |d| d.to_bits() == 0;
    Fixed64 u64, fixed64, packed_fixed64, fixed64, fixed64s, |v| v, |d| *d == 0;
    Sfixed64 i64, sfixed64, packed_sfixed64, sfixed64, fixed64s, |v| v as i64, |d| *d == 0;
    Double f64, double, packed_double, double, fixed64s, |v| f64::from_bits(v), |d| d.to_bits() == 0;
}

/// `string`.
#[derive(Debug)]
pub enum Text {}

impl Kind for Text {
    type Owned = String;

    #[inline]
    fn put<const N: u32>(out: &mut Scope<'_>, value: &String) {
        rt::string::<N>(out, value);
    }

    fn merge(
        slot: &mut String,
        field: &Field<'_>,
        _: DecodeContext<'_>,
    ) -> Result<bool, DecodeError> {
        let Ok(text) = field.value.string() else { return Ok(false) };
        slot.clear();
        slot.push_str(text);
        Ok(true)
    }
}

impl Implicit for Text {
    #[inline]
    fn is_default(value: &String) -> bool {
        value.is_empty()
    }
}

/// `bytes`.
#[derive(Debug)]
pub enum Bytes {}

impl Kind for Bytes {
    type Owned = Vec<u8>;

    #[inline]
    fn put<const N: u32>(out: &mut Scope<'_>, value: &Vec<u8>) {
        rt::bytes::<N>(out, value);
    }

    fn merge(
        slot: &mut Vec<u8>,
        field: &Field<'_>,
        _: DecodeContext<'_>,
    ) -> Result<bool, DecodeError> {
        let Ok(bytes) = field.value.bytes() else { return Ok(false) };
        slot.clear();
        slot.extend_from_slice(bytes);
        Ok(true)
    }
}

impl Implicit for Bytes {
    #[inline]
    fn is_default(value: &Vec<u8>) -> bool {
        value.is_empty()
    }
}

/// An enumeration.
#[derive(Debug)]
pub struct Enum<E>(PhantomData<E>);

impl<E: Enumeration> Kind for Enum<E> {
    type Owned = E;

    #[inline]
    fn put<const N: u32>(out: &mut Scope<'_>, value: &E) {
        rt::enumeration::<N>(out, value.to_i32());
    }

    #[inline]
    fn merge(slot: &mut E, field: &Field<'_>, _: DecodeContext<'_>) -> Result<bool, DecodeError> {
        let Ok(number) = field.value.int32() else { return Ok(false) };
        *slot = E::from_i32(number);
        Ok(true)
    }
}

impl<E: Enumeration> Implicit for Enum<E> {
    #[inline]
    fn is_default(value: &E) -> bool {
        *value == E::default()
    }
}

impl<E: Enumeration> Packable for Enum<E> {
    fn put_packed<const N: u32>(out: &mut Scope<'_>, values: &[E]) {
        rt::packed_enumeration::<N>(out, values.iter().map(|value| value.to_i32()));
    }

    fn merge_all(into: &mut Vec<E>, value: Value<'_>) -> Result<bool, DecodeError> {
        each!(varints, value, |v| into.push(E::from_i32(v as i32)))
    }
}

/// A nested message.
#[derive(Debug)]
pub struct Nested<M>(PhantomData<M>);

impl<M: Message> Kind for Nested<M> {
    type Owned = M;

    #[inline]
    fn put<const N: u32>(out: &mut Scope<'_>, value: &M) {
        value.encode_into(&mut out.nested::<N>());
    }

    fn merge(
        slot: &mut M,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<bool, DecodeError> {
        let Value::Len(body) = field.value else { return Ok(false) };
        let context = context.enter().map_err(|kind| kind.at(0))?;
        let start = field.raw.len() - body.len();
        slot.merge_within(body, context).map_err(|error| error.kind.at(start + error.offset))?;
        Ok(true)
    }
}

/// The members of a oneof: what `#[derive(Oneof)]` implements.
pub trait Oneof: Sized {
    /// Writes the member that is set.
    fn encode_into(&self, out: &mut Scope<'_>);

    /// Takes one field over; false if it is none of the members.
    ///
    /// # Errors
    /// As [`Message::merge_field`].
    fn merge_field(
        slot: &mut Option<Self>,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<bool, DecodeError>;
}

/// Writes one value as field `N`.
#[inline]
pub fn put<const N: u32, K: Kind>(out: &mut Scope<'_>, value: &K::Owned) {
    K::put::<N>(out, value);
}

/// Writes a value unless it is the default.
#[inline]
pub fn put_implicit<const N: u32, K: Implicit>(out: &mut Scope<'_>, value: &K::Owned) {
    if !K::is_default(value) {
        K::put::<N>(out, value);
    }
}

/// Writes a value if there is one.
#[inline]
pub fn put_optional<const N: u32, K: Kind>(out: &mut Scope<'_>, value: &Option<K::Owned>) {
    if let Some(value) = value {
        K::put::<N>(out, value);
    }
}

/// Writes one field an element.
#[inline]
pub fn put_repeated<const N: u32, K: Kind>(out: &mut Scope<'_>, values: &[K::Owned]) {
    for value in values {
        K::put::<N>(out, value);
    }
}

/// Writes one field for all elements, and none for none.
#[inline]
pub fn put_packed<const N: u32, K: Packable>(out: &mut Scope<'_>, values: &[K::Owned]) {
    if !values.is_empty() {
        K::put_packed::<N>(out, values);
    }
}

/// Writes the member that is set, if one is.
#[inline]
pub fn put_oneof<O: Oneof>(out: &mut Scope<'_>, value: &Option<O>) {
    if let Some(value) = value {
        value.encode_into(out);
    }
}

/// Writes what was not understood, as it came.
#[inline]
pub fn put_unknown(out: &mut Scope<'_>, fields: &UnknownFields) {
    if !fields.is_empty() {
        rt::raw(out, fields.as_bytes());
    }
}

/// Reads a field that is always there.
#[inline]
pub fn merge_implicit<K: Kind>(
    slot: &mut K::Owned,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    K::merge(slot, field, context)
}

/// Reads a field that may be absent.
pub fn merge_optional<K: Kind>(
    slot: &mut Option<K::Owned>,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    if let Some(old) = slot {
        return K::merge(old, field, context);
    }
    let mut new = fresh::<K>(context)?;
    let understood = K::merge(&mut new, field, context)?;
    if understood {
        *slot = Some(new);
    }
    Ok(understood)
}

/// Reads an element that stands alone.
pub fn merge_repeated<K: Kind>(
    slot: &mut Vec<K::Owned>,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    let mut new = fresh::<K>(context)?;
    let understood = K::merge(&mut new, field, context)?;
    if understood {
        slot.push(new);
    }
    Ok(understood)
}

/// Reads an element or a packed run: both spellings are legal, whichever the schema names.
pub fn merge_packed<K: Packable>(
    slot: &mut Vec<K::Owned>,
    field: &Field<'_>,
    _: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    // A run that breaks off leaves nothing of itself behind.
    let before = slot.len();
    K::merge_all(slot, field.value).map_err(|error| {
        slot.truncate(before);
        error.kind.at(0)
    })
}

/// Reads a member of a oneof. `open` finds the value if the slot holds this variant already: a
/// message is merged into it then; any other member is replaced.
pub fn merge_variant<K: Kind, O: Oneof>(
    slot: &mut Option<O>,
    open: impl FnOnce(&mut O) -> Option<&mut K::Owned>,
    wrap: impl FnOnce(K::Owned) -> O,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Result<bool, DecodeError> {
    if let Some(old) = slot.as_mut().and_then(open) {
        return K::merge(old, field, context);
    }
    let mut new = fresh::<K>(context)?;
    let understood = K::merge(&mut new, field, context)?;
    if understood {
        *slot = Some(wrap(new));
    }
    Ok(understood)
}

/// Keeps a field that was not understood.
#[inline(never)]
pub fn keep_unknown(fields: &mut UnknownFields, field: &Field<'_>) {
    fields.push(field);
}

//! Owned messages with little code, for schemas whose messages are rarely encoded or decoded, such as configs. They
//! behave as those of [`owned_macro`](super::owned_macro), but fields of one kind share one function, and one loop
//! reads all messages:
//!
//! ```text
//!   each_field(&mut dyn Slot) ──> merge_one: match on the number ──> merge_optional::<Uint32>, ...
//!        ^                                                       └─> merge_optional::<Nested<M>>
//!        └──────────────────────────── merge_nested(&mut dyn Slot) <──────┘
//! ```
//!
//! A field then takes about ten instructions more. After an error, the nested message with the fault stays, with the
//! fields before it.

use alloc::boxed::Box;
#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::merge::{charge_bytes, charge_message};
use super::nested::within;
use super::{
    Bool, Bytes, BytesValue, Double, Encode, Encoder, Enum, Fixed32, Fixed64, Float, Group, Int32,
    Int64, Kind, Merged, Nested, Read, Sfixed32, Sfixed64, Sint32, Sint64, Text, TextValue, Uint32,
    Uint64, Understood,
};
use crate::decode::{DecodeContext, Field, Reader, Value};
use crate::message::Enumeration;

/// A message, as the shared functions see it.
pub trait Compact: Sized {
    /// Copies all fields to `new`, which is empty. `Clone` is this, too: a derived one copies each field to the stack
    /// first, and has code for the panic of each.
    fn copy_fields(&self, new: &mut Self);

    /// Writes all fields, from the last to the first.
    fn put_fields(&self, out: &mut Encoder<'_>);

    /// Decodes one field; keeps it if it is unknown.
    ///
    /// # Errors
    /// Those of [`Merge::merge_field`](super::Merge::merge_field).
    fn merge_one(&mut self, field: &Field<'_>, context: DecodeContext<'_>) -> Merged;
}

impl<M: Compact> Compact for Box<M> {
    #[inline]
    fn copy_fields(&self, new: &mut Self) {
        M::copy_fields(self, new);
    }

    #[inline]
    fn put_fields(&self, out: &mut Encoder<'_>) {
        M::put_fields(self, out);
    }

    #[inline]
    fn merge_one(&mut self, field: &Field<'_>, context: DecodeContext<'_>) -> Merged {
        M::merge_one(self, field, context)
    }
}

#[cfg(target_has_atomic = "ptr")]
impl<M: Compact + Clone> Compact for Arc<M> {
    #[inline]
    fn copy_fields(&self, new: &mut Self) {
        *new = Self::clone(self);
    }

    #[inline]
    fn put_fields(&self, out: &mut Encoder<'_>) {
        M::put_fields(self, out);
    }

    #[inline]
    fn merge_one(&mut self, field: &Field<'_>, context: DecodeContext<'_>) -> Merged {
        Self::make_mut(self).merge_one(field, context)
    }
}

/// A reference to a message that is decoded. The table of a trait for the message itself would have its
/// destructor, too, and so need one more copy of that.
trait Slot {
    fn merge_one(&mut self, field: &Field<'_>, context: DecodeContext<'_>) -> Merged;
}

impl<M: Compact> Slot for &mut M {
    fn merge_one(&mut self, field: &Field<'_>, context: DecodeContext<'_>) -> Merged {
        M::merge_one(self, field, context)
    }
}

/// A copy of `message`.
#[inline(never)]
pub fn duplicate<M: Compact + Default>(message: &M) -> M {
    let mut new = M::default();
    copy_all(message, &mut new);
    new
}

/// Copies all fields of `old`. The only copy of the code that does so.
#[inline(never)]
fn copy_all<M: Compact>(old: &M, new: &mut M) {
    old.copy_fields(new);
}

/// Copies a value that is no message.
#[inline(never)]
pub fn copy_value<T: Clone>(new: &mut T, old: &T) {
    new.clone_from(old);
}

/// Copies a number, for which a call would be longer.
#[inline]
fn copy_number<T: Copy>(new: &mut T, old: &T) {
    *new = *old;
}

/// Copies elements that are no messages.
#[inline(never)]
pub fn append_values<T: Clone>(new: &mut Vec<T>, old: &[T]) {
    new.extend_from_slice(old);
}

/// Decodes all fields of `bytes` into `message`.
///
/// # Errors
/// Those of [`Compact::merge_one`]; the offset counts from the start of `bytes`.
#[inline(never)]
pub fn merge_all<M: Compact>(
    mut message: &mut M,
    bytes: &[u8],
    context: DecodeContext<'_>,
) -> Merged {
    each_field(&mut message, bytes, context)
}

#[inline(never)]
fn each_field(message: &mut dyn Slot, bytes: &[u8], context: DecodeContext<'_>) -> Merged {
    let mut reader = Reader::new(bytes);
    loop {
        let start = reader.position();
        let Some(field) = reader.next_field()? else { return Ok(()) };
        message.merge_one(&field, context).map_err(|error| error.kind.at(start + error.offset))?;
    }
}

#[inline(never)]
fn merge_nested(
    message: &mut dyn Slot,
    field: &Field<'_>,
    body: &[u8],
    context: DecodeContext<'_>,
) -> Understood {
    let context = context.enter().map_err(|kind| kind.at(0))?;
    each_field(message, body, context).map_err(|error| within(field, body, error))?;
    Ok(true)
}

/// Writes all fields of `message`. The only copy of the code that does so.
#[inline(never)]
pub fn put_all<M: Compact>(message: &M, out: &mut Encoder<'_>) {
    message.put_fields(out);
}

#[inline(never)]
fn put_nested<M: Compact>(message: &M, out: &mut Encoder<'_>, number: u32) {
    let Some(end) = out.open() else { return };
    put_all(message, out);
    out.close(number, end);
}

#[inline(never)]
fn put_group<M: Compact>(message: &M, out: &mut Encoder<'_>, number: u32) {
    if out.open().is_none() {
        return;
    }
    out.tag(number, crate::wire::tag::END_GROUP);
    put_all(message, out);
    out.close_group(number);
}

/// A kind whose fields share functions.
pub trait Shared: Kind {
    /// Encodes one value.
    fn put_one(out: &mut Encoder<'_>, number: u32, value: &Self::Owned);

    /// Copies an optional member.
    fn copy_optional(new: &mut Option<Self::Owned>, old: &Option<Self::Owned>);

    /// Copies elements.
    fn copy_repeated(new: &mut Vec<Self::Owned>, old: &[Self::Owned]);

    /// Encodes an optional member.
    fn put_optional(out: &mut Encoder<'_>, number: u32, value: &Option<Self::Owned>);

    /// Decodes into an optional member.
    ///
    /// # Errors
    /// Those of [`Compact::merge_one`].
    fn merge_optional(
        slot: &mut Option<Self::Owned>,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Understood;

    /// Decodes an element.
    ///
    /// # Errors
    /// Those of [`Compact::merge_one`].
    fn merge_repeated(
        slot: &mut Vec<Self::Owned>,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Understood;

    /// Decodes the member of a oneof that `open` finds or `make` makes.
    ///
    /// # Errors
    /// Those of [`Compact::merge_one`].
    fn merge_variant<O>(
        slot: &mut Option<O>,
        open: fn(&mut O) -> Option<&mut Self::Owned>,
        make: fn(Self::Owned) -> O,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Understood;
}

#[inline(never)]
fn put_scalar<K: Kind>(out: &mut Encoder<'_>, number: u32, value: &K::Owned) {
    K::put(out, number, value);
}

#[inline(never)]
fn put_scalar_optional<K: Kind>(out: &mut Encoder<'_>, number: u32, value: &Option<K::Owned>) {
    if let Some(value) = value {
        K::put(out, number, value);
    }
}

#[inline(never)]
fn put_number_optional(out: &mut Encoder<'_>, number: u32, value: Option<i32>) {
    if let Some(value) = value {
        Int32::put(out, number, &value);
    }
}

#[inline(never)]
fn merge_scalar_optional<K: for<'a> Read<'a>>(
    slot: &mut Option<K::Owned>,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Understood {
    if let Some(old) = slot {
        return K::merge(old, field, context);
    }
    let mut new = K::Owned::default();
    let understood = K::merge(&mut new, field, context)?;
    if understood {
        *slot = Some(new);
    }
    Ok(understood)
}

#[inline(never)]
fn merge_scalar_repeated<K: for<'a> Read<'a>>(
    slot: &mut Vec<K::Owned>,
    field: &Field<'_>,
    context: DecodeContext<'_>,
) -> Understood {
    charge_bytes(K::FOOTPRINT, context)?;
    let mut new = K::Owned::default();
    let understood = K::merge(&mut new, field, context)?;
    if understood {
        slot.push(new);
    }
    Ok(understood)
}

/// Scalars: one function for all fields of the kind.
macro_rules! scalars {
    ($($kind:ident $(<$generic:ident: $bound:ident $(, const $check:ident)?>)?, $copy:path;)*) => {$(
        impl $(<$generic: $bound + Clone $(, const $check: bool)?>)? Shared for $kind $(<$generic $(, $check)?>)? {
            #[inline]
            fn copy_optional(new: &mut Option<Self::Owned>, old: &Option<Self::Owned>) {
                $copy(new, old);
            }

            #[inline]
            fn copy_repeated(new: &mut Vec<Self::Owned>, old: &[Self::Owned]) {
                append_values(new, old);
            }

            #[inline]
            fn put_one(out: &mut Encoder<'_>, number: u32, value: &Self::Owned) {
                put_scalar::<Self>(out, number, value);
            }

            #[inline]
            fn put_optional(out: &mut Encoder<'_>, number: u32, value: &Option<Self::Owned>) {
                put_scalar_optional::<Self>(out, number, value);
            }

            #[inline]
            fn merge_optional(
                slot: &mut Option<Self::Owned>,
                field: &Field<'_>,
                context: DecodeContext<'_>,
            ) -> Understood {
                merge_scalar_optional::<Self>(slot, field, context)
            }

            #[inline]
            fn merge_repeated(
                slot: &mut Vec<Self::Owned>,
                field: &Field<'_>,
                context: DecodeContext<'_>,
            ) -> Understood {
                merge_scalar_repeated::<Self>(slot, field, context)
            }

            #[inline]
            fn merge_variant<O>(
                slot: &mut Option<O>,
                _: fn(&mut O) -> Option<&mut Self::Owned>,
                make: fn(Self::Owned) -> O,
                field: &Field<'_>,
                context: DecodeContext<'_>,
            ) -> Understood {
                let mut new = None;
                let understood = merge_scalar_optional::<Self>(&mut new, field, context)?;
                if let Some(new) = new {
                    *slot = Some(make(new));
                }
                Ok(understood)
            }
        }
    )*};
}

scalars! {
    Int32, copy_number; Int64, copy_number; Uint32, copy_number; Uint64, copy_number;
    Sint32, copy_number; Sint64, copy_number; Bool, copy_number;
    Fixed32, copy_number; Sfixed32, copy_number; Float, copy_number;
    Fixed64, copy_number; Sfixed64, copy_number; Double, copy_number;
    Text<T: TextValue, const CHECKED>, copy_value;
    Bytes<T: BytesValue>, copy_value;
}

impl<E: Enumeration> Shared for Enum<E> {
    #[inline]
    fn copy_optional(new: &mut Option<E>, old: &Option<E>) {
        copy_number(new, old);
    }

    #[inline]
    fn copy_repeated(new: &mut Vec<E>, old: &[E]) {
        append_values(new, old);
    }

    #[inline]
    fn put_one(out: &mut Encoder<'_>, number: u32, value: &E) {
        put_number_optional(out, number, Some(value.to_i32()));
    }

    #[inline]
    fn put_optional(out: &mut Encoder<'_>, number: u32, value: &Option<E>) {
        put_number_optional(out, number, value.map(Enumeration::to_i32));
    }

    #[inline]
    fn merge_optional(
        slot: &mut Option<E>,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Understood {
        let mut number = None;
        merge_scalar_optional::<Int32>(&mut number, field, context)?;
        let value = number.and_then(E::try_from_i32);
        if value.is_some() {
            *slot = value;
        }
        Ok(value.is_some())
    }

    #[inline]
    fn merge_repeated(
        slot: &mut Vec<E>,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Understood {
        let mut value = None;
        let understood = Self::merge_optional(&mut value, field, context)?;
        slot.extend(value);
        Ok(understood)
    }

    #[inline]
    fn merge_variant<O>(
        slot: &mut Option<O>,
        _: fn(&mut O) -> Option<&mut E>,
        make: fn(E) -> O,
        field: &Field<'_>,
        context: DecodeContext<'_>,
    ) -> Understood {
        let mut value = None;
        let understood = Self::merge_optional(&mut value, field, context)?;
        if let Some(value) = value {
            *slot = Some(make(value));
        }
        Ok(understood)
    }
}

/// In a function of its own, so that a large value does not lie in the stack frame of each level.
#[inline(never)]
fn fill<M: Default>(slot: &mut Option<M>) {
    *slot = Some(M::default());
}

/// As [`fill`].
#[inline(never)]
fn append<M: Default>(slot: &mut Vec<M>) {
    slot.push(M::default());
}

/// As [`fill`].
#[inline(never)]
fn fill_variant<M: Default, O>(slot: &mut Option<O>, make: fn(M) -> O) {
    *slot = Some(make(M::default()));
}

#[inline(never)]
fn copy_message<M: Compact + Default>(new: &mut Option<M>, old: &Option<M>) {
    if let Some(old) = old {
        fill(new);
        if let Some(new) = new {
            copy_all(old, new);
        }
    }
}

#[inline(never)]
fn copy_messages<M: Compact + Default>(new: &mut Vec<M>, old: &[M]) {
    for old in old {
        append(new);
        if let Some(new) = new.last_mut() {
            copy_all(old, new);
        }
    }
}

/// Messages: what is left for each of them is to make it.
macro_rules! messages {
    ($($kind:ident, $wire:ident, $put:ident;)*) => {$(
        impl<M: Compact + Encode + Default> Shared for $kind<M> {
            #[inline]
            fn copy_optional(new: &mut Option<M>, old: &Option<M>) {
                copy_message(new, old);
            }

            #[inline]
            fn copy_repeated(new: &mut Vec<M>, old: &[M]) {
                copy_messages(new, old);
            }

            #[inline]
            fn put_one(out: &mut Encoder<'_>, number: u32, value: &M) {
                $put(value, out, number);
            }

            #[inline]
            fn put_optional(out: &mut Encoder<'_>, number: u32, value: &Option<M>) {
                if let Some(value) = value {
                    $put(value, out, number);
                }
            }

            fn merge_optional(
                slot: &mut Option<M>,
                field: &Field<'_>,
                context: DecodeContext<'_>,
            ) -> Understood {
                let Value::$wire(body) = field.value else { return Ok(false) };
                if slot.is_none() {
                    charge_message(M::FOOTPRINT, context)?;
                    fill(slot);
                }
                match slot {
                    Some(message) => merge_nested(&mut &mut *message, field, body, context),
                    None => Ok(false),
                }
            }

            fn merge_repeated(
                slot: &mut Vec<M>,
                field: &Field<'_>,
                context: DecodeContext<'_>,
            ) -> Understood {
                let Value::$wire(body) = field.value else { return Ok(false) };
                charge_message(M::FOOTPRINT, context)?;
                append(slot);
                match slot.last_mut() {
                    Some(message) => merge_nested(&mut &mut *message, field, body, context),
                    None => Ok(false),
                }
            }

            fn merge_variant<O>(
                slot: &mut Option<O>,
                open: fn(&mut O) -> Option<&mut M>,
                make: fn(M) -> O,
                field: &Field<'_>,
                context: DecodeContext<'_>,
            ) -> Understood {
                let Value::$wire(body) = field.value else { return Ok(false) };
                if slot.as_mut().and_then(open).is_none() {
                    charge_message(M::FOOTPRINT, context)?;
                    fill_variant(slot, make);
                }
                match slot.as_mut().and_then(open) {
                    Some(message) => merge_nested(&mut &mut *message, field, body, context),
                    None => Ok(false),
                }
            }
        }
    )*};
}

messages! {
    Nested, Len, put_nested;
    Group, Group, put_group;
}

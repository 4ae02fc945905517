//! Nested messages: after a length, or between the two tags of a group.

use alloc::boxed::Box;
#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc;
use core::marker::PhantomData;
use core::mem::size_of;

use super::{About, Encode, Holds, Kind, Merge, Merged, Output, Read, Row, from_json};
use crate::decode::{DecodeContext, Field, Value};
#[cfg(doc)]
use crate::error::DecodeErrorKind;
use crate::error::ReadError;
use crate::wire::hostile;

/// A message with a length.
#[derive(Debug)]
pub struct Nested<M>(PhantomData<M>);

/// A message as a group.
#[derive(Debug)]
pub struct Group<M>(PhantomData<M>);

impl<M: Encode + Default> Kind for Nested<M> {
    type Owned = M;
    const FOOTPRINT: usize = M::FOOTPRINT;
    const HOLDS: Holds = Holds::Message(M::about);

    fn put<O: Output>(out: &mut O, number: u32, value: &M) {
        out.message(number, value);
    }
}

impl<'a, M: Encode + Merge<'a> + Default> Read<'a> for Nested<M> {
    fn merge(
        slot: &mut M,
        field: &Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        let Value::Len(body) = field.value else {
            return from_json::message(slot, field, context);
        };
        merge_body(slot, field, body, context)
    }
}

impl<M: Encode + Default> Kind for Group<M> {
    type Owned = M;
    const FOOTPRINT: usize = M::FOOTPRINT;
    const HOLDS: Holds = Holds::Message(M::about);

    fn put<O: Output>(out: &mut O, number: u32, value: &M) {
        out.group(number, value);
    }
}

impl<'a, M: Encode + Merge<'a> + Default> Read<'a> for Group<M> {
    fn merge(
        slot: &mut M,
        field: &Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        let Value::Group(body) = field.value else {
            return from_json::message(slot, field, context);
        };
        merge_body(slot, field, body, context)
    }
}

/// Recursive messages need a box.
impl<M: Encode> Encode for Box<M> {
    const FOOTPRINT: usize = size_of::<Self>() + M::FOOTPRINT;
    const ROWS: &'static [Row] = M::ROWS;

    fn about() -> About {
        M::about()
    }

    #[inline]
    fn encode_fields<O: Output>(&self, out: &mut O) {
        M::encode_fields(self, out);
    }
}

impl<'a, M: Merge<'a>> Merge<'a> for Box<M> {
    #[inline]
    fn merge_field(
        &mut self,
        field: Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        M::merge_field(self, field, context)
    }

    #[inline]
    fn merge_fields(&mut self, bytes: &'a [u8], context: DecodeContext<'_>) -> Merged {
        M::merge_fields(self, bytes, context)
    }
}

/// The message without fields.
impl Encode for () {
    fn encode_fields<O: Output>(&self, _: &mut O) {}
}

impl<'a> Merge<'a> for () {
    fn merge_field(&mut self, _: Field<'a>, _: DecodeContext<'_>) -> Result<(), ReadError> {
        Ok(())
    }
}

/// A message that several values share. Decoding into it copies it if others have it.
#[cfg(target_has_atomic = "ptr")]
impl<M: Encode> Encode for Arc<M> {
    // The pointer, two counters and the message.
    const FOOTPRINT: usize = 3 * size_of::<Self>() + M::FOOTPRINT;
    const ROWS: &'static [Row] = M::ROWS;

    fn about() -> About {
        M::about()
    }

    #[inline]
    fn encode_fields<O: Output>(&self, out: &mut O) {
        M::encode_fields(self, out);
    }
}

#[cfg(target_has_atomic = "ptr")]
impl<'a, M: Merge<'a> + Clone> Merge<'a> for Arc<M> {
    #[inline]
    fn merge_field(
        &mut self,
        field: Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        Self::make_mut(self).merge_field(field, context)
    }

    #[inline]
    fn merge_fields(&mut self, bytes: &'a [u8], context: DecodeContext<'_>) -> Merged {
        Self::make_mut(self).merge_fields(bytes, context)
    }
}

pub(super) fn merge_body<'a, M: Merge<'a>>(
    slot: &mut M,
    field: &Field<'a>,
    body: &'a [u8],
    context: DecodeContext<'_>,
) -> Result<bool, ReadError> {
    let context = context.enter().map_err(|kind| kind.at(0))?;
    slot.merge_fields(body, context).map_err(|error| within(field, body, error))?;
    Ok(true)
}

/// Converts an `error` in the body of `field` to an error in `field`.
pub(super) fn within(field: &Field<'_>, body: &[u8], error: ReadError) -> ReadError {
    let start = body.as_ptr().addr().saturating_sub(field.raw.as_ptr().addr());
    error.kind.at(start.saturating_add(error.offset))
}

/// Splits `bytes` after a length and that many bytes; returns the body and the rest.
///
/// # Errors
/// [`DecodeErrorKind::Truncated`] or [`DecodeErrorKind::VarintTooLong`].
pub(crate) fn split_delimited(bytes: &[u8]) -> Result<(&[u8], &[u8]), ReadError> {
    hostile::delimited(bytes).map_err(|kind| kind.at(0))
}

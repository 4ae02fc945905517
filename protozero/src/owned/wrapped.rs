//! The wrappers of `google.protobuf`, such as `StringValue`, as the value that is in them.

use core::marker::PhantomData;

use super::nested::merge_body;
use super::rows::row_single;
use super::{About, Encode, Holds, Implicit, Kind, Merge, Output, Read, Row, from_json};
use crate::decode::{DecodeContext, Field, Value};
use crate::error::ReadError;

/// Number of the value in its message.
const VALUE: u32 = 1;

/// A message with one field, a value of kind `K` without presence.
#[derive(Debug)]
pub struct Wrapped<K>(PhantomData<K>);

impl<K: Kind> Wrapped<K> {
    const ROWS: &'static [Row] = &[row_single::<K>(VALUE, "value")];

    fn about() -> About {
        About::new("", ("", None), Self::ROWS)
    }
}

/// The message, to encode it.
struct Message<'v, K: Kind>(&'v K::Owned);

impl<K: Implicit> Encode for Message<'_, K> {
    const ROWS: &'static [Row] = Wrapped::<K>::ROWS;

    fn encode_fields<O: Output>(&self, out: &mut O) {
        if !K::is_default(self.0) {
            K::put(out, VALUE, self.0);
        }
    }
}

/// The message, to decode it. Another field than the value is dropped.
struct MessageMut<'v, K: Kind>(&'v mut K::Owned);

impl<'a, K: Read<'a>> Merge<'a> for MessageMut<'_, K> {
    fn merge_field(
        &mut self,
        field: Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<(), ReadError> {
        match field.number {
            VALUE => K::merge(self.0, &field, context).map(drop),
            _ => Ok(()),
        }
    }
}

impl<K: Implicit> Kind for Wrapped<K> {
    type Owned = K::Owned;
    const FOOTPRINT: usize = K::FOOTPRINT;
    const HOLDS: Holds = Holds::Message(Self::about);

    fn put<O: Output>(out: &mut O, number: u32, value: &K::Owned) {
        out.message(number, &Message::<K>(value));
    }
}

impl<'a, K: Implicit + Read<'a>> Read<'a> for Wrapped<K> {
    fn merge(
        slot: &mut K::Owned,
        field: &Field<'a>,
        context: DecodeContext<'_>,
    ) -> Result<bool, ReadError> {
        let mut message = MessageMut::<K>(slot);
        match field.value {
            Value::Len(body) => merge_body(&mut message, field, body, context),
            _ => from_json::message(&mut message, field, context),
        }
    }
}

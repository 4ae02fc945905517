//! Owned messages: plain structs that know how to become bytes and back.
//!
//! ```text
//!            decode, merge                       encode_into
//!  &[u8] ──▶ Reader ──Field──▶ merge_field ──▶ struct ──▶ Scope ──▶ any sink
//!                                 │                ▲
//!                                 └─ UnknownFields ┘  verbatim, written after the known ones
//! ```
//!
//! `#[derive(protozero::Message)]` writes the two methods that differ from struct to struct. What
//! protobuf asks of a parser holds: a singular number met again replaces the old value, a message
//! met again is merged into the old one, repeated fields grow, packed and unpacked runs are the same
//! thing, and of a oneof the last member wins.
//!
//! Where protobuf leaves a choice, nothing is lost: a known number with a foreign wire type, and a
//! `string` that is not UTF-8 (the C++ tools never check), are kept among the unknown fields.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::fmt::{self, Debug};

use crate::decode::{DecodeContext, Field, Reader};
use crate::encode::Scope;
use crate::error::{DecodeError, WriteError};
use crate::sink::HeapSink;

/// What decoding may allocate for the structs of nested messages, in bytes per byte of input.
///
/// An empty nested message takes two bytes on the wire and a whole struct in memory; without a
/// bound a small request could ask for gigabytes. Honest messages stay far below it.
const GROWTH_MAX: usize = 512;

/// What decoding may allocate for nested messages whatever the size of the input, in bytes.
const GROWTH_FREE: usize = 4 << 20;

/// A struct that stands for a protobuf message.
pub trait Message: Default + Clone + PartialEq + Debug {
    /// Writes all fields into the open message `out`, in the order of their declaration, unknown
    /// ones last. The same value gives the same bytes.
    fn encode_into(&self, out: &mut Scope<'_>);

    /// Takes over one field, as met on the wire.
    ///
    /// # Errors
    /// [`DecodeError`] if the field holds a malformed message or packed run; its offset counts from
    /// the beginning of `field.raw`.
    fn merge_field(
        &mut self,
        field: Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<(), DecodeError>;

    /// Takes over all fields of `bytes` within the budget of `context`.
    ///
    /// # Errors
    /// As [`Message::merge`].
    fn merge_within(
        &mut self,
        bytes: &[u8],
        context: DecodeContext<'_>,
    ) -> Result<(), DecodeError> {
        let mut reader = Reader::new(bytes);
        loop {
            let start = reader.position();
            let Some(field) = reader.next_field()? else { return Ok(()) };
            self.merge_field(field, context)
                .map_err(|error| error.kind.at(start + error.offset))?;
        }
    }

    /// Takes over all fields of `bytes`, as if the encoding of `self` stood before them.
    ///
    /// # Errors
    /// [`DecodeError`] if `bytes` is no message; the fields before the error are merged then.
    fn merge(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        let growth = Cell::new(bytes.len().saturating_mul(GROWTH_MAX).saturating_add(GROWTH_FREE));
        self.merge_within(bytes, DecodeContext::new().with_growth(&growth))
    }

    /// The message encoded in `bytes`.
    ///
    /// # Errors
    /// [`DecodeError`] if `bytes` is no message, is nested too deeply, or asks for far more memory
    /// than its size warrants.
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut message = Self::default();
        message.merge(bytes)?;
        Ok(message)
    }

    /// The encoding of this message.
    ///
    /// # Errors
    /// [`WriteError::TooLong`] if some nested message has more than 2^28-1 bytes.
    fn try_encode_to_vec(&self) -> Result<Vec<u8>, WriteError> {
        let mut stream = HeapSink::stream();
        self.encode_into(&mut stream.root());
        stream.finish()
    }

    /// The encoding of this message.
    ///
    /// # Panics
    /// If some nested message has more than 2^28-1 bytes: more than any reader would accept. Use
    /// [`Message::try_encode_to_vec`] where data of that size may come in.
    fn encode_to_vec(&self) -> Vec<u8> {
        match self.try_encode_to_vec() {
            Ok(bytes) => bytes,
            Err(error) => panic!("{error}"),
        }
    }
}

/// A box is as good as what is in it: recursive messages need one.
impl<M: Message> Message for Box<M> {
    fn encode_into(&self, out: &mut Scope<'_>) {
        M::encode_into(self, out);
    }

    fn merge_field(
        &mut self,
        field: Field<'_>,
        context: DecodeContext<'_>,
    ) -> Result<(), DecodeError> {
        M::merge_field(self, field, context)
    }
}

/// An open enumeration: any number is a value, some have names.
///
/// Open, because a newer peer may send a value we do not know, and it must survive a round trip.
pub trait Enumeration: Copy + Default + PartialEq + Debug + 'static {
    /// Full name, without a leading dot.
    const NAME: &'static str;

    /// Names and numbers in order of declaration; of two names of one number the first is ours.
    const VALUES: &'static [(&'static str, i32)];

    /// The value with this number.
    fn from_i32(number: i32) -> Self;

    /// The number of this value.
    fn to_i32(self) -> i32;

    /// The name of this value, if its number has one.
    #[must_use]
    fn name(self) -> Option<&'static str> {
        let number = self.to_i32();
        Self::VALUES.iter().find(|value| value.1 == number).map(|value| value.0)
    }

    /// The value called `name`.
    #[must_use]
    fn from_name(name: &str) -> Option<Self> {
        Self::VALUES.iter().find(|value| value.0 == name).map(|value| Self::from_i32(value.1))
    }
}

/// `Debug` of every enumeration: its name, or its number.
pub fn debug_enum<E: Enumeration>(value: E, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value.name() {
        Some(name) => f.write_str(name),
        None => write!(f, "{}", value.to_i32()),
    }
}

//! Messages whose type the compiler does not know: `&dyn Reflect`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::dynamic::{DynamicMessage, MessageDescriptor};
use crate::error::{DecodeError, WriteError};
use crate::message::Message;
use crate::named::Named;

/// Any message: every generated one that was generated with descriptors, and [`DynamicMessage`].
///
/// A function that takes `&dyn Reflect` or `&mut dyn Reflect` is compiled once for all messages.
///
/// ```
/// use protozero::Reflect;
///
/// /// The names of the fields that are set.
/// fn names(message: &dyn Reflect) -> Vec<String> {
///     let message = message.to_dynamic().expect("a message that can be encoded");
///     message.fields().map(|(field, _)| field.name().to_owned()).collect()
/// }
/// ```
///
/// A struct that borrows (`MessageView`) is none: what takes a descriptor and bytes, such as
#[cfg_attr(feature = "json", doc = "[`json::print_bytes`](crate::json::print_bytes),")]
#[cfg_attr(not(feature = "json"), doc = "`json::print_bytes`,")]
/// takes those of a view that has a name.
pub trait Reflect {
    /// The type of the message.
    fn message_type(&self) -> MessageDescriptor;

    /// The message as bytes.
    ///
    /// # Errors
    /// [`WriteError::TooLong`], [`WriteError::TooDeep`].
    fn to_bytes(&self) -> Result<Vec<u8>, WriteError>;

    /// Replaces all fields by those in `bytes`.
    ///
    /// # Errors
    /// [`DecodeError`]; nothing changes.
    fn assign_bytes(&mut self, bytes: &[u8]) -> Result<(), DecodeError>;

    /// Passes the fields to a printer of JSON. False if the message can only be encoded.
    #[cfg(all(feature = "json", feature = "std"))]
    #[doc(hidden)]
    fn put_direct(&self, _out: &mut crate::json::Direct<'_>) -> bool {
        false
    }

    /// A copy of the message whose fields can be read and set by name.
    ///
    /// # Errors
    /// [`ReflectError::Encode`], [`ReflectError::Decode`].
    fn to_dynamic(&self) -> Result<DynamicMessage, ReflectError> {
        let bytes = self.to_bytes().map_err(ReflectError::Encode)?;
        DynamicMessage::decode(self.message_type(), &bytes).map_err(ReflectError::Decode)
    }

    /// Replaces all fields by those of `message`, which must have the same full name.
    ///
    /// # Errors
    /// [`ReflectError`]; nothing changes.
    fn assign(&mut self, message: &dyn Reflect) -> Result<(), ReflectError> {
        let (from, to) = (message.message_type(), self.message_type());
        if from.full_name() != to.full_name() {
            let (from, to) = (from.full_name().into(), to.full_name().into());
            return Err(ReflectError::OtherType { from, to });
        }
        let bytes = message.to_bytes().map_err(ReflectError::Encode)?;
        self.assign_bytes(&bytes).map_err(ReflectError::Decode)
    }
}

impl<M: Message + Named + 'static> Reflect for M {
    fn message_type(&self) -> MessageDescriptor {
        M::descriptor()
    }

    fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        self.try_encode_to_vec()
    }

    fn assign_bytes(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        *self = M::decode(bytes)?;
        Ok(())
    }

    #[cfg(all(feature = "json", feature = "std"))]
    fn put_direct(&self, out: &mut crate::json::Direct<'_>) -> bool {
        self.encode_fields(out);
        true
    }
}

impl Reflect for DynamicMessage {
    fn message_type(&self) -> MessageDescriptor {
        self.descriptor().clone()
    }

    fn to_bytes(&self) -> Result<Vec<u8>, WriteError> {
        self.try_encode()
    }

    fn assign_bytes(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        *self = Self::decode(self.descriptor().clone(), bytes)?;
        Ok(())
    }

    fn to_dynamic(&self) -> Result<DynamicMessage, ReflectError> {
        Ok(self.clone())
    }
}

/// Why a message has no copy of another kind.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ReflectError {
    /// It cannot be encoded.
    Encode(WriteError),
    /// Its bytes cannot be decoded.
    Decode(DecodeError),
    /// The messages have different types.
    OtherType {
        /// Full name of the message to take from.
        from: String,
        /// Full name of the message to change.
        to: String,
    },
}

impl fmt::Display for ReflectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Encode(error) => write!(f, "the message cannot be encoded: {error}"),
            Self::Decode(error) => write!(f, "the message cannot be decoded: {error}"),
            Self::OtherType { from, to } => write!(f, "a {from} cannot become a {to}"),
        }
    }
}

impl core::error::Error for ReflectError {}

#[cfg(test)]
mod tests;

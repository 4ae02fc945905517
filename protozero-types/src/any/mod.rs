//! Messages of any type, with the name of their type.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use protozero::{DecodeError, DecodeOptions, Message, Named, WriteError};

use crate::google::protobuf::Any;

impl Any {
    /// Packs `message`, under the URL `type.googleapis.com/` and its full name.
    ///
    /// # Errors
    /// [`WriteError`] if it cannot be encoded: it is longer than 2^31-1 bytes, or has more levels than decoders accept.
    pub fn pack<M: Message + Named>(message: &M) -> Result<Self, WriteError> {
        let value = message.try_encode_to_vec()?;
        Ok(Self { type_url: M::type_url(), value, ..Self::default() })
    }

    /// The full name of the packed message: what is behind the last slash of the URL. `None` if there is no slash or
    /// no name.
    #[must_use]
    pub fn full_name(&self) -> Option<&str> {
        self.type_url.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty())
    }

    /// Whether a message of type `M` is packed, by its full name alone.
    #[must_use]
    pub fn is<M: Named>(&self) -> bool {
        self.full_name() == Some(M::FULL_NAME)
    }

    /// The packed message, within the limits of [`Message::decode`]: not those within which this message was decoded.
    ///
    /// # Errors
    /// [`UnpackError`] if a message of another type is packed, or its bytes are malformed.
    pub fn unpack<M: Message + Named>(&self) -> Result<M, UnpackError> {
        self.unpack_with(&DecodeOptions::new())
    }

    /// The packed message, within `limits`.
    ///
    /// # Errors
    /// [`UnpackError`] if a message of another type is packed, its bytes are malformed, or it exceeds a limit.
    pub fn unpack_with<M: Message + Named>(
        &self,
        limits: &DecodeOptions,
    ) -> Result<M, UnpackError> {
        if !self.is::<M>() {
            let found = self.type_url.to_owned();
            return Err(UnpackError::OtherType { expected: M::FULL_NAME, found });
        }
        limits.decode(&self.value).map_err(UnpackError::Decode)
    }

    /// The packed message, of any type in `registry`, within the limits of
    /// [`DynamicMessage::decode`](protozero::dynamic::DynamicMessage::decode).
    ///
    /// # Errors
    /// [`UnpackError`] if the registry does not have the type, or the bytes are malformed.
    #[cfg(feature = "reflect")]
    pub fn unpack_dynamic(
        &self,
        registry: &protozero::Registry,
    ) -> Result<protozero::dynamic::DynamicMessage, UnpackError> {
        self.unpack_dynamic_with(registry, &DecodeOptions::new())
    }

    /// The packed message, of any type in `registry`, within `limits`.
    ///
    /// # Errors
    /// [`UnpackError`] if the registry does not have the type, the bytes are malformed, or the message exceeds a limit.
    #[cfg(feature = "reflect")]
    pub fn unpack_dynamic_with(
        &self,
        registry: &protozero::Registry,
        limits: &DecodeOptions,
    ) -> Result<protozero::dynamic::DynamicMessage, UnpackError> {
        let Some(of) = registry.message_of_url(&self.type_url) else {
            return Err(UnpackError::UnknownType { found: self.type_url.to_owned() });
        };
        limits.decode_dynamic(of, &self.value).map_err(UnpackError::Decode)
    }
}

/// Why an `Any` does not give a message.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum UnpackError {
    /// A message of another type is packed.
    OtherType {
        /// Full name of the message that was asked for.
        expected: &'static str,
        /// The URL in the `Any`.
        found: String,
    },
    /// The registry has no type of this URL.
    UnknownType {
        /// The URL in the `Any`.
        found: String,
    },
    /// The bytes are not a message of the type, or exceed a limit.
    Decode(DecodeError),
}

impl fmt::Display for UnpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherType { expected, found } => {
                write!(f, "expected a {expected}, found {found:?}")
            }
            Self::UnknownType { found } => {
                write!(f, "the registry has no type {found:?}: add it with `Registry::add`")
            }
            Self::Decode(error) => write!(f, "the packed message is malformed: {error}"),
        }
    }
}

impl core::error::Error for UnpackError {}

#[cfg(test)]
mod tests;

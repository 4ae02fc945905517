//! The error type of generated service traits.

use core::fmt;

use crate::error::{DecodeError, ReadError};

/// Why a call could not be dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The service has no method with this id.
    UnknownMethod(u32),
    /// The argument is not a valid message.
    Decode(DecodeError),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownMethod(id) => write!(f, "unknown method {id}"),
            Self::Decode(error) => write!(f, "arguments: {error}"),
        }
    }
}

impl core::error::Error for CallError {}

#[cfg(feature = "alloc")]
impl From<DecodeError> for CallError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<ReadError> for CallError {
    fn from(error: ReadError) -> Self {
        Self::Decode(error.into())
    }
}

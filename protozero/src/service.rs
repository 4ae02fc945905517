//! What generated services share: why the arguments of a call could not be understood.

use core::fmt;

use crate::error::DecodeError;

/// A call whose arguments cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// No method of the service has this id.
    UnknownMethod(u32),
    /// The arguments are no message.
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

impl From<DecodeError> for CallError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

//! Why a message cannot be printed.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use crate::error::{DecodeError, ReadError, WriteError};

/// Why a message cannot be printed as JSON.
#[derive(Debug)]
#[non_exhaustive]
pub enum PrintError {
    /// The bytes are not a valid message.
    Decode(DecodeError),
    /// A value that JSON cannot express: what it is, and why.
    Value(String),
    /// The output failed.
    #[cfg(feature = "std")]
    Write(std::io::Error),
}

impl PrintError {
    pub(super) fn value(what: &str, why: &str) -> Self {
        Self::Value(format!("{what}: {why}"))
    }

    pub(super) fn encode(error: WriteError) -> Self {
        Self::Value(error.to_string())
    }
}

impl From<DecodeError> for PrintError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl From<ReadError> for PrintError {
    #[cold]
    fn from(error: ReadError) -> Self {
        Self::Decode(error.into())
    }
}

impl fmt::Display for PrintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(error) => error.fmt(f),
            Self::Value(text) => f.write_str(text),
            #[cfg(feature = "std")]
            Self::Write(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PrintError {}

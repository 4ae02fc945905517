//! Why a message cannot be printed.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use crate::error::{DecodeError, ReadError, WriteError};

/// Why a message cannot be printed as JSON.
#[derive(Debug)]
#[non_exhaustive]
pub enum PrintError {
    /// The bytes are not a valid message. In the content of an `Any`, the offset is one in that content.
    Decode(DecodeError),
    /// A value that JSON cannot express.
    Value {
        /// The field, from the full name of the message on, with the names of JSON: `shop.Order.lines[3].price`. Empty
        /// if the message as a whole is meant.
        path: String,
        /// What it is, and why.
        message: String,
    },
    /// The output failed.
    #[cfg(feature = "std")]
    Write(std::io::Error),
}

impl PrintError {
    pub(super) fn value(what: &str, why: &str) -> Self {
        Self::Value { path: String::new(), message: format!("{what}: {why}") }
    }

    pub(super) fn encode(error: WriteError) -> Self {
        Self::Value { path: String::new(), message: error.to_string() }
    }

    /// The field that is malformed or cannot be expressed, from the full name of the message on; empty if no field is
    /// meant.
    ///
    /// A path is for people. Its form may change.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Decode(error) => error.path(),
            Self::Value { path, .. } => path,
            #[cfg(feature = "std")]
            Self::Write(_) => "",
        }
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
            Self::Value { path, message } if path.is_empty() => f.write_str(message),
            Self::Value { path, message } => write!(f, "{path}: {message}"),
            #[cfg(feature = "std")]
            Self::Write(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PrintError {}

//! Why a call of a consumer failed.

use core::fmt;

use protozero::DecodeError;

use crate::connection::{ConnectionError, write_connect_failure};
use abi::error::OsError;
use abi::limits;
use os::socket::{Address, AddressError};

#[cfg(test)]
mod tests;

/// Why a call of a consumer failed. Each prints as one line for the user.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[non_exhaustive]
pub enum ConsumerError {
    /// A variable of the environment is not an address.
    Address(AddressError),
    /// No service listens there, or this process may not connect.
    Connect {
        /// The address.
        address: Address,
        /// The error of the system.
        error: OsError,
    },
    /// The service closed the connection.
    Disconnected,
    /// The service reported this error.
    Service(String),
    /// The service rejected this method without a reason.
    Rejected(&'static str),
    /// The arguments of this method do not fit into a request.
    TooLong {
        /// The method.
        method: &'static str,
        /// Their size, bytes.
        bytes: usize,
    },
    /// The service did not answer this method.
    TimedOut(&'static str),
    /// The answer of the service is malformed.
    Malformed {
        /// The method.
        method: &'static str,
        /// The fault of the answer.
        error: DecodeError,
    },
    /// A packet, or the state of the service, has more than 64 MiB in the answer to this method.
    AnswerTooLong(&'static str),
    /// The waker was used.
    Interrupted,
    /// The packets that were read could not be written.
    Output(std::io::Error),
    /// Another system call failed.
    Os(OsError),
}

impl fmt::Debug for ConsumerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ConsumerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(f),
            Self::Connect { address, error } => {
                write_connect_failure(f, &address.to_string(), error)
            }
            Self::Disconnected => f.write_str("the service closed the connection"),
            Self::Service(text) if text.is_empty() => f.write_str("the service gave no reason"),
            Self::Service(text) => f.write_str(text),
            Self::Rejected(method) => write!(f, "the service rejected {method}"),
            Self::TooLong { method, bytes } => {
                let max = limits::IPC_ARGS_BYTES_MAX;
                write!(
                    f,
                    "{method}: {bytes} bytes do not fit into a request, which has {max} at most"
                )
            }
            Self::TimedOut(method) => write!(f, "the service did not answer {method} in time"),
            Self::Malformed { method, error } => {
                write!(f, "the service's answer to {method} is malformed: {error}")
            }
            Self::AnswerTooLong(method) => {
                write!(f, "the service's answer to {method} has more than 64 MiB in one piece")
            }
            Self::Interrupted => f.write_str("interrupted"),
            Self::Output(error) => error.fmt(f),
            Self::Os(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ConsumerError {}

impl From<AddressError> for ConsumerError {
    fn from(error: AddressError) -> Self {
        Self::Address(error)
    }
}

impl From<ConnectionError> for ConsumerError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::Disconnected => Self::Disconnected,
            ConnectionError::Os(error) => Self::Os(error),
        }
    }
}

impl From<protozero::ReadError> for ConsumerError {
    fn from(error: protozero::ReadError) -> Self {
        Self::Malformed { method: "a query", error: error.into() }
    }
}

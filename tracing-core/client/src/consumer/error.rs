//! Why a consumer did not get what it asked for.

use core::fmt;

use protozero::DecodeError;

use crate::connection::ConnectionError;
use abi::error::OsError;
use abi::limits;
use os::socket::{Address, AddressError};

/// One line for the user, each.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConsumerError {
    /// The environment names something that is no address.
    Address(AddressError),
    /// Nobody is there, or we may not talk to it.
    Connect {
        /// Where.
        address: Address,
        /// Why.
        error: OsError,
    },
    /// The service went while we talked to it.
    Disconnected,
    /// The service's own words.
    Service(String),
    /// The service said no to this method, without words.
    Rejected(&'static str),
    /// The arguments of this method do not fit into a request.
    TooLong {
        /// The method.
        method: &'static str,
        /// So many bytes they have.
        bytes: usize,
    },
    /// The service did not answer this method.
    TimedOut(&'static str),
    /// The service's answer made no sense.
    Malformed {
        /// The method.
        method: &'static str,
        /// What is wrong with the answer.
        error: DecodeError,
    },
    /// Somebody used the waker.
    Interrupted,
    /// What was read could not be written.
    Output(std::io::Error),
    /// The system refused something else.
    Os(OsError),
}

impl fmt::Display for ConsumerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(f),
            Self::Connect { address, error } => {
                write!(f, "cannot connect to {address}: {}", error.reason())?;
                match std::io::Error::from_raw_os_error(error.errno).kind() {
                    std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => {
                        f.write_str(" (is traced running?)")
                    }
                    std::io::ErrorKind::PermissionDenied => {
                        f.write_str(" (may this user write to the socket?)")
                    }
                    _ => Ok(()),
                }
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

impl From<DecodeError> for ConsumerError {
    fn from(error: DecodeError) -> Self {
        Self::Malformed { method: "a query", error }
    }
}

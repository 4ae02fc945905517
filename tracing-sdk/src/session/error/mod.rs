//! Why a session failed.

use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

use client::connection::is_queue_full;
use client::consumer::ConsumerError;

use crate::runtime::InitError;

#[cfg(test)]
mod tests;

/// For [`SessionError::Order`].
pub(super) const NOT_STARTED: &str = "the session was not started: call `start` first";

/// For [`SessionError::Order`].
pub(super) const OF_PARENT: &str = "the session is that of the parent process: make another one";

/// For [`SessionError::Order`].
pub(super) const IN_FILE: &str = "the service writes this session into a file, so there is nothing to read: read \
                                  the file, or leave `write_into_file` and the like out of the config";

/// Why a session failed.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
///
/// ```
/// use tracing_sdk::session::{Config, Session, SessionError};
///
/// /// A session with `traced`, if that runs.
/// fn session(config: &Config) -> Result<Option<Session>, SessionError> {
///     match Session::system(config) {
///         Ok(session) => Ok(Some(session)),
///         Err(SessionError::Consumer(error)) => {
///             println!("not recorded: {error}");
///             Ok(None)
///         }
///         Err(error) => Err(error),
///     }
/// }
/// ```
#[non_exhaustive]
pub enum SessionError {
    /// The connection to the service, or a request.
    Consumer(ConsumerError),
    /// The service inside the program does not run.
    Init(InitError),
    /// The service did not do this within ten seconds.
    TimedOut(&'static str),
    /// A method was called out of order.
    Order(&'static str),
    /// A config that cannot be read, or that no service takes.
    Config(String),
    /// A trace could not be written to this file.
    File(PathBuf, io::Error),
    /// The system has no thread left.
    Thread(io::Error),
}

impl SessionError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File(path, error)
    }
}

impl fmt::Debug for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The service runs.
            Self::Consumer(all @ ConsumerError::Connect { error, .. }) if is_queue_full(error) => {
                all.fmt(f)
            }
            Self::Consumer(ConsumerError::Connect { address, error }) => write!(
                f,
                "cannot connect to {address}: {}; {}, or record inside the program with `Session::in_process` \
                 (feature `in-process`)",
                error.reason(),
                match io::Error::from_raw_os_error(error.errno).kind() {
                    io::ErrorKind::PermissionDenied => "run as a user who may write to that socket",
                    _ => "start the service with `tracebox traced`",
                }
            ),
            Self::Consumer(ConsumerError::Disconnected) => f.write_str(
                "the service closed the connection: see what it printed, start it again, and make a new session",
            ),
            Self::Consumer(error) => error.fmt(f),
            Self::Init(error) => error.fmt(f),
            Self::TimedOut(what) => write!(f, "the service did not {what} within 10 s"),
            Self::Order(what) => f.write_str(what),
            Self::Config(error) => f.write_str(error),
            Self::File(path, error) => {
                write!(f, "cannot write the trace to {}: {error}", path.display())
            }
            Self::Thread(error) => write!(f, "cannot start a thread: {error}"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<ConsumerError> for SessionError {
    fn from(error: ConsumerError) -> Self {
        Self::Consumer(error)
    }
}

impl From<InitError> for SessionError {
    fn from(error: InitError) -> Self {
        Self::Init(error)
    }
}

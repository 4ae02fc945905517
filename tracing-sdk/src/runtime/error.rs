//! Why tracing could not be set up.

use core::fmt;

use client::producer::ProducerError;

/// Why tracing could not be set up.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
///
/// ```
/// use tracing_sdk::{Init, InitError};
///
/// // In a program in which other code may have set tracing up before.
/// match Init::new().name("my-server").system() {
///     Ok(()) | Err(InitError::OtherOptions) => {}
///     Err(error) => eprintln!("not traced: {error}"),
/// }
/// ```
#[non_exhaustive]
pub enum InitError {
    /// The producer could not be made.
    Producer(ProducerError),
    /// The service inside the program could not be started.
    Service(String),
    /// Tracing runs with other options.
    OtherOptions,
}

impl fmt::Debug for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Producer(error) => error.fmt(f),
            Self::Service(error) => {
                write!(f, "the service inside the program cannot start: {error}")
            }
            Self::OtherOptions => f.write_str(
                "tracing was set up before with other options: choose them there, or call `shutdown` first",
            ),
        }
    }
}

impl std::error::Error for InitError {}

impl From<ProducerError> for InitError {
    fn from(error: ProducerError) -> Self {
        Self::Producer(error)
    }
}

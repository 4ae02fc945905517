//! Errors, sorted by whose fault they are.
//!
//! Each boundary has its own error type beside its code; what they share is here. The
//! blame decides the shape: a *peer's* mistake is counted and costs the peer its connection, a
//! *caller's* is a variant of the function's error, the *system's* is an [`OsError`], and *ours* is
//! an assertion.

use core::fmt;

/// A system call failed.
///
/// Prints as `call subject: reason`, for example `bind /run/perfetto/traced-producer.sock: Address
/// already in use (os error 98)`.
///
/// `Debug` prints the text of `Display`: it is what a `main` that returns the error shows.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OsError {
    /// Name of the call, as in its manual page.
    pub call: &'static str,
    /// The `errno` it left.
    pub errno: i32,
    /// What it was called on (a path, an address), where that says more than the call.
    pub subject: Option<String>,
}

impl OsError {
    /// `call` failed with `errno`.
    #[must_use]
    pub const fn new(call: &'static str, errno: i32) -> Self {
        Self { call, errno, subject: None }
    }

    /// The same, saying what it was called on.
    #[must_use]
    pub fn on(mut self, subject: impl fmt::Display) -> Self {
        self.subject = Some(subject.to_string());
        self
    }

    /// The reason alone, in the system's words.
    #[must_use]
    pub fn reason(&self) -> String {
        std::io::Error::from_raw_os_error(self.errno).to_string()
    }
}

impl fmt::Debug for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for OsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Some(subject) => write!(f, "{} {}: {}", self.call, subject, self.reason()),
            None => write!(f, "{}: {}", self.call, self.reason()),
        }
    }
}

impl core::error::Error for OsError {}

impl From<OsError> for std::io::Error {
    fn from(error: OsError) -> Self {
        Self::from_raw_os_error(error.errno)
    }
}

//! How a program ends: with an exit code, or with a failure that is printed as one line.

use std::fmt;

/// The end of a program: its exit code, or the failure to print.
pub type Ending = Result<u8, Failure>;

/// Exit code: data was lost or may have been, or a data source did not record, and `--strict` was given.
pub const EXIT_LOST: u8 = 3;

/// Exit code: interrupted before the trace was whole.
pub const EXIT_INTERRUPTED: u8 = 130;

/// One line for the user and the code for the shell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What happened, and to what; without a full stop.
    pub text: String,
    /// Exit code, not zero.
    pub code: u8,
}

impl Failure {
    /// A failure with exit code 1.
    pub fn new(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: 1 }
    }

    /// The same failure with another exit code.
    #[must_use]
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// Puts what was tried in front of why it failed.
pub trait Context<T> {
    /// Makes the failure `WHAT: ERROR`.
    ///
    /// # Errors
    /// The error, with `what` in front.
    fn context(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format_args!("{what}: {error}")))
    }
}

//! Why a program ends early.

use std::fmt;

/// One line for the user and the code for the shell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What and where, without a full stop.
    pub text: String,
    /// Exit code, not zero.
    pub code: u8,
}

impl Failure {
    /// Something went wrong.
    pub fn new(text: impl fmt::Display) -> Self {
        Self { text: text.to_string(), code: 1 }
    }

    /// The same, with a code of its own.
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
    /// `WHAT: WHY`.
    ///
    /// # Errors
    /// The error, in more words.
    fn context(self, what: impl fmt::Display) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, what: impl fmt::Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(format_args!("{what}: {error}")))
    }
}

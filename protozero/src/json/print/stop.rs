//! Why printing stops.

use alloc::boxed::Box;

use crate::error::ReadError;
use crate::json::error::PrintError;

/// Why printing ended. In a box, so that the result of a function that prints is one word.
pub(super) enum Stop {
    Error(PrintError),
    /// A field or oneof occurs again: printing must begin again, with care.
    Again,
}

pub(super) type Printed = Result<(), Box<Stop>>;

/// The tag of the next field, which is not printed yet.
pub(super) type NextTag = Result<Option<u32>, Box<Stop>>;

impl Stop {
    pub(super) fn into_error(self) -> PrintError {
        match self {
            Self::Error(error) => error,
            // Not with care: every message is put in order first.
            Self::Again => PrintError::value("a field", "occurs again"),
        }
    }
}

impl From<PrintError> for Box<Stop> {
    #[cold]
    fn from(error: PrintError) -> Self {
        Self::new(Stop::Error(error))
    }
}

impl From<ReadError> for Box<Stop> {
    #[cold]
    fn from(error: ReadError) -> Self {
        PrintError::from(error).into()
    }
}

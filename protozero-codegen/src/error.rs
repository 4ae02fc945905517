//! The error of a schema, with its place.

use core::fmt;

/// A schema that cannot be turned into code.
///
/// Displayed as `file:line:column: message`, which editors and CI systems turn into links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Path of the `.proto` file as given in [`Source::path`](crate::Source::path).
    pub file: String,
    /// Line, counted from 1; 0 when the whole file is meant.
    pub line: u32,
    /// Column in characters, counted from 1; 0 when the whole file is meant.
    pub column: u32,
    /// What is wrong: lowercase, without a full stop.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl core::error::Error for Error {}

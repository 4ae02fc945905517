//! Why an expression of a rule is refused.

use core::error::Error;
use core::fmt;

use abi::sync::Arc;

/// Why an expression is refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RegexError {
    /// The error of the library that compiles expressions.
    Library(Arc<dyn Error + Send + Sync>),
    /// Compiled, it takes more than a number of bytes.
    TooLarge {
        /// The limit, bytes.
        limit: usize,
    },
    /// A search would keep the places of all groups for each state, which takes too much memory.
    TooManyGroups {
        /// States of the expression.
        states: usize,
    },
    /// The build is without the feature `string-filter`.
    NotBuilt,
}

impl RegexError {
    #[cfg(any(test, feature = "string-filter"))]
    pub(super) fn library(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Library(Arc::new(error))
    }
}

/// In one line.
impl fmt::Display for RegexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(error) => f.write_str(last_line(&error.to_string())),
            Self::TooLarge { limit } => {
                write!(f, "compiled, it exceeds the size limit of {} KiB", limit / 1024)
            }
            Self::TooManyGroups { states } => {
                write!(f, "too many groups for {states} states: use fewer, or (?:..)")
            }
            Self::NotBuilt => {
                f.write_str("this build cannot filter strings (feature `string-filter`)")
            }
        }
    }
}

impl Error for RegexError {}

/// The last line of an error. The lines before show the place in the expression.
fn last_line(text: &str) -> &str {
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    last.trim().trim_start_matches("error: ")
}

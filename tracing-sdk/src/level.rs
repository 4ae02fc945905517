//! Levels of other logging crates, as tags of categories and priorities of lines.

use crate::category::Category;
use crate::event::Priority;

/// How important something is, most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl Level {
    /// The category of a target at this level.
    pub(crate) fn category(self, target: &str) -> &'static Category {
        Category::dynamic_with_tags(
            target,
            match self {
                Self::Error => &["error"],
                Self::Warn => &["warn"],
                Self::Info => &["info"],
                Self::Debug => &["debug"],
                // A session that says nothing about tags does not want it either.
                Self::Trace => &["trace", "debug"],
            },
        )
    }

    pub(crate) fn priority(self) -> Priority {
        match self {
            Self::Error => Priority::Error,
            Self::Warn => Priority::Warn,
            Self::Info => Priority::Info,
            Self::Debug => Priority::Debug,
            Self::Trace => Priority::Verbose,
        }
    }
}

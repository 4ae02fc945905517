//! Levels of other logging crates, as tags of categories and priorities of lines.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::category::Category;
use crate::event::Priority;

/// How many targets a thread remembers. Programs may make them at run time.
const TARGETS_MAX: usize = 4096;

/// The categories of each target, one for each level.
type Targets = HashMap<Box<str>, [Option<&'static Category>; 5]>;

thread_local! {
    static TARGETS: RefCell<Targets> = RefCell::default();
}

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

    /// As [`category`](Self::category), for a target of which there may be many: found without a lock, once the thread
    /// has seen it.
    pub(crate) fn category_of_record(self, target: &str) -> &'static Category {
        let known = |targets: &RefCell<Targets>| {
            *targets.try_borrow().ok()?.get(target)?.get(self as usize)?
        };
        if let Some(category) = TARGETS.try_with(known).ok().flatten() {
            return category;
        }
        let category = self.category(target);
        let remember = |targets: &RefCell<Targets>| {
            let Ok(mut targets) = targets.try_borrow_mut() else { return };
            if targets.len() >= TARGETS_MAX {
                targets.clear();
            }
            let categories = targets.entry(target.into()).or_default();
            if let Some(place) = categories.get_mut(self as usize) {
                *place = Some(category);
            }
        };
        // A thread that is ending does not need it.
        let _ = TARGETS.try_with(remember);
        category
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

//! Which categories a config enables: the rules of the C++ SDK (`track_event_internal.cc`).
//!
//! Three passes, each with patterns of one kind: exact names, then `prefix*`, then `*` alone. A pass asks four
//! questions in this order, and the first hit decides:
//!
//! ```text
//!  1. enabled_categories has the name    -> on
//!  2. disabled_categories has the name   -> off
//!  3. disabled_tags has a tag            -> off      no tags in the config at all: `slow` and `debug`
//!  4. enabled_tags has a tag             -> on
//!     no hit in any pass                 -> on
//! ```
//!
//! So a list of enabled categories alone restricts nothing; add `*` to the disabled ones.

use protos::TrackEventConfig;

/// What counts as disabled where a config has no tags at all.
const TAGS_OFF: [&str; 2] = ["slow", "debug"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Exact,
    Prefix,
    Star,
}

impl Pass {
    fn hits(self, pattern: &str, text: &str) -> bool {
        match (pattern.find('*'), self) {
            (None, Self::Exact) => pattern == text,
            (Some(0), Self::Star) => true,
            // Whatever follows the star has no meaning.
            (Some(at @ 1..), Self::Prefix) => pattern
                .as_bytes()
                .get(..at)
                .is_some_and(|prefix| text.as_bytes().starts_with(prefix)),
            _ => false,
        }
    }

    fn any<T: AsRef<str>>(self, patterns: &[T], text: &str) -> bool {
        patterns.iter().any(|pattern| self.hits(pattern.as_ref(), text))
    }

    fn any_tag<T: AsRef<str>>(self, patterns: &[T], tags: &[&str]) -> bool {
        tags.iter().any(|tag| self.any(patterns, tag))
    }
}

/// Whether `config` enables a category of this name with these tags.
#[must_use]
pub fn is_enabled(config: &TrackEventConfig, name: &str, tags: &[&str]) -> bool {
    let no_tags = config.enabled_tags.is_empty() && config.disabled_tags.is_empty();
    for pass in [Pass::Exact, Pass::Prefix, Pass::Star] {
        if pass.any(&config.enabled_categories, name) {
            return true;
        }
        if pass.any(&config.disabled_categories, name) {
            return false;
        }
        let tag_off = match no_tags {
            true => pass.any_tag(&TAGS_OFF, tags),
            false => pass.any_tag(&config.disabled_tags, tags),
        };
        if tag_off {
            return false;
        }
        if pass.any_tag(&config.enabled_tags, tags) {
            return true;
        }
    }
    true
}

//! Rules for strings: a chain, of which the first that applies decides.
//!
//! ```text
//!   rule      B\|\d+\|secret (.*)
//!   before    B|1234|secret name of somebody
//!   after     B|1234|secret P60REDACTED-----        same length: the group is overwritten
//! ```
//!
//! Expressions match bytes, since nothing makes a producer write UTF-8, in time linear in the string. Their
//! dialect is that of the crate `regex` without Unicode: ECMAScript as far as both go. References back and
//! looking around are refused. (`string_filter.cc`)

use core::fmt;

use super::strings::engine::Regex;
use crate::limits;

/// What a rule does with a string that it applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// All of it must match; the groups are overwritten.
    MatchRedactGroups,
    /// The same for atrace lines with a payload of a certain beginning.
    AtraceMatchRedactGroups,
    /// All of it must match; it stays, and no later rule sees it.
    MatchBreak,
    /// The same for atrace lines with a payload of a certain beginning.
    AtraceMatchBreak,
    /// The groups of every match within an atrace line are overwritten.
    AtraceRepeatedSearchRedactGroups,
}

impl Policy {
    /// The one of a number of `TraceConfig.TraceFilter.StringFilterPolicy`; none for 0 and unknown ones.
    #[must_use]
    pub const fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            1 => Self::MatchRedactGroups,
            2 => Self::AtraceMatchRedactGroups,
            3 => Self::MatchBreak,
            4 => Self::AtraceMatchBreak,
            5 => Self::AtraceRepeatedSearchRedactGroups,
            _ => return None,
        })
    }

    const fn is_atrace(self) -> bool {
        matches!(
            self,
            Self::AtraceMatchRedactGroups
                | Self::AtraceMatchBreak
                | Self::AtraceRepeatedSearchRedactGroups
        )
    }
}

/// A rule as its author wrote it.
#[derive(Clone, Debug)]
pub struct StringRule<'a> {
    /// What it does.
    pub policy: Policy,
    /// Which strings it applies to.
    pub regex: &'a str,
    /// Beginning of the payload, for the atrace policies.
    pub atrace_prefix: &'a str,
    /// For later rules that are to take its place; empty for none.
    pub name: &'a str,
    /// The semantic types it applies to; none at all means strings without a type.
    pub types: Vec<i32>,
}

/// Why a rule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RuleError {
    /// The policy has no meaning here.
    Policy(i32),
    /// A semantic type that is negative or above 127.
    SemanticType(i32),
    /// The expression is invalid, too large, or needs what cannot be done in linear time.
    Regex {
        /// As it was written.
        pattern: String,
        /// In one line.
        reason: String,
    },
    /// More rules than [`limits::STRING_RULES_MAX`].
    TooMany,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(number) => write!(f, "unknown policy {number}"),
            Self::SemanticType(number) => write!(f, "semantic type {number} is not in 0..=127"),
            Self::Regex { pattern, reason } => write!(f, "regex {pattern:?}: {reason}"),
            Self::TooMany => write!(f, "more than {} rules", limits::STRING_RULES_MAX),
        }
    }
}

impl core::error::Error for RuleError {}

#[derive(Debug)]
struct Compiled {
    policy: Policy,
    regex: Regex,
    atrace_prefix: Vec<u8>,
    name: String,
    /// A bit for each semantic type.
    types: u128,
}

impl Compiled {
    fn new(rule: &StringRule<'_>) -> Result<Self, RuleError> {
        let whole = rule.policy != Policy::AtraceRepeatedSearchRedactGroups;
        let regex = Regex::new(rule.regex, whole)
            .map_err(|reason| RuleError::Regex { pattern: rule.regex.to_owned(), reason })?;
        let mut types = 0u128;
        for &kind in &rule.types {
            let bit = u32::try_from(kind).ok().and_then(|kind| 1u128.checked_shl(kind));
            types |= bit.ok_or(RuleError::SemanticType(kind))?;
        }
        Ok(Self {
            policy: rule.policy,
            regex,
            atrace_prefix: rule.atrace_prefix.as_bytes().to_vec(),
            name: rule.name.to_owned(),
            types: if types == 0 { 1 } else { types },
        })
    }

    /// A type that no rule can name matches all: better too much is redacted than too little.
    fn wants_type(&self, kind: u32) -> bool {
        1u128.checked_shl(kind).is_none_or(|bit| self.types & bit != 0)
    }

    fn wants_payload(&self, text: &[u8]) -> bool {
        !self.policy.is_atrace()
            || atrace_payload(text).is_some_and(|payload| payload.starts_with(&self.atrace_prefix))
    }
}

/// What of an atrace line is its user's: `B|1234|payload`. Ends of slices have none.
fn atrace_payload(text: &[u8]) -> Option<&[u8]> {
    if text.len() <= 2 || text.first() == Some(&b'E') {
        return None;
    }
    let after_kind = text.get(2..)?;
    let bar = after_kind.iter().position(|byte| *byte == b'|')?;
    after_kind.get(bar.saturating_add(1)..)
}

/// A chain of rules.
#[derive(Debug, Default)]
pub struct StringFilter {
    rules: Vec<Compiled>,
}

impl StringFilter {
    /// Puts a rule at the end.
    ///
    /// # Errors
    /// When it cannot be compiled, or there are too many.
    pub fn add(&mut self, rule: StringRule<'_>) -> Result<(), RuleError> {
        if self.rules.len() >= limits::STRING_RULES_MAX {
            return Err(RuleError::TooMany);
        }
        self.rules.push(Compiled::new(&rule)?);
        Ok(())
    }

    /// Puts a rule in the place of the one with its name; at the end if there is none, or no name.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn replace_or_add(&mut self, rule: StringRule<'_>) -> Result<(), RuleError> {
        let same = |old: &&mut Compiled| !rule.name.is_empty() && old.name == rule.name;
        match self.rules.iter_mut().find(same) {
            Some(old) => {
                *old = Compiled::new(&rule)?;
                Ok(())
            }
            None => self.add(rule),
        }
    }

    /// Lets the first rule that applies to `text`, a string of semantic type `kind`, do its work. Returns
    /// whether something was to be redacted; the length never changes.
    pub fn apply(&self, kind: u32, text: &mut [u8]) -> bool {
        for rule in self.rules.iter().filter(|rule| rule.wants_type(kind)) {
            if !rule.wants_payload(text) {
                continue;
            }
            let matched = rule.regex.redact_or_match(text, rule.policy);
            match rule.policy {
                Policy::MatchBreak | Policy::AtraceMatchBreak if matched => return false,
                _ if matched => return true,
                _ => {}
            }
        }
        false
    }
}

#[cfg(any(test, feature = "string-filter"))]
mod engine {
    //! Expressions over bytes.

    use regex::bytes::{Regex as Bytes, RegexBuilder};

    use super::Policy;
    use crate::limits;

    /// What is written over a group.
    const REDACTED: &[u8] = b"P60REDACTED";

    /// Overwrites a group, whatever its length.
    fn redact(group: &mut [u8]) {
        let mut word = REDACTED.iter();
        group.iter_mut().for_each(|byte| *byte = word.next().copied().unwrap_or(b'-'));
    }

    /// A compiled expression; one for whole strings is anchored at both ends.
    #[derive(Debug)]
    pub(super) struct Regex(Bytes);

    impl Regex {
        pub(super) fn new(pattern: &str, whole: bool) -> Result<Self, String> {
            let build = |pattern: &str| {
                RegexBuilder::new(pattern)
                    .unicode(false)
                    .size_limit(limits::REGEX_BYTES_MAX)
                    .dfa_size_limit(limits::REGEX_CACHE_BYTES_MAX)
                    .build()
                    .map_err(|error| one_line(&error))
            };
            // By itself first: it must not close the group that is put around it.
            let alone = build(pattern)?;
            if !whole {
                return Ok(Self(alone));
            }
            build(&format!(r"\A(?:{pattern})\z")).map(Self)
        }

        /// Redacts the groups of a match, or of all; or only tells whether there is one.
        pub(super) fn redact_or_match(&self, text: &mut [u8], policy: Policy) -> bool {
            match policy {
                Policy::MatchBreak | Policy::AtraceMatchBreak => self.0.is_match(text),
                Policy::MatchRedactGroups | Policy::AtraceMatchRedactGroups => {
                    self.redact_from(text, 0).is_some()
                }
                Policy::AtraceRepeatedSearchRedactGroups => self.redact_all(text),
            }
        }

        /// Redacts the groups of the first match from `at` on; returns where it is.
        fn redact_from(&self, text: &mut [u8], at: usize) -> Option<(usize, usize)> {
            let mut places = self.0.capture_locations();
            let whole = self.0.captures_read_at(&mut places, text, at)?;
            let found = (whole.start(), whole.end());
            for group in 1..places.len() {
                if let Some((from, to)) = places.get(group)
                    && let Some(bytes) = text.get_mut(from..to)
                {
                    redact(bytes);
                }
            }
            Some(found)
        }

        fn redact_all(&self, text: &mut [u8]) -> bool {
            let (mut at, mut matches) = (0usize, 0usize);
            while at <= text.len() {
                if matches >= limits::STRING_MATCHES_MAX {
                    // Each search may look at all that is left: going on would take quadratic time,
                    // and leaving the rest as it is might show what was to be hidden.
                    redact(text.get_mut(at..).unwrap_or_default());
                    break;
                }
                let Some((from, to)) = self.redact_from(text, at) else { break };
                matches = matches.saturating_add(1);
                // An empty match would be found again for ever.
                at = if from == to { to.saturating_add(1) } else { to };
            }
            matches > 0
        }
    }

    /// Errors of this crate draw where in the expression they are.
    fn one_line(error: &regex::Error) -> String {
        let text = error.to_string();
        let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        last.trim().trim_start_matches("error: ").to_owned()
    }
}

#[cfg(not(any(test, feature = "string-filter")))]
mod engine {
    //! None: this build has no expressions over bytes.

    use super::Policy;

    #[derive(Debug)]
    pub(super) enum Regex {}

    impl Regex {
        pub(super) fn new(_: &str, _: bool) -> Result<Self, String> {
            Err("this build cannot filter strings (feature `string-filter`)".into())
        }

        pub(super) fn redact_or_match(&self, _: &mut [u8], _: Policy) -> bool {
            match *self {}
        }
    }
}

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

use super::engine::Regex;
use super::work::{TooMuch, Work};
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
    /// All expressions together take more than [`limits::FILTER_REGEX_BYTES_PER_SESSION_MAX`].
    TooLarge,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy(number) => write!(f, "unknown policy {number}"),
            Self::SemanticType(number) => write!(f, "semantic type {number} is not in 0..=127"),
            Self::Regex { pattern, reason } => write!(f, "regex {pattern:?}: {reason}"),
            Self::TooMany => write!(f, "more than {} rules", limits::STRING_RULES_MAX),
            Self::TooLarge => write!(
                f,
                "the expressions are too large: at most {} KiB, compiled, are allowed in all; use fewer \
                 rules or shorter expressions (`x{{400}}` is as long as 400 of them)",
                limits::FILTER_REGEX_BYTES_PER_SESSION_MAX / 1024
            ),
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
    fn new(rule: &StringRule<'_>, automata: &mut usize) -> Result<Self, RuleError> {
        let whole = rule.policy != Policy::AtraceRepeatedSearchRedactGroups;
        let regex = Regex::new(rule.regex, whole, automata)
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
}

/// Where that begins of an atrace line which is its user's: `B|1234|payload`. Ends of slices have none.
fn atrace_payload(text: &[u8]) -> Option<usize> {
    if text.len() <= 2 || text.first() == Some(&b'E') {
        return None;
    }
    let after_kind = text.get(2..)?;
    let bar = after_kind.iter().position(|byte| *byte == b'|')?;
    Some(bar.saturating_add(3))
}

/// A chain of rules.
#[derive(Debug)]
pub struct StringFilter {
    rules: Vec<Compiled>,
    /// What programs of expressions may still take, and automata that make them faster, bytes.
    programs: usize,
    automata: usize,
}

impl Default for StringFilter {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            programs: limits::FILTER_REGEX_BYTES_PER_SESSION_MAX,
            automata: limits::FILTER_AUTOMATA_BYTES_PER_SESSION_MAX,
        }
    }
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
        let made = self.compile(&rule)?;
        self.rules.push(made);
        Ok(())
    }

    /// Puts a rule in the place of the one with its name; at the end if there is none, or no name.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn replace_or_add(&mut self, rule: StringRule<'_>) -> Result<(), RuleError> {
        let same = |old: &Compiled| !rule.name.is_empty() && old.name == rule.name;
        let Some(index) = self.rules.iter().position(same) else { return self.add(rule) };
        let made = self.compile(&rule)?;
        if let Some(old) = self.rules.get_mut(index) {
            *old = made;
        }
        Ok(())
    }

    fn compile(&mut self, rule: &StringRule<'_>) -> Result<Compiled, RuleError> {
        let made = Compiled::new(rule, &mut self.automata)?;
        let left = self.programs.checked_sub(made.regex.bytes());
        self.programs = left.ok_or(RuleError::TooLarge)?;
        Ok(made)
    }

    /// Lets the first rule that applies to `text`, a string of semantic type `kind`, do its work. Returns
    /// whether something was to be redacted; the length never changes.
    ///
    /// # Errors
    /// When that is more than `work` has left. What is in `text` may be redacted only in part then.
    pub fn apply(&self, kind: u32, text: &mut [u8], work: &mut Work) -> Result<bool, TooMuch> {
        work.spend(self.rules.len() as u64)?;
        let mut payload = None;
        for rule in self.rules.iter().filter(|rule| rule.wants_type(kind)) {
            if rule.policy.is_atrace() {
                // Where it begins is looked for once, whatever the number of rules.
                let begin = match payload {
                    Some(begin) => begin,
                    None => {
                        work.spend(text.len() as u64)?;
                        *payload.insert(atrace_payload(text))
                    }
                };
                work.spend(rule.atrace_prefix.len().div_ceil(16) as u64)?;
                let payload = begin.and_then(|begin| text.get(begin..));
                if !payload.is_some_and(|payload| payload.starts_with(&rule.atrace_prefix)) {
                    continue;
                }
            }
            let matched = rule.regex.redact_or_match(text, rule.policy, work)?;
            match rule.policy {
                Policy::MatchBreak | Policy::AtraceMatchBreak if matched => return Ok(false),
                _ if matched => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }
}

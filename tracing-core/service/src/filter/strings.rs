//! Rules for strings: a chain, of which the first rule that matches decides.
//!
//! ```text
//!   rule      B\|\d+\|secret (.*)
//!   before    B|1234|secret name of a user
//!   after     B|1234|secret P60REDACTED-----        same length: the group is overwritten
//! ```
//!
//! Expressions match bytes, because a producer need not write UTF-8, in time linear in the string. Their
//! syntax is that of the crate `regex` without Unicode, a common subset with ECMAScript. Back-references and
//! look-around are refused. (`string_filter.cc`)

use core::fmt;

use super::budget::{BudgetExceeded, FilterBudget};
use super::engine::Regex;
use super::policy::Policy;
use super::regex_error::RegexError;
use crate::limits;

/// A rule of a config.
#[derive(Clone, Debug)]
pub struct StringRule<'a> {
    /// What it does.
    pub policy: Policy,
    /// The expression.
    pub regex: &'a str,
    /// Prefix of the payload, for the atrace policies.
    pub atrace_prefix: &'a str,
    /// The name, by which a later rule can replace it; empty: none.
    pub name: &'a str,
    /// The semantic types of the strings it is for; an empty list means strings without a type.
    pub types: Vec<i32>,
}

/// Why a rule is refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum RuleError {
    /// The number of the policy is unknown.
    Policy(i32),
    /// A semantic type that is negative or above 127.
    SemanticType(i32),
    /// The expression is invalid, too large, or cannot be matched in linear time.
    Regex {
        /// The expression.
        pattern: String,
        /// The reason.
        reason: RegexError,
    },
    /// More rules than [`limits::STRING_RULES_MAX`].
    TooMany,
    /// All compiled expressions together take more than [`limits::FILTER_REGEX_BYTES_PER_SESSION_MAX`].
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

    /// A type that no rule can name matches all rules: a string is rather redacted too much than too little.
    fn wants_type(&self, kind: u32) -> bool {
        1u128.checked_shl(kind).is_none_or(|bit| self.types & bit != 0)
    }
}

/// Where the payload of an atrace line begins: `B|1234|payload`. Lines that end a slice have none.
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
    /// Memory left for compiled expressions, and for the automata that make them faster, bytes.
    program_bytes: usize,
    automata_bytes: usize,
}

impl Default for StringFilter {
    fn default() -> Self {
        Self {
            rules: Vec::new(),
            program_bytes: limits::FILTER_REGEX_BYTES_PER_SESSION_MAX,
            automata_bytes: limits::FILTER_AUTOMATA_BYTES_PER_SESSION_MAX,
        }
    }
}

impl StringFilter {
    /// Adds a rule at the end.
    ///
    /// # Errors
    /// When it cannot be compiled, or there are too many rules.
    pub fn add(&mut self, rule: StringRule<'_>) -> Result<(), RuleError> {
        if self.rules.len() >= limits::STRING_RULES_MAX {
            return Err(RuleError::TooMany);
        }
        let compiled = self.compile(&rule)?;
        self.rules.push(compiled);
        Ok(())
    }

    /// Replaces the rule of the same name; adds the rule at the end if there is none, or it has no name.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn replace_or_add(&mut self, rule: StringRule<'_>) -> Result<(), RuleError> {
        let same = |old: &Compiled| !rule.name.is_empty() && old.name == rule.name;
        let Some(index) = self.rules.iter().position(same) else { return self.add(rule) };
        let compiled = self.compile(&rule)?;
        if let Some(old) = self.rules.get_mut(index) {
            *old = compiled;
        }
        Ok(())
    }

    /// Memory left for expressions and their automata, bytes.
    pub(super) fn bytes_left(&self) -> usize {
        self.program_bytes.saturating_add(self.automata_bytes)
    }

    fn compile(&mut self, rule: &StringRule<'_>) -> Result<Compiled, RuleError> {
        let made = Compiled::new(rule, &mut self.automata_bytes)?;
        let left = self.program_bytes.checked_sub(made.regex.bytes());
        self.program_bytes = left.ok_or(RuleError::TooLarge)?;
        Ok(made)
    }

    /// Applies the first rule that matches `text`, a string of semantic type `kind`. Returns
    /// whether the rule redacts; the length never changes.
    ///
    /// # Errors
    /// When that takes more steps than `budget` has left. `text` may then be redacted only in part.
    pub fn apply(
        &self,
        kind: u32,
        text: &mut [u8],
        budget: &mut FilterBudget,
    ) -> Result<bool, BudgetExceeded> {
        budget.charge(self.rules.len() as u64)?;
        let mut payload = None;
        for rule in self.rules.iter().filter(|rule| rule.wants_type(kind)) {
            if rule.policy.is_atrace() {
                // The payload is searched once, for all rules.
                let begin = match payload {
                    Some(begin) => begin,
                    None => {
                        budget.charge(text.len() as u64)?;
                        *payload.insert(atrace_payload(text))
                    }
                };
                budget.charge(rule.atrace_prefix.len().div_ceil(16) as u64)?;
                let payload = begin.and_then(|begin| text.get(begin..));
                if !payload.is_some_and(|payload| payload.starts_with(&rule.atrace_prefix)) {
                    continue;
                }
            }
            let matched = rule.regex.redact_or_match(text, rule.policy, budget)?;
            match rule.policy {
                Policy::MatchBreak | Policy::AtraceMatchBreak if matched => return Ok(false),
                _ if matched => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }
}

//! Expressions of configs that are held against names of producers, and how much work that may be.
//!
//! Who writes a config chooses the expression, who connects chooses the name, and either can make a match slow.
//! So each match has a price: states of the expression times bytes of the name. A user may have so much of it done
//! for one producer in a second, and so much for all of them in a turn; what is too dear does not match. Neither a
//! user nor a producer can make others pay.

use std::collections::BTreeMap;

use regex_lite::{Regex, RegexBuilder};

use crate::limits;

/// Bytes of memory that a state of an expression takes, about.
const STATE_BYTES: usize = 32;
/// The cheapest size of an expression, bytes; the others are 4, 16 and 64 times that.
const SMALL_BYTES: usize = limits::REGEX_BYTES_MAX / 64;

/// What is said to a producer's account.
pub(super) const TOO_MUCH: &str =
    "holding expressions against its name is too much work: it was not matched";

/// An expression that must match a name from its begin to its end.
#[derive(Debug)]
pub(super) struct NameRegex {
    regex: Regex,
    /// For each byte of a name.
    steps: u64,
}

impl NameRegex {
    /// # Errors
    /// What is wrong with the text, in the words of who reads it.
    pub(super) fn new(text: &str) -> Result<Self, regex_lite::Error> {
        let build = |text: &str, bytes: usize| RegexBuilder::new(text).size_limit(bytes).build();
        // By itself first: put between parentheses, `a)|(b` would be something else.
        build(text, limits::REGEX_BYTES_MAX)?;
        let whole = format!("^(?:{text})$");
        let mut size = SMALL_BYTES;
        let regex = loop {
            match build(&whole, size) {
                Err(_) if size < limits::REGEX_BYTES_MAX => size *= 4,
                built => break built?,
            }
        };
        Ok(Self { regex, steps: (size / STATE_BYTES) as u64 })
    }

    /// What it takes when compiled, rounded up.
    pub(super) fn bytes(&self) -> usize {
        self.steps as usize * STATE_BYTES
    }

    /// Whether it matches; also not if the effort is too much.
    pub(super) fn is_match(&self, name: &str, effort: &mut Effort<'_>) -> bool {
        effort.spend(self.steps.saturating_mul(name.len() as u64 + 1)) && self.regex.is_match(name)
    }
}

/// What was spent for a producer in this second, by the users whose sessions asked.
#[derive(Debug, Default)]
pub(super) struct Purse {
    since_ns: u64,
    spent: Spent,
}

/// Steps by user.
pub(super) type Spent = BTreeMap<u32, u64>;

/// What may be done for a producer and a session right now.
pub(super) struct Effort<'a> {
    pub(super) purse: &'a mut Purse,
    /// In this turn, for whatever producer.
    pub(super) turn: &'a mut Spent,
    /// Whose session it is.
    pub(super) uid: u32,
    pub(super) now_ns: u64,
    /// Something was not done.
    pub(super) too_much: bool,
}

impl Effort<'_> {
    fn spend(&mut self, steps: u64) -> bool {
        if self.now_ns.saturating_sub(self.purse.since_ns) >= 1_000_000_000 {
            *self.purse = Purse { since_ns: self.now_ns, spent: Spent::new() };
        }
        let own = self.purse.spent.entry(self.uid).or_default();
        let all = self.turn.entry(self.uid).or_default();
        let (next, next_all) = (own.saturating_add(steps), all.saturating_add(steps));
        if next > limits::REGEX_STEPS_PER_PRODUCER_MAX
            || next_all > limits::REGEX_STEPS_PER_TURN_MAX
        {
            self.too_much = true;
            return false;
        }
        (*own, *all) = (next, next_all);
        true
    }
}

//! Regular expressions of configs, matched against names of producers with a budget.
//!
//! A consumer chooses the expression and a producer chooses the name, and either can make a match slow. So each
//! match has a cost: states of the expression times bytes of the name. A user has a budget for each producer and
//! second, and one for all producers; an expression whose cost exceeds it does not match. Neither a
//! user nor a producer can make others pay: a part of the budget is for producers of users that used little of it.

use abi::ids::SessionId;
use abi::map::{BlockMap, SortedMap};
use abi::sync::Arc;

use crate::expression::Expression;
use crate::limits;

/// Bytes of memory that a state of an expression takes, about.
const STATE_BYTES: usize = 32;
/// The smallest class of compiled expressions, bytes; the others are 4, 16 and 64 times that.
const SMALL_BYTES: usize = limits::REGEX_BYTES_MAX / 64;

/// The log line about a producer whose name was not matched.
pub(crate) const BUDGET_EXCEEDED: &str = "producer-name matching exceeded its budget: not matched";

/// As much of a name as the service keeps.
pub(crate) fn clip_name(name: &str) -> &str {
    clip_to(name, limits::NAME_BYTES_MAX)
}

/// So many bytes of a name at most.
pub(crate) fn clip_to(name: &str, bytes_max: usize) -> &str {
    name.get(..name.floor_char_boundary(bytes_max)).unwrap_or_default()
}

/// An expression that must match a whole name.
#[derive(Debug)]
pub(crate) struct NameRegex {
    regex: Expression,
    /// Cost for each byte of a name.
    states: u64,
}

impl NameRegex {
    /// # Errors
    /// What is wrong with the text, in the words of the regex parser.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        // Alone first: between parentheses, `a)|(b` would mean something else.
        Expression::new(text, limits::REGEX_BYTES_MAX)?;
        let whole = format!("^(?:{text})$");
        let mut size = SMALL_BYTES;
        let regex = loop {
            match Expression::new(&whole, size) {
                Err(_) if size < limits::REGEX_BYTES_MAX => size = size.saturating_mul(4),
                built => break built?,
            }
        };
        Ok(Self { regex, states: (size / STATE_BYTES) as u64 })
    }

    /// Memory of the compiled expression, rounded up.
    pub(crate) fn bytes(&self) -> usize {
        (self.states as usize).saturating_mul(STATE_BYTES)
    }

    /// Whether it matches; false if the match exceeds the budget.
    pub(crate) fn is_match(&self, name: &str, cost: &mut MatchCost<'_>) -> bool {
        let steps = self.states.saturating_mul((name.len() as u64).saturating_add(1));
        cost.charge(steps) && self.regex.is_match(name)
    }
}

/// The id of a user, and the number of its machine.
type UserIds = (u32, u32);

/// The steps that users took in this second.
#[derive(Debug, Default)]
pub(crate) struct RegexBudget {
    since_ns: u64,
    used: SortedMap<u32, u64>,
    /// The same for the names of the producers of one user.
    by_user: BlockMap<(u32, UserIds), u64>,
}

impl RegexBudget {
    /// What a user has used at this instant.
    fn used(&mut self, uid: u32, now_ns: u64) -> &mut u64 {
        if now_ns.saturating_sub(self.since_ns) >= 1_000_000_000 {
            *self = Self { since_ns: now_ns, ..Self::default() };
        }
        self.used.get_or_insert_with(uid, || 0)
    }

    /// What it has used for producers of `of`, since the last call of [`used`](Self::used).
    fn used_for(&mut self, uid: u32, of: UserIds) -> &mut u64 {
        self.by_user.get_or_insert_with((uid, of), || 0)
    }
}

/// Charges matches for one producer and one session to their budgets.
pub(crate) struct MatchCost<'a> {
    /// For the name of this producer.
    pub(crate) budget: &'a mut RegexBudget,
    /// For the names of all producers.
    pub(crate) all: &'a mut RegexBudget,
    /// The work of the turn.
    pub(crate) work: &'a mut u64,
    /// The user of the session, and that of the producer.
    pub(crate) uid: u32,
    pub(crate) producer: UserIds,
    pub(crate) now_ns: u64,
    /// Some match was not made.
    pub(crate) exceeded: bool,
}

impl MatchCost<'_> {
    fn charge(&mut self, steps: u64) -> bool {
        let own = self.budget.used(self.uid, self.now_ns);
        let next = own.saturating_add(steps);
        let next_all = self.all.used(self.uid, self.now_ns).saturating_add(steps);
        let next_of = self.all.used_for(self.uid, self.producer).saturating_add(steps);
        let reserved =
            if next_of <= limits::REGEX_STEPS_FEW { limits::REGEX_STEPS_RESERVED } else { 0 };
        if next > limits::REGEX_STEPS_PER_PRODUCER_MAX
            || next_all > limits::REGEX_STEPS_PER_USER_MAX.saturating_add(reserved)
        {
            self.exceeded = true;
            return false;
        }
        *own = next;
        *self.all.used(self.uid, self.now_ns) = next_all;
        *self.all.used_for(self.uid, self.producer) = next_of;
        *self.work = self.work.saturating_add(steps.saturating_mul(limits::WORK_PER_REGEX_STEP));
        true
    }
}

/// Whether a trigger is for the producer that activates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Yes,
    No,
    /// Matching its name took too long.
    Exceeded,
}

/// Which triggers of which sessions match the producer that activates them: found out once per request, which may
/// repeat a name thousands of times; of each name before any session takes it.
#[derive(Debug, Default)]
pub(crate) struct Matches(BlockMap<(SessionId, Arc<str>), Match>);

impl Matches {
    pub(crate) fn of(&self, session: SessionId, name: &Arc<str>) -> Option<Match> {
        self.0.get(&(session, Arc::clone(name))).copied()
    }

    pub(crate) fn add(&mut self, session: SessionId, name: &Arc<str>, found: Match) {
        self.0.insert((session, Arc::clone(name)), found);
    }

    /// Forgets all other names.
    pub(crate) fn keep(&mut self, name: &str) {
        self.0.retain(|(_, of), _| **of == *name);
    }
}

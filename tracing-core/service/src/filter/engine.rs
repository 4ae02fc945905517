//! Expressions over bytes. A search is charged for its longest time before it starts.
//!
//! ```text
//!   text ──> automaton ──> span of a match ──> captures ──> groups
//!            1 step for each byte              one-pass automaton: 1 step for each byte
//!            none if it would be large         machine: all its states for each byte
//! ```
//!
//! All memory is allocated when a rule is compiled, except for one [`Scratch`] of each filter. So a
//! filter cannot grow, and the cost of a search is known before.

use regex_automata::dfa::Automaton as _;
use regex_automata::dfa::{StartKind, dense, onepass, regex};
use regex_automata::nfa::thompson::{self, NFA, pikevm};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use super::budget::{BudgetExceeded, FilterBudget};
use super::policy::Policy;
use super::regex_error::RegexError;
use super::scratch::Scratch;
use crate::limits;

/// The text that overwrites a group.
const REDACTED: &[u8] = b"P60REDACTED";

/// Overwrites a group of any length.
fn redact(group: &mut [u8]) {
    let mut word = REDACTED.iter();
    group.iter_mut().for_each(|byte| *byte = word.next().copied().unwrap_or(b'-'));
}

/// Steps of each state of the machine for one byte; each slot of a group is one more.
const STATE_STEPS: u64 = 8;
/// States of the largest expression for which an automaton is built. The attempt takes time, even if it fails.
const AUTOMATON_STATES_MAX: usize = 512;

/// Finds the range of a match.
#[derive(Debug)]
enum Finder {
    /// For whole texts: they match or not.
    Whole(Box<dense::DFA<Vec<u32>>>),
    Within(Box<regex::Regex>),
}

impl Finder {
    fn bytes(&self) -> usize {
        match self {
            Self::Whole(dfa) => dfa.memory_usage(),
            Self::Within(both) => {
                both.forward().memory_usage().saturating_add(both.reverse().memory_usage())
            }
        }
    }
}

/// A compiled expression. An expression for whole strings is anchored at both ends.
#[derive(Debug)]
pub(super) struct Regex {
    whole: bool,
    finder: Option<Finder>,
    onepass: Option<onepass::DFA>,
    machine: pikevm::PikeVM,
    states: u64,
    slots: usize,
}

impl Regex {
    /// Compiles `pattern`, with automata that make it faster if they fit into `automata` bytes, which it reduces.
    pub(super) fn new(
        pattern: &str,
        whole: bool,
        automata: &mut usize,
    ) -> Result<Self, RegexError> {
        let dialect = syntax::Config::new().unicode(false).utf8(false);
        // First without the group around it, which it must not close.
        syntax::parse_with(pattern, &dialect).map_err(RegexError::library)?;
        let anchored;
        let text = if whole {
            anchored = format!(r"\A(?:{pattern})\z");
            &anchored
        } else {
            pattern
        };
        let machine =
            thompson::Config::new().utf8(false).nfa_size_limit(Some(limits::REGEX_BYTES_MAX));
        let nfa = thompson::Compiler::new()
            .syntax(dialect)
            .configure(machine.clone())
            .build(text)
            .map_err(|error| match error.size_limit() {
                Some(limit) => RegexError::TooLarge { limit },
                None => RegexError::library(error),
            })?;
        let (states, slots) = (nfa.states().len(), nfa.group_info().slot_len());
        let carried = states.saturating_mul(slots).saturating_mul(size_of::<[usize; 2]>());
        if carried > limits::REGEX_SEARCH_BYTES_MAX {
            return Err(RegexError::TooManyGroups { states });
        }
        let mut finder = None;
        let mut onepass = None;
        if states <= AUTOMATON_STATES_MAX && *automata > 0 {
            let limit = limits::REGEX_AUTOMATON_BYTES_MAX.min(*automata);
            let config = dense::Config::new()
                .dfa_size_limit(Some(limit))
                .determinize_size_limit(Some(limit));
            finder = if whole {
                let config = config.start_kind(StartKind::Anchored);
                let built = dense::Builder::new().configure(config).build_from_nfa(&nfa);
                built.ok().map(|dfa| Finder::Whole(Box::new(dfa)))
            } else {
                let mut builder = regex::Builder::new();
                builder.dense(config).syntax(dialect).thompson(machine);
                builder.build(text).ok().map(|both| Finder::Within(Box::new(both)))
            };
            // A failed attempt took time.
            let taken = finder.as_ref().map_or(limit.saturating_mul(2), Finder::bytes);
            *automata = automata.saturating_sub(taken);
            onepass = onepass_of(&nfa, automata);
        }
        let machine = pikevm::PikeVM::new_from_nfa(nfa).map_err(RegexError::library)?;
        Ok(Self { whole, finder, onepass, machine, states: states as u64, slots })
    }

    /// Memory of its program without automata, bytes.
    pub(super) fn bytes(&self) -> usize {
        self.machine.get_nfa().memory_usage()
    }

    /// Does what `policy` says. Returns whether there is a match.
    pub(super) fn redact_or_match(
        &self,
        text: &mut [u8],
        policy: Policy,
        budget: &mut FilterBudget,
    ) -> Result<bool, BudgetExceeded> {
        match policy {
            Policy::MatchBreak | Policy::AtraceMatchBreak => self.is_match(text, budget),
            Policy::MatchRedactGroups | Policy::AtraceMatchRedactGroups => {
                Ok(self.redact_from(text, 0, budget)?.is_some())
            }
            Policy::AtraceRepeatedSearchRedactGroups => self.redact_all(text, budget),
        }
    }

    fn is_match(&self, text: &[u8], budget: &mut FilterBudget) -> Result<bool, BudgetExceeded> {
        if self.finder.is_some() {
            return Ok(self.find(text, 0, budget)?.is_some());
        }
        budget.charge(self.machine_steps(text.len(), 0))?;
        let cache = machine_cache(&self.machine, &mut budget.scratch);
        let input = Input::new(text).earliest(true);
        Ok(self.machine.search_slots(cache, &input, &mut []).is_some())
    }

    /// The range of the first match from `at` on, if there is a finder; else the range in which to search.
    fn find(
        &self,
        text: &[u8],
        at: usize,
        budget: &mut FilterBudget,
    ) -> Result<Option<(usize, usize)>, BudgetExceeded> {
        let all = (at, text.len());
        let rest = bytes_to_look_at(text.len().saturating_sub(at));
        // These automata never fail. If they did, the machine would search everything.
        match &self.finder {
            Some(Finder::Whole(dfa)) => {
                budget.charge(rest)?;
                let input = Input::new(text).anchored(Anchored::Yes).earliest(true);
                Ok(dfa.try_search_fwd(&input).map_or(Some(all), |end| end.map(|_| all)))
            }
            Some(Finder::Within(both)) => {
                budget.charge(rest.saturating_mul(2))?;
                let found = both.try_search(&Input::new(text).range(at..));
                Ok(found.map_or(Some(all), |found| found.map(|m| (m.start(), m.end()))))
            }
            None => Ok(Some(all)),
        }
    }

    /// Redacts the groups of the first match from `at` on. Returns the range of the match.
    fn redact_from(
        &self,
        text: &mut [u8],
        at: usize,
        budget: &mut FilterBudget,
    ) -> Result<Option<(usize, usize)>, BudgetExceeded> {
        let Some((from, to)) = self.find(text, at, budget)? else { return Ok(None) };
        let len = to.saturating_sub(from);
        let mut slots = std::mem::take(&mut budget.scratch.slots);
        slots.clear();
        slots.resize(self.slots, None);
        // A finder has found the exact range, and an expression for whole texts matches at the begin or not at all.
        let (exact, anchored) = (self.finder.is_some(), self.whole || self.finder.is_some());
        let mode = if anchored { Anchored::Yes } else { Anchored::No };
        let input = Input::new(&*text).range(from..to).anchored(mode);
        let found = match &self.onepass {
            Some(dfa) if exact => {
                let step = u64::try_from(self.slots).unwrap_or(u64::MAX);
                budget.charge(bytes_to_look_at(len).saturating_mul(step))?;
                let cache = onepass_cache(dfa, &mut budget.scratch);
                dfa.try_search_slots(cache, &input, &mut slots).ok().flatten()
            }
            _ => {
                budget.charge(self.machine_steps(len, self.slots))?;
                let cache = machine_cache(&self.machine, &mut budget.scratch);
                self.machine.search_slots(cache, &input, &mut slots)
            }
        };
        let mut ranges = slots.chunks_exact(2).map(|pair| match *pair {
            [Some(from), Some(to)] => Some((from.get(), to.get())),
            _ => None,
        });
        let mut whole = ranges.next().flatten().filter(|_| found.is_some());
        if whole.is_some() {
            for (from, to) in ranges.flatten() {
                if let Some(bytes) = text.get_mut(from..to) {
                    redact(bytes);
                }
            }
        } else if exact {
            // Finder and machine never disagree. If they did, all of it would have to be hidden.
            redact(text.get_mut(from..to).unwrap_or_default());
            whole = Some((from, to));
        }
        budget.scratch.slots = slots;
        Ok(whole)
    }

    fn redact_all(
        &self,
        text: &mut [u8],
        budget: &mut FilterBudget,
    ) -> Result<bool, BudgetExceeded> {
        let (mut at, mut matches) = (0usize, 0usize);
        while at <= text.len() {
            if matches >= limits::STRING_MATCHES_MAX {
                // Each search may look at the whole rest, so that more of them would take quadratic time. The rest may
                // have text that is to be hidden.
                redact(text.get_mut(at..).unwrap_or_default());
                break;
            }
            let Some((from, to)) = self.redact_from(text, at, budget)? else { break };
            matches = matches.saturating_add(1);
            // An empty match would be found again and again.
            at = if from == to { to.saturating_add(1) } else { to };
        }
        Ok(matches > 0)
    }

    fn machine_steps(&self, len: usize, slots: usize) -> u64 {
        let state = STATE_STEPS.saturating_add(u64::try_from(slots).unwrap_or(u64::MAX));
        self.states.saturating_mul(state).saturating_mul(bytes_to_look_at(len))
    }
}

/// The end of the text counts as a byte.
fn bytes_to_look_at(len: usize) -> u64 {
    (len as u64).saturating_add(1)
}

fn onepass_of(nfa: &NFA, automata: &mut usize) -> Option<onepass::DFA> {
    let limit = limits::REGEX_AUTOMATON_BYTES_MAX.min(*automata);
    let config = onepass::Config::new().size_limit(Some(limit));
    let built = onepass::Builder::new().configure(config).build_from_nfa(nfa.clone()).ok()?;
    *automata = automata.saturating_sub(built.memory_usage());
    Some(built)
}

fn machine_cache<'a>(vm: &pikevm::PikeVM, scratch: &'a mut Scratch) -> &'a mut pikevm::Cache {
    if let Some(cache) = &mut scratch.machine {
        vm.reset_cache(cache);
    }
    scratch.machine.get_or_insert_with(|| vm.create_cache())
}

fn onepass_cache<'a>(dfa: &onepass::DFA, scratch: &'a mut Scratch) -> &'a mut onepass::Cache {
    if let Some(cache) = &mut scratch.onepass {
        dfa.reset_cache(cache);
    }
    scratch.onepass.get_or_insert_with(|| dfa.create_cache())
}

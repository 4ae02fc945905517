//! Expressions over bytes, none of which can take longer than it pays for.
//!
//! ```text
//!   text ──> automaton ──> span of a match ──> captures ──> groups
//!            1 step a byte                     one-pass automaton: a step a byte
//!            none if it would be large         machine: its states for each byte
//! ```
//!
//! All memory is taken when a rule is compiled; what a search needs beside it is one [`Scratch`] of a filter. So a
//! filter cannot grow, and what a search costs is known before.

use regex_automata::dfa::Automaton as _;
use regex_automata::dfa::{StartKind, dense, onepass, regex};
use regex_automata::nfa::thompson::{self, NFA, pikevm};
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use super::strings::Policy;
use super::work::{TooMuch, Work};
use crate::limits;

/// What is written over a group.
const REDACTED: &[u8] = b"P60REDACTED";

/// Overwrites a group, whatever its length.
fn redact(group: &mut [u8]) {
    let mut word = REDACTED.iter();
    group.iter_mut().for_each(|byte| *byte = word.next().copied().unwrap_or(b'-'));
}

/// Steps of a state of the machine for a byte; each slot of a group that it carries along is one more.
const STATE_STEPS: u64 = 8;
/// States of the largest expression that is tried to be turned into an automaton: the attempt takes time, too.
const AUTOMATON_STATES_MAX: usize = 512;

/// Memory of searches, whatever the expression.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    machine: Option<pikevm::Cache>,
    onepass: Option<onepass::Cache>,
    slots: Vec<Option<NonMaxUsize>>,
}

/// Finds where a match is, or that there is none.
#[derive(Debug)]
enum Finder {
    /// All of a text matches, or it does not.
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

/// A compiled expression; one for whole strings is anchored at both ends.
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
    /// Compiles `pattern`; automata that make it faster are taken out of `automata` bytes.
    pub(super) fn new(pattern: &str, whole: bool, automata: &mut usize) -> Result<Self, String> {
        let dialect = syntax::Config::new().unicode(false).utf8(false);
        // By itself first: it must not close the group that is put around it.
        syntax::parse_with(pattern, &dialect).map_err(|error| one_line(&error.to_string()))?;
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
                Some(limit) => {
                    format!("compiled, it exceeds the size limit of {} KiB", limit / 1024)
                }
                None => one_line(&error.to_string()),
            })?;
        let (states, slots) = (nfa.states().len(), nfa.group_info().slot_len());
        let carried = states.saturating_mul(slots).saturating_mul(size_of::<[usize; 2]>());
        if carried > limits::REGEX_SEARCH_BYTES_MAX {
            return Err(format!("too many groups for {states} states: use fewer, or (?:..)"));
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
            // What was tried in vain took time.
            let taken = finder.as_ref().map_or(limit.saturating_mul(2), Finder::bytes);
            *automata = automata.saturating_sub(taken);
            onepass = onepass_of(&nfa, automata);
        }
        let machine =
            pikevm::PikeVM::new_from_nfa(nfa).map_err(|error| one_line(&error.to_string()))?;
        Ok(Self { whole, finder, onepass, machine, states: states as u64, slots })
    }

    /// What its program takes, bytes; automata are not in it.
    pub(super) fn bytes(&self) -> usize {
        self.machine.get_nfa().memory_usage()
    }

    /// Redacts the groups of a match, or of all; or only tells whether there is one.
    pub(super) fn redact_or_match(
        &self,
        text: &mut [u8],
        policy: Policy,
        work: &mut Work,
    ) -> Result<bool, TooMuch> {
        match policy {
            Policy::MatchBreak | Policy::AtraceMatchBreak => self.is_match(text, work),
            Policy::MatchRedactGroups | Policy::AtraceMatchRedactGroups => {
                Ok(self.redact_from(text, 0, work)?.is_some())
            }
            Policy::AtraceRepeatedSearchRedactGroups => self.redact_all(text, work),
        }
    }

    fn is_match(&self, text: &[u8], work: &mut Work) -> Result<bool, TooMuch> {
        if self.finder.is_some() {
            return Ok(self.find(text, 0, work)?.is_some());
        }
        work.spend(self.machine_steps(text.len(), 0))?;
        let cache = machine_cache(&self.machine, &mut work.scratch);
        let input = Input::new(text).earliest(true);
        Ok(self.machine.search_slots(cache, &input, &mut []).is_some())
    }

    /// Where to look for the first match from `at` on: it is just there if there is a finder.
    fn find(
        &self,
        text: &[u8],
        at: usize,
        work: &mut Work,
    ) -> Result<Option<(usize, usize)>, TooMuch> {
        let all = (at, text.len());
        let rest = bytes_to_look_at(text.len().saturating_sub(at));
        // Automata without bytes to give up at never fail; if they did, the machine would know.
        match &self.finder {
            Some(Finder::Whole(dfa)) => {
                work.spend(rest)?;
                let input = Input::new(text).anchored(Anchored::Yes).earliest(true);
                Ok(dfa.try_search_fwd(&input).map_or(Some(all), |end| end.map(|_| all)))
            }
            Some(Finder::Within(both)) => {
                work.spend(rest.saturating_mul(2))?;
                let found = both.try_search(&Input::new(text).range(at..));
                Ok(found.map_or(Some(all), |found| found.map(|m| (m.start(), m.end()))))
            }
            None => Ok(Some(all)),
        }
    }

    /// Redacts the groups of the first match from `at` on; returns where it is.
    fn redact_from(
        &self,
        text: &mut [u8],
        at: usize,
        work: &mut Work,
    ) -> Result<Option<(usize, usize)>, TooMuch> {
        let Some((from, to)) = self.find(text, at, work)? else { return Ok(None) };
        let len = to.saturating_sub(from);
        let mut slots = std::mem::take(&mut work.scratch.slots);
        slots.clear();
        slots.resize(self.slots, None);
        // What a finder found is there; a whole text matches from its begin or not at all.
        let (exact, anchored) = (self.finder.is_some(), self.whole || self.finder.is_some());
        let mode = if anchored { Anchored::Yes } else { Anchored::No };
        let input = Input::new(&*text).range(from..to).anchored(mode);
        let found = match &self.onepass {
            Some(dfa) if exact => {
                let step = u64::try_from(self.slots).unwrap_or(u64::MAX);
                work.spend(bytes_to_look_at(len).saturating_mul(step))?;
                let cache = onepass_cache(dfa, &mut work.scratch);
                dfa.try_search_slots(cache, &input, &mut slots).ok().flatten()
            }
            _ => {
                work.spend(self.machine_steps(len, self.slots))?;
                let cache = machine_cache(&self.machine, &mut work.scratch);
                self.machine.search_slots(cache, &input, &mut slots)
            }
        };
        let mut places = slots.chunks_exact(2).map(|pair| match *pair {
            [Some(from), Some(to)] => Some((from.get(), to.get())),
            _ => None,
        });
        let mut whole = places.next().flatten().filter(|_| found.is_some());
        if whole.is_some() {
            for (from, to) in places.flatten() {
                if let Some(bytes) = text.get_mut(from..to) {
                    redact(bytes);
                }
            }
        } else if exact {
            // They never disagree; if they did, nothing may be shown.
            redact(text.get_mut(from..to).unwrap_or_default());
            whole = Some((from, to));
        }
        work.scratch.slots = slots;
        Ok(whole)
    }

    fn redact_all(&self, text: &mut [u8], work: &mut Work) -> Result<bool, TooMuch> {
        let (mut at, mut matches) = (0usize, 0usize);
        while at <= text.len() {
            if matches >= limits::STRING_MATCHES_MAX {
                // Each search may look at all that is left: going on would take quadratic time,
                // and leaving the rest as it is might show what was to be hidden.
                redact(text.get_mut(at..).unwrap_or_default());
                break;
            }
            let Some((from, to)) = self.redact_from(text, at, work)? else { break };
            matches = matches.saturating_add(1);
            // An empty match would be found again for ever.
            at = if from == to { to.saturating_add(1) } else { to };
        }
        Ok(matches > 0)
    }

    fn machine_steps(&self, len: usize, slots: usize) -> u64 {
        let state = STATE_STEPS.saturating_add(u64::try_from(slots).unwrap_or(u64::MAX));
        self.states.saturating_mul(state).saturating_mul(bytes_to_look_at(len))
    }
}

/// The end of a text counts, too.
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

/// Errors of syntax draw where in the expression they are.
fn one_line(text: &str) -> String {
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    last.trim().trim_start_matches("error: ").to_owned()
}

//! Memory of searches, which the budget of a packet carries from one to the next.

use regex_automata::dfa::onepass;
use regex_automata::nfa::thompson::pikevm;
use regex_automata::util::primitives::NonMaxUsize;

/// Memory of searches, for all expressions of a filter.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) machine: Option<pikevm::Cache>,
    pub(super) onepass: Option<onepass::Cache>,
    pub(super) slots: Vec<Option<NonMaxUsize>>,
}

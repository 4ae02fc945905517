//! Trace filters: the fields of packets that may leave the service, and the parts of their strings.
//!
//! ```text
//!   packet  0a 05 | 08 01 12 01 'x' |  50 02  ...
//!             |      |     |              |
//!   program   message 3    string 5       denied           [`program`]: an array of rules per message
//!             |      |     |
//!   output  0a 05 | 08 01 12 01 '-' |                      [`message`]: one pass, output <= input
//!                           ^ overwritten in place         [`strings`]: a chain of rules
//! ```
//!
//! A consumer sends the filter with its config, to keep certain data out of the
//! trace. So everything that is not understood is denied: a packet that does not parse comes out empty, and so does a
//! packet for whose strings the rules take too long. The packets come from producers and are hostile. Bytecode and
//! expressions come from consumers; they are checked once, and must not stop the service. Every bound is in
//! [`crate::limits`].
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::cast_possible_truncation
    )
)]

mod budget;
#[cfg(any(test, feature = "string-filter"))]
mod engine;
#[cfg(not(any(test, feature = "string-filter")))]
#[path = "no_engine.rs"]
mod engine;
pub mod generator;
mod message;
mod policy;
mod program;
mod regex_error;
#[cfg(any(test, feature = "string-filter"))]
mod scratch;
#[cfg(not(any(test, feature = "string-filter")))]
#[path = "no_scratch.rs"]
mod scratch;
mod strings;

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;

use core::fmt;

use protos::{TraceConfigTraceFilter, TraceConfigTraceFilterStringFilterRule};

pub use self::budget::{BudgetExceeded, FilterBudget};
pub use self::message::{FilterError, MessageFilter};
pub use self::policy::Policy;
pub use self::program::{Program, ProgramError, Rule};
pub use self::regex_error::RegexError;
pub use self::strings::{RuleError, StringFilter, StringRule};
#[cfg(doc)]
use crate::limits;
use abi::sync::Arc;

/// Counters of a filter, as in `TraceStats.FilterStats`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterStats {
    /// Packets that went in.
    pub input_packets: u64,
    /// Their bytes.
    pub input_bytes: u64,
    /// Bytes that came out.
    pub output_bytes: u64,
    /// Packets that came out empty: they did not parse, or the rules for their strings took too many steps.
    pub errors: u64,
    /// Removed bytes, for each buffer of the session.
    pub bytes_discarded_per_buffer: Vec<u64>,
}

/// The compiled filter of a session, and its counters.
#[derive(Debug)]
pub struct TraceFilter {
    program: Arc<Program>,
    strings: Arc<StringFilter>,
    filter: MessageFilter,
    budget: FilterBudget,
    stats: FilterStats,
}

/// The rules for strings of a filter while they are compiled, one at a time.
#[derive(Debug, Default)]
pub(crate) struct FilterRules {
    strings: StringFilter,
    /// How many of the config are compiled.
    count: usize,
}

impl FilterRules {
    /// Compiles the next rule. Returns the memory of its expression, bytes; none if that were all.
    pub(crate) fn compile_next(
        &mut self,
        config: &TraceConfigTraceFilter,
    ) -> Result<Option<usize>, FilterConfigError> {
        let chain = config.string_filter_chain.as_ref().map_or(&[][..], |chain| &chain.rules);
        let newer = config.string_filter_chain_v54.as_ref().map_or(&[][..], |chain| &chain.rules);
        let left = self.strings.bytes_left();
        if let Some(rule) = chain.get(self.count) {
            self.strings.add(string_rule(rule)?)?;
        } else if let Some(rule) = newer.get(self.count.saturating_sub(chain.len())) {
            self.strings.replace_or_add(string_rule(rule)?)?;
        } else {
            return Ok(None);
        }
        self.count = self.count.saturating_add(1);
        Ok(Some(left.saturating_sub(self.strings.bytes_left())))
    }
}

/// The field of `Trace` that holds a packet: the service filters packets, programs describe traces.
const TRACE_PACKET: u32 = 1;

impl TraceFilter {
    /// Compiles the `trace_filter` of a config.
    ///
    /// The rules for strings are those of `string_filter_chain`. A rule of `string_filter_chain_v54` replaces the one
    /// of the same name, or is added at the end. The program is `bytecode_v2`, or `bytecode` if there is none;
    /// `bytecode_overlay_v54` is applied to it.
    ///
    /// # Errors
    /// The rule or the word of the program that is wrong.
    pub fn from_config(config: &TraceConfigTraceFilter) -> Result<Self, FilterConfigError> {
        let mut rules = FilterRules::default();
        while rules.compile_next(config)?.is_some() {}
        Self::with_rules(config, rules)
    }

    /// The same with the rules for strings compiled before.
    pub(crate) fn with_rules(
        config: &TraceConfigTraceFilter,
        rules: FilterRules,
    ) -> Result<Self, FilterConfigError> {
        let strings = rules.strings;
        let v2 = config.bytecode_v2.as_deref().filter(|code| !code.is_empty());
        let code = v2.or(config.bytecode.as_deref()).unwrap_or_default();
        let overlay = config.bytecode_overlay_v54.as_deref().filter(|code| !code.is_empty());
        let program = Program::parse(code, overlay).map_err(FilterConfigError::Program)?;
        let filter = MessageFilter::rooted(&program, &[TRACE_PACKET]);
        let filter = filter.ok_or(FilterConfigError::NoRoot)?;
        Ok(Self {
            program: Arc::new(program),
            strings: Arc::new(strings),
            filter,
            budget: FilterBudget::default(),
            stats: FilterStats::default(),
        })
    }

    /// The same filter with new counters, for a clone of the session.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            program: Arc::clone(&self.program),
            strings: Arc::clone(&self.strings),
            filter: self.filter.fork(),
            budget: FilterBudget::default(),
            stats: FilterStats::default(),
        }
    }

    /// A pass of reading begins.
    pub fn begin_pass(&mut self) {
        self.budget.begin_pass();
    }

    /// Steps of the rules for strings in this pass, of one or two nanoseconds each. A reader pauses after
    /// [`limits::FILTER_STEPS_PER_TURN`].
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.budget.used()
    }

    /// Appends the allowed fields of `packet` to `out`. `buffer` is the index in the config of the buffer it comes
    /// from; none for packets of the service.
    ///
    /// A packet that does not parse, or for whose strings the rules take too many steps, comes out empty and is
    /// counted. It is not left out: the number of packets never changes.
    pub fn apply(&mut self, packet: &[u8], buffer: Option<usize>, out: &mut Vec<u8>) {
        let before = out.len();
        let Self { program, strings, filter, budget, .. } = self;
        budget.begin_packet(buffer.is_none());
        if filter.apply(program, strings, budget, packet, out).is_err() {
            self.stats.errors = self.stats.errors.saturating_add(1);
        }
        let kept = out.len().saturating_sub(before);
        self.count(packet.len(), kept);
        if let Some(buffer) = buffer {
            let discarded = &mut self.stats.bytes_discarded_per_buffer;
            if discarded.len() <= buffer {
                discarded.resize(buffer.saturating_add(1), 0);
            }
            if let Some(bytes) = discarded.get_mut(buffer) {
                *bytes = bytes.saturating_add(packet.len().saturating_sub(kept) as u64);
            }
        }
    }

    /// Counts a packet that is not filtered: the statistics of the service.
    pub fn pass(&mut self, packet_len: usize) {
        self.count(packet_len, packet_len);
    }

    fn count(&mut self, input: usize, output: usize) {
        let stats = &mut self.stats;
        stats.input_packets = stats.input_packets.saturating_add(1);
        stats.input_bytes = stats.input_bytes.saturating_add(input as u64);
        stats.output_bytes = stats.output_bytes.saturating_add(output as u64);
    }

    /// The counters.
    #[must_use]
    pub fn stats(&self) -> &FilterStats {
        &self.stats
    }
}

/// Why the `trace_filter` of a config is refused.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FilterConfigError {
    /// The bytecode.
    Program(ProgramError),
    /// The bytecode does not allow `Trace.packet` as a message.
    NoRoot,
    /// A rule for strings.
    Rule(RuleError),
}

impl From<RuleError> for FilterConfigError {
    fn from(error: RuleError) -> Self {
        Self::Rule(error)
    }
}

impl fmt::Display for FilterConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program(error) => write!(f, "trace_filter: the bytecode is invalid: {error}"),
            Self::NoRoot => f.write_str(
                "trace_filter: the bytecode has no root: it must allow Trace.packet as a message",
            ),
            Self::Rule(error) => write!(f, "trace_filter: invalid string filter: {error}"),
        }
    }
}

impl core::error::Error for FilterConfigError {}

fn string_rule(rule: &TraceConfigTraceFilterStringFilterRule) -> Result<StringRule<'_>, RuleError> {
    let number = rule.policy.map_or(0, |policy| policy.0);
    let policy = Policy::from_number(number).ok_or(RuleError::Policy(number))?;
    Ok(StringRule {
        policy,
        regex: rule.regex_pattern.as_deref().unwrap_or_default(),
        atrace_prefix: rule.atrace_payload_starts_with.as_deref().unwrap_or_default(),
        name: rule.name.as_deref().unwrap_or_default(),
        types: rule.semantic_type.iter().map(|kind| kind.0).collect(),
    })
}

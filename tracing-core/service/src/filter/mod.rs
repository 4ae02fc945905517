//! Trace filters: which fields of a packet may leave the service, and which words of its strings.
//!
//! ```text
//!   packet  0a 05 | 08 01 12 01 'x' |  50 02  ...
//!             |      |     |              |
//!   program   message 3    string 5       denied           [`program`]: an array of rules per message
//!             |      |     |
//!   output  0a 05 | 08 01 12 01 '-' |                      [`message`]: one walk, output <= input
//!                           ^ overwritten in place         [`strings`]: a chain of rules
//! ```
//!
//! Layer 2. A consumer gives the filter with its config; its author wants certain data never to be in a
//! trace, so whatever is not understood is denied: a packet that does not parse comes out empty, as does one
//! whose strings take rules too long. The
//! bytes filtered come from producers and are hostile; bytecode and expressions come from consumers, are
//! checked once, and must not be able to stop the service either. Every bound is in [`crate::limits`].
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

#[cfg(any(test, feature = "string-filter"))]
mod engine;
#[cfg(not(any(test, feature = "string-filter")))]
#[path = "no_engine.rs"]
mod engine;
pub mod generator;
mod message;
mod program;
mod strings;
mod work;

#[cfg(test)]
mod props;
#[cfg(test)]
mod tests;

use protos::{TraceConfigTraceFilter, TraceConfigTraceFilterStringFilterRule};

pub use self::message::{FilterError, MessageFilter};
pub use self::program::{Program, ProgramError, Rule};
pub use self::strings::{Policy, RuleError, StringFilter, StringRule};
pub use self::work::{TooMuch, Work};
#[cfg(doc)]
use crate::limits;
use abi::sync::Arc;

/// What a filter did, as `TraceStats.FilterStats` tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilterStats {
    /// Packets that went in.
    pub input_packets: u64,
    /// Their bytes.
    pub input_bytes: u64,
    /// Bytes that came out.
    pub output_bytes: u64,
    /// Packets that came out empty: they did not parse, or their strings cost too much.
    pub errors: u64,
    /// Bytes taken away, for each buffer of the session that lost some.
    pub bytes_discarded_per_buffer: Vec<u64>,
}

/// The filter of a session: what its config says, compiled, and what it did so far.
#[derive(Debug)]
pub struct TraceFilter {
    program: Arc<Program>,
    strings: Arc<StringFilter>,
    filter: MessageFilter,
    work: Work,
    stats: FilterStats,
}

/// The field of `Trace` that holds a packet: the service filters packets, programs describe traces.
const TRACE_PACKET: u32 = 1;

impl TraceFilter {
    /// Compiles the `trace_filter` of a config.
    ///
    /// Strings follow `string_filter_chain`, changed by `string_filter_chain_v54`: a rule of the same
    /// name takes the place of the older one, others come last. Of the two programs `bytecode_v2` is
    /// preferred, and `bytecode_overlay_v54` goes on top of whichever is taken.
    ///
    /// # Errors
    /// One line for the user: the rule or the word of the program that is wrong.
    pub fn from_config(config: &TraceConfigTraceFilter) -> Result<Self, String> {
        let mut strings = StringFilter::default();
        let chain = config.string_filter_chain.iter().flat_map(|chain| &chain.rules);
        for rule in chain {
            strings.add(string_rule(rule)?).map_err(invalid_rules)?;
        }
        let newer = config.string_filter_chain_v54.iter().flat_map(|chain| &chain.rules);
        for rule in newer {
            strings.replace_or_add(string_rule(rule)?).map_err(invalid_rules)?;
        }
        let v2 = config.bytecode_v2.as_deref().filter(|code| !code.is_empty());
        let code = v2.or(config.bytecode.as_deref()).unwrap_or_default();
        let overlay = config.bytecode_overlay_v54.as_deref().filter(|code| !code.is_empty());
        let program = Program::parse(code, overlay)
            .map_err(|error| format!("trace_filter: the bytecode is invalid: {error}"))?;
        let filter = MessageFilter::rooted(&program, &[TRACE_PACKET]).ok_or(
            "trace_filter: the bytecode has no root: it must allow Trace.packet as a message",
        )?;
        Ok(Self {
            program: Arc::new(program),
            strings: Arc::new(strings),
            filter,
            work: Work::default(),
            stats: FilterStats::default(),
        })
    }

    /// The same filter, having done nothing yet: for a clone of the session.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            program: Arc::clone(&self.program),
            strings: Arc::clone(&self.strings),
            filter: self.filter.fork(),
            work: Work::default(),
            stats: FilterStats::default(),
        }
    }

    /// Says that a pass of reading begins.
    pub fn begin_pass(&mut self) {
        self.work.begin_pass();
    }

    /// What was done for strings in this pass, steps of a nanosecond or two: a reader is to make a break when
    /// they are [`limits::FILTER_STEPS_PER_TURN`].
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.work.spent()
    }

    /// Appends to `out` what `packet` may show. `buffer` is the one it comes from, by its index in the
    /// config; none for packets of the service.
    ///
    /// A packet that does not parse, or whose strings cost too much, adds nothing, and is counted: the number of
    /// packets never changes.
    pub fn apply(&mut self, packet: &[u8], buffer: Option<usize>, out: &mut Vec<u8>) {
        let before = out.len();
        let Self { program, strings, filter, work, .. } = self;
        work.begin_packet(buffer.is_none());
        if filter.apply(program, strings, work, packet, out).is_err() {
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

    /// Counts a packet that passes as it is: the service's statistics.
    pub fn pass(&mut self, packet_len: usize) {
        self.count(packet_len, packet_len);
    }

    fn count(&mut self, input: usize, output: usize) {
        let stats = &mut self.stats;
        stats.input_packets = stats.input_packets.saturating_add(1);
        stats.input_bytes = stats.input_bytes.saturating_add(input as u64);
        stats.output_bytes = stats.output_bytes.saturating_add(output as u64);
    }

    /// What it did so far.
    #[must_use]
    pub fn stats(&self) -> &FilterStats {
        &self.stats
    }
}

fn invalid_rules(error: RuleError) -> String {
    format!("trace_filter: invalid string filter: {error}")
}

fn string_rule(rule: &TraceConfigTraceFilterStringFilterRule) -> Result<StringRule<'_>, String> {
    let number = rule.policy.map_or(0, |policy| policy.0);
    let policy =
        Policy::from_number(number).ok_or_else(|| invalid_rules(RuleError::Policy(number)))?;
    Ok(StringRule {
        policy,
        regex: rule.regex_pattern.as_deref().unwrap_or_default(),
        atrace_prefix: rule.atrace_payload_starts_with.as_deref().unwrap_or_default(),
        name: rule.name.as_deref().unwrap_or_default(),
        types: rule.semantic_type.iter().map(|kind| kind.0).collect(),
    })
}

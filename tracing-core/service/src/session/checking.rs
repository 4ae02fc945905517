//! The checks of a config that take long, one thing at a time: a consumer pays for them, and others go on between them.
//!
//! ```text
//!   values ─> data sources: their buffer, their length ─> their expressions ─> those of triggers ─> rules for strings
//! ```
//!
//! The order is upstream's, as it decides which of two errors a user sees. Nothing but the config is looked at.

use super::config::{self, Checked, Regexes, SourceFilter};
use super::trigger_config::Triggers;
use crate::compress::Codecs;
use crate::error::ConfigError;
use crate::filter::{FilterRules, TraceFilter};
use crate::ids::TraceUuid;
use crate::limits;
use abi::ids::FileId;
use abi::sync::Arc;
use protos::TraceConfig;

/// A request for a session whose config is being checked.
#[derive(Debug)]
pub(crate) struct Checking {
    pub(crate) uid: u32,
    pub(crate) uuid: TraceUuid,
    pub(crate) config: Arc<TraceConfig>,
    /// Owned by the service until it is passed on or closed.
    pub(crate) file: Option<FileId>,
    stage: Stage,
    /// The next thing of the stage.
    next: usize,
    regexes: Regexes,
    rules: FilterRules,
    checked: Checked,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Values,
    Targets,
    Sources,
    Triggers,
    Rules,
    Checked,
}

impl Checking {
    pub(crate) fn new(
        uid: u32,
        uuid: TraceUuid,
        config: Arc<TraceConfig>,
        file: Option<FileId>,
    ) -> Self {
        Self {
            uid,
            uuid,
            config,
            file,
            stage: Stage::Values,
            next: 0,
            regexes: Regexes::default(),
            rules: FilterRules::default(),
            checked: Checked::default(),
        }
    }

    /// Whether the session is to end all others.
    pub(crate) fn is_exclusive(&self) -> bool {
        self.config.exclusive_prio.unwrap_or(0) > 0
    }

    /// Goes on for about `left` of work, at least one thing, and adds to `work` what it took. Returns the result once
    /// all is checked.
    ///
    /// # Errors
    /// The first check that fails.
    pub(crate) fn go_on(
        &mut self,
        left: u64,
        codecs: Codecs,
        work: &mut u64,
    ) -> Result<Option<Checked>, ConfigError> {
        let end = work.saturating_add(left);
        let mut is_first = true;
        while !matches!(self.stage, Stage::Checked) {
            if *work >= end && !is_first {
                return Ok(None);
            }
            is_first = false;
            let before = self.regexes.work;
            let cost = self.step(codecs);
            let compiled = self.regexes.work.saturating_sub(before);
            *work = work.saturating_add(compiled).saturating_add(limits::WORK_PER_ENTRY);
            *work = work.saturating_add(cost?);
        }
        Ok(Some(std::mem::take(&mut self.checked)))
    }

    /// Does one thing. Returns what it took beside an entry and expressions.
    fn step(&mut self, codecs: Codecs) -> Result<u64, ConfigError> {
        let config = &*self.config;
        let entry = |count: usize| (count as u64).saturating_mul(limits::WORK_PER_NAME);
        let (next, mut cost) = (self.next, 0);
        let has_more = match self.stage {
            Stage::Values => {
                config::check_values(config)?;
                self.checked.triggers = Triggers::of_mode(config);
                let triggers = config.trigger_config.as_ref().map_or(0, |t| t.triggers.len());
                cost = entry(config.buffers.len().saturating_add(triggers));
                false
            }
            Stage::Targets => match config.data_sources.get(next) {
                Some(source) => {
                    let bytes = config::check_target(config, source)?;
                    cost = entry(config.buffers.len()).saturating_add(bytes as u64);
                    true
                }
                None => false,
            },
            Stage::Sources => match config.data_sources.get(next) {
                Some(source) => {
                    let filters = &mut self.checked.filters;
                    if filters.len() == next {
                        let all_machines = config.trace_all_machines.unwrap_or(false);
                        let regexes = &mut self.regexes;
                        let filter =
                            SourceFilter::without_expressions(source, all_machines, regexes)?;
                        cost = filter.work();
                        filters.push(filter);
                    }
                    let Some(filter) = filters.last_mut() else { return Ok(cost) };
                    if filter.compile_next(source, &mut self.regexes)? {
                        return Ok(cost);
                    }
                    true
                }
                None => false,
            },
            Stage::Triggers => {
                let triggers = config.trigger_config.as_ref();
                match triggers.and_then(|t| t.triggers.get(next)) {
                    Some(trigger) => {
                        let regexes = &mut self.regexes;
                        let compile = |text: &str| regexes.compile("producer_name_regex", text);
                        self.checked.triggers.add(trigger, compile)?;
                        true
                    }
                    None => false,
                }
            }
            Stage::Rules | Stage::Checked => {
                let (has_more, work) = self.rule();
                cost = work;
                has_more
            }
        };
        if has_more {
            self.next = next.saturating_add(1);
        } else {
            (self.stage, self.next) = (self.stage.next(), 0);
        }
        if matches!(self.stage, Stage::Checked) {
            self.checked.notes = config::notes(&self.config, codecs);
        }
        Ok(cost)
    }

    /// Compiles a rule for strings. Returns whether there may be more, and what it took. After an error there is none.
    fn rule(&mut self) -> (bool, u64) {
        let Some(config) = &self.config.trace_filter else { return (false, 0) };
        let bytecode = config.bytecode_v2.as_ref().or(config.bytecode.as_ref()).map_or(0, Vec::len);
        match self.rules.compile_next(config) {
            Ok(Some(bytes)) => {
                // A rule that replaces another one looks at their names.
                let names = (self.next.min(limits::STRING_RULES_MAX) as u64)
                    .saturating_mul(limits::WORK_PER_NAME);
                let work = (bytes as u64).saturating_mul(limits::WORK_PER_COMPILED_BYTE);
                (true, work.saturating_add(names))
            }
            Ok(None) => {
                let rules = std::mem::take(&mut self.rules);
                self.checked.filter = Some(TraceFilter::with_rules(config, rules));
                (false, (bytecode as u64).saturating_mul(limits::WORK_PER_NAME))
            }
            Err(error) => {
                self.checked.filter = Some(Err(error));
                // As much as the largest expression takes.
                (false, LARGEST_EXPRESSION)
            }
        }
    }
}

/// The compilation of the largest expression.
const LARGEST_EXPRESSION: u64 =
    (limits::REGEX_BYTES_MAX as u64).saturating_mul(limits::WORK_PER_COMPILED_BYTE);

impl Stage {
    fn next(self) -> Self {
        match self {
            Self::Values => Self::Targets,
            Self::Targets => Self::Sources,
            Self::Sources => Self::Triggers,
            Self::Triggers => Self::Rules,
            Self::Rules | Self::Checked => Self::Checked,
        }
    }
}

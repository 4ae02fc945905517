//! A change of a session: it takes over the producer filters of another config, and the producers that they mean and
//! that have no instance yet are set up. All else in that config is ignored, with a line in the log. Running instances
//! stay.
//!
//! ```text
//!   ChangeTraceConfig ─> filters are copied ─> expressions, one at a time ─> the session has them ─> data sources
//! ```
//!
//! The consumer pays for the expressions, and others go on between them. It pays for the bytes of both configs, too:
//! nothing else is looked at. Each data source of the session gets its own copy of the filters that the other config
//! has for its name, so these copies have a limit together.

use protos::{TraceConfig, TraceConfigDataSource};
use protozero::Message as _;

use super::config::{Regexes, SourceFilter, name_of};
use crate::error::{ConfigError, NameFilterError, SessionError};
use crate::limits;
use abi::ids::SessionId;
use abi::map::BlockMap;

/// A change whose expressions are being compiled.
#[derive(Debug)]
pub(crate) struct Changing {
    pub(crate) session: SessionId,
    /// The config of the session with the new filters.
    pub(crate) config: TraceConfig,
    /// The filters of its first data sources, compiled; in the end those of all.
    pub(crate) filters: Vec<SourceFilter>,
    /// What is ignored.
    pub(crate) problems: Vec<SessionError>,
    /// The data source whose expressions come next.
    next: usize,
    regexes: Regexes,
}

impl Changing {
    /// Begins a change of a session with `config`, and adds to `work` what that took.
    ///
    /// # Errors
    /// The copies of the filters would be too long.
    pub(crate) fn new(
        session: SessionId,
        config: &TraceConfig,
        asked: &TraceConfig,
        work: &mut u64,
    ) -> Result<Self, ConfigError> {
        let mut config = config.clone();
        let mut problems = Vec::new();
        let mut by_name = BlockMap::new();
        for source in &asked.data_sources {
            by_name.get_or_insert_with(name_of(source), || (source, filter_bytes(source)));
        }
        let mut copied_bytes = 0_usize;
        for source in &mut config.data_sources {
            let wanted = name_of(source);
            match by_name.get(wanted) {
                Some((new, bytes)) => {
                    copied_bytes = copied_bytes.saturating_add(*bytes);
                    if copied_bytes > limits::CHANGED_FILTERS_BYTES_MAX {
                        *work = work.saturating_add(limits::CHANGED_FILTERS_BYTES_MAX as u64);
                        let max_kib = limits::CHANGED_FILTERS_BYTES_MAX / 1024;
                        return Err(NameFilterError::TooLarge { max_kib }.into());
                    }
                    source.producer_name_filter.clone_from(&new.producer_name_filter);
                    source.producer_name_regex_filter.clone_from(&new.producer_name_regex_filter);
                }
                None => problems.push(SessionError::SourceMissing(wanted.to_owned())),
            }
        }
        // Their bytes, not their fields: that needs no code of its own.
        let (asked, changed) = (asked.encode_to_vec(), config.encode_to_vec());
        let bytes = asked.len().saturating_add(changed.len()) as u64;
        *work = work.saturating_add(bytes.saturating_mul(limits::WORK_PER_ENCODED_BYTE));
        if changed != asked {
            problems.push(SessionError::OnlyFiltersChange);
        }
        let (filters, next, regexes) = (Vec::new(), 0, Regexes::default());
        Ok(Self { session, config, filters, problems, next, regexes })
    }

    /// Compiles expressions, at least one, until `work` is `end`. Returns whether all are compiled.
    ///
    /// # Errors
    /// An expression is invalid, or there are too many.
    pub(crate) fn go_on(&mut self, end: u64, work: &mut u64) -> Result<bool, ConfigError> {
        let all_machines = self.config.trace_all_machines.unwrap_or(false);
        let mut is_first = true;
        while let Some(source) = self.config.data_sources.get(self.next) {
            if *work >= end && !is_first {
                return Ok(false);
            }
            is_first = false;
            if self.filters.len() == self.next {
                let regexes = &mut self.regexes;
                let filter = SourceFilter::without_expressions(source, all_machines, regexes)?;
                *work = work.saturating_add(filter.work());
                self.filters.push(filter);
            }
            let Some(filter) = self.filters.last_mut() else { break };
            let before = self.regexes.work;
            let compiled = filter.compile_next(source, &mut self.regexes);
            let cost = self.regexes.work.saturating_sub(before);
            *work = work.saturating_add(cost).saturating_add(limits::WORK_PER_ENTRY);
            if !compiled? {
                self.next = self.next.saturating_add(1);
            }
        }
        Ok(true)
    }
}

/// What a copy of the filters of producers takes, bytes.
fn filter_bytes(source: &TraceConfigDataSource) -> usize {
    let texts = source.producer_name_filter.iter().chain(&source.producer_name_regex_filter);
    texts.map(|text| size_of::<String>().saturating_add(text.len())).fold(0, usize::saturating_add)
}

//! A change of a session: it takes over the producer filters of another config, and the producers that they mean and that
//! have no instance yet are set up. All else in that config is ignored, with a line in the log. Running instances stay.
//!
//! ```text
//!   ChangeTraceConfig ─> filters are copied ─> expressions, one at a time ─> the session has them ─> data sources
//! ```
//!
//! The consumer pays for the expressions, and others go on between them.

use protos::TraceConfig;
use protozero::Message as _;

use super::config::{Regexes, SourceFilter};
use super::events::SessionState;
use super::set_up::name;
use super::state::Session;
use crate::consumers::Consumers;
use crate::data_sources::Sources;
use crate::error::SessionError;
use crate::limits;
use crate::step::Step;
use crate::turn::Turn;
use crate::work::SetUp;
use abi::ids::SessionId;
use abi::map::BlockMap;
use abi::sync::Arc;

/// A change whose expressions are being compiled.
#[derive(Debug)]
pub(crate) struct Changing {
    pub(crate) session: SessionId,
    /// The config of the session with the new filters.
    config: TraceConfig,
    /// The filters of its first data sources, compiled.
    filters: Vec<SourceFilter>,
    /// The data source whose expressions come next.
    next: usize,
    regexes: Regexes,
    problems: Vec<SessionError>,
}

impl Changing {
    /// Begins a change.
    ///
    /// # Errors
    /// The session is over.
    pub(crate) fn begin(
        session: &Session,
        asked: &TraceConfig,
        turn: &mut Turn,
    ) -> Result<Self, SessionError> {
        check_state(session)?;
        let mut config = TraceConfig::clone(&session.config);
        let mut problems = Vec::new();
        let mut by_name = BlockMap::new();
        for source in &asked.data_sources {
            by_name.get_or_insert_with(name(source), || source);
        }
        for source in &mut config.data_sources {
            let wanted = name(source);
            match by_name.get(wanted) {
                Some(new) => {
                    source.producer_name_filter.clone_from(&new.producer_name_filter);
                    source.producer_name_regex_filter.clone_from(&new.producer_name_regex_filter);
                }
                None => problems.push(SessionError::SourceMissing(wanted.to_owned())),
            }
        }
        // Their bytes, not their fields: that needs no code of its own.
        let asked = asked.encode_to_vec();
        turn.spend((asked.len() as u64).saturating_mul(limits::WORK_PER_ENCODED_BYTE));
        if config.encode_to_vec() != asked {
            problems.push(SessionError::OnlyFiltersChange);
        }
        Ok(Self {
            session: session.id,
            config,
            filters: Vec::new(),
            next: 0,
            regexes: Regexes::default(),
            problems,
        })
    }

    /// Compiles expressions, at least one, until the work of `turn` is `end`. Returns whether all are compiled.
    ///
    /// # Errors
    /// One is invalid, or there are too many.
    pub(crate) fn go_on(&mut self, end: u64, turn: &mut Turn) -> Result<bool, SessionError> {
        let all_machines = self.config.trace_all_machines.unwrap_or(false);
        let mut is_first = true;
        while let Some(source) = self.config.data_sources.get(self.next) {
            if turn.work >= end && !is_first {
                return Ok(false);
            }
            is_first = false;
            if self.filters.len() == self.next {
                self.filters.push(SourceFilter::without_expressions(source, all_machines));
            }
            let Some(filter) = self.filters.last_mut() else { break };
            let before = self.regexes.work;
            let compiled = filter.compile_next(source, &mut self.regexes);
            let work = self.regexes.work.saturating_sub(before);
            turn.spend(work.saturating_add(limits::WORK_PER_ENTRY));
            if !compiled? {
                self.next = self.next.saturating_add(1);
            }
        }
        Ok(true)
    }

    /// The session has the new filters from now on.
    ///
    /// # Errors
    /// The session is over. Nothing changed then.
    pub(crate) fn finish(
        self,
        session: &mut Session,
        sources: &Sources,
        consumers: &mut Consumers,
        turn: &mut Turn,
    ) -> Result<(), SessionError> {
        check_state(session)?;
        session.config = Arc::new(self.config);
        *session.filters = self.filters;
        for error in self.problems {
            let text = format_args!("ChangeTraceConfig: {error}");
            consumers.log_session_error(session.consumer, &mut turn.out, text);
        }
        turn.spend(limits::WORK_PER_ENTRY.saturating_mul(session.instances.len() as u64));
        let served = session.instances.values().map(|i| (i.source_index, i.producer)).collect();
        let job = SetUp { last: sources.last(), served: Some(served), ..SetUp::default() };
        turn.then(Step::SetUp { session: session.id, job: Box::new(job) });
        Ok(())
    }
}

fn check_state(session: &Session) -> Result<(), SessionError> {
    if matches!(session.state(), SessionState::Configured | SessionState::Started) {
        return Ok(());
    }
    Err(SessionError::SessionEnded { id: session.id, state: session.state().name() })
}

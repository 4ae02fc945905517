//! Changing a session that is there: which producers its data sources mean, and nothing else.
//!
//! A data source keeps the instances it has. Producers that the new filter means and that have none of it yet
//! get one.

use std::collections::BTreeSet;

use protos::{TraceConfig, TraceConfigDataSource};

use super::config::{Regexes, compile_filter};
use super::state::State;
use crate::core::Service;
use abi::ids::{ProducerId, SessionId};

fn name(source: &TraceConfigDataSource) -> &str {
    source.config.as_ref().and_then(|c| c.name.as_deref()).unwrap_or_default()
}

impl Service {
    /// Takes over the producer filters of `asked`; all else in it is ignored, with a word to the log.
    ///
    /// # Errors
    /// For the log: the session is over, or a filter is invalid. Nothing changed then.
    pub(crate) fn change_trace_config(
        &mut self,
        id: SessionId,
        asked: &TraceConfig,
    ) -> Result<(), String> {
        let session = self.sessions.get_mut(&id).ok_or("there is no session")?;
        if !matches!(session.state, State::Configured | State::Started) {
            return Err(format!("session {id} is {}", session.state.name()));
        }
        let mut changed = session.config.clone();
        let all_machines = changed.trace_all_machines.unwrap_or(false);
        let mut regexes = Regexes::default();
        let mut filters = Vec::with_capacity(changed.data_sources.len());
        let mut missing = Vec::new();
        for source in &mut changed.data_sources {
            let wanted = name(source);
            match asked.data_sources.iter().find(|s| name(s) == wanted) {
                Some(new) => {
                    source.producer_name_filter.clone_from(&new.producer_name_filter);
                    source.producer_name_regex_filter.clone_from(&new.producer_name_regex_filter);
                }
                None => missing.push(wanted.to_owned()),
            }
            filters.push(compile_filter(source, all_machines, &mut regexes)?);
        }
        let other = changed != *asked;
        let count = changed.data_sources.len();
        session.config = changed;
        session.filters = filters;
        for wanted in missing {
            self.complain_of_owner(id, format!("ChangeTraceConfig: {wanted:?} is not in it"));
        }
        if other {
            let text = "ChangeTraceConfig: only producer filters of data sources are changed";
            self.complain_of_owner(id, text.into());
        }
        for index in 0..count {
            self.set_up_newly_meant(id, index);
        }
        Ok(())
    }

    /// Sets up one data source of the config for the producers that have none of it.
    fn set_up_newly_meant(&mut self, id: SessionId, index: usize) {
        let Some(session) = self.sessions.get(&id) else { return };
        let of_index = session.instances.values().filter(|i| i.source_index == index);
        let served: BTreeSet<ProducerId> = of_index.map(|i| i.producer).collect();
        let started = session.state == State::Started;
        let Some(source) = session.config.data_sources.get(index) else { return };
        for key in self.sources.of_name(name(source)) {
            if served.contains(&key.producer()) {
                continue;
            }
            if let Some(instance) = self.set_up_source(id, index, key)
                && started
            {
                self.start_instance(id, (key.producer(), instance));
            }
        }
    }
}

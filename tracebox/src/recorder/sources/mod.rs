//! Which data sources of a config have a producer, before and during the session.

use std::collections::BTreeSet;
use std::time::Duration;

use protos::{
    ObservableEventsDataSourceInstanceState as InstanceState,
    ObservableEventsDataSourceInstanceStateChange as InstanceChange, TraceConfig,
    TracingServiceState,
};

use crate::report::{NoEvents, SourceReport, StoppedSource};

/// A data source, and the id of a producer that has registered it.
type Offer = (String, i32);

/// The data sources of one session.
#[derive(Debug)]
pub struct SourceWatch {
    /// Names in the config.
    wanted: BTreeSet<String>,
    /// Names that a producer has registered at some time.
    seen: BTreeSet<String>,
    /// The producers that are watched.
    offers: BTreeSet<Offer>,
    watches_later_producers: bool,
    stopped: Vec<StoppedSource>,
}

/// Names of the data sources that `config` asks for.
#[must_use]
pub fn wanted(config: &TraceConfig) -> BTreeSet<String> {
    let sources = config.data_sources.iter();
    sources.filter_map(|source| source.config.as_ref()?.name.clone()).collect()
}

/// Each program that is traced offers it, and takes it along when it ends, as programs do.
pub const TRACK_EVENT: &str = "track_event";

/// Names of the data sources that producers have registered.
#[must_use]
pub fn registered(state: &TracingServiceState) -> BTreeSet<String> {
    let sources = state.data_sources.iter();
    sources.filter_map(|source| source.ds_descriptor.as_ref()?.name.clone()).collect()
}

fn offers(state: &TracingServiceState, wanted: &BTreeSet<String>) -> BTreeSet<Offer> {
    let sources = state.data_sources.iter();
    let offers = sources.filter_map(|source| {
        let name = source.ds_descriptor.as_ref()?.name.clone()?;
        Some((name, source.producer_id.unwrap_or(0)))
    });
    offers.filter(|(name, _)| wanted.contains(name)).collect()
}

impl SourceWatch {
    /// Watches the data sources named in `wanted`; `state` is that of the service before the session begins.
    /// Unless `watches_later_producers`, a producer that registers later may go away without a notice.
    #[must_use]
    pub fn new(
        wanted: BTreeSet<String>,
        state: &TracingServiceState,
        watches_later_producers: bool,
    ) -> Self {
        let offers = offers(state, &wanted);
        let seen = registered(state);
        Self { wanted, seen, offers, watches_later_producers, stopped: Vec::new() }
    }

    /// The data sources that no producer has registered so far.
    #[must_use]
    pub fn absent(&self) -> Vec<String> {
        self.wanted.difference(&self.seen).cloned().collect()
    }

    /// Remembers the data sources that `changes` name.
    pub fn see(&mut self, changes: &[InstanceChange]) {
        self.seen.extend(changes.iter().filter_map(|change| change.data_source_name.clone()));
    }

    /// Why the trace has no track event, if it has none.
    #[must_use]
    pub fn no_events(&self) -> NoEvents {
        if self.seen.contains(TRACK_EVENT) { NoEvents::NotRecorded } else { NoEvents::NotConnected }
    }

    /// Handles `changes` that came `elapsed` after the session began. `state` is the state of the service now.
    /// Returns the data sources that stopped because their producer went away.
    pub fn handle_changes(
        &mut self,
        changes: &[InstanceChange],
        state: &TracingServiceState,
        elapsed: Duration,
    ) -> Vec<StoppedSource> {
        let now = offers(state, &self.wanted);
        let has_stopped = |name: &str| {
            changes.iter().any(|change| {
                change.state == Some(InstanceState::DATA_SOURCE_INSTANCE_STATE_STOPPED)
                    && change.data_source_name.as_deref() == Some(name)
            })
        };
        // At the end of a session all instances stop, but their producers stay.
        let gone = self.offers.difference(&now);
        let gone = gone.filter(|(name, _)| name != TRACK_EVENT && has_stopped(name));
        let stopped: Vec<_> =
            gone.map(|(name, _)| StoppedSource { name: name.clone(), after: elapsed }).collect();
        self.stopped.extend(stopped.iter().cloned());
        if self.watches_later_producers {
            self.offers = now;
        } else {
            self.offers.retain(|offer| now.contains(offer));
        }
        stopped
    }

    /// What to report at the end.
    #[must_use]
    pub fn into_report(self) -> SourceReport {
        SourceReport { absent: self.absent(), stopped: self.stopped }
    }
}

#[cfg(test)]
mod tests;

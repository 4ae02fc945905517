//! Which data sources of a config have a producer, before and during the session.

use std::collections::BTreeSet;
use std::time::Duration;

use protos::{
    ObservableEventsDataSourceInstanceState as InstanceState,
    ObservableEventsDataSourceInstanceStateChange as InstanceChange, TraceConfig,
    TracingServiceState,
};

use crate::report::{SourceReport, StoppedSource};

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
        let seen = offers.iter().map(|(name, _)| name.clone()).collect();
        Self { wanted, seen, offers, watches_later_producers, stopped: Vec::new() }
    }

    /// The data sources that no producer has registered so far.
    #[must_use]
    pub fn absent(&self) -> Vec<String> {
        self.wanted.difference(&self.seen).cloned().collect()
    }

    /// Handles `changes` that the service told `elapsed` after the session began; `state` is that of the
    /// service now. Returns the data sources that stopped because their producer went away.
    pub fn handle_changes(
        &mut self,
        changes: &[InstanceChange],
        state: &TracingServiceState,
        elapsed: Duration,
    ) -> Vec<StoppedSource> {
        let names = changes.iter().filter_map(|change| change.data_source_name.clone());
        self.seen.extend(names);
        let now = offers(state, &self.wanted);
        let has_stopped = |name: &str| {
            changes.iter().any(|change| {
                change.state == Some(InstanceState::DATA_SOURCE_INSTANCE_STATE_STOPPED)
                    && change.data_source_name.as_deref() == Some(name)
            })
        };
        // At the end of a session all instances stop, but their producers stay.
        let gone = self.offers.difference(&now).filter(|(name, _)| has_stopped(name));
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
mod tests {
    use protos::{DataSourceDescriptor, TracingServiceStateDataSource};

    use super::*;

    fn state(offers: &[(&str, i32)]) -> TracingServiceState {
        let source = |&(name, id): &(&str, i32)| TracingServiceStateDataSource {
            ds_descriptor: Some(DataSourceDescriptor {
                name: Some(name.into()),
                ..DataSourceDescriptor::default()
            }),
            producer_id: Some(id),
            ..TracingServiceStateDataSource::default()
        };
        TracingServiceState {
            data_sources: offers.iter().map(source).collect(),
            ..TracingServiceState::default()
        }
    }

    fn change(name: &str, state: InstanceState) -> InstanceChange {
        InstanceChange {
            data_source_name: Some(name.into()),
            state: Some(state),
            ..InstanceChange::default()
        }
    }

    fn watch(wanted: &[&str], offers: &[(&str, i32)], later: bool) -> SourceWatch {
        let wanted = wanted.iter().map(|&name| name.to_owned()).collect();
        SourceWatch::new(wanted, &state(offers), later)
    }

    const STARTED: InstanceState = InstanceState::DATA_SOURCE_INSTANCE_STATE_STARTED;
    const STOPPED: InstanceState = InstanceState::DATA_SOURCE_INSTANCE_STATE_STOPPED;
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_producer_that_goes_away() {
        let mut watch = watch(&["a", "b"], &[("a", 1), ("b", 1), ("a", 2), ("c", 3)], true);
        let told =
            watch.handle_changes(&[change("a", STOPPED)], &state(&[("a", 1), ("b", 1)]), SECOND);
        assert_eq!(told, [StoppedSource { name: "a".into(), after: SECOND }]);
        // It comes back under another id, and goes away again.
        let back = state(&[("a", 1), ("b", 1), ("a", 4)]);
        assert!(watch.handle_changes(&[change("a", STARTED)], &back, SECOND).is_empty());
        let told =
            watch.handle_changes(&[change("a", STOPPED)], &state(&[("a", 1), ("b", 1)]), SECOND);
        assert_eq!(told.len(), 1);
        // The end of the session: all instances stop, and their producers are there.
        let end = [change("a", STOPPED), change("b", STOPPED)];
        assert!(watch.handle_changes(&end, &state(&[("a", 1), ("b", 1)]), SECOND).is_empty());
        let report = watch.into_report();
        assert_eq!((report.absent.len(), report.stopped.len()), (0, 2));
    }

    #[test]
    fn a_producer_that_takes_no_part() {
        let mut watch = watch(&["a"], &[("a", 1), ("a", 2)], true);
        // The second one has no instance in this session.
        assert!(
            watch.handle_changes(&[change("b", STOPPED)], &state(&[("a", 1)]), SECOND).is_empty()
        );
        assert!(watch.into_report().stopped.is_empty());
    }

    #[test]
    fn later_producers_that_are_not_watched() {
        let mut watch = watch(&["a", "b"], &[("a", 1)], false);
        assert_eq!(watch.absent(), ["b"]);
        watch.handle_changes(&[change("b", STARTED)], &state(&[("a", 1), ("b", 2)]), SECOND);
        let told = watch.handle_changes(&[change("b", STOPPED)], &state(&[("a", 1)]), SECOND);
        assert!(told.is_empty());
        assert_eq!(watch.into_report(), SourceReport::default());
    }
}

//! Which data sources of a config have a producer, before and during the session.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::time::Duration;

use protos::{
    ObservableEventsDataSourceInstanceState as InstanceState,
    ObservableEventsDataSourceInstanceStateChange as InstanceChange, TraceConfig,
    TracingServiceState, TracingServiceStateDataSource,
};

use crate::report::{NoEvents, SourceReport, StoppedSource};

/// Data sources that stopped which are kept. Others are counted: any program can offer one, and leave.
const STOPPED_MAX: usize = 64;

/// A data source that a producer has registered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Offer {
    source: Source,
    producer_id: i32,
}

/// Names of a data source and of a producer, by which changes tell of it.
type Source = (String, String);

fn source_of(change: &InstanceChange) -> Source {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    (text(&change.data_source_name), text(&change.producer_name))
}

/// The data sources of one session.
#[derive(Debug)]
pub struct SourceWatch {
    /// Names in the config.
    wanted: BTreeSet<String>,
    /// Those of them that a producer has registered at some time.
    seen: BTreeSet<String>,
    /// A producer has registered [`TRACK_EVENT`] at some time.
    has_programs: bool,
    /// The producers that are watched.
    offers: BTreeSet<Offer>,
    /// Ids of producers that are programs which are traced: those that offer [`TRACK_EVENT`] now, and those that did so
    /// and are in `offers`. A service gives the ids of others out again.
    programs: BTreeSet<i32>,
    /// How many instances record in this session.
    recording: BTreeMap<Source, usize>,
    watches_later_producers: bool,
    stopped: Vec<StoppedSource>,
    stopped_left_out: u64,
}

/// Names of the data sources that `config` asks for.
#[must_use]
pub fn wanted(config: &TraceConfig) -> BTreeSet<String> {
    let sources = config.data_sources.iter();
    sources.filter_map(|source| source.config.as_ref()?.name.clone()).collect()
}

/// Each program that is traced offers it. It takes its data sources along when it ends, as programs do, and that is no
/// loss: what it wrote is in the trace, or in the ledger of the session.
pub const TRACK_EVENT: &str = "track_event";

/// Whether a data source records the machine: it should do so all the time. A program that offers any other one has
/// recorded all that it did when it ends; what it left unfinished is in the ledger of the session.
fn is_of_machine(name: &str) -> bool {
    ["linux.", "android."].iter().any(|prefix| name.starts_with(prefix))
}

/// Names of the data sources that producers have registered.
#[must_use]
pub fn registered(state: &TracingServiceState) -> BTreeSet<String> {
    let sources = state.data_sources.iter();
    sources.filter_map(|source| source.ds_descriptor.as_ref()?.name.clone()).collect()
}

/// The producers that offer [`TRACK_EVENT`].
fn programs(state: &TracingServiceState) -> impl Iterator<Item = i32> {
    let is_event = |source: &&TracingServiceStateDataSource| {
        let descriptor = source.ds_descriptor.as_ref();
        descriptor.is_some_and(|descriptor| descriptor.name.as_deref() == Some(TRACK_EVENT))
    };
    state.data_sources.iter().filter(is_event).filter_map(|source| source.producer_id)
}

fn offers(state: &TracingServiceState, wanted: &BTreeSet<String>) -> BTreeSet<Offer> {
    let producer_name = |id| {
        let producer = state.producers.iter().find(|producer| producer.id == Some(id));
        producer.and_then(|producer| producer.name.clone()).unwrap_or_default()
    };
    let offer = |source: &TracingServiceStateDataSource| {
        let name = source.ds_descriptor.as_ref()?.name.clone()?;
        let producer_id = source.producer_id.unwrap_or(0);
        Some(Offer { source: (name, producer_name(producer_id)), producer_id })
    };
    let offers = state.data_sources.iter().filter_map(offer);
    offers.filter(|offer| wanted.contains(&offer.source.0)).collect()
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
        let mut sources = Self {
            offers: offers(state, &wanted),
            wanted,
            seen: BTreeSet::new(),
            has_programs: false,
            programs: programs(state).collect(),
            recording: BTreeMap::new(),
            watches_later_producers,
            stopped: Vec::new(),
            stopped_left_out: 0,
        };
        registered(state).into_iter().for_each(|name| sources.see_name(name));
        sources
    }

    /// The data sources that no producer has registered so far.
    #[must_use]
    pub fn absent(&self) -> Vec<String> {
        self.wanted.difference(&self.seen).cloned().collect()
    }

    /// Remembers the data sources that `changes` name.
    pub fn see(&mut self, changes: &[InstanceChange]) {
        let names = changes.iter().filter_map(|change| change.data_source_name.clone());
        names.for_each(|name| self.see_name(name));
    }

    fn see_name(&mut self, name: String) {
        self.has_programs |= name == TRACK_EVENT;
        if self.wanted.contains(&name) {
            self.seen.insert(name);
        }
    }

    /// Why the trace has no track event, if it has none.
    #[must_use]
    pub fn no_events(&self) -> NoEvents {
        if self.has_programs { NoEvents::NotRecorded } else { NoEvents::NotConnected }
    }

    /// Handles `changes` that came `elapsed` after the session began. `state` is the state of the service now.
    /// Returns the data sources that stopped because their producer went away; those of the machine are in the report.
    pub fn handle_changes(
        &mut self,
        changes: &[InstanceChange],
        state: &TracingServiceState,
        elapsed: Duration,
    ) -> Vec<StoppedSource> {
        let mut now = offers(state, &self.wanted);
        let stopped_sources = self.count_instances(changes);
        self.programs.extend(programs(state));
        // At the end of a session all instances stop, but their producers stay.
        let gone = self.offers.difference(&now);
        let gone = gone.filter(|offer| !self.programs.contains(&offer.producer_id));
        let (gone, leaving): (Vec<&Offer>, Vec<&Offer>) =
            gone.partition(|offer| stopped_sources.contains(&offer.source));
        let stopped: Vec<_> = gone
            .into_iter()
            .map(|offer| StoppedSource { name: offer.source.0.clone(), after: elapsed })
            .collect();
        for source in stopped.iter().filter(|source| is_of_machine(&source.name)) {
            if self.stopped.len() < STOPPED_MAX {
                self.stopped.push(source.clone());
            } else {
                self.stopped_left_out += 1;
            }
        }
        // The producer has gone since these changes, and the change that tells of it is on its way.
        let mut recording = self.recording.clone();
        let leaving = leaving.into_iter().filter(|offer| {
            let count = recording.get_mut(&offer.source).filter(|count| **count > 0);
            count.map(|count| *count -= 1).is_some()
        });
        let leaving: Vec<Offer> = leaving.cloned().collect();
        if !self.watches_later_producers {
            now.retain(|offer| self.offers.contains(offer));
        }
        now.extend(leaving);
        let stay: BTreeSet<i32> = self.offers.intersection(&now).map(|it| it.producer_id).collect();
        self.programs.retain(|id| stay.contains(id));
        self.programs.extend(programs(state));
        self.offers = now;
        stopped
    }

    /// Counts the instances that record. Returns the data sources of those that have stopped.
    fn count_instances(&mut self, changes: &[InstanceChange]) -> BTreeSet<Source> {
        let mut stopped = BTreeSet::new();
        for change in changes {
            let source = source_of(change);
            match change.state {
                Some(InstanceState::DATA_SOURCE_INSTANCE_STATE_STARTED) => {
                    *self.recording.entry(source).or_default() += 1;
                }
                Some(InstanceState::DATA_SOURCE_INSTANCE_STATE_STOPPED) => {
                    if let Entry::Occupied(mut count) = self.recording.entry(source.clone()) {
                        *count.get_mut() -= 1;
                        if *count.get() == 0 {
                            count.remove();
                        }
                    }
                    stopped.insert(source);
                }
                _ => {}
            }
        }
        stopped
    }

    /// What to report at the end.
    #[must_use]
    pub fn into_report(self) -> SourceReport {
        SourceReport {
            absent: self.absent(),
            stopped: self.stopped,
            stopped_left_out: self.stopped_left_out,
        }
    }
}

#[cfg(test)]
mod tests;

//! The data source `track_event`: what sessions want, and what every thread must know of it.
//!
//! ```text
//!   service ── setup, start, clear, stop ──> TrackEventSource ──> registry ──> bits of categories
//!                                                                    │
//!                                                                    └──> GENERATION ──> threads look again
//! ```
//!
//! [`registry`] has the one lock. A thread takes it when the generation has changed since its last event; otherwise it
//! records without any lock.

#[cfg(feature = "tracing")]
pub(crate) mod changes;
pub(crate) mod registry;
pub(crate) mod running;
pub(crate) mod settings;

use client::data_source::{Ack, DataSource, FlushRequest, Instance};
use protos::{
    DataSourceConfig, DataSourceDescriptor, TrackEventCategory, TrackEventConfig,
    TrackEventDescriptor,
};

use crate::category::Category;
use crate::interceptor::{self, Interception};
use crate::sequence::thread;
use crate::site::sticky;
use crate::slots;

/// The name that configs use.
pub(crate) const NAME: &str = "track_event";

/// The data source, as one producer offers it.
pub(crate) struct TrackEventSource {
    started: Vec<Started>,
    can_adopt: Option<CanAdopt>,
}

/// An instance of this producer.
struct Started {
    instance: Instance,
    slot: usize,
    interception: Option<Interception>,
}

/// See [`DataSource::can_adopt`].
pub(crate) type CanAdopt = fn(&DataSourceConfig, &DataSourceConfig) -> bool;

/// Whether a session with `config` can go on with what was recorded for `startup`.
pub(crate) fn can_adopt(startup: &DataSourceConfig, config: &DataSourceConfig) -> bool {
    // Else a session would miss what went to an interceptor, or the other way round.
    let way = |config: &DataSourceConfig| {
        config.interceptor_config.as_ref().map(protozero::Message::encode_to_vec)
    };
    let is_same_way = way(startup) == way(config);
    match (&startup.track_event_config, &config.track_event_config) {
        (Some(startup), Some(config)) => is_same_way && settings::select_the_same(startup, config),
        _ => false,
    }
}

impl TrackEventSource {
    /// `can_adopt` is the function of this module, for a producer with startup tracing.
    pub(crate) fn new(can_adopt: Option<CanAdopt>) -> Self {
        Self { started: Vec::new(), can_adopt }
    }

    fn slot(&self, instance: &Instance) -> Option<usize> {
        self.started.iter().find(|it| it.instance == *instance).map(|it| it.slot)
    }
}

impl DataSource for TrackEventSource {
    fn start(&mut self, instance: &Instance) {
        let interception = interceptor::start(instance.config());
        let for_threads = interception.as_ref().map(Interception::for_threads);
        let forget = sticky::forget_unrecorded;
        let Some(slot) = registry::start(instance.clone(), for_threads, forget) else {
            slots::refuse(instance, NAME);
            return;
        };
        self.started.push(Started { instance: instance.clone(), slot, interception });
        #[cfg(feature = "tracing")]
        changes::tell();
        sticky::replay(1 << slot);
    }

    fn flush(&mut self, _: &Instance, _: &FlushRequest, done: Ack) {
        // The service reads the chunks of other threads by itself, because the producer allows scraping.
        thread::flush();
        drop(done);
    }

    fn clear_incremental_state(&mut self, instance: &Instance) {
        if let Some(slot) = self.slot(instance) {
            registry::clear(slot);
            sticky::replay(1 << slot);
        }
    }

    fn can_adopt(&self, startup: &DataSourceConfig, config: &DataSourceConfig) -> bool {
        self.can_adopt.is_some_and(|can_adopt| can_adopt(startup, config))
    }

    fn stop(&mut self, instance: &Instance, done: Ack) {
        if let Some(at) = self.started.iter().position(|it| it.instance == *instance) {
            let Started { slot, interception, .. } = self.started.swap_remove(at);
            registry::stop(slot);
            #[cfg(feature = "tracing")]
            changes::tell();
            drop(interception);
        }
        // This thread's writers; other threads drop theirs with their next event.
        thread::refresh();
        drop(done);
    }
}

/// Events of these categories, and no others.
pub(crate) fn only(categories: &[&str]) -> TrackEventConfig {
    if categories.is_empty() {
        crate::report::report!(
            "a list of categories is empty, and adds no event: `&[\"*\"]` selects all but \
             those with the tag `slow` or `debug`"
        );
    }
    for name in categories.iter().filter(|name| name.is_empty() || name.contains(',')) {
        crate::report::report!(
            "no category is called {name:?}: name each on its own, such as `&[\"net\", \"gpu*\"]`"
        );
    }
    TrackEventConfig {
        enabled_categories: categories.iter().map(|&name| name.to_owned()).collect(),
        // Otherwise the rules enable whatever they do not name.
        disabled_categories: vec!["*".to_owned()],
        ..Default::default()
    }
}

/// The config of the data source.
pub(crate) fn config_of(config: TrackEventConfig) -> DataSourceConfig {
    DataSourceConfig {
        name: Some(NAME.to_owned()),
        track_event_config: Some(config),
        ..Default::default()
    }
}

/// What consumers see: all listed categories in the order in which they were registered.
pub(crate) fn descriptor(id: u64, categories: &[&'static Category]) -> DataSourceDescriptor {
    let describe = |category: &&'static Category| TrackEventCategory {
        name: Some(category.name().to_owned()),
        description: Some(category.description_text().to_owned()).filter(|text| !text.is_empty()),
        tags: category.tag_list().iter().map(|&tag| tag.to_owned()).collect(),
        ..Default::default()
    };
    let available_categories = categories.iter().map(describe).collect();
    DataSourceDescriptor {
        name: Some(NAME.to_owned()),
        id: Some(id),
        handles_incremental_state_clear: Some(true),
        track_event_descriptor: Some(TrackEventDescriptor {
            available_categories,
            ..Default::default()
        }),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests;

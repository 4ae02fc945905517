//! What a session records.

use std::time::Duration;

use protos::{
    DataSourceConfig, TraceConfig, TraceConfigBufferConfig,
    TraceConfigBufferConfigFillPolicy as FillPolicy, TraceConfigDataSource, TrackEventConfig,
};

use crate::source;

/// What happens when a buffer of the session is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fill {
    /// The oldest packets go.
    #[default]
    Ring,
    /// The newest packets go.
    Discard,
}

/// A config, built step by step. Without a buffer it has one of 32 MiB; without a data source it records all events of
/// this SDK and others.
///
/// ```
/// use std::time::Duration;
/// use tracing_sdk::session::{Config, Fill};
///
/// let config = Config::new()
///     .buffer_kb(65_536, Fill::Ring)
///     .track_events(&["net", "gpu*"])
///     .duration(Duration::from_secs(10));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Config {
    message: TraceConfig,
}

impl Config {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A config that was made otherwise: a message of Perfetto's schema.
    pub fn from_message(message: TraceConfig) -> Self {
        Self { message }
    }

    /// Adds a buffer in the service. Data sources that are added after it, up to the next buffer, write into it.
    pub fn buffer_kb(mut self, kb: u32, fill: Fill) -> Self {
        self.message.buffers.push(TraceConfigBufferConfig {
            size_kb: Some(kb),
            fill_policy: Some(match fill {
                Fill::Ring => FillPolicy::RING_BUFFER,
                Fill::Discard => FillPolicy::DISCARD,
            }),
            ..Default::default()
        });
        self
    }

    /// Records events of these categories, and no others. A `*` at the end stands for any letters.
    pub fn track_events(self, categories: &[&str]) -> Self {
        let config = TrackEventConfig {
            enabled_categories: categories.iter().map(|&name| name.to_owned()).collect(),
            // Otherwise the rules enable whatever they do not name.
            disabled_categories: vec!["*".to_owned()],
            ..Default::default()
        };
        self.track_event_config(config)
    }

    /// Records events by a config of the schema.
    pub fn track_event_config(self, config: TrackEventConfig) -> Self {
        self.data_source(DataSourceConfig {
            name: Some(source::NAME.to_owned()),
            track_event_config: Some(config),
            ..Default::default()
        })
    }

    /// Adds a data source.
    pub fn data_source(mut self, config: DataSourceConfig) -> Self {
        let buffer = self.message.buffers.len().saturating_sub(1);
        let config = DataSourceConfig { target_buffer: u32::try_from(buffer).ok(), ..config };
        let source = TraceConfigDataSource { config: Some(config), ..Default::default() };
        self.message.data_sources.push(source);
        self
    }

    /// Ends the session after this time, at most 24 days.
    pub fn duration(mut self, time: Duration) -> Self {
        self.message.duration_ms = Some(u32::try_from(time.as_millis()).unwrap_or(u32::MAX));
        self
    }

    /// Clears the incremental state of all sequences at this interval. Ring buffers need it: an event cannot be read
    /// after the definitions before it were overwritten.
    pub fn clear_interval(mut self, time: Duration) -> Self {
        let ms = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        let state = self.message.incremental_state_config.get_or_insert_default();
        state.clear_period_ms = Some(ms);
        self
    }

    /// The config as a message of Perfetto's schema.
    #[must_use]
    pub fn to_message(&self) -> TraceConfig {
        let mut config = self.clone();
        if config.message.buffers.is_empty() {
            config = config.buffer_kb(32 * 1024, Fill::Ring);
        }
        if config.message.data_sources.is_empty() {
            config = config.track_event_config(TrackEventConfig::default());
        }
        config.message
    }
}

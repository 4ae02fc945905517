//! What a program records before a session asks for it.

use core::fmt;
use std::sync::Arc;
use std::time::Duration;

use client::producer::{StartupCallback, StartupEvent, StartupOptions};
use protos::DataSourceConfig;

use crate::callback;
use crate::source::{self, CanAdopt};

/// Startup tracing: a program records its beginning before a session asks for it, and before it is connected to
/// `traced`. When a session with an equal config starts, it gets all that was recorded. When none has started after ten
/// seconds, or [`timeout`](Self::timeout), this is discarded.
///
/// What is recorded meanwhile stays in the shared memory ([`Init::shm_kb`](crate::Init::shm_kb)). When that is full,
/// further events are lost, and counted; the program never waits.
///
/// ```no_run
/// # fn main() -> Result<(), tracing_sdk::InitError> {
/// use tracing_sdk::{Init, Startup};
///
/// Init::new().startup(Startup::new().track_events(&["net"])).system()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use]
pub struct Startup {
    sources: Vec<DataSourceConfig>,
    /// The one that [`track_events`](Self::track_events) has added.
    track_events_idx: Option<usize>,
    timeout: Option<Duration>,
    on_event: Option<StartupCallback>,
    code: Code,
}

/// What copies and compares configs. [`Startup::new`] alone names it, so a program without startup tracing lacks it.
#[derive(Clone, Copy)]
struct Code {
    options: fn(&Startup) -> StartupOptions,
    are_equal: fn(&[DataSourceConfig], &[DataSourceConfig]) -> bool,
    can_adopt: CanAdopt,
}

impl Default for Startup {
    fn default() -> Self {
        Self::new()
    }
}

impl Startup {
    /// Nothing yet, for ten seconds.
    pub fn new() -> Self {
        let code = Code {
            options: Self::to_options,
            are_equal: |one, other| one == other,
            can_adopt: source::can_adopt,
        };
        Self { sources: Vec::new(), track_events_idx: None, timeout: None, on_event: None, code }
    }

    /// What `config` records. A later session with this config gets it.
    ///
    /// ```no_run
    /// # use tracing_sdk::session::{Config, Session};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let config = Config::new().track_events(&["net"]);
    /// let startup = tracing_sdk::Startup::of_session(&config);
    /// tracing_sdk::Init::new().startup(startup).system()?;
    /// // Later, for example when the program has read its settings:
    /// let session = Session::system(&config)?;
    /// session.start()?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "session")]
    pub fn of_session(config: &crate::session::Config) -> Self {
        let sources = config.to_message().data_sources.into_iter();
        Self { sources: sources.filter_map(|source| source.config).collect(), ..Self::new() }
    }

    /// Records events of these categories, and no others. A `*` at the end stands for any letters, but in categories
    /// with the tag `slow` or `debug`. The later session must name the same categories, in any order, and disable all
    /// others: `disabled_categories: "*"`. Another call adds categories.
    pub fn track_events(mut self, categories: &[&str]) -> Self {
        let config = source::only(categories);
        let known = self.track_events_idx.and_then(|idx| self.sources.get_mut(idx));
        if let Some(known) = known.and_then(|known| known.track_event_config.as_mut()) {
            known.enabled_categories.extend(config.enabled_categories);
            return self;
        }
        self.track_events_idx = Some(self.sources.len());
        self.data_source(source::config_of(config))
    }

    /// Records a data source. The later session must have an equal config, whatever its target buffer is.
    ///
    /// ```no_run
    /// use tracing_sdk::protos::DataSourceConfig;
    /// use tracing_sdk::{Init, Startup};
    ///
    /// # fn main() -> Result<(), tracing_sdk::InitError> {
    /// let requests =
    ///     DataSourceConfig { name: Some("com.example.requests".to_owned()), ..Default::default() };
    /// Init::new().startup(Startup::new().data_source(requests)).system()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn data_source(mut self, config: DataSourceConfig) -> Self {
        self.sources.push(config);
        self
    }

    /// How long it may take until a session starts; ten seconds if this is not called.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Calls `callback` with each step of each data source, on a thread of the library. A panic of it is reported on
    /// standard error.
    pub fn on_event(mut self, callback: impl Fn(&StartupEvent) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(callback));
        self
    }

    pub(super) fn options(&self) -> StartupOptions {
        (self.code.options)(self)
    }

    pub(super) fn can_adopt(&self) -> CanAdopt {
        self.code.can_adopt
    }

    fn to_options(&self) -> StartupOptions {
        let mut options = StartupOptions::new(self.sources.clone());
        if let Some(timeout) = self.timeout {
            options.timeout = timeout;
        }
        if let Some(callback) = self.on_event.clone() {
            // A panic would end the thread that answers services.
            options.on_event = Some(Arc::new(move |event| {
                callback::run(format_args!("`on_event` of `Startup`"), || callback(event));
            }));
        }
        options
    }
}

impl PartialEq for Startup {
    fn eq(&self, other: &Self) -> bool {
        let is_same_callback = match (&self.on_event, &other.on_event) {
            (None, None) => true,
            (Some(callback), Some(other)) => Arc::ptr_eq(callback, other),
            _ => false,
        };
        let are_equal = (self.code.are_equal)(&self.sources, &other.sources);
        is_same_callback && are_equal && self.timeout == other.timeout
    }
}

impl fmt::Debug for Startup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Startup")
            .field("sources", &self.sources)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

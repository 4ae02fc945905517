//! What a session records.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use protos::{
    DataSourceConfig, TraceConfig, TraceConfigBufferConfig,
    TraceConfigBufferConfigFillPolicy as FillPolicy, TraceConfigDataSource,
    TraceConfigTriggerConfigTrigger, TraceConfigTriggerConfigTriggerMode as TriggerMode,
    TraceConfigWriteFlushMode as WriteFlushMode, TrackEventConfig,
};
use protozero::Message as _;

use super::error::SessionError;
use super::file::NewFile;
use crate::source;

/// How long a session waits for its triggers if the config does not say: a day, ms.
const TRIGGER_TIMEOUT_MS: u32 = 24 * 3600 * 1000;

/// How often a file is flushed if the config does not say, ms. Services choose the time themselves and ignore it; those
/// that cannot do that go by it. Trace processor reports an error in the trace of a config without it.
const FLUSH_PERIOD_MS: u32 = 5000;

const STOPPED_WITH_FILE: &str = "a session that `Trigger::Stop` ends cannot write into a file: leave \
                                 `write_into_file` and the like out, and read the session when it has ended";

/// What a trigger does to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trigger {
    /// The session starts, and ends when the delay after the trigger has passed.
    Start,
    /// The session ends when the delay after the trigger has passed.
    Stop,
}

/// The file that the service writes.
#[derive(Clone, Debug)]
enum Output {
    Path(PathBuf),
    Open(Arc<File>),
}

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
///
/// A recording that runs for days, until something goes wrong. The ring has what came before that:
///
/// ```no_run
/// # use std::fs::File;
/// # use std::time::Duration;
/// # use tracing_sdk::session::{Config, Fill, Session, Trigger};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let config = Config::new()
///     .buffer_kb(65_536, Fill::Ring)
///     .track_events(&["net"])
///     .data_source_named("linux.system_info")
///     // One second after `tracing_sdk::trigger(&["jank"])`. After two days without it, it ends with an empty trace.
///     .trigger(Trigger::Stop, "jank", Duration::from_secs(1))
///     .trigger_timeout(Duration::from_secs(2 * 24 * 3600))
///     .unique_name("the server");
/// let session = Session::system(&config)?;
/// session.start()?;
/// session.wait(None)?;
/// session.read_into(&mut File::create("server.pftrace")?)?;
/// # Ok(())
/// # }
/// ```
///
/// A recording into a file, until that has a gigabyte:
///
/// ```
/// # use std::time::Duration;
/// # use tracing_sdk::session::Config;
/// let config = Config::new()
///     .track_events(&["net"])
///     .write_into_file("/var/log/server.pftrace")
///     .write_period(Duration::from_secs(2))
///     .flush_period(Duration::from_secs(10))
///     .file_bytes_max(1 << 30);
/// ```
///
/// A recording of the minute after a trigger, into a file that is open. Once its buffer has been full, all later
/// events of the session are dropped:
///
/// ```no_run
/// # use std::fs::File;
/// # use std::time::Duration;
/// # use tracing_sdk::session::{Config, Fill, Trigger};
/// # fn main() -> std::io::Result<()> {
/// let config = Config::new()
///     .buffer_kb(65_536, Fill::Discard)
///     .trigger(Trigger::Start, "jank", Duration::from_secs(60))
///     .write_into(File::options().read(true).write(true).create_new(true).open("jank.pftrace")?);
/// # Ok(())
/// # }
/// ```
///
/// A ring buffer, with a config that other code has made or read:
///
/// ```
/// # use std::time::Duration;
/// # use tracing_sdk::session::{Config, SessionError};
/// # fn main() -> Result<(), SessionError> {
/// let bytes = [0x50, 0xe8, 0x07]; // `duration_ms: 1000`, encoded
/// let message = Config::from_bytes(&bytes)?.to_message();
/// let config = Config::from_message(message).clear_interval(Duration::from_secs(5));
/// # assert_eq!(config.to_message().duration_ms, None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Config {
    message: TraceConfig,
    output: Option<Output>,
    /// The data source that the last [`track_events`](Self::track_events) has added.
    track_events_idx: Option<usize>,
}

impl Config {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// A config that was made otherwise: a message of Perfetto's schema.
    pub fn from_message(message: TraceConfig) -> Self {
        Self { message, ..Self::default() }
    }

    /// A config in its binary form: an encoded `TraceConfig`.
    ///
    /// # Errors
    /// [`SessionError::Config`] with the offset of the fault.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SessionError> {
        let message = TraceConfig::decode(bytes).map_err(|error| {
            SessionError::Config(format!("the config is not a binary TraceConfig: {error}"))
        })?;
        Ok(Self::from_message(message))
    }

    /// A config in its text form, as `perfetto --txt` takes it. All data sources of Perfetto's schema are known.
    ///
    /// ```
    /// use tracing_sdk::session::Config;
    ///
    /// # fn main() -> Result<(), tracing_sdk::session::SessionError> {
    /// let config = Config::from_text(
    ///     r#"
    ///     buffers { size_kb: 65536 }
    ///     data_sources { config { name: "linux.ftrace" ftrace_config { ftrace_events: "sched/sched_switch" } } }
    ///     duration_ms: 10000
    ///     "#,
    /// )?;
    /// # assert_eq!(config.to_message().duration_ms, Some(10_000));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SessionError::Config`] with the line and column of each fault.
    #[cfg(feature = "text")]
    pub fn from_text(text: &str) -> Result<Self, SessionError> {
        super::text::parse(text).map(Self::from_message)
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

    /// Records events of these categories, and no others: with an empty list none. A `*` at the end stands for any
    /// letters, but in categories with the tag `slow` or `debug`: name these in full. Another call for the same buffer
    /// adds categories.
    pub fn track_events(mut self, categories: &[&str]) -> Self {
        let config = source::only(categories);
        let buffer = self.last_buffer();
        let sources = &mut self.message.data_sources;
        let known = self.track_events_idx.and_then(|idx| sources.get_mut(idx)?.config.as_mut());
        // A second data source would record the events once more.
        if let Some(known) = known
            && known.target_buffer == buffer
            && let Some(known) = &mut known.track_event_config
        {
            known.enabled_categories.extend(config.enabled_categories);
            return self;
        }
        self.track_events_idx = Some(sources.len());
        self.track_event_config(config)
    }

    /// Records events by a config of the schema.
    ///
    /// ```
    /// use tracing_sdk::protos::TrackEventConfig;
    /// use tracing_sdk::session::Config;
    ///
    /// // All but those with the tag.
    /// let events = TrackEventConfig {
    ///     disabled_tags: vec!["noisy".to_owned()],
    ///     ..TrackEventConfig::default()
    /// };
    /// let config = Config::new().track_event_config(events);
    /// # drop(config);
    /// ```
    pub fn track_event_config(self, config: TrackEventConfig) -> Self {
        self.data_source(source::config_of(config))
    }

    /// Adds a data source. Without a `target_buffer` it writes into the buffer that was added last.
    pub fn data_source(mut self, mut config: DataSourceConfig) -> Self {
        config.target_buffer = config.target_buffer.or(self.last_buffer());
        let source = TraceConfigDataSource { config: Some(config), ..Default::default() };
        self.message.data_sources.push(source);
        self
    }

    /// The buffer that was added last, or the one that a config without buffers gets.
    fn last_buffer(&self) -> Option<u32> {
        u32::try_from(self.message.buffers.len().saturating_sub(1)).ok()
    }

    /// Adds a data source by name. The bytes are those of further fields of its `DataSourceConfig`, in their binary
    /// form, for data sources whose config is an extension of the schema.
    ///
    /// ```
    /// use tracing_sdk::session::{Config, SessionError};
    ///
    /// # fn main() -> Result<(), SessionError> {
    /// // Field 9901 of the config, a number: 7.
    /// let fields = [0xe8, 0xea, 0x04, 0x07];
    /// let config = Config::new().custom_data_source("com.example.requests", &fields)?;
    /// # drop(config);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SessionError::Config`] if the bytes are not a `DataSourceConfig`.
    pub fn custom_data_source(self, name: &str, fields: &[u8]) -> Result<Self, SessionError> {
        let config = DataSourceConfig::decode(fields).map_err(|error| {
            SessionError::Config(format!("the config of {name} is not a DataSourceConfig: {error}"))
        })?;
        Ok(self.data_source(DataSourceConfig { name: Some(name.to_owned()), ..config }))
    }

    /// Adds a data source that needs no config.
    pub fn data_source_named(self, name: &str) -> Self {
        self.data_source(DataSourceConfig { name: Some(name.to_owned()), ..Default::default() })
    }

    /// The service writes the trace into this file while it records, in place of keeping it for
    /// [`Session::read_into`](super::Session::read_into): for long traces. This program makes the file. It has its
    /// name from the start of the session on, and replaces one that exists. A session that [`Trigger::Stop`] ends
    /// cannot write into a file.
    ///
    /// When this program ends without stopping the session, `traced` stops it and completes the file. A service inside
    /// the program ends with it, and completes the file if the program returns from `main` or calls
    /// [`exit`](std::process::exit), which takes ten seconds at most. After a signal, an abort, `_exit` or `exec` of
    /// another program the file has what was written up to the last period, in whole packets: stop or drop the session
    /// before.
    pub fn write_into_file(mut self, path: impl AsRef<Path>) -> Self {
        self.message.write_into_file = Some(true);
        self.output = Some(Output::Path(path.as_ref().to_owned()));
        self
    }

    /// As [`write_into_file`](Self::write_into_file), with a file or pipe that is open. A file must be open for reading
    /// and writing.
    pub fn write_into(mut self, file: File) -> Self {
        self.message.write_into_file = Some(true);
        self.output = Some(Output::Open(Arc::new(file)));
        self
    }

    /// As [`write_into_file`](Self::write_into_file), but the service makes the file: the path is absolute, the service
    /// may write there, and no file exists. For `traced` on another machine, or with more rights:
    ///
    /// ```
    /// # use tracing_sdk::session::Config;
    /// let config = Config::new().service_writes_file("/var/lib/traces/server.pftrace");
    /// ```
    pub fn service_writes_file(mut self, path: &str) -> Self {
        self.message.write_into_file = Some(true);
        self.message.output_path = Some(path.to_owned());
        self
    }

    /// How often the service writes into the file, at least every 100 ms; five seconds if this is not called.
    pub fn write_period(mut self, period: Duration) -> Self {
        self.message.file_write_period_ms = Some(ms(period));
        self
    }

    /// Ends the session when its file has this many bytes.
    pub fn file_bytes_max(mut self, bytes: u64) -> Self {
        self.message.max_file_size_bytes = Some(bytes);
        self
    }

    /// Makes all producers hand over their events at this interval. Sessions that write into a file need it: the events
    /// of a thread that records rarely come up to five seconds late otherwise.
    pub fn flush_period(mut self, period: Duration) -> Self {
        self.message.flush_period_ms = Some(ms(period));
        // With a file, a service ignores the period unless it is told not to choose one itself.
        self.message.write_flush_mode = Some(WriteFlushMode::WRITE_FLUSH_DISABLED);
        self
    }

    /// Makes all producers hand over their events before each write into the file.
    #[cfg(feature = "in-process")]
    pub(super) fn flush_before_writes(mut self) -> Self {
        self.message.write_flush_mode = Some(WriteFlushMode::WRITE_FLUSH_ENABLED);
        self
    }

    /// Adds a trigger, which a program activates with [`trigger`](crate::trigger). All triggers of a session do the
    /// same; the last call decides what. Each has a name of its own. The session must have no
    /// [`duration`](Self::duration), and with [`Trigger::Stop`] it must not write into a file.
    pub fn trigger(mut self, what: Trigger, name: &str, delay: Duration) -> Self {
        let triggers = self.message.trigger_config.get_or_insert_default();
        triggers.trigger_mode = Some(match what {
            Trigger::Start => TriggerMode::START_TRACING,
            Trigger::Stop => TriggerMode::STOP_TRACING,
        });
        triggers.trigger_timeout_ms.get_or_insert(TRIGGER_TIMEOUT_MS);
        triggers.triggers.push(TraceConfigTriggerConfigTrigger {
            name: Some(name.to_owned()),
            stop_delay_ms: Some(ms(delay)),
            ..Default::default()
        });
        self
    }

    /// Ends the session after this time, at most seven days, if none of its triggers was activated; a day if this is
    /// not called. Its trace is empty then.
    pub fn trigger_timeout(mut self, time: Duration) -> Self {
        let triggers = self.message.trigger_config.get_or_insert_default();
        triggers.trigger_timeout_ms = Some(ms(time));
        self
    }

    /// The name of the session. No other session of the service may have it.
    pub fn unique_name(mut self, name: &str) -> Self {
        self.message.unique_session_name = Some(name.to_owned());
        self
    }

    /// Ends the session after this time, at most seven days. For a session without a trigger.
    pub fn duration(mut self, time: Duration) -> Self {
        self.message.duration_ms = Some(ms(time));
        self
    }

    /// Clears the incremental state of all sequences at this interval. Ring buffers need it: an event cannot be read
    /// after the definitions before it were overwritten. Our service does it by itself each time a quarter of a ring
    /// was written, unless this is called or a file gets the packets in time; others do not.
    pub fn clear_interval(mut self, time: Duration) -> Self {
        let state = self.message.incremental_state_config.get_or_insert_default();
        state.clear_period_ms = Some(ms(time));
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
        if config.writes_file() {
            config.message.flush_period_ms.get_or_insert(FLUSH_PERIOD_MS);
        }
        config.message
    }

    /// Whether a trigger starts the session.
    pub(super) fn starts_by_trigger(&self) -> bool {
        self.trigger_mode() == Some(TriggerMode::START_TRACING)
    }

    fn trigger_mode(&self) -> Option<TriggerMode> {
        self.message.trigger_config.as_ref().and_then(|triggers| triggers.trigger_mode)
    }

    /// Whether the session ends when a time has passed.
    #[cfg(feature = "in-process")]
    pub(super) fn has_duration(&self) -> bool {
        self.message.duration_ms.is_some_and(|ms| ms != 0)
    }

    /// Whether each buffer takes no more packets when it is full.
    #[cfg(feature = "in-process")]
    pub(super) fn keeps_the_beginning(&self) -> bool {
        let buffers = &self.message.buffers;
        let discards =
            |buffer: &TraceConfigBufferConfig| buffer.fill_policy == Some(FillPolicy::DISCARD);
        !buffers.is_empty() && buffers.iter().all(discards)
    }

    /// Whether the service writes the trace into a file.
    pub(super) fn writes_file(&self) -> bool {
        self.message.write_into_file == Some(true)
    }

    /// The file for the service, and what is left to do with it when the session has started.
    ///
    /// # Errors
    /// When the file cannot be made, or the session cannot write into one.
    pub(super) fn file(&self) -> Result<(Option<OwnedFd>, Option<NewFile>), SessionError> {
        // Each service refuses that, in the words of the schema.
        if self.writes_file() && self.trigger_mode() == Some(TriggerMode::STOP_TRACING) {
            return Err(SessionError::Config(STOPPED_WITH_FILE.to_owned()));
        }
        let none = Path::new("the file of the config");
        Ok(match &self.output {
            None => (None, None),
            Some(Output::Path(path)) => {
                let new_file = NewFile::create(path)?;
                (Some(new_file.try_clone()?.into()), Some(new_file))
            }
            Some(Output::Open(file)) => {
                (Some(file.try_clone().map_err(SessionError::file(none))?.into()), None)
            }
        })
    }
}

fn ms(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}

//! Checks of a trace config that need nothing but the config; those that take long are made one by one
//! ([`super::checking`]).
//!
//! They run in upstream's order (`TracingServiceImpl::EnableTracing`), because it decides which of two errors a user
//! sees first.

use protos::{DataSourceConfig, TraceConfig, TraceConfigDataSource, TraceConfigTriggerConfig};
use protozero::Message as _;

use super::trigger_config::Triggers;
use crate::compress::{Codec, Codecs};
use crate::error::{ConfigError, DataSourceError, NameFilterError, TriggerError};
use crate::filter::{FilterConfigError, TraceFilter};
use crate::limits;
use crate::matching::{MatchCost, NameRegex};

/// The producers that a data source of the config is for.
#[derive(Debug, Default)]
pub(crate) struct SourceFilter {
    names: Names,
    regexes: Vec<NameRegex>,
    machines: Names,
    all_machines: bool,
}

/// Names, sorted: thousands of producers may be compared with thousands of them.
#[derive(Debug, Default)]
struct Names(Vec<String>);

impl Names {
    fn of(names: &[String]) -> Self {
        let mut names = names.to_vec();
        names.sort_unstable();
        Self(names)
    }

    fn has(&self, name: &str) -> bool {
        self.0.binary_search_by(|other| other.as_str().cmp(name)).is_ok()
    }
}

impl SourceFilter {
    /// The filter of a data source, whose expressions are not compiled yet. `regexes` counts its names.
    ///
    /// # Errors
    /// The config has too many.
    pub(crate) fn without_expressions(
        source: &TraceConfigDataSource,
        all_machines: bool,
        regexes: &mut Regexes,
    ) -> Result<Self, ConfigError> {
        let (names, machines) = (&source.producer_name_filter, &source.machine_name_filter);
        regexes.count_names(names.len().saturating_add(machines.len()))?;
        Ok(Self {
            names: Names::of(names),
            regexes: Vec::new(),
            machines: Names::of(machines),
            all_machines,
        })
    }

    /// What it took to sort the names.
    pub(crate) fn work(&self) -> u64 {
        let names = self.names.0.len().saturating_add(self.machines.0.len());
        (names as u64).saturating_mul(limits::WORK_PER_ENTRY)
    }

    /// Compiles the next expression. False: there is none.
    pub(crate) fn compile_next(
        &mut self,
        source: &TraceConfigDataSource,
        regexes: &mut Regexes,
    ) -> Result<bool, ConfigError> {
        let Some(text) = source.producer_name_regex_filter.get(self.regexes.len()) else {
            return Ok(false);
        };
        self.regexes.push(regexes.compile("producer_name_regex_filter", text)?);
        Ok(true)
    }

    /// Whether the data source is for a producer of that name. Without a filter it is for all.
    pub(crate) fn wants_producer(&self, name: &str, cost: &mut MatchCost<'_>) -> bool {
        if self.names.0.is_empty() && self.regexes.is_empty() {
            return true;
        }
        self.names.has(name) || self.regexes.iter().any(|r| r.is_match(name, cost))
    }

    /// Whether the data source is for a machine. Without a filter it is for this one, and for others with
    /// `trace_all_machines`.
    pub(crate) fn wants_machine(&self, machine_id: u32, name: &str) -> bool {
        if self.machines.0.is_empty() {
            return machine_id == 0 || self.all_machines;
        }
        self.machines.has(name) || (machine_id == 0 && self.machines.has("host"))
    }
}

/// The compiled parts of a config that passed, and notes on fields without effect.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) filters: Vec<SourceFilter>,
    pub(crate) triggers: Triggers,
    /// The filter of packets. What is wrong with it is told when the session is made.
    pub(crate) filter: Option<Result<TraceFilter, FilterConfigError>>,
    pub(crate) notes: Vec<String>,
}

/// The first checks of EnableTracing, from the second one on: those that take no time.
///
/// # Errors
/// The first check that fails.
pub(crate) fn check_values(config: &TraceConfig) -> Result<(), ConfigError> {
    check_duration(config)?;
    check_triggers(config)?;
    check_guardrails(config)?;
    let (count, max) = (config.session_semaphores.len(), limits::SEMAPHORES_PER_SESSION_MAX);
    if count > max {
        return Err(ConfigError::TooManySemaphores { count, max });
    }
    check_buffers(config)
}

fn has_guardrails(config: &TraceConfig) -> bool {
    config.enable_extra_guardrails.unwrap_or(false)
}

/// How long data sources may take to acknowledge their stop, ms.
pub(crate) fn stop_timeout_ms(config: &TraceConfig) -> u32 {
    match config.data_source_stop_timeout_ms.unwrap_or(0) {
        0 => limits::STOP_TIMEOUT_MS,
        ms => ms,
    }
}

/// The longest duration, ms.
pub(crate) fn duration_max(config: &TraceConfig) -> u64 {
    if has_guardrails(config) { limits::GUARDRAIL_DURATION_MS_MAX } else { limits::DURATION_MS_MAX }
}

fn check_duration(config: &TraceConfig) -> Result<(), ConfigError> {
    let duration = u64::from(config.duration_ms.unwrap_or(0));
    let max = duration_max(config);
    if duration > max {
        return Err(ConfigError::DurationTooLong {
            duration_ms: duration,
            max_ms: max,
            guardrails: has_guardrails(config),
        });
    }
    Ok(())
}

fn check_triggers(config: &TraceConfig) -> Result<(), TriggerError> {
    let none = TraceConfigTriggerConfig::default();
    let trigger = config.trigger_config.as_ref().unwrap_or(&none);
    let mode = trigger.trigger_mode.map_or(0, |m| m.0);
    let clone_if_available = trigger.use_clone_snapshot_if_available.unwrap_or(false);
    let timeout = u64::from(trigger.trigger_timeout_ms.unwrap_or(0));
    let max = duration_max(config);
    let has_mode = mode != 0 || clone_if_available;
    if has_mode && (timeout == 0 || timeout > max) {
        return Err(TriggerError::Timeout { timeout_ms: timeout, max_ms: max });
    }
    // 3 is reserved: upstream lets it pass and then records for ever.
    if !matches!(mode, 0 | 1 | 2 | 4) {
        return Err(TriggerError::Mode(mode));
    }
    if clone_if_available && mode != 2 {
        return Err(TriggerError::CloneIfAvailableWithoutStop);
    }
    if has_mode && config.duration_ms.unwrap_or(0) != 0 {
        return Err(TriggerError::WithDuration);
    }
    let filename = config.bugreport_filename.as_deref().unwrap_or_default();
    if let Some(bad) =
        filename.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'))
    {
        return Err(TriggerError::BugreportFilename(bad));
    }
    if matches!(mode, 2 | 4) && config.write_into_file.unwrap_or(false) {
        return Err(TriggerError::WithFile);
    }
    let mut names: Vec<&str> =
        trigger.triggers.iter().map(|t| t.name.as_deref().unwrap_or_default()).collect();
    if let Some(name) = duplicate(&mut names) {
        return Err(TriggerError::Duplicate(name.to_owned()));
    }
    Ok(())
}

/// A name that is there twice.
fn duplicate<'a>(names: &mut [&'a str]) -> Option<&'a str> {
    names.sort_unstable();
    names.windows(2).find_map(|pair| match pair {
        [one, next] if one == next => Some(*one),
        _ => None,
    })
}

fn check_guardrails(config: &TraceConfig) -> Result<(), ConfigError> {
    if !has_guardrails(config) {
        return Ok(());
    }
    if config.deferred_start.unwrap_or(false) {
        return Err(ConfigError::DeferredStartWithGuardrails);
    }
    let mut sum_kb = 0u64;
    for buffer in &config.buffers {
        let kb = buffer.size_kb.unwrap_or(0);
        if !kb.is_multiple_of(4) {
            return Err(ConfigError::BufferNotMultipleOf4(kb));
        }
        sum_kb = sum_kb.saturating_add(kb.into());
    }
    let asked = config.guardrail_overrides.as_ref().and_then(|g| g.max_tracing_buffer_size_kb);
    let max_kb = limits::GUARDRAIL_BUFFERS_KB_MAX.max(asked.unwrap_or(0).into());
    if sum_kb > max_kb {
        return Err(ConfigError::BuffersTooLarge { sum_kb, max_kb });
    }
    Ok(())
}

fn check_buffers(config: &TraceConfig) -> Result<(), ConfigError> {
    let count = config.buffers.len();
    let max = limits::BUFFERS_PER_SESSION_MAX;
    if count > max {
        return Err(ConfigError::TooManyBuffers { count, max });
    }
    let mut names: Vec<&str> = buffer_names(config).filter(|n| !n.is_empty()).collect();
    if let Some(name) = duplicate(&mut names) {
        return Err(ConfigError::DuplicateBuffer(name.to_owned()));
    }
    Ok(())
}

fn buffer_names(config: &TraceConfig) -> impl Iterator<Item = &str> {
    config.buffers.iter().map(|b| b.name.as_deref().unwrap_or_default())
}

/// The buffer that a data source of the config writes to: by name, else by index.
///
/// # Errors
/// The name is unknown, or means another buffer than the index, or the index is too large.
pub(crate) fn target_buffer(
    config: &TraceConfig,
    source: &protos::DataSourceConfig,
) -> Result<usize, DataSourceError> {
    let index = source.target_buffer.unwrap_or(0) as usize;
    let target = source.target_buffer_name.as_deref().unwrap_or_default();
    let source_name = source.name.as_deref().unwrap_or_default();
    let mut resolved = index;
    if !target.is_empty() {
        let found = buffer_names(config).position(|n| n == target);
        resolved = found.ok_or_else(|| DataSourceError::TargetNameUnknown {
            source: source_name.to_owned(),
            target: target.to_owned(),
        })?;
        if index > 0 && index != resolved {
            return Err(DataSourceError::TargetMismatch {
                source: source_name.to_owned(),
                index,
                target: target.to_owned(),
                resolved,
            });
        }
    }
    if resolved >= config.buffers.len() {
        return Err(DataSourceError::TargetOutOfBounds {
            source: source_name.to_owned(),
            index: resolved,
            count: config.buffers.len(),
        });
    }
    Ok(resolved)
}

/// The name of a data source of a config.
pub(crate) fn name_of(source: &TraceConfigDataSource) -> &str {
    source.config.as_ref().and_then(|config| config.name.as_deref()).unwrap_or_default()
}

/// Checks where a data source writes to, and how long its config is. Returns that.
pub(crate) fn check_target(
    config: &TraceConfig,
    source: &TraceConfigDataSource,
) -> Result<usize, DataSourceError> {
    let none = DataSourceConfig::default();
    let source = source.config.as_ref().unwrap_or(&none);
    target_buffer(config, source)?;
    let (bytes, max) = (source.encoded_len(), limits::DATA_SOURCE_CONFIG_BYTES_MAX);
    if bytes > max {
        let source = source.name.clone().unwrap_or_default();
        return Err(DataSourceError::TooLarge { source, bytes, max });
    }
    Ok(bytes)
}

/// Compiles the expressions of one config, up to a number of them, and counts the names beside them.
#[derive(Debug, Default)]
pub(crate) struct Regexes {
    names: usize,
    count: usize,
    bytes: usize,
    /// What compiling them took.
    pub(crate) work: u64,
}

impl Regexes {
    /// Adds so many names of producers and machines.
    fn count_names(&mut self, names: usize) -> Result<(), NameFilterError> {
        self.names = self.names.saturating_add(names);
        let max = limits::FILTER_NAMES_PER_SESSION_MAX;
        if self.names > max {
            return Err(NameFilterError::TooManyNames { max });
        }
        Ok(())
    }

    /// The whole text must match, as with `std::regex_match`. An invalid expression is an error here; upstream
    /// aborts.
    pub(crate) fn compile(
        &mut self,
        field: &'static str,
        text: &str,
    ) -> Result<NameRegex, NameFilterError> {
        self.count = self.count.saturating_add(1);
        let max = limits::REGEXES_PER_SESSION_MAX;
        if self.count > max {
            return Err(NameFilterError::TooManyRegexes { max });
        }
        let made = NameRegex::new(text).map_err(|reason| NameFilterError::RegexInvalid {
            field,
            text: text.to_owned(),
            reason,
        });
        // One that is too large is found out when it has taken as much as it may.
        let bytes = made.as_ref().map_or(limits::REGEX_BYTES_MAX, NameRegex::bytes);
        let work = (bytes as u64).saturating_mul(limits::WORK_PER_COMPILED_BYTE);
        self.work = self.work.saturating_add(work);
        let made = made?;
        self.bytes = self.bytes.saturating_add(made.bytes());
        let max = limits::REGEX_BYTES_PER_SESSION_MAX;
        if self.bytes > max {
            return Err(NameFilterError::RegexesTooLarge { max_kib: max / 1024 });
        }
        Ok(made)
    }
}

/// What has no effect here.
pub(crate) fn notes(config: &TraceConfig, codecs: Codecs) -> Vec<String> {
    let mut notes = Vec::new();
    let of_source = |source: &protos::TraceConfigDataSource| {
        source.config.as_ref().is_some_and(|config| config.protovm_config.is_some())
    };
    if config.data_sources.iter().any(of_source) {
        notes.push("protovm_config is ignored: nothing runs ProtoVM programs here".into());
    }
    if Codec::is_asked_for(config) && codecs.choose(config).is_none() {
        notes.push("the compression asked for is not there: the trace will be uncompressed".into());
    }
    notes
}

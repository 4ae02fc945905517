//! Checks of a trace config that need nothing but the config.
//!
//! They run in the order upstream has them (`TracingServiceImpl::EnableTracing`), since which of two
//! errors a user sees first is part of the behaviour. Texts keep upstream's key words.

use protos::TraceConfig;
use protozero::Message as _;

use crate::compress::{Codec, Codecs};
use crate::limits;
use crate::matching::{Effort, NameRegex};
use crate::triggers::Triggers;

/// Which producers a data source of the config is meant for.
#[derive(Debug, Default)]
pub(crate) struct SourceFilter {
    names: Vec<String>,
    regexes: Vec<NameRegex>,
    machines: Vec<String>,
    all_machines: bool,
}

impl SourceFilter {
    /// True if a producer of that name is meant: any producer when there is no filter.
    pub(crate) fn wants_producer(&self, name: &str, effort: &mut Effort<'_>) -> bool {
        if self.names.is_empty() && self.regexes.is_empty() {
            return true;
        }
        self.names.iter().any(|n| n == name)
            || self.regexes.iter().any(|r| r.is_match(name, effort))
    }

    /// True if a machine is meant: without a filter this one, and others only when asked for.
    pub(crate) fn wants_machine(&self, machine_id: u32, name: &str) -> bool {
        if self.machines.is_empty() {
            return machine_id == 0 || self.all_machines;
        }
        self.machines.iter().any(|m| m == name || (machine_id == 0 && m == "host"))
    }
}

/// A config that passed, and what of it is not done as asked.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    pub(crate) filters: Vec<SourceFilter>,
    pub(crate) triggers: Triggers,
    pub(crate) notes: Vec<String>,
}

/// Checks 2 to 17 of EnableTracing, and those on features.
///
/// # Errors
/// One line for the user: what is wrong, with the numbers.
pub(crate) fn check(config: &TraceConfig, codecs: Codecs) -> Result<Checked, String> {
    check_duration(config)?;
    check_triggers(config)?;
    check_guardrails(config)?;
    check_buffers(config)?;
    check_targets(config)?;
    let mut regexes = Regexes::default();
    let all_machines = config.trace_all_machines.unwrap_or(false);
    let sources = config.data_sources.iter();
    let filters = sources
        .map(|source| compile_filter(source, all_machines, &mut regexes))
        .collect::<Result<_, String>>()?;
    let triggers =
        Triggers::from_config(config, |text| regexes.compile("producer_name_regex", text))?;
    Ok(Checked { filters, triggers, notes: notes(config, codecs) })
}

fn guarded(config: &TraceConfig) -> bool {
    config.enable_extra_guardrails.unwrap_or(false)
}

/// The longest duration, ms.
pub(crate) fn duration_max(config: &TraceConfig) -> u64 {
    if guarded(config) { limits::GUARDRAIL_DURATION_MS_MAX } else { limits::DURATION_MS_MAX }
}

fn check_duration(config: &TraceConfig) -> Result<(), String> {
    let duration = u64::from(config.duration_ms.unwrap_or(0));
    let max = duration_max(config);
    if duration > max {
        let guards = if guarded(config) { " with enable_extra_guardrails" } else { "" };
        return Err(format!(
            "trace too long: duration_ms is {duration}, at most {max} is allowed{guards}"
        ));
    }
    Ok(())
}

fn check_triggers(config: &TraceConfig) -> Result<(), String> {
    let trigger = config.trigger_config.clone().unwrap_or_default();
    let mode = trigger.trigger_mode.map_or(0, |m| m.0);
    let clone_if_available = trigger.use_clone_snapshot_if_available.unwrap_or(false);
    let timeout = u64::from(trigger.trigger_timeout_ms.unwrap_or(0));
    let max = duration_max(config);
    let has_mode = mode != 0 || clone_if_available;
    if has_mode && (timeout == 0 || timeout > max) {
        return Err(format!(
            "traces with triggers need a positive trigger_timeout_ms of at most {max}, not {timeout}"
        ));
    }
    // 3 is reserved: upstream lets it pass and then records for ever.
    if !matches!(mode, 0 | 1 | 2 | 4) {
        return Err(format!("invalid trigger mode {mode}"));
    }
    if clone_if_available && mode != 2 {
        return Err("trigger_mode must be STOP_TRACING with use_clone_snapshot_if_available".into());
    }
    if has_mode && config.duration_ms.unwrap_or(0) != 0 {
        return Err("duration_ms is not allowed with triggers: they have trigger_timeout_ms".into());
    }
    let filename = config.bugreport_filename.as_deref().unwrap_or_default();
    if let Some(bad) =
        filename.chars().find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'))
    {
        return Err(format!("bugreport_filename contains the invalid char {bad:?}"));
    }
    if matches!(mode, 2 | 4) && config.write_into_file.unwrap_or(false) {
        return Err("write_into_file with STOP_TRACING or CLONE_SNAPSHOT is unsupported".into());
    }
    let mut names: Vec<&str> =
        trigger.triggers.iter().map(|t| t.name.as_deref().unwrap_or_default()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|w| w[0] == w[1]) {
        return Err(format!("duplicate trigger name {:?}", pair[0]));
    }
    Ok(())
}

fn check_guardrails(config: &TraceConfig) -> Result<(), String> {
    if !guarded(config) {
        return Ok(());
    }
    if config.deferred_start.unwrap_or(false) {
        return Err("deferred_start is not supported in unsupervised traces".into());
    }
    let mut sum_kb = 0u64;
    for buffer in &config.buffers {
        let kb = buffer.size_kb.unwrap_or(0);
        if !kb.is_multiple_of(4) {
            return Err(format!("buffer sizes must be a multiple of 4 KB, {kb} is not"));
        }
        sum_kb += u64::from(kb);
    }
    let asked = config.guardrail_overrides.as_ref().and_then(|g| g.max_tracing_buffer_size_kb);
    let max_kb = limits::GUARDRAIL_BUFFERS_KB_MAX.max(asked.unwrap_or(0).into());
    if sum_kb > max_kb {
        return Err(format!("buffers too large: {sum_kb} KB in all, at most {max_kb} are allowed"));
    }
    Ok(())
}

fn check_buffers(config: &TraceConfig) -> Result<(), String> {
    let count = config.buffers.len();
    let max = limits::BUFFERS_PER_SESSION_MAX;
    if count > max {
        return Err(format!("too many buffers: {count}, at most {max} are allowed"));
    }
    let mut names: Vec<&str> = buffer_names(config).filter(|n| !n.is_empty()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|w| w[0] == w[1]) {
        return Err(format!("Duplicate buffer name: {:?}", pair[0]));
    }
    Ok(())
}

fn buffer_names(config: &TraceConfig) -> impl Iterator<Item = &str> {
    config.buffers.iter().map(|b| b.name.as_deref().unwrap_or_default())
}

/// The buffer that a data source of the config writes to: by name, else by index.
///
/// # Errors
/// Says which of the three ways to be wrong it is.
pub(crate) fn target_buffer(
    config: &TraceConfig,
    source: &protos::DataSourceConfig,
) -> Result<usize, String> {
    let index = source.target_buffer.unwrap_or(0) as usize;
    let target = source.target_buffer_name.as_deref().unwrap_or_default();
    let source_name = source.name.as_deref().unwrap_or_default();
    let mut resolved = index;
    if !target.is_empty() {
        resolved = buffer_names(config).position(|n| n == target).ok_or_else(|| {
            format!(
                "data source {source_name:?}: target_buffer_name {target:?} does not match any buffer"
            )
        })?;
        if index > 0 && index != resolved {
            return Err(format!(
                "data source {source_name:?}: target_buffer {index} and target_buffer_name \
                 {target:?} (buffer {resolved}) don't match"
            ));
        }
    }
    if resolved >= config.buffers.len() {
        return Err(format!(
            "data source {source_name:?}: target_buffer {resolved} is out of bounds, there are {} \
             buffers",
            config.buffers.len()
        ));
    }
    Ok(resolved)
}

fn check_targets(config: &TraceConfig) -> Result<(), String> {
    for source in &config.data_sources {
        let source = source.config.clone().unwrap_or_default();
        target_buffer(config, &source)?;
        let (bytes, max) = (source.encode_to_vec().len(), limits::DATA_SOURCE_CONFIG_BYTES_MAX);
        if bytes > max {
            let name = source.name.as_deref().unwrap_or_default();
            return Err(format!(
                "data source {name:?}: a config of {bytes} bytes, at most {max} can be sent to a producer"
            ));
        }
    }
    Ok(())
}

/// Compiles the expressions of one config, up to a number of them.
#[derive(Debug, Default)]
pub(crate) struct Regexes {
    count: usize,
    bytes: usize,
}

/// How much of an expression an error repeats.
const REGEX_QUOTED_CHARS: usize = 80;

impl Regexes {
    /// The whole text must match, as with `std::regex_match`. An invalid expression is an error of ours:
    /// upstream aborts.
    fn compile(&mut self, field: &str, text: &str) -> Result<NameRegex, String> {
        self.count += 1;
        let max = limits::REGEXES_PER_SESSION_MAX;
        if self.count > max {
            return Err(format!("too many regular expressions, at most {max} are allowed"));
        }
        let made = NameRegex::new(text).map_err(|e| {
            let short: String = text.chars().take(REGEX_QUOTED_CHARS).collect();
            let rest = if short.len() < text.len() { "…" } else { "" };
            format!("{field} {short:?}{rest} is invalid: {e}")
        })?;
        self.bytes += made.bytes();
        let max = limits::REGEX_BYTES_PER_SESSION_MAX / 1024;
        if self.bytes > max * 1024 {
            return Err(format!(
                "the regular expressions are too large: at most {max} KiB, compiled, are allowed in all"
            ));
        }
        Ok(made)
    }
}

/// Compiles the filters of one data source.
pub(crate) fn compile_filter(
    source: &protos::TraceConfigDataSource,
    all_machines: bool,
    regexes: &mut Regexes,
) -> Result<SourceFilter, String> {
    let texts = source.producer_name_regex_filter.iter();
    let compiled = texts.map(|text| regexes.compile("producer_name_regex_filter", text));
    Ok(SourceFilter {
        names: source.producer_name_filter.clone(),
        regexes: compiled.collect::<Result<_, String>>()?,
        machines: source.machine_name_filter.clone(),
        all_machines,
    })
}

fn notes(config: &TraceConfig, codecs: Codecs) -> Vec<String> {
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

//! What a session wants of ftrace: its [`FtraceConfig`], checked once and owned.
//!
//! Trust: any consumer of the service sends configs, and this process is root. A config is refused as a whole if one
//! of its parts could lead out of tracefs, be two commands to the kernel, or grow without a bound. The refusal says
//! what is wrong with which field. What is checked here needs no second check: later code builds paths and commands of
//! these texts as they are.

mod categories;
mod events;
mod print_filter;
mod syscalls;
mod wanted;

#[cfg(test)]
mod tests;

pub use self::categories::{FtraceCategory, ftrace_categories};
pub(crate) use self::events::{EventName, KnownEvents};
pub(crate) use self::print_filter::PrintFilter;
pub(crate) use self::syscalls::{SyscallArch, Syscalls};

use protos::{
    FtraceConfig, FtraceConfigKprobeEvent, FtraceConfigKprobeEventKprobeType,
    FtraceConfigKsymsMemPolicy,
};

use self::events::Pattern;
use super::tracefs::is_part;

/// Most entries of a list of a config.
const ENTRIES_MAX: usize = 4096;
/// Most threads that a config can name.
const TIDS_MAX: usize = 32 * 1024;
/// Longest text of a config, bytes.
const TEXT_BYTES_MAX: usize = 255;
/// Longest mask of CPUs, bytes: 8192 CPUs in hexadecimal words with commas.
const MASK_BYTES_MAX: usize = 8192 / 4 + 8192 / 32;
/// Periods of draining that are used, milliseconds.
const DRAIN_PERIOD_MS: std::ops::RangeInclusive<u32> = 1..=60_000;
/// Largest ring, kilobytes for each CPU: what the kernel can count in bytes with 32 bits of pages.
const BUFFER_KB_MAX: u32 = 1 << 30;

/// Why a data source cannot be: a text for its user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) String);

/// A checked config.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// The instance of tracefs. `None`: the main one.
    pub(crate) instance: Option<String>,
    events: Vec<Pattern>,
    categories: Vec<String>,
    has_apps: bool,
    is_userspace_only: bool,
    pub(crate) buffer: BufferWish,
    /// `None`: no wish, or one that cannot be fulfilled.
    pub(crate) drain_period_ms: Option<u32>,
    /// 1 to 100. `None`: the kernel's value stays.
    pub(crate) drain_percent: Option<u32>,
    /// The reader is to be woken when a ring fills.
    pub(crate) wants_polls: bool,
    pub(crate) compact_sched: bool,
    pub(crate) symbols: Symbols,
    pub(crate) print_filter: PrintFilter,
    pub(crate) generic: GenericEvents,
    /// Names of system calls, as in the config. Empty: all.
    pub(crate) syscalls: Vec<String>,
    pub(crate) graph: Option<Graph>,
    /// Take the ring as it is, with what it has.
    pub(crate) is_preserving: bool,
    pub(crate) wants_raw_clock: bool,
    pub(crate) kprobes: Vec<Kprobe>,
    pub(crate) exclusive: Exclusive,
    /// Values that are not used, each with the reason.
    pub(crate) notes: Vec<String>,
}

/// The size of the ring that a config asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BufferWish {
    /// Kilobytes for each CPU; 0: no wish.
    pub(crate) kb: u32,
    /// The default counts if it is larger.
    pub(crate) is_lower_bound: bool,
}

impl BufferWish {
    /// Kilobytes for each CPU: whole pages of `page_kb`, at least one. `ram_bytes` is 0 if it is not known.
    pub(crate) fn kb(self, ram_bytes: u64, page_kb: u32) -> u32 {
        let default = if ram_bytes >= 7 << 30 { 8192 } else { 2048 };
        let kb = match (self.kb, self.is_lower_bound) {
            (0, _) => default,
            (kb, true) => kb.max(default),
            (kb, false) => kb,
        };
        let page_kb = page_kb.max(1);
        (kb / page_kb).max(1) * page_kb
    }
}

/// Names of kernel functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Symbols {
    #[default]
    Off,
    /// The table goes with the last session.
    Freed,
    /// The table stays.
    Retained,
}

/// Events that the schema does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum GenericEvents {
    /// They are not recorded.
    Off,
    /// As messages with a descriptor.
    #[default]
    Dense,
    /// As `GenericFtraceEvent`.
    Legacy,
}

/// Function graph. Empty lists: all functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Graph {
    pub(crate) filters: Vec<String>,
    pub(crate) roots: Vec<String>,
    /// 0: no limit.
    pub(crate) depth_max: u32,
}

/// A probe at a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kprobe {
    /// The function; letters, digits and `_`, or the kernel does not take it.
    pub(crate) function: String,
    pub(crate) on_entry: bool,
    pub(crate) on_return: bool,
}

/// What only a session alone in its instance can have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exclusive {
    /// Threads to record; empty: all.
    pub(crate) tids: Vec<u32>,
    /// Options of tracefs, on or off.
    pub(crate) options: Vec<(String, bool)>,
    /// CPUs to record, as hexadecimal words.
    pub(crate) cpumask: Option<String>,
}

impl Exclusive {
    /// The names of the fields that are set.
    pub(crate) fn fields(&self) -> Vec<&'static str> {
        let fields = [
            (!self.tids.is_empty(), "tids_to_trace"),
            (!self.options.is_empty(), "tracefs_options"),
            (self.cpumask.is_some(), "tracing_cpumask"),
        ];
        fields.into_iter().filter(|(is_set, _)| *is_set).map(|(_, name)| name).collect()
    }
}

impl Config {
    /// Checks a config.
    ///
    /// # Errors
    /// A text that names the field, what is wrong with it, and what is right.
    pub(crate) fn new(config: &FtraceConfig) -> Result<Self, Refusal> {
        let mut notes = Vec::new();
        let checked = Self {
            instance: instance(config.instance_name.as_deref().unwrap_or_default())?,
            events: events(&config.ftrace_events)?,
            categories: printable("atrace_categories", &config.atrace_categories)?,
            has_apps: !printable("atrace_apps", &config.atrace_apps)?.is_empty(),
            is_userspace_only: config.atrace_userspace_only.unwrap_or(false),
            buffer: BufferWish {
                kb: buffer_kb(config.buffer_size_kb.unwrap_or(0))?,
                is_lower_bound: config.buffer_size_lower_bound.unwrap_or(false),
            },
            drain_period_ms: period(config.drain_period_ms, &mut notes),
            drain_percent: percent(config.drain_buffer_percent, &mut notes),
            wants_polls: config.drain_buffer_percent.is_some_and(|percent| percent <= 100),
            compact_sched: config.compact_sched.as_ref().is_none_or(|c| c.enabled.unwrap_or(true)),
            symbols: symbols(config),
            print_filter: print_filter(config)?,
            generic: generic(config),
            syscalls: printable("syscall_events", &config.syscall_events)?,
            graph: graph(config)?,
            is_preserving: config.preserve_ftrace_buffer.unwrap_or(false),
            wants_raw_clock: config.use_monotonic_raw_clock.unwrap_or(false),
            kprobes: kprobes(&config.kprobe_events)?,
            exclusive: exclusive(config)?,
            notes: Vec::new(),
        };
        let has_atrace = !checked.categories.is_empty() || checked.has_apps;
        if checked.instance.is_some() && has_atrace {
            return refuse(
                "instance_name: categories and apps are for the main instance alone; name events instead",
            );
        }
        if checked.is_userspace_only && !checked.categories.is_empty() {
            notes.push(
                "atrace_categories record no events of the kernel, because atrace_userspace_only is set: leave that out"
                    .to_owned(),
            );
        }
        if config.throttle_rss_stat == Some(true) {
            notes.push(
                "throttle_rss_stat is not used: mainline kernels have no such event".to_owned(),
            );
        }
        Ok(Self { notes, ..checked })
    }
}

fn refuse<T>(text: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal(text.into()))
}

fn count(field: &str, len: usize, max: usize) -> Result<(), Refusal> {
    if len > max {
        return refuse(format!("{field} has {len} entries; at most {max} are taken"));
    }
    Ok(())
}

/// `text` for an error: short, and without control bytes.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(64).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    shown.escape_debug().to_string()
}

/// Texts whose bytes are all in `bytes`, and not too many of them.
fn texts(
    field: &str,
    texts: &[String],
    is_good: impl Fn(&str) -> bool,
    rule: &str,
) -> Result<Vec<String>, Refusal> {
    count(field, texts.len(), ENTRIES_MAX)?;
    for text in texts {
        if text.is_empty() || text.len() > TEXT_BYTES_MAX || !is_good(text) {
            return refuse(format!("{field}: `{}` is not accepted: {rule}", shown(text)));
        }
    }
    Ok(texts.to_vec())
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|b| (32..127).contains(&b))
}

fn printable(field: &str, entries: &[String]) -> Result<Vec<String>, Refusal> {
    texts(field, entries, is_printable, "1 to 255 printable ASCII characters are")
}

/// The name of an instance of tracefs that a config gives. `None` if it gives none: the main one.
///
/// # Errors
/// It is no name of one folder.
pub(crate) fn instance(name: &str) -> Result<Option<String>, Refusal> {
    if name.is_empty() {
        return Ok(None);
    }
    // A leading `..` is no way out, but upstream refuses it, too.
    let is_good = is_part(name) && !name.starts_with("..") && is_printable(name);
    if !is_good || name.len() > TEXT_BYTES_MAX - "instance-".len() {
        return refuse(format!(
            "instance_name: `{}` is not accepted: it is the name of one folder in tracefs/instances",
            shown(name)
        ));
    }
    Ok(Some(name.to_owned()))
}

fn events(entries: &[String]) -> Result<Vec<Pattern>, Refusal> {
    count("ftrace_events", entries.len(), ENTRIES_MAX)?;
    let pattern = |entry: &String| {
        let pattern =
            (entry.len() <= TEXT_BYTES_MAX && is_printable(entry)).then(|| Pattern::new(entry));
        pattern.flatten().ok_or_else(|| {
            Refusal(format!(
                "ftrace_events: `{}` is not accepted: name events as `group/name`, `group/*` or `name`",
                shown(entry)
            ))
        })
    };
    entries.iter().map(pattern).collect()
}

fn buffer_kb(kb: u32) -> Result<u32, Refusal> {
    if kb > BUFFER_KB_MAX {
        return refuse(format!("buffer_size_kb is {kb}; at most {BUFFER_KB_MAX} is taken"));
    }
    Ok(kb)
}

fn period(period_ms: Option<u32>, notes: &mut Vec<String>) -> Option<u32> {
    let is_used = |period: &u32| DRAIN_PERIOD_MS.contains(period);
    if let Some(period_ms) = period_ms.filter(|p| *p != 0 && !is_used(p)) {
        let max = DRAIN_PERIOD_MS.end();
        notes.push(format!("drain_period_ms {period_ms} is not used: 1 to {max} are"));
    }
    period_ms.filter(is_used)
}

fn percent(percent: Option<u32>, notes: &mut Vec<String>) -> Option<u32> {
    if let Some(percent) = percent.filter(|p| *p > 100) {
        notes.push(format!("drain_buffer_percent {percent} is not used: 1 to 100 are"));
    }
    percent.filter(|p| (1..=100).contains(p))
}

fn symbols(config: &FtraceConfig) -> Symbols {
    match (config.symbolize_ksyms, config.ksyms_mem_policy) {
        (Some(true), Some(FtraceConfigKsymsMemPolicy::KSYMS_RETAIN)) => Symbols::Retained,
        (Some(true), _) => Symbols::Freed,
        _ => Symbols::Off,
    }
}

fn print_filter(config: &FtraceConfig) -> Result<PrintFilter, Refusal> {
    let Some(filter) = &config.print_filter else { return Ok(PrintFilter::default()) };
    count("print_filter.rules", filter.rules.len(), ENTRIES_MAX)?;
    Ok(PrintFilter::new(filter))
}

fn generic(config: &FtraceConfig) -> GenericEvents {
    match (config.disable_generic_events, config.denser_generic_event_encoding) {
        (Some(true), _) => GenericEvents::Off,
        (_, Some(false)) => GenericEvents::Legacy,
        _ => GenericEvents::Dense,
    }
}

/// The kernel takes many names in one write, and `:` and `!` as commands.
fn graph(config: &FtraceConfig) -> Result<Option<Graph>, Refusal> {
    let is_function = |text: &str| {
        let is_good =
            |b: u8| b.is_ascii_graphic() && !matches!(b, b':' | b'!' | b'#' | b',' | b'/');
        text.bytes().all(is_good)
    };
    let rule = "name one function, or a pattern of names with `*`";
    let filters = texts("function_filters", &config.function_filters, is_function, rule)?;
    let roots = texts("function_graph_roots", &config.function_graph_roots, is_function, rule)?;
    let depth_max = config.function_graph_max_depth.unwrap_or(0);
    let is_on = config.enable_function_graph.unwrap_or(false);
    Ok(is_on.then_some(Graph { filters, roots, depth_max }))
}

/// The first mention of a function's entry or return counts; a probe is made once.
fn kprobes(entries: &[FtraceConfigKprobeEvent]) -> Result<Vec<Kprobe>, Refusal> {
    use FtraceConfigKprobeEventKprobeType as Type;
    count("kprobe_events", entries.len(), ENTRIES_MAX)?;
    let mut kprobes: Vec<Kprobe> = Vec::new();
    for entry in entries {
        let (on_entry, on_return) = match entry.r#type {
            Some(Type::KPROBE_TYPE_KPROBE) => (true, false),
            Some(Type::KPROBE_TYPE_KRETPROBE) => (false, true),
            Some(Type::KPROBE_TYPE_BOTH) => (true, true),
            _ => continue,
        };
        let function = entry.probe.clone().unwrap_or_default();
        if function.len() > TEXT_BYTES_MAX || !is_printable(&function) {
            return refuse(format!(
                "kprobe_events: `{}` is not accepted: name one function",
                shown(&function)
            ));
        }
        kprobes.push(Kprobe { function, on_entry, on_return });
    }
    Ok(kprobes)
}

impl Kprobe {
    /// Can it be part of a command to the kernel?
    pub(crate) fn is_plain(&self) -> bool {
        let is_good = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        !self.function.is_empty() && self.function.bytes().all(is_good)
    }
}

fn exclusive(config: &FtraceConfig) -> Result<Exclusive, Refusal> {
    count("tids_to_trace", config.tids_to_trace.len(), TIDS_MAX)?;
    if let Some(tid) = config.tids_to_trace.iter().find(|tid| i32::try_from(**tid).is_err()) {
        return refuse(format!("tids_to_trace: {tid} is no thread: at most {} is", i32::MAX));
    }
    Ok(Exclusive {
        tids: config.tids_to_trace.clone(),
        options: options(config)?,
        cpumask: cpumask(config.tracing_cpumask.as_deref().unwrap_or_default())?,
    })
}

fn options(config: &FtraceConfig) -> Result<Vec<(String, bool)>, Refusal> {
    use protos::FtraceConfigTracefsOptionState as State;
    count("tracefs_options", config.tracefs_options.len(), ENTRIES_MAX)?;
    let mut options = Vec::new();
    for option in &config.tracefs_options {
        let is_on = match option.state {
            Some(State::STATE_ENABLED) => true,
            Some(State::STATE_DISABLED) => false,
            _ => continue,
        };
        let name = option.name.clone().unwrap_or_default();
        let is_good = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        if name.is_empty() || name.len() > TEXT_BYTES_MAX || !name.bytes().all(is_good) {
            return refuse(format!(
                "tracefs_options: `{}` is not accepted: letters, digits, `-` and `_` are; see tracefs/options",
                shown(&name)
            ));
        }
        options.push((name, is_on));
    }
    Ok(options)
}

/// Words of up to eight hexadecimal digits, with commas between them.
fn cpumask(mask: &str) -> Result<Option<String>, Refusal> {
    if mask.is_empty() {
        return Ok(None);
    }
    let is_word =
        |word: &str| (1..=8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit());
    if mask.len() > MASK_BYTES_MAX || !mask.split(',').all(is_word) {
        return refuse(format!(
            "tracing_cpumask: `{}` is no mask: words of up to 8 hexadecimal digits are, such as `f` or `1,0000000f`",
            shown(mask)
        ));
    }
    Ok(Some(mask.to_owned()))
}

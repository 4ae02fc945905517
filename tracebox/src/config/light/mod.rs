//! Light mode: makes a config from a few options and words (`config.cc`).
//!
//! ```text
//!  perfetto -t 10s -b 32mb -o trace  sched/sched_switch  freq  disk
//!                                    event               category  sys_stats
//! ```

mod words;

use protos::{DataSourceConfig, FtraceConfig, SysStatsConfig, TraceConfig};

use super::parts::{FTRACE, buffer, named, source};
use crate::cli::TraceArgs;
use crate::failure::Failure;

/// Period of the flushes of configs that need no file, milliseconds. Trace processor reports an error in a trace that
/// was written into a file without one.
pub(super) const FLUSH_PERIOD_MS: u32 = 30_000;

/// The options and words of light mode. `None`: the option is absent.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Light {
    /// `-t`, milliseconds; 0 means without end.
    pub duration_ms: Option<u32>,
    /// `-b`, KiB.
    pub buffer_kb: Option<u32>,
    /// `-s`, KiB.
    pub file_kb: Option<u32>,
    /// `-a`.
    pub apps: Vec<String>,
    /// Events (with a slash) and categories.
    pub words: Vec<String>,
}

/// Default of `-t`, milliseconds.
const DURATION_MS: u32 = 10_000;

/// Default of `-b`, KiB.
const BUFFER_KB: u32 = 32 * 1024;

/// Reads the options and words of light mode.
///
/// # Errors
/// When a duration or size is not valid.
pub fn read(what: &TraceArgs) -> Result<Light, Failure> {
    let read = |flag: &str, text: &Option<String>, unit: fn(&str) -> Option<u64>, example: &str| {
        let Some(text) = text else { return Ok(None) };
        let value = with_unit(text, unit).ok_or_else(|| {
            Failure::new(format_args!(
                "{flag} {text:?}: expected a number with a unit, as in {example}"
            ))
        })?;
        u32::try_from(value)
            .map(Some)
            .map_err(|_| Failure::new(format_args!("{flag} {text:?} is too large")))
    };
    let buffer_kb = read("-b", &what.buffer, size_unit, "32mb")?;
    if buffer_kb == Some(0) {
        return Err(Failure::new("-b: a buffer of 0 bytes holds nothing"));
    }
    Ok(Light {
        duration_ms: read("-t", &what.time, time_unit, "10s")?,
        buffer_kb,
        file_kb: read("-s", &what.size, size_unit, "100mb")?,
        apps: what.app.clone(),
        words: what.words.clone(),
    })
}

/// The milliseconds in a unit of time.
fn time_unit(unit: &str) -> Option<u64> {
    Some(match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    })
}

/// The KiB in a unit of size.
fn size_unit(unit: &str) -> Option<u64> {
    Some(match unit {
        "kb" | "k" => 1,
        "mb" | "m" => 1024,
        "gb" | "g" => 1024 * 1024,
        _ => return None,
    })
}

/// Reads digits and a unit, such as `12mb`. Zero needs no unit.
fn with_unit(text: &str, unit: fn(&str) -> Option<u64>) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, rest) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    if number == 0 && rest.is_empty() {
        return Some(0);
    }
    number.checked_mul(unit(rest)?)
}

/// Checks the words.
///
/// # Errors
/// The first one that is neither an event nor a category.
pub fn check(light: &Light) -> Result<(), Failure> {
    words::check(&light.words)
}

/// What the category `disk` adds to its events.
fn counters_of_disks() -> DataSourceConfig {
    DataSourceConfig {
        sys_stats_config: Some(SysStatsConfig {
            diskstat_period_ms: Some(1000),
            ..SysStatsConfig::default()
        }),
        ..named("linux.sys_stats")
    }
}

/// The config for `light`.
#[must_use]
pub fn config(light: &Light) -> TraceConfig {
    let mut data_sources = Vec::new();
    let mut ftrace = FtraceConfig { symbolize_ksyms: Some(true), ..FtraceConfig::default() };
    let mut hypervisor = None;
    for word in &light.words {
        match word.as_str() {
            "hyp" | "hypervisor" => hypervisor = Some(word.clone()),
            event if event.contains('/') => ftrace.ftrace_events.push(event.to_owned()),
            category => {
                if category == "disk" {
                    data_sources.push(source(counters_of_disks()));
                }
                ftrace.atrace_categories.push(category.to_owned());
            }
        }
    }
    ftrace.atrace_apps.clone_from(&light.apps);
    let wanted = !ftrace.ftrace_events.is_empty()
        || !ftrace.atrace_categories.is_empty()
        || !ftrace.atrace_apps.is_empty();
    if wanted {
        data_sources
            .push(source(DataSourceConfig { ftrace_config: Some(ftrace), ..named(FTRACE) }));
    }
    if let Some(word) = hypervisor {
        data_sources.push(source(DataSourceConfig {
            ftrace_config: Some(FtraceConfig {
                ftrace_events: vec![format!("{word}/*")],
                instance_name: Some(word),
                ..FtraceConfig::default()
            }),
            ..named(FTRACE)
        }));
    }
    data_sources.push(source(named("linux.process_stats")));
    data_sources.push(source(named("linux.system_info")));

    let file_kb = light.file_kb.unwrap_or(0);
    TraceConfig {
        buffers: vec![buffer(light.buffer_kb.unwrap_or(BUFFER_KB))],
        data_sources,
        duration_ms: Some(light.duration_ms.unwrap_or(DURATION_MS)),
        max_file_size_bytes: Some(u64::from(file_kb) * 1024),
        write_into_file: (file_kb != 0).then_some(true),
        flush_period_ms: Some(FLUSH_PERIOD_MS),
        ..TraceConfig::default()
    }
}

#[cfg(test)]
mod tests;

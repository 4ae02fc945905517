//! Events of the kernel that light mode asks for, where they cannot be recorded.

use protos::{DataSourceConfig, ProcessStatsConfig, TraceConfig, TraceConfigDataSource};

use super::parts::FTRACE;
use crate::doctor::Obstacle;
use crate::failure::{EXIT_LOST, Failure};

fn ftrace(source: &TraceConfigDataSource) -> Option<&DataSourceConfig> {
    let config = source.config.as_ref()?;
    (config.name.as_deref() == Some(FTRACE)).then_some(config)
}

/// Does `config` ask for events of the kernel?
#[must_use]
pub fn wants_events(config: &TraceConfig) -> bool {
    config.data_sources.iter().any(|source| ftrace(source).is_some())
}

/// Takes events of the kernel out of `config`, and returns the line that tells it. The processes of the machine are
/// recorded once at the start, as no events name those that run.
///
/// # Errors
/// With `strict`, where a recording without them is a failure.
pub fn leave_out(
    config: &mut TraceConfig,
    obstacle: &Obstacle,
    strict: bool,
) -> Result<String, Failure> {
    let names = |config: &DataSourceConfig| {
        let config = config.ftrace_config.clone().unwrap_or_default();
        [config.atrace_categories, config.ftrace_events].concat()
    };
    let names: Vec<String> =
        config.data_sources.iter().filter_map(ftrace).flat_map(names).collect();
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let line = format!("Not recorded: events of the kernel{names}, because {}", obstacle.text());
    if strict {
        return Err(Failure::new(line).with_code(EXIT_LOST));
    }
    config.data_sources.retain(|source| ftrace(source).is_none());
    let sources = config.data_sources.iter_mut().filter_map(|source| source.config.as_mut());
    for source in sources.filter(|of| of.name.as_deref() == Some("linux.process_stats")) {
        let stats = source.process_stats_config.get_or_insert_default();
        *stats = ProcessStatsConfig { scan_all_processes_on_start: Some(true), ..stats.clone() };
    }
    Ok(line)
}

#[cfg(test)]
mod tests;

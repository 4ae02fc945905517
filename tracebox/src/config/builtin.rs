//! Configs that need no file.

use std::path::Path;

use protos::{DataSourceConfig, FtraceConfig, ProcessStatsConfig, SysStatsConfig, TraceConfig};

use super::light::{FLUSH_PERIOD_MS, Light};
use super::parts::{FTRACE, buffer, named, source};

/// What the default config is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Recording the machine for a few seconds.
    Machine,
    /// Recording a command until it ends, with its own track events.
    Command,
}

/// The files that the kernel of this machine has. The default config asks for no others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Frequencies of CPUs.
    pub has_cpu_frequencies: bool,
    /// Pressure stall information.
    pub has_pressure: bool,
}

impl Machine {
    /// Asks the kernel.
    #[must_use]
    pub fn detect() -> Self {
        let cpus = std::fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
        let mut files = cpus.map(|cpu| cpu.path().join("cpufreq/scaling_cur_freq"));
        Self {
            has_cpu_frequencies: files.any(|file| file.exists()),
            has_pressure: Path::new("/proc/pressure/cpu").exists(),
        }
    }
}

/// Default duration of a recording of the machine, milliseconds.
const DURATION_MS: u32 = 5000;

/// Default size of the buffer, KiB: it holds minutes of the built-in data sources.
const BUFFER_KB: u32 = 32 * 1024;

/// A config with the built-in data sources: times and memory of every process once a second, processors
/// and memory of the machine four times a second, disks and pressure once a second.
#[must_use]
pub fn default(light: &Light, purpose: Purpose, machine: Machine) -> TraceConfig {
    let fast = Some(250);
    let slow = Some(1000);
    let mut data_sources = vec![
        source(DataSourceConfig {
            process_stats_config: Some(ProcessStatsConfig {
                scan_all_processes_on_start: Some(true),
                record_thread_names: Some(true),
                proc_stats_poll_ms: slow,
                ..ProcessStatsConfig::default()
            }),
            ..named("linux.process_stats")
        }),
        source(DataSourceConfig {
            sys_stats_config: Some(SysStatsConfig {
                stat_period_ms: fast,
                // Virtual machines often have no frequencies.
                cpufreq_period_ms: fast.filter(|_| machine.has_cpu_frequencies),
                meminfo_period_ms: fast,
                vmstat_period_ms: slow,
                diskstat_period_ms: slow,
                psi_period_ms: slow.filter(|_| machine.has_pressure),
                ..SysStatsConfig::default()
            }),
            ..named("linux.sys_stats")
        }),
        source(named("linux.system_info")),
    ];
    let mut duration_ms = light.duration_ms.unwrap_or(DURATION_MS);
    if purpose == Purpose::Command {
        data_sources.push(source(named("track_event")));
        duration_ms = light.duration_ms.unwrap_or(0);
    }
    let file_kb = light.file_kb.unwrap_or(0);
    TraceConfig {
        buffers: vec![buffer(light.buffer_kb.unwrap_or(BUFFER_KB))],
        data_sources,
        duration_ms: Some(duration_ms),
        write_into_file: (file_kb != 0).then_some(true),
        flush_period_ms: (file_kb != 0).then_some(FLUSH_PERIOD_MS),
        max_file_size_bytes: (file_kb != 0).then(|| u64::from(file_kb) * 1024),
        ..TraceConfig::default()
    }
}

/// `-c :test`: two seconds of the scheduler.
#[must_use]
pub fn test() -> TraceConfig {
    let events =
        ["sched_switch", "cpu_idle", "cpu_frequency", "gpu_frequency"].map(str::to_owned).to_vec();
    TraceConfig {
        buffers: vec![buffer(1024)],
        duration_ms: Some(2000),
        data_sources: vec![source(DataSourceConfig {
            target_buffer: Some(0),
            ftrace_config: Some(FtraceConfig { ftrace_events: events, ..FtraceConfig::default() }),
            ..named(FTRACE)
        })],
        ..TraceConfig::default()
    }
}

//! When the threads of the command run: events of the kernel.
//!
//! The kernel follows the thread that starts the command. It records switches from and to threads of the command and
//! what they do, nothing of other processes. In another PID namespace than the first one, this program does not know
//! the number that the kernel has for the thread; then all processes are recorded.

use protos::{
    DataSourceConfig, FtraceConfig, FtraceConfigTracefsOption, FtraceConfigTracefsOptionState,
    TraceConfig,
};

use tracing_probes::Root;

use crate::config::parts::{FTRACE, named, source};

#[cfg(test)]
mod tests;

/// Who runs when, who wakes them up, and processes that begin, are renamed and end.
const EVENTS: [&str; 6] = [
    "sched/sched_switch",
    "sched/sched_waking",
    "sched/sched_wakeup_new",
    "sched/sched_process_exit",
    "task/task_newtask",
    "task/task_rename",
];

/// Does this program know the kernel's numbers of threads?
pub(super) fn knows_threads() -> bool {
    Root::system().is_first_pid_namespace() == Some(true)
}

/// Adds the data source to `config`: what the thread `tid` starts, or all processes.
pub(super) fn add_to(config: &mut TraceConfig, tid: Option<u32>) {
    let follows = FtraceConfigTracefsOption {
        name: Some("event-fork".to_owned()),
        state: Some(FtraceConfigTracefsOptionState::STATE_ENABLED),
        ..FtraceConfigTracefsOption::default()
    };
    let ftrace = FtraceConfig {
        ftrace_events: EVENTS.map(str::to_owned).to_vec(),
        tids_to_trace: tid.into_iter().collect(),
        tracefs_options: tid.map(|_| follows).into_iter().collect(),
        ..FtraceConfig::default()
    };
    config
        .data_sources
        .push(source(DataSourceConfig { ftrace_config: Some(ftrace), ..named(FTRACE) }));
}

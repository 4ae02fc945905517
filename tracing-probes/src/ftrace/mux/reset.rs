//! The hard reset: tracefs as if nobody recorded, whatever was set before.

use crate::ftrace::tracefs::Tracefs;

use super::change::Change;
use super::kprobes::GROUPS;

/// Resets the main instance: all events off, the ring small and empty, no tracer, no filter of system calls, no probe
/// of ours. Then `tracing_on` is 1, as after a boot: nothing is on that could be recorded. Each step is tried, also if
/// another failed; the texts tell what failed.
pub(crate) fn hard_reset(tracefs: &dyn Tracefs) -> Vec<String> {
    let write = |path: &str, value: &str| Change::write(path.to_owned(), value);
    let mut steps = vec![
        write("tracing_on", "0"),
        // The kernel makes that the least it can have.
        write("buffer_size_kb", "4"),
        write("events/enable", "0"),
        write("events/raw_syscalls/filter", "0"),
        write("current_tracer", "nop"),
        Change::Truncate { path: "trace".to_owned() },
    ];
    for group in GROUPS {
        let probes = tracefs.folders(&format!("events/{group}")).unwrap_or_default();
        let removed = |probe: &String| {
            Change::append("kprobe_events".to_owned(), &format!("-:{group}/{probe}\n"))
        };
        steps.extend(probes.iter().map(removed));
    }
    steps.push(write("tracing_on", "1"));
    let failure = |step: &Change| {
        let error = step.apply(tracefs).err()?;
        // A kernel without these events has nothing to reset.
        let is_absent = error.kind() == std::io::ErrorKind::NotFound;
        (!is_absent).then(|| format!("{} is not reset: {error}; run as root", step.path()))
    };
    steps.iter().filter_map(failure).collect()
}

//! The hard reset: tracefs as if nobody recorded, whatever was set before.

use super::change::Change;
use super::filters;
use super::kprobes::GROUPS;
use crate::ftrace::tracefs::{Directory, Tracefs, mask_of_cpus};

/// Resets the main instance: all events off, the ring small and empty, its clock that of a boot, no tracer, no filter
/// of threads, CPUs, functions or events, no probe of ours. Triggers stay: others need them, also while nobody
/// records. Then `tracing_on` is 1, as after a boot: nothing is on that could be recorded. Each step is tried, also if
/// another failed; the texts tell what failed.
pub(crate) fn hard_reset(tracefs: &dyn Tracefs) -> Vec<String> {
    let write = |path: &str, value: &str| Change::write(path.to_owned(), value);
    let mut steps = vec![
        write("tracing_on", "0"),
        // The kernel makes that the least it can have.
        write("buffer_size_kb", "4"),
        write("events/enable", "0"),
        write("current_tracer", "nop"),
        write("trace_clock", "local"),
        Change::Truncate { path: "trace".to_owned() },
    ];
    let lists =
        [filters::THREADS, filters::FUNCTION_THREADS, filters::FUNCTIONS].into_iter().flatten();
    steps.extend(lists.map(|file| Change::fill(file.to_owned(), "")));
    let cpus = filters::cpus(tracefs, &Directory::root());
    if !cpus.is_empty() {
        steps.push(write(filters::CPUS, &mask_of_cpus(&cpus)));
    }
    steps.extend(filters::of_events(tracefs).iter().map(|path| write(path, filters::NO_FILTER)));
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

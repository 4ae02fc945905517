//! The C++ probes and ours record one config, one after the other, while the same load runs: `interop/kernel.py` finds
//! the same fields in both traces.

use super::against::fresh;
use super::place::{Place, Side, Source};
use super::play::Stage;
use super::process::{Running, wait_for_socket};
use super::trace::output;
use crate::ctx::{Ctx, Outcome};
use crate::machine::{self, TRACEFS};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is recorded.
struct Config {
    name: &'static str,
    /// `FtraceConfig`, as text.
    ftrace: &'static str,
    /// The instance of tracefs, which is made for it.
    instance: Option<&'static str>,
    /// A file of tracefs without which the kernel has nothing of it.
    needs: &'static str,
}

const INSTANCE: &str = "interop_kernel";

const CONFIGS: &[Config] = &[
    Config {
        name: "columns",
        ftrace: "ftrace_events: \"sched/sched_switch\" ftrace_events: \"sched/sched_waking\"
                 ftrace_events: \"ftrace/print\" ftrace_events: \"sched/none\"",
        instance: None,
        needs: "events/sched/sched_switch",
    },
    Config {
        name: "each",
        ftrace: "ftrace_events: \"sched/*\" ftrace_events: \"task/*\" ftrace_events: \"irq/*\"
                 ftrace_events: \"signal/*\" ftrace_events: \"raw_syscalls/*\" ftrace_events: \"ftrace/print\"
                 compact_sched { enabled: false }",
        instance: None,
        needs: "events/raw_syscalls/sys_enter",
    },
    Config {
        name: "symbols",
        ftrace: "ftrace_events: \"workqueue/*\" ftrace_events: \"timer/*\" ftrace_events: \"sched/sched_blocked_reason\"
                 symbolize_ksyms: true",
        instance: None,
        needs: "events/timer/timer_start",
    },
    Config {
        name: "generic",
        ftrace: "ftrace_events: \"syscalls/sys_enter_close\" ftrace_events: \"syscalls/sys_exit_openat\"",
        instance: None,
        needs: "events/syscalls/sys_enter_close",
    },
    Config {
        name: "instance",
        ftrace: "ftrace_events: \"sched/sched_switch\" ftrace_events: \"ftrace/print\"
                 instance_name: \"interop_kernel\"",
        instance: Some(INSTANCE),
        needs: "instances",
    },
    Config {
        name: "kprobes",
        ftrace: "kprobe_events { probe: \"do_sys_openat2\" type: KPROBE_TYPE_BOTH }",
        instance: None,
        needs: "kprobe_events",
    },
];

/// Compares the traces of all configs.
///
/// # Errors
/// What differs, or cannot be recorded.
pub fn run(ctx: &Ctx, place: &Place) -> Outcome {
    machine::tracefs(ctx)?;
    let _alone = machine::tracefs_alone()?;
    let traces = fresh(&ctx.target("interop")?.join("kernel"))?;
    for config in CONFIGS {
        let name = config.name;
        if !Path::new(TRACEFS).join(config.needs).exists() {
            ctx.log(format_args!("\nSKIPPED kernel {name}: this kernel has no {}", config.needs));
            continue;
        }
        let _instance = config.instance.map(Instance::new).transpose()?;
        let mut compare = Command::new(&place.python);
        compare.arg(place.script("kernel.py")).arg(name);
        for side in [Side::Cpp, Side::Ours] {
            let trace = traces.join(format!("{name}-{}.pftrace", side.name()));
            record(place, config, side, &trace).map_err(|error| format!("{name}: {error}"))?;
            compare.arg(trace);
        }
        ctx.log(format_args!("ok    kernel {}", output(&mut compare)?));
    }
    Ok(())
}

/// An instance of tracefs, which is removed at the end.
struct Instance(PathBuf);

impl Instance {
    fn new(name: &str) -> Result<Self, String> {
        let path = Path::new(TRACEFS).join("instances").join(name);
        // Of a run that was killed.
        drop(std::fs::remove_dir(&path));
        std::fs::create_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        drop(std::fs::remove_dir(&self.0));
    }
}

/// Records with our service and the probes of a side.
fn record(place: &Place, config: &Config, side: Side, trace: &Path) -> Outcome {
    // Short: the path of a UNIX socket has 107 bytes.
    let folder =
        fresh(&std::env::temp_dir().join(format!("interop-{}-kernel", std::process::id())))?;
    let text = format!(
        "buffers {{ size_kb: 65536 }} duration_ms: 1500 flush_timeout_ms: 60000 data_source_stop_timeout_ms: 60000
         data_sources {{ config {{ name: \"linux.ftrace\" ftrace_config {{ {} buffer_size_kb: 8192
         drain_period_ms: 100 }} }} }}\n",
        config.ftrace
    );
    std::fs::write(folder.join("config.pbtx"), text).map_err(|e| format!("config: {e}"))?;
    let mut service = Running::start("service", place.program(Side::Ours, "traced"), &folder)?;
    for socket in ["producer", "consumer"] {
        wait_for_socket(&mut service, &folder.join(socket))?;
    }
    let mut source = Running::start("source", probes(place, side), &folder)?;
    let stage = Stage { place, folder: &folder, consumer: Side::Ours, source: Source::Kernel };
    stage.wait_for("linux.ftrace", &mut source)?;
    let _load = Running::start("load", load(config), &folder)?;
    let mut perfetto = place.program(Side::Ours, "perfetto");
    perfetto.args(["--txt", "-c", "config.pbtx", "-o"]).arg(trace);
    Running::start("consumer", perfetto, &folder)?.wait(0)?;
    source.still_runs()?;
    if side == Side::Ours {
        source.interrupt()?.wait(0)?;
        place.lint(trace, false)?;
    }
    drop(std::fs::remove_dir_all(&folder));
    Ok(())
}

fn probes(place: &Place, side: Side) -> Command {
    match side {
        Side::Cpp => place.program(side, "traced_probes"),
        Side::Ours => {
            let mut command = place.program(side, "tracebox");
            command.arg("traced_probes");
            command
        }
    }
}

/// Markers, processes that begin and end, files that are opened.
fn load(config: &Config) -> Command {
    let instance = config.instance.map(|name| format!("instances/{name}/")).unwrap_or_default();
    let mut command = Command::new("sh");
    let script = format!(
        "while :; do echo mark > {TRACEFS}/{instance}trace_marker; cat /proc/self/stat > /dev/null; done"
    );
    command.args(["-c", &script]);
    command
}

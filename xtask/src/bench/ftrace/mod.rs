//! Our data source `linux.ftrace` beside that of C++: the daemons take turns under one service, config and load.
//!
//! ```text
//! traced (C++) <── traced_probes (ours, then C++) <── tracefs <── load: threads of this process
//!      └──> perfetto (C++) ──> trace ──> Trace::read
//! ```
//!
//! Both have the same service and consumer, so that what differs is the daemon. The load counts operations, not time.
//! CPU is that of all threads of the daemon, from before the session to its end; it counts the set-up, which is a few
//! milliseconds. Ratios compare between runs on one machine.

mod aims;
mod load;
mod trace;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::aims::{Must, row};
use self::load::Load;
use self::trace::Trace;
use super::program::median;
use crate::ctx::{Ctx, Outcome};
use crate::interop::process::{Running, wait_for_socket, wait_until};
use crate::interop::{fresh, peer};
use crate::{machine, report};

const INTRODUCTION: &str = "\
`cargo xtask bench --ftrace`. `traced_probes`, ours and that of Debian's package (C++), take turns below the same C++ \
service and consumer, with the same config and the same load; medians. Rings and periods have their default sizes. \
CPU is that of the daemon, all threads, for each million events in the trace, with the start and the end of the \
session. Bytes are those of the packets with events. Overruns are events that the kernel overwrote before they were \
read. *A million events a second* runs for 10 seconds on two CPUs; its rate is that of the events in the trace. \
*Start* is the time between the service's request and the acknowledgement of the data source. A *must* with an x is \
relative to the C++ column of this run.
";

/// A config with its load.
struct Scenario {
    name: &'static str,
    config: &'static str,
    load: Load,
    /// What ours may take of the CPU time of C++.
    cpu: Must,
}

impl Scenario {
    /// Its load has a rate, which all rings must bear.
    fn is_paced(&self) -> bool {
        matches!(self.load, Load::Paced { .. })
    }
}

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "compact sched, ping-pong",
        config: "ftrace_events: \"sched/sched_switch\" ftrace_events: \"sched/sched_waking\"
                 compact_sched { enabled: true }",
        load: Load::PingPong { hops: 400_000 },
        cpu: Must::TimesTheirs(0.5),
    },
    Scenario {
        name: "system calls",
        config: "ftrace_events: \"raw_syscalls/sys_enter\" ftrace_events: \"raw_syscalls/sys_exit\"",
        load: Load::Calls { count: 1_000_000 },
        cpu: Must::TimesTheirs(0.5),
    },
    Scenario {
        name: "a million events a second",
        config: "ftrace_events: \"raw_syscalls/sys_enter\" ftrace_events: \"raw_syscalls/sys_exit\"",
        load: Load::Paced { milliseconds: 10_000, calls_per_ms: 250 },
        cpu: Must::Anything,
    },
    Scenario {
        name: "kernel symbols",
        config: "ftrace_events: \"timer/hrtimer_start\" symbolize_ksyms: true",
        load: Load::Calls { count: 1 },
        cpu: Must::Anything,
    },
];

/// What a run measured.
struct Run {
    cpu_per_million: f64,
    bytes_per_event: f64,
    events: f64,
    load_seconds: f64,
    overruns: f64,
    start_ms: f64,
}

/// # Errors
/// No tracefs, no C++ programs, or a run that failed.
pub fn run(ctx: &Ctx, record: bool, rest: &[&str]) -> Outcome {
    let (mut rounds, mut only) = (3, "");
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let value = rest.next().ok_or_else(|| format!("{word} needs a value"))?;
        match *word {
            "--rounds" => rounds = value.parse().map_err(|e| format!("--rounds {value}: {e}"))?,
            "--only" => only = value,
            _ => return Err(format!("no option `{word}`; there are --rounds N and --only TEXT")),
        }
    }
    machine::tracefs(ctx)?;
    let _alone = machine::tracefs_alone()?;
    let peer = peer::programs(ctx)?;
    ctx.log("building ours, as it is distributed");
    let mut cargo = ctx.cargo();
    let package = ["build", "--profile", "dist", "--package", "tracebox"];
    ctx.run(cargo.args(package).args(["--bin", "traced_probes"]))?;
    let ours = ctx.root().join("target/dist/traced_probes");
    let sides = [ours, peer.join("traced_probes")];
    let folder = fresh(&std::env::temp_dir().join(format!("bench-ftrace-{}", std::process::id())))?;
    let mut table =
        String::from("| | ours | C++ | ratio | must | reached |\n|---|--:|--:|--:|--:|---|\n");
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.name.contains(only)) {
        let mut runs = [Vec::new(), Vec::new()];
        for round in 1..=rounds {
            for (side, runs) in sides.iter().zip(&mut runs) {
                ctx.log(format_args!("{}, round {round}: {}", scenario.name, side.display()));
                runs.push(one(&peer, side, scenario, &fresh(&folder.join("run"))?)?);
            }
        }
        rows(&mut table, scenario, &runs);
    }
    // If this fails, files stay in a temporary folder, which is harmless.
    drop(std::fs::remove_dir_all(&folder));
    ctx.log(&table);
    if record {
        report::record(ctx, "Events of the kernel", &format!("{INTRODUCTION}\n{table}"))
    } else {
        Ok(())
    }
}

/// The rows of a scenario.
fn rows(table: &mut String, scenario: &Scenario, runs: &[Vec<Run>; 2]) {
    let mut add = |what: &str, value: fn(&Run) -> f64, must: Must| {
        let [ours, theirs] = runs.each_ref().map(|runs| {
            let values: Vec<f64> = runs.iter().map(value).collect();
            median(&values)
        });
        table.push_str(&row(&format!("{}: {what}", scenario.name), ours, theirs, must));
    };
    if scenario.name == "kernel symbols" {
        return add("start, ms", |run| run.start_ms, Must::AtMost(250.0));
    }
    add("CPU seconds of the daemon per million events", |run| run.cpu_per_million, scenario.cpu);
    add("bytes per event", |run| run.bytes_per_event, Must::TimesTheirs(1.01));
    add("million events", |run| run.events / 1e6, Must::Anything);
    if scenario.is_paced() {
        // The load may begin and end a little late.
        let rate = |run: &Run| run.events / 1e6 / run.load_seconds;
        add("million events a second", rate, Must::AtLeast(0.99));
    }
    let overruns = if scenario.is_paced() { Must::AtMost(0.0) } else { Must::TimesTheirs(1.0) };
    add("overruns", |run| run.overruns, overruns);
    add("start, ms", |run| run.start_ms, Must::AtMost(100.0));
}

fn one(peer: &Path, probes: &PathBuf, scenario: &Scenario, folder: &Path) -> Result<Run, String> {
    let command = |name: &str| std::process::Command::new(peer.join(name));
    let mut service = Running::start("service", command("traced"), folder)?;
    for socket in ["producer", "consumer"] {
        wait_for_socket(&mut service, &folder.join(socket))?;
    }
    let mut daemon = Running::start("source", std::process::Command::new(probes), folder)?;
    let config = format!(
        "buffers {{ size_kb: 524288 }} flush_timeout_ms: 60000 data_source_stop_timeout_ms: 60000
         data_sources {{ config {{ name: \"linux.ftrace\" ftrace_config {{
           {} }} }} }}\n",
        scenario.config
    );
    std::fs::write(folder.join("config.pbtx"), config).map_err(|e| format!("config: {e}"))?;
    wait_until("linux.ftrace", || {
        daemon.still_runs()?;
        let answer = command("perfetto")
            .arg("--query")
            .env("PERFETTO_CONSUMER_SOCK_NAME", folder.join("consumer"))
            .output();
        Ok(answer
            .is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).contains("linux.ftrace")))
    })?;
    let before = cpu(daemon.id())?;
    let mut consumer = command("perfetto");
    // The first one ends when all data sources have started; the session goes on.
    consumer.args(["--txt", "-c", "config.pbtx", "-o", "trace.pftrace", "--background-wait"]);
    Running::start("consumer", consumer, folder)?.wait(0)?;
    let begin = Instant::now();
    scenario.load.run();
    let load_seconds = begin.elapsed().as_secs_f64();
    let log = std::fs::read_to_string(folder.join("consumer.log")).unwrap_or_default();
    let pid = log.lines().rev().find_map(|line| line.trim().parse::<u32>().ok());
    let pid = pid.ok_or_else(|| format!("perfetto names no process: {log}"))?;
    let killed = std::process::Command::new("kill").arg("-INT").arg(pid.to_string()).status();
    killed.map_err(|e| format!("kill: {e}"))?;
    // It writes the file and ends.
    wait_until("perfetto", || {
        Ok(!Path::new(&format!("/proc/{pid}/exe")).exists() || is_zombie(pid))
    })?;
    daemon.still_runs()?;
    let seconds = cpu(daemon.id())? - before;
    let trace = Trace::read(&folder.join("trace.pftrace"))?;
    let events = trace.events.max(1) as f64;
    Ok(Run {
        cpu_per_million: seconds.as_secs_f64() / events * 1e6,
        bytes_per_event: trace.event_bytes as f64 / events,
        events,
        load_seconds,
        overruns: trace.overruns as f64,
        start_ms: trace.start.as_secs_f64() * 1e3,
    })
}

fn is_zombie(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

/// Time on a CPU of all threads of a process.
fn cpu(pid: u32) -> Result<Duration, String> {
    let tasks = format!("/proc/{pid}/task");
    let failed = |e| format!("{tasks}: {e}");
    let mut ns = 0;
    for task in std::fs::read_dir(&tasks).map_err(failed)? {
        let text = std::fs::read_to_string(task.map_err(failed)?.path().join("schedstat"));
        // A thread may end meanwhile.
        let text = text.unwrap_or_default();
        ns += text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
    }
    Ok(Duration::from_nanos(ns))
}

//! One cell of the matrix: start, record, check, clean up.

use super::place::{Place, Side, Source};
use super::play::{Play, Stage};
use super::process::{Running, wait_for_socket, wait_until};
use super::trace::output;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub struct Cell {
    pub service: Side,
    pub consumer: Side,
    pub source: Source,
    pub play: Play,
}

/// Duration of a trace that ends by itself.
const TRACE: Duration = Duration::from_millis(1500);

impl Cell {
    /// `service-consumer-source-play`.
    pub fn name(&self) -> String {
        let (service, consumer) = (self.service.name(), self.consumer.name());
        format!("{service}-{consumer}-{}-{}", self.source.name(), self.play.name())
    }

    /// Whether its name matches `pattern`: a name with `*` for any part, or the first parts of a name.
    pub fn matches(&self, pattern: &str) -> bool {
        let name = self.name();
        let mut parts = name.split('-');
        pattern.split('-').all(|p| parts.next().is_some_and(|part| p == "*" || p == part))
    }

    /// Records and checks. Returns the checker's summary.
    ///
    /// # Errors
    /// What failed, with the logs. The folder is kept then.
    pub fn run(&self, place: &Place, keep: bool) -> Result<String, String> {
        // Short: the path of a UNIX socket has 107 bytes.
        let name = format!("interop-{}-{}", std::process::id(), self.name());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let outcome = self.record(place, &folder);
        match outcome {
            Ok(summary) => {
                if !keep {
                    // If this fails, files stay in a temporary folder, which is harmless.
                    drop(std::fs::remove_dir_all(&folder));
                }
                Ok(summary)
            }
            Err(error) => Err(format!("{error}{}\nkept: {}", logs(&folder), folder.display())),
        }
    }

    fn record(&self, place: &Place, folder: &Path) -> Result<String, String> {
        if let Some(program) = self.alone(place) {
            let trace = folder.join("trace.pftrace");
            let program = Running::start("source", program, folder)?;
            let id = program.id();
            program.wait(0)?;
            return self.check(place, &trace, id);
        }
        std::fs::write(folder.join("config.pbtx"), self.config())
            .map_err(|e| format!("config: {e}"))?;
        // What it recorded before the service ran has to be in the trace.
        let early = match self.source {
            Source::Startup => Some(self.start_source(place, folder)?),
            _ => None,
        };
        let mut service = Running::start("service", place.program(self.service, "traced"), folder)?;
        for socket in ["producer", "consumer"] {
            wait_for_socket(&mut service, &folder.join(socket))?;
        }
        let mut source = match early {
            Some(early) => early,
            None => self.start_source(place, folder)?,
        };
        let stage = Stage { place, folder, consumer: self.consumer, source: self.source };
        // A source that connects later would have less time.
        match self.source {
            Source::Example | Source::Drop => stage.wait_for("com.example.rust", &mut source)?,
            Source::Sdk => stage.wait_for("interop.sdk", &mut source)?,
            Source::Events | Source::Both | Source::Startup => {
                stage.wait_for("track_event", &mut source)?;
            }
            Source::Probes => {}
            source => debug_assert!(source.is_of_kernel(), "it is waited for"),
        }
        let traces = stage.play(self.play)?;
        service.still_runs()?;
        source.still_runs()?;
        let mut output = String::new();
        for trace in traces {
            output = self.check(place, &trace, source.id())?;
        }
        Ok(output)
    }

    /// Starts the program. One that records early has done so then.
    fn start_source(&self, place: &Place, folder: &Path) -> Result<Running, String> {
        let mut source = Running::start("source", self.program(place), folder)?;
        if self.source == Source::Startup {
            wait_until("a source that records early", || {
                source.still_runs()?;
                let log = std::fs::read_to_string(folder.join("source.log"));
                Ok(log.is_ok_and(|log| log.contains("track_event records")))
            })?;
        }
        Ok(source)
    }

    /// A program that records itself into `trace.pftrace`.
    fn alone(&self, place: &Place) -> Option<Command> {
        let mut program = place.program(Side::Ours, self.source.recorder()?);
        if self.source == Source::Alone {
            program.arg("-t").arg(format!("{}ms", TRACE.as_millis())).arg("-o");
        }
        program.arg("trace.pftrace");
        Some(program)
    }

    /// A program that connects to a service.
    fn program(&self, place: &Place) -> Command {
        match self.source {
            Source::Example => {
                let mut command = place.program(Side::Ours, "examples/producer");
                command.args(["--threads", "4", "--events", "2000"]);
                command
            }
            Source::Drop => {
                let mut command = place.program(Side::Ours, "examples/producer");
                command.args(["--drop", "--threads", "2", "--events", "20000"]);
                command
            }
            Source::Probes | Source::Kernel | Source::KernelEach => {
                let mut command = place.program(Side::Ours, "tracebox");
                command.arg("traced_probes");
                command
            }
            Source::Ftrace | Source::FtraceEach => place.program(Side::Cpp, "traced_probes"),
            Source::Sdk => Command::new(place.sdk.join("sdk-producer")),
            Source::Events => place.program(Side::Ours, "examples/everything"),
            Source::Both => Command::new(place.sdk.join("sdk-both")),
            Source::Startup => {
                let mut command = place.program(Side::Ours, "examples/startup");
                // Seconds: more than a cell may take.
                command.arg("600");
                command
            }
            source => place.program(Side::Ours, source.recorder().unwrap_or("tracebox")),
        }
    }

    fn check(&self, place: &Place, trace: &Path, source: u32) -> Result<String, String> {
        let mut check = Command::new(&place.python);
        check
            .arg(place.script("check.py"))
            .args([self.source.name(), self.service.name(), self.play.name()])
            .arg(trace)
            .args([source.to_string(), TRACE.as_millis().to_string()]);
        let name = trace.file_name().unwrap_or_default().display();
        let facts = output(&mut check).map_err(|error| format!("{name}: {error}"))?;
        let failed = |error| format!("{name}: {error}");
        // This one goes on after a loss without opening its sequences again.
        if self.source != Source::Drop {
            place.lint(trace, false).map_err(failed)?;
        }
        if self.source.has_events() {
            place.compare(trace, self.source.expected()).map_err(failed)?;
        }
        Ok(facts)
    }

    fn config(&self) -> String {
        let sources = match self.source {
            Source::Example | Source::Drop => {
                "data_sources { config { name: \"com.example.rust\" } }"
            }
            Source::Probes => {
                "data_sources { config { name: \"linux.process_stats\" process_stats_config {
                   scan_all_processes_on_start: true proc_stats_poll_ms: 250 } } }
                 data_sources { config { name: \"linux.sys_stats\" sys_stats_config {
                   meminfo_period_ms: 100 stat_period_ms: 100 vmstat_period_ms: 200 } } }
                 data_sources { config { name: \"linux.system_info\" } }"
            }
            Source::Ftrace | Source::Kernel => {
                "data_sources { config { name: \"linux.ftrace\" ftrace_config {
                   ftrace_events: \"sched/sched_switch\" ftrace_events: \"sched/sched_waking\"
                   drain_period_ms: 250 } } }"
            }
            Source::FtraceEach | Source::KernelEach => {
                "data_sources { config { name: \"linux.ftrace\" ftrace_config {
                   ftrace_events: \"sched/sched_switch\" ftrace_events: \"sched/sched_waking\"
                   ftrace_events: \"raw_syscalls/sys_enter\" ftrace_events: \"raw_syscalls/sys_exit\"
                   syscall_events: \"sys_read\" syscall_events: \"sys_write\"
                   compact_sched { enabled: false } buffer_size_kb: 16384 drain_period_ms: 100 } } }"
            }
            Source::Events => {
                "data_sources { config { name: \"track_event\" track_event_config {
                   enabled_categories: \"app\" enabled_categories: \"net\"
                   disabled_categories: \"*\" } } }"
            }
            Source::Both => {
                "data_sources { config { name: \"track_event\" track_event_config {
                   enabled_categories: \"*\" } } }"
            }
            Source::Startup => {
                "data_sources { config { name: \"track_event\" track_event_config {
                   enabled_categories: \"boot\" disabled_categories: \"*\" } } }"
            }
            Source::Sdk => {
                "data_sources { config { name: \"interop.sdk\" } }
                 data_sources { config { name: \"track_event\" track_event_config {
                   enabled_categories: \"*\" } } }"
            }
            // They have their own.
            _ => "",
        };
        let producer = match self.source {
            Source::Sdk => "sdk-producer",
            Source::Events => "everything",
            Source::Both => "sdk-both",
            Source::Startup => "startup",
            _ => "rust-example",
        };
        format!("{}{sources}\n", self.play.config(TRACE.as_millis(), producer))
    }
}

/// The ends of the logs, for a cell that failed.
fn logs(folder: &Path) -> String {
    let mut text = String::new();
    for name in ["service", "source", "consumer", "other"] {
        let Ok(log) = std::fs::read(folder.join(name).with_extension("log")) else { continue };
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        for line in &lines[lines.len().saturating_sub(12)..] {
            text.push_str(&format!("\n  {name}: {line}"));
        }
    }
    text
}

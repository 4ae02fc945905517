//! One cell of the matrix: start, record, check, clean up.

use super::process::{Running, wait_for_socket};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Whose program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Ours,
    Cpp,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Cpp => "cpp",
        }
    }
}

/// Who sends data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `tracing-core/examples/producer.rs`, with one packet of 8 MB.
    Example,
    /// The same under the drop policy, writing more than shared memory can hold.
    Drop,
    /// The Linux data sources of tracing-probes, as a process.
    Probes,
    /// The C++ `traced_probes` with sched events of ftrace.
    Ftrace,
    /// The C++ SDK, `interop/sdk-producer`.
    Sdk,
    /// The README's first command: service, sources and consumer in one process, and no sockets.
    Alone,
}

impl Source {
    /// Those that meet every service and every consumer.
    pub const ALL: [Self; 4] = [Self::Ftrace, Self::Sdk, Self::Example, Self::Probes];

    fn name(self) -> &'static str {
        match self {
            Self::Example => "example",
            Self::Drop => "drop",
            Self::Probes => "probes",
            Self::Ftrace => "ftrace",
            Self::Sdk => "sdk",
            Self::Alone => "alone",
        }
    }
}

/// Where the programs are.
pub struct Place {
    pub ours: PathBuf,
    pub peer: PathBuf,
    pub sdk: PathBuf,
    pub python: PathBuf,
    pub check: PathBuf,
}

pub struct Cell {
    pub service: Side,
    pub consumer: Side,
    pub source: Source,
}

/// How long each trace is, and how long a consumer may take in all before we call it hung.
const TRACE: Duration = Duration::from_millis(1500);
const PATIENCE: Duration = Duration::from_secs(40);

impl Cell {
    /// `service-consumer-source`.
    pub fn name(&self) -> String {
        format!("{}-{}-{}", self.service.name(), self.consumer.name(), self.source.name())
    }

    /// Is it meant by `pattern`, which is a name with `*` for any part?
    pub fn matches(&self, pattern: &str) -> bool {
        let name = self.name();
        let mut parts = pattern.split('-');
        name.split('-').all(|part| parts.next().is_some_and(|p| p == "*" || p == part))
    }

    /// Records and checks. Returns the checker's summary.
    ///
    /// # Errors
    /// What went wrong, with the logs; the folder is kept then.
    pub fn run(&self, place: &Place, keep: bool) -> Result<String, String> {
        // Short: the path of a UNIX socket has 107 bytes.
        let name = format!("interop-{}-{}", std::process::id(), self.name());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let outcome = self.record(place, &folder);
        match outcome {
            Ok(summary) => {
                if !keep {
                    // Only litter in a temporary folder if it fails.
                    drop(std::fs::remove_dir_all(&folder));
                }
                Ok(summary)
            }
            Err(error) => Err(format!("{error}{}\nkept: {}", logs(&folder), folder.display())),
        }
    }

    fn record(&self, place: &Place, folder: &Path) -> Result<String, String> {
        let trace = folder.join("trace.pftrace");
        if self.source == Source::Alone {
            let mut tracebox = Command::new(place.ours.join("tracebox"));
            tracebox.arg("-t").arg(format!("{}ms", TRACE.as_millis())).arg("-o").arg(&trace);
            let tracebox = Running::start("consumer", tracebox, folder)?;
            let id = tracebox.id();
            tracebox.wait(PATIENCE)?;
            return self.check(place, &trace, id);
        }
        let config = folder.join("config.pbtx");
        std::fs::write(&config, self.config()).map_err(|e| format!("config: {e}"))?;
        let program = |side: Side, name: &str| match side {
            Side::Ours => Command::new(place.ours.join(name)),
            Side::Cpp => Command::new(place.peer.join(name)),
        };
        let mut service = Running::start("service", program(self.service, "traced"), folder)?;
        for socket in ["producer", "consumer"] {
            wait_for_socket(&mut service, &folder.join(socket), PATIENCE)?;
        }
        let source = match self.source {
            Source::Example => {
                let mut command = Command::new(place.ours.join("examples/producer"));
                command.args(["--threads", "4", "--events", "2000"]);
                command
            }
            Source::Drop => {
                let mut command = Command::new(place.ours.join("examples/producer"));
                command.args(["--drop", "--threads", "2", "--events", "20000"]);
                command
            }
            Source::Probes | Source::Alone => {
                let mut command = program(Side::Ours, "tracebox");
                command.arg("traced_probes");
                command
            }
            Source::Ftrace => program(Side::Cpp, "traced_probes"),
            Source::Sdk => Command::new(place.sdk.join("sdk-producer")),
        };
        let mut source = Running::start("source", source, folder)?;
        let mut perfetto = program(self.consumer, "perfetto");
        perfetto.arg("--txt").arg("-c").arg(&config).arg("-o").arg(&trace);
        Running::start("consumer", perfetto, folder)?.wait(PATIENCE)?;
        service.still_runs()?;
        source.still_runs()?;
        self.check(place, &trace, source.id())
    }

    fn check(&self, place: &Place, trace: &Path, source: u32) -> Result<String, String> {
        let output = Command::new(&place.python)
            .arg(&place.check)
            .args([self.source.name(), self.service.name()])
            .arg(trace)
            .args([source.to_string(), TRACE.as_millis().to_string()])
            .output()
            .map_err(|e| format!("python: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        if output.status.success() { Ok(said) } else { Err(format!("{said}{complaint}")) }
    }

    fn config(&self) -> String {
        let duration = TRACE.as_millis();
        let sources = match self.source {
            // Small shared memory, so that the packet of 8 MB has to go round many times.
            Source::Example | Source::Drop => {
                "data_sources { config { name: \"com.example.rust\" } }
                 producers { producer_name: \"rust-example\" shm_size_kb: 256 page_size_kb: 4 }"
            }
            Source::Probes | Source::Alone => {
                "data_sources { config { name: \"linux.process_stats\" process_stats_config {
                   scan_all_processes_on_start: true proc_stats_poll_ms: 250 } } }
                 data_sources { config { name: \"linux.sys_stats\" sys_stats_config {
                   meminfo_period_ms: 100 stat_period_ms: 100 vmstat_period_ms: 200 } } }
                 data_sources { config { name: \"linux.system_info\" } }"
            }
            Source::Ftrace => {
                "data_sources { config { name: \"linux.ftrace\" ftrace_config {
                   ftrace_events: \"sched/sched_switch\" ftrace_events: \"sched/sched_waking\"
                   drain_period_ms: 250 } } }"
            }
            Source::Sdk => {
                "data_sources { config { name: \"interop.sdk\" } }
                 data_sources { config { name: \"track_event\" track_event_config {
                   enabled_categories: \"*\" } } }"
            }
        };
        format!("buffers {{ size_kb: 65536 }}\nduration_ms: {duration}\n{sources}\n")
    }
}

/// The ends of the logs, for a cell that failed.
fn logs(folder: &Path) -> String {
    let mut text = String::new();
    for name in ["service", "source", "consumer"] {
        let Ok(log) = std::fs::read(folder.join(name).with_extension("log")) else { continue };
        let log = String::from_utf8_lossy(&log).into_owned();
        let lines: Vec<&str> = log.lines().collect();
        for line in &lines[lines.len().saturating_sub(12)..] {
            text.push_str(&format!("\n  {name}: {line}"));
        }
    }
    text
}

/// A file for the output of a process.
pub fn log_file(folder: &Path, name: &str) -> Result<File, String> {
    let path = folder.join(name).with_extension("log");
    File::create(&path).map_err(|e| format!("{}: {e}", path.display()))
}

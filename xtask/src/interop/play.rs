//! What a consumer does with a session beyond recording for a while.
//!
//! Nothing here depends on time: a session runs until its source has written everything, and the flush at its end
//! waits for commits in transit.

use super::place::{Place, Side, Source};
use super::process::{Running, wait_until};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Play {
    /// For a moment, into the consumer's file.
    Record,
    /// Detached, then queried and stopped by the next consumer.
    Detach,
    /// Detached, then waited for by the next consumer.
    Attach,
    /// Cloned by id and by name while it runs.
    Clone,
    /// The same with a session whose file the service writes.
    CloneFile,
    /// Queried.
    Query,
    /// Started, stopped and cloned by a trigger.
    Start,
    Stop,
    Snapshot,
    /// The service writes the file.
    File,
    Deflate,
    DeflateFile,
    Zstd,
    ZstdFile,
    /// Pages of shared memory.
    Pages4,
    Pages32,
    /// Buffers of the second version.
    V2,
}

impl Play {
    /// Those that are combined with every service and consumer.
    pub const ALL: [Self; 14] = [
        Self::Detach,
        Self::Attach,
        Self::Clone,
        Self::CloneFile,
        Self::Query,
        Self::Start,
        Self::Stop,
        Self::Snapshot,
        Self::File,
        Self::Deflate,
        Self::DeflateFile,
        Self::Pages4,
        Self::Pages32,
        Self::V2,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Detach => "detach",
            Self::Attach => "attach",
            Self::Clone => "clone",
            Self::CloneFile => "clonefile",
            Self::Query => "query",
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Snapshot => "snapshot",
            Self::File => "file",
            Self::Deflate => "deflate",
            Self::DeflateFile => "deflatefile",
            Self::Zstd => "zstd",
            Self::ZstdFile => "zstdfile",
            Self::Pages4 => "pages4",
            Self::Pages32 => "pages32",
            Self::V2 => "v2",
        }
    }

    /// The config, except for data sources.
    pub fn config(self, duration_ms: u128, producer: &str) -> String {
        let pages = |kb: u32, shm_kb: u32| {
            format!(
                "producers {{ producer_name: \"{producer}\" shm_size_kb: {shm_kb} page_size_kb: {kb} }}"
            )
        };
        // Small shared memory, so that the packet of 8 MB needs each page many times.
        let shared = if self == Self::Pages32 { pages(32, 1024) } else { pages(4, 256) };
        let file = "write_into_file: true file_write_period_ms: 100";
        let deflate = "compression_type: COMPRESSION_TYPE_DEFLATE";
        let trigger = |mode: &str, delay_ms: u32| {
            format!(
                "trigger_config {{ trigger_mode: {mode} trigger_timeout_ms: 600000
                 triggers {{ name: \"interop\" stop_delay_ms: {delay_ms} }} }}"
            )
        };
        let own = match self {
            Self::Record => format!("duration_ms: {duration_ms}"),
            Self::Attach => format!("duration_ms: {duration_ms} {file}"),
            Self::Detach | Self::File => file.to_owned(),
            // The C++ service loses what it writes into the file while it clones it.
            Self::CloneFile => file.replace("100", "86400000"),
            Self::Start => trigger("START_TRACING", 300),
            Self::Stop => trigger("STOP_TRACING", 1),
            Self::Snapshot => trigger("CLONE_SNAPSHOT", 1),
            Self::Deflate => deflate.to_owned(),
            Self::DeflateFile => format!("{deflate} {file}"),
            Self::Zstd => "compression { zstd {} }".to_owned(),
            Self::ZstdFile => format!("compression {{ zstd {{}} }} {file}"),
            Self::Clone | Self::Query | Self::Pages4 | Self::Pages32 | Self::V2 => String::new(),
        };
        let mode = if self == Self::V2 { "experimental_mode: TRACE_BUFFER_V2" } else { "" };
        format!(
            "buffers {{ size_kb: 65536 {mode} }} {own} {shared} unique_session_name: \"interop\"
             flush_timeout_ms: 60000 data_source_stop_timeout_ms: 60000\n"
        )
    }
}

/// A cell whose service and source run.
pub struct Stage<'a> {
    pub place: &'a Place,
    pub folder: &'a Path,
    pub consumer: Side,
    pub source: Source,
}

const CONFIG: &str = "config.pbtx";
const TRACE: &str = "trace.pftrace";

impl Stage<'_> {
    /// Runs it. Returns the traces, which must be complete.
    pub fn play(&self, play: Play) -> Result<Vec<PathBuf>, String> {
        let mut traces = vec![TRACE];
        match play {
            Play::Record => self.perfetto("consumer", &RECORD)?.wait(0)?,
            Play::Detach => {
                self.detach()?;
                self.perfetto("other", &["--is_detached=key"])?.wait(0)?;
                self.perfetto("other", &["--is_detached=another"])?.wait(2)?;
                self.perfetto("other", &["--attach=key", "--stop"])?.wait(0)?;
                self.perfetto("other", &["--is_detached=key"])?.wait(2)?;
            }
            Play::Attach => {
                self.detach()?;
                self.perfetto("other", &["--attach=key"])?.wait(0)?;
            }
            Play::Clone | Play::CloneFile => {
                let consumer = self.begin()?;
                // The first session of a service.
                self.perfetto("other", &["--clone", "1", "-o", "id.pftrace"])?.wait(0)?;
                let by_name = ["--clone-by-name", "interop", "-o", "name.pftrace"];
                self.perfetto("other", &by_name)?.wait(0)?;
                consumer.interrupt()?.wait(0)?;
                traces.extend(["id.pftrace", "name.pftrace"]);
            }
            Play::Query => {
                let consumer = self.begin()?;
                self.perfetto("query", &["--query", "--long"])?.wait(0)?;
                self.perfetto("raw", &["--query-raw"])?.wait(0)?;
                consumer.interrupt()?.wait(0)?;
            }
            Play::Start | Play::Stop => {
                let consumer = self.begin()?;
                self.fire()?;
                consumer.wait(0)?;
            }
            Play::Snapshot => {
                let consumer = self.begin()?;
                self.fire()?;
                wait_until("a snapshot", || Ok(self.log("consumer").contains("trace.pftrace.0")))?;
                consumer.interrupt()?.wait(0)?;
                traces = vec!["trace.pftrace.0"];
            }
            _ => self.begin()?.interrupt()?.wait(0)?,
        }
        Ok(traces.into_iter().map(|name| self.folder.join(name)).collect())
    }

    fn perfetto(&self, name: &'static str, arguments: &[&str]) -> Result<Running, String> {
        let mut command = self.place.program(self.consumer, "perfetto");
        command.args(arguments);
        // Standard output has the answer only.
        match name {
            "raw" => Running::start_into(name, command, self.folder, self.file("raw")?),
            _ => Running::start(name, command, self.folder),
        }
    }

    fn file(&self, name: &str) -> Result<File, String> {
        let path = self.folder.join(name);
        File::create(&path).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn log(&self, name: &str) -> String {
        let log = std::fs::read(self.folder.join(name).with_extension("log"));
        String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
    }

    fn detach(&self) -> Result<(), String> {
        self.perfetto("consumer", &[&RECORD[..], &["--detach=key"]].concat())?.wait(0)
    }

    /// A consumer whose session is there, with all that its source has to write, if that does not wait
    /// for a flush by itself.
    fn begin(&self) -> Result<Running, String> {
        let mut consumer = self.perfetto("consumer", &RECORD)?;
        self.wait_for("\"unique_session_name\": \"interop\"", &mut consumer)?;
        let (line, count) = match self.source {
            Source::Sdk => ("written", 2),
            Source::Events | Source::Both => ("written", 1),
            Source::Startup => ("a session has all", 1),
            _ => return Ok(consumer),
        };
        wait_until("a writer", || Ok(self.log("source").matches(line).count() == count))?;
        Ok(consumer)
    }

    /// Waits until the state of the service has `text`; `process` has to live until then.
    pub fn wait_for(&self, text: &str, process: &mut Running) -> Result<(), String> {
        wait_until(text, || {
            process.still_runs()?;
            // Only our session, if there are others.
            let mut query = self.place.program(Side::Ours, "perfetto");
            query.args(["--query", "--json"]);
            let answer = Running::start_into("query", query, self.folder, self.file("state")?)?;
            answer.wait(0)?;
            let state = std::fs::read_to_string(self.folder.join("state")).unwrap_or_default();
            Ok(state.contains(text))
        })
    }

    /// Fires the trigger: ours by `trigger_perfetto`, the C++ one, which no package has, by the config that
    /// makes its perfetto do the same.
    fn fire(&self) -> Result<(), String> {
        if self.consumer == Side::Ours {
            let mut command: Command = self.place.program(Side::Ours, "trigger_perfetto");
            command.arg("interop");
            return Running::start("other", command, self.folder)?.wait(0);
        }
        let path = self.folder.join("fire.pbtx");
        std::fs::write(&path, "activate_triggers: \"interop\"\n")
            .map_err(|e| format!("fire: {e}"))?;
        self.perfetto("other", &["--txt", "-c", "fire.pbtx"])?.wait(0)
    }
}

const RECORD: [&str; 5] = ["--txt", "-c", CONFIG, "-o", TRACE];

//! One run: start, write, read, look.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::Outcome;
use crate::process::Process;
use crate::scenario::{BUFFER_MB, Scenario};
use crate::trace::Trace;

/// One implementation's programs.
pub struct Side {
    pub name: &'static str,
    pub programs: PathBuf,
}

/// The results of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Events the service has, a second, millions.
    pub accepted_m: f64,
    /// Of those that were written, percent.
    pub lost: f64,
    /// The service's processor time for an event it takes in, ns.
    pub take_ns: f64,
    /// Patches applied.
    pub patches: f64,
    /// The service's peak memory, MiB, and the part of it that is not chunks in the buffer.
    pub peak_mb: f64,
    pub beyond_mb: f64,
    /// From the interruption to the consumer's end: of the file, MB a second.
    pub read_mb: f64,
    /// Meanwhile, ns for a packet: processor time of the service and of the consumer.
    pub service_ns: f64,
    pub consumer_ns: f64,
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} M/s ({:.1} % lost), {:.1} ns each, {:.0} MB; read {:.0} MB/s, {:.1} + {:.1} ns each",
            self.accepted_m,
            self.lost,
            self.take_ns,
            self.peak_mb,
            self.read_mb,
            self.service_ns,
            self.consumer_ns
        )
    }
}

/// Its own folder, gone with the run.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // Only litter in a temporary folder if it fails.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn run(side: &Side, scenario: &Scenario) -> Outcome<Measured> {
    // Short: the path of a UNIX socket has 107 bytes.
    let folder = std::env::temp_dir().join(format!("bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let folder = Folder(folder);
    measure(side, scenario, &folder.0).map_err(|error| format!("{error}{}", logs(&folder.0)))
}

fn measure(side: &Side, scenario: &Scenario, folder: &Path) -> Outcome<Measured> {
    let program = |name: &str| Command::new(side.programs.join(name));
    let service = Process::start_service(&mut program("traced"), folder)?;
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut producer = Command::new(own);
    producer.arg("producer").args(scenario.load.to_args());
    let mut producer = Process::start("producer", &mut producer, folder, true)?;
    producer.read_line("ready")?;

    let (config, file) = (folder.join("config.txtpb"), folder.join("trace"));
    std::fs::write(&config, scenario.config()).map_err(|e| format!("config: {e}"))?;
    let mut consumer = program("perfetto");
    consumer.arg("--txt").arg("-c").arg(&config).arg("-o").arg(&file);
    let consumer = Process::start("consumer", &mut consumer, folder, false)?;
    producer.read_line("started")?;

    let begun_ns = service.cpu_ns()?;
    producer.write_line("go")?;
    let done = producer.read_line("done")?;
    let written_ns = service.cpu_ns()?;

    let start = Instant::now();
    consumer.interrupt()?;
    let consumer_ns = consumer.wait()?;
    let took = start.elapsed();
    let read_ns = service.cpu_ns()?;
    let peak_kb = service.peak_kb()?;
    drop((producer, service));

    let trace = Trace::read(&file)?;
    let written = f64::from(scenario.load.events);
    let nanos: f64 = done.split(' ').next().and_then(|n| n.parse().ok()).ok_or("done: no time")?;
    // Packets that fit are counted in the file; the others were overwritten, and the service received all of them.
    let there = if scenario.fits { trace.events as f64 } else { written };
    if scenario.load.stall && (there < written || trace.faults > 0) {
        return Err(format!("{there} of {written} events came: {trace:?}"));
    }
    if scenario.fits && trace.overwritten > 0 {
        return Err(format!("written over: {trace:?}"));
    }
    let packets = trace.packets.max(1) as f64;
    let peak_mb = peak_kb as f64 / 1024.0;
    Ok(Measured {
        accepted_m: there * 1e3 / nanos,
        lost: (written - there) * 100.0 / written,
        take_ns: (written_ns - begun_ns) as f64 / there.max(1.0),
        patches: trace.patches as f64,
        peak_mb,
        beyond_mb: peak_mb - (trace.taken as f64 / 1_048_576.0).min(BUFFER_MB as f64),
        read_mb: trace.bytes as f64 / 1e6 / took.as_secs_f64(),
        service_ns: (read_ns - written_ns) as f64 / packets,
        consumer_ns: consumer_ns as f64 / packets,
    })
}

/// The ends of the logs, for a run that failed.
fn logs(folder: &Path) -> String {
    let mut text = String::new();
    for name in ["service", "producer", "consumer"] {
        let log = std::fs::read(folder.join(name).with_extension("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        for line in lines.get(lines.len().saturating_sub(8)..).unwrap_or_default() {
            text.push_str(&format!("\n  {name}: {line}"));
        }
    }
    text
}

//! What people see while a trace is being recorded. Everything goes to stderr: stdout may be the
//! trace.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use tracing_core::daemon::serve::Log;
use tracing_core::service::LogLevel;

use crate::failure::{Context, Failure};

/// Back to the beginning of the line, and nothing on it.
const CLEAR: &str = "\r\x1b[K";

/// One line.
pub fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let clear = if stderr.is_terminal() { CLEAR } else { "" };
    // In one piece, since other processes write to the same terminal; nobody to tell if that fails.
    let _ = stderr.write_all(format!("{clear}{text}\n").as_bytes());
}

/// One line on stdout: the answer of a program.
///
/// # Errors
/// When nobody takes it.
pub fn answer(text: impl std::fmt::Display) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).context("cannot write stdout")
}

/// The log of a service of this process: errors only, without those that its one consumer is told
/// anyhow.
#[must_use]
pub fn own_service_log() -> Log {
    let mut log = service_log(LogLevel::Error);
    Box::new(move |level, text| {
        if !text.starts_with("EnableTracing:") {
            log(level, text);
        }
    })
}

/// A service's log, down to `least`.
#[must_use]
pub fn service_log(least: LogLevel) -> Log {
    let rank = |level: LogLevel| match level {
        LogLevel::Error => 0,
        LogLevel::Info => 1,
        _ => 2,
    };
    Box::new(move |level, text| {
        if rank(level) <= rank(least) {
            say(&format!("[{}] traced: {text}", clock()));
        }
    })
}

/// Seconds since boot, as the C++ programs number their lines.
#[must_use]
pub fn clock() -> String {
    let ms = tracing_core::os::clock::boot_ns() / 1_000_000;
    format!("{:03}.{:03}", ms / 1000 % 1000, ms % 1000)
}

/// The line that shows that something happens, on terminals only.
#[derive(Debug)]
pub struct Progress {
    shown: bool,
    terminal: bool,
}

impl Progress {
    /// No line yet; never one unless `wanted`.
    #[must_use]
    pub fn new(wanted: bool) -> Self {
        Self { shown: false, terminal: wanted && std::io::stderr().is_terminal() }
    }

    /// Whether lines are shown at all.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.terminal
    }

    /// Replaces the line.
    pub fn draw(&mut self, line: &str) {
        if !self.terminal {
            return;
        }
        self.shown = true;
        let _ = write!(std::io::stderr(), "{CLEAR}{line}");
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr(), "{CLEAR}");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The line while a trace is recorded.
#[must_use]
pub fn recording(elapsed: Duration, whole: Option<Duration>, bytes: Option<u64>) -> String {
    let mut line = format!("recording {} s", elapsed.as_secs());
    if let Some(whole) = whole {
        line.push_str(&format!(" of {} s", whole.as_secs()));
    }
    if let Some(bytes) = bytes {
        line.push_str(&format!(", {}", size(bytes)));
    }
    line.push_str(", Ctrl-C stops");
    line
}

/// A number of bytes for people.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16777216.0 TiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn lines() {
        let seconds = Duration::from_secs;
        assert_eq!(recording(seconds(3), None, None), "recording 3 s, Ctrl-C stops");
        assert_eq!(
            recording(seconds(3), Some(seconds(10)), Some(2048)),
            "recording 3 s of 10 s, 2.0 KiB, Ctrl-C stops"
        );
    }
}

//! Messages to users while a trace is recorded. All of them go to stderr: stdout may be the trace.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::termios::tcgetwinsize;
use tracing_core::daemon::serve::Log;
use tracing_core::service::LogLevel;
use tracing_file::escape::visible;

use crate::failure::{Context, Failure};

/// Moves to the beginning of the line and clears it.
const CLEAR: &str = "\r\x1b[K";

/// A progress line stands on the terminal. Without one the line may belong to a command that is recorded,
/// and must not be cleared.
static PROGRESS_SHOWN: AtomicBool = AtomicBool::new(false);

/// The name of a file, as it may stand in a line.
pub fn name(path: impl AsRef<Path>) -> String {
    visible(&path.as_ref().to_string_lossy(), "").into_owned()
}

/// Prints one line, or a few, in place of a progress line. What is hidden in it is escaped: arguments and messages of
/// peers stand in it.
pub fn log(text: &str) {
    let text = visible(text, "\n\t");
    let clear = if PROGRESS_SHOWN.swap(false, Ordering::Relaxed) { CLEAR } else { "" };
    // One write, since other processes write to the same terminal. A closed stderr is no failure.
    let _ = std::io::stderr().lock().write_all(format!("{clear}{text}\n").as_bytes());
}

/// Lines about one kind of event that are all printed.
const REPEATED_MAX: usize = 16;

/// Whether the line number `count` about a kind of event is printed, if other programs can cause as many as they like:
/// the first ones, and then those whose number is a power of two.
#[must_use]
pub const fn is_told(count: usize) -> bool {
    count <= REPEATED_MAX || count.is_power_of_two()
}

/// The number of such a line, if those before it are not all printed.
#[must_use]
pub fn number(count: usize) -> String {
    if count > REPEATED_MAX { format!(" (number {count})") } else { String::new() }
}

/// What failures of stdout say first.
const CANNOT_WRITE: &str = "cannot write stdout";

/// One line on stdout: the answer of a program.
///
/// # Errors
/// When it cannot be written.
pub fn answer(text: impl std::fmt::Display) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    let text = text.to_string();
    let text = visible(&text, "\n\t");
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).context(CANNOT_WRITE)
}

/// Ignores that the reader of a pipe has closed it: it has read what it wanted, such as `head`. For programs that only
/// print.
///
/// # Errors
/// When stdout could not be written for another reason, such as a full disk.
pub fn check_stdout(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context(CANNOT_WRITE),
    }
}

/// The log of a service of this process: errors only, without those that its one consumer gets as the
/// reply to its request.
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
            log(&format!("[{}] traced: {text}", clock()));
        }
    })
}

/// Seconds since boot, as the C++ programs number their lines.
#[must_use]
pub fn clock() -> String {
    let ms = tracing_core::os::clock::boot_ns() / 1_000_000;
    format!("{:03}.{:03}", ms / 1000 % 1000, ms % 1000)
}

/// Pause between two progress lines.
pub const PROGRESS_PERIOD: Duration = Duration::from_millis(500);

/// The progress line, on terminals only.
#[derive(Debug)]
pub struct Progress {
    /// Whether lines are shown at all.
    enabled: bool,
}

impl Progress {
    /// Shows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { enabled: std::io::stderr().is_terminal() }
    }

    /// Whether stderr is a terminal.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Replaces the line.
    pub fn draw(&mut self, line: &str) {
        if !self.enabled {
            return;
        }
        PROGRESS_SHOWN.store(true, Ordering::Relaxed);
        let mut stderr = std::io::stderr();
        let columns = tcgetwinsize(&stderr).map_or(0, |size| size.ws_col);
        let _ = write!(stderr, "{CLEAR}{}", fit(line, columns));
    }

    /// Removes the line.
    pub fn clear(&mut self) {
        if PROGRESS_SHOWN.swap(false, Ordering::Relaxed) {
            let _ = write!(std::io::stderr(), "{CLEAR}");
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The part of `line` that fits on a terminal without wrapping: a wrapped line cannot be cleared. 0 columns
/// means that the terminal does not tell its width.
fn fit(line: &str, columns: u16) -> &str {
    // The cursor needs the last column.
    let width = if columns == 0 { 79 } else { usize::from(columns).saturating_sub(1) };
    line.char_indices().nth(width).map_or(line, |(end, _)| &line[..end])
}

/// The line while a trace is recorded.
#[must_use]
pub fn recording(elapsed: Duration, whole: Option<Duration>, bytes: Option<u64>) -> String {
    let mut line = format!("recording {} s", elapsed.as_secs());
    if let Some(whole) = whole {
        line.push_str(&format!(" of {} s", whole.as_secs()));
    }
    // Producers commit whole chunks only: at first there is nothing, however much is recorded.
    if let Some(bytes @ 1..) = bytes {
        line.push_str(&format!(", {}", size(bytes)));
    }
    line.push_str(", Ctrl-C stops");
    line
}

/// `1 packet`, `2 packets`.
#[must_use]
pub fn count(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A number of bytes with a unit.
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
mod tests;

//! What readers say of a trace: the linter, our reader of events, and the official schema.

use std::path::Path;
use std::process::Command;

use super::place::{Place, Side};

impl Place {
    /// The linter finds nothing, not even a note, or nothing but a loss.
    ///
    /// # Errors
    /// What it found.
    pub fn lint(&self, trace: &Path, has_loss: bool) -> Result<(), String> {
        let mut lint = self.program(Side::Ours, "tracebox");
        let Err(found) = output(lint.args(["lint", "--fail-on", "note"]).arg(trace)) else {
            return Ok(());
        };
        // The last line is a summary.
        let is_loss = |line: &str| line.contains(": packets_lost (") || line.contains(", worst: ");
        let is_expected = has_loss && found.lines().all(is_loss);
        if is_expected { Ok(()) } else { Err(format!("tracebox lint: {found}")) }
    }

    /// The official schema and our reader see the same events, and those of the file `expected`.
    ///
    /// # Errors
    /// What differs.
    pub fn compare(&self, trace: &Path, expected: Option<&str>) -> Result<(), String> {
        let mut read = self.program(Side::Ours, "examples/events");
        let events = output(read.arg(trace))?;
        let read = trace.with_extension("events");
        std::fs::write(&read, events).map_err(|e| format!("{}: {e}", read.display()))?;
        let mut compare = Command::new(&self.python);
        compare.arg(self.script("events.py")).arg(trace).arg(read);
        match expected {
            Some(expected) => compare.arg(self.script(expected)),
            None => compare.arg("-"),
        };
        if self.is_blessing {
            compare.arg("--bless");
        }
        output(&mut compare).map(drop)
    }
}

/// What a program prints.
///
/// # Errors
/// It cannot be started, or does not end well.
pub fn output(command: &mut Command) -> Result<String, String> {
    let name = Path::new(command.get_program()).file_name().unwrap_or_default().to_owned();
    let output = command.output().map_err(|e| format!("{}: {e}", name.display()))?;
    let facts = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(facts) } else { Err(format!("{facts}{complaint}")) }
}

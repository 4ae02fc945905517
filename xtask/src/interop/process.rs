//! A process of a cell: started with the cell's sockets, watched, and ended with it.

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Pause between two checks of a condition that has no event.
const LOOK: Duration = Duration::from_millis(5);

/// The longest time that a step may take. Half of the programs are foreign: one that hangs must end the cell with a
/// message. No step takes a tenth of this on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A process, killed when dropped: a failed cell leaves none running.
pub struct Running {
    name: &'static str,
    child: Child,
}

impl Running {
    /// # Errors
    /// It cannot be started.
    pub fn start(name: &'static str, program: Command, folder: &Path) -> Result<Self, String> {
        let log = log_file(folder, name)?;
        let clone = log.try_clone().map_err(|e| format!("{name}: {e}"))?;
        Self::spawn(name, program, folder, log, clone)
    }

    /// The same, with its stdout in `stdout`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_into(
        name: &'static str,
        program: Command,
        folder: &Path,
        stdout: File,
    ) -> Result<Self, String> {
        Self::spawn(name, program, folder, stdout, log_file(folder, name)?)
    }

    fn spawn(
        name: &'static str,
        mut program: Command,
        folder: &Path,
        stdout: File,
        stderr: File,
    ) -> Result<Self, String> {
        program
            .env("PERFETTO_PRODUCER_SOCK_NAME", folder.join("producer"))
            .env("PERFETTO_CONSUMER_SOCK_NAME", folder.join("consumer"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        let shown = Path::new(program.get_program()).display().to_string();
        let child = program.spawn().map_err(|e| format!("cannot start {shown}: {e}"))?;
        Ok(Self { name, child })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// # Errors
    /// It has ended.
    pub fn still_runs(&mut self) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(format!("{} ended early: {status}", self.name)),
            Err(error) => Err(format!("{}: {error}", self.name)),
        }
    }

    /// Sends SIGINT, as Ctrl-C does.
    ///
    /// # Errors
    /// There is no `kill`, or the process has ended.
    pub fn interrupt(mut self) -> Result<Self, String> {
        self.still_runs()?;
        let status = Command::new("kill").arg("-INT").arg(self.id().to_string()).status();
        match status {
            Ok(status) if status.success() => Ok(self),
            Ok(status) => Err(format!("kill: {status}")),
            Err(error) => Err(format!("kill: {error}")),
        }
    }

    /// Waits for its end with exit code `code`.
    ///
    /// # Errors
    /// It ended otherwise, or hangs.
    pub fn wait(mut self, code: i32) -> Result<(), String> {
        let (name, child) = (self.name, &mut self.child);
        wait_until(name, || match child.try_wait() {
            Ok(Some(status)) if status.code() == Some(code) => Ok(true),
            Ok(Some(status)) => Err(format!("{name}: {status}, not {code}")),
            Ok(None) => Ok(false),
            Err(error) => Err(format!("{name}: {error}")),
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until a condition that has no event holds.
///
/// # Errors
/// It cannot hold any more, or takes too long.
pub fn wait_until(what: &str, mut is: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let deadline = Instant::now() + TIMEOUT;
    while !is()? {
        if Instant::now() > deadline {
            return Err(format!("{what} hangs since {TIMEOUT:?}"));
        }
        std::thread::park_timeout(LOOK);
    }
    Ok(())
}

/// Waits until a process listens at `path`.
///
/// # Errors
/// `process` ended, or hangs.
pub fn wait_for_socket(process: &mut Running, path: &Path) -> Result<(), String> {
    let name = process.name;
    wait_until(name, || {
        process.still_runs()?;
        Ok(UnixStream::connect(path).is_ok())
    })
}

/// A file for the output of a process.
pub fn log_file(folder: &Path, name: &str) -> Result<File, String> {
    let path = folder.join(name).with_extension("log");
    File::create(&path).map_err(|e| format!("{}: {e}", path.display()))
}

//! A process of a cell: started with the cell's sockets, watched, and ended with it.

use super::cell::log_file;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often we look whether something has happened that nobody tells us.
const LOOK: Duration = Duration::from_millis(5);

/// Killed when it goes out of scope: nothing of a failed cell stays behind.
pub struct Running {
    name: &'static str,
    child: Child,
}

impl Running {
    /// # Errors
    /// It cannot be started.
    pub fn start(name: &'static str, mut program: Command, folder: &Path) -> Result<Self, String> {
        let log = log_file(folder, name)?;
        let clone = log.try_clone().map_err(|e| format!("{name}: {e}"))?;
        program
            .env("PERFETTO_PRODUCER_SOCK_NAME", folder.join("producer"))
            .env("PERFETTO_CONSUMER_SOCK_NAME", folder.join("consumer"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(clone);
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

    /// Waits for its good end.
    ///
    /// # Errors
    /// It ended badly, or not within `patience`.
    pub fn wait(mut self, patience: Duration) -> Result<(), String> {
        let deadline = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(format!("{}: {status}", self.name)),
                Ok(None) if Instant::now() < deadline => std::thread::park_timeout(LOOK),
                Ok(None) => return Err(format!("{} hangs since {patience:?}", self.name)),
                Err(error) => return Err(format!("{}: {error}", self.name)),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing to do about either failure.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Waits until somebody listens at `path`.
///
/// # Errors
/// `process` ended, or `patience` did.
pub fn wait_for_socket(
    process: &mut Running,
    path: &Path,
    patience: Duration,
) -> Result<(), String> {
    let deadline = Instant::now() + patience;
    while UnixStream::connect(path).is_err() {
        process.still_runs()?;
        if Instant::now() > deadline {
            return Err(format!("{}: nobody listens at {}", process.name, path.display()));
        }
        std::thread::park_timeout(LOOK);
    }
    Ok(())
}

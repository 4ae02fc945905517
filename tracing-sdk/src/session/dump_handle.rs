//! What saves traces of a flight recorder on other threads.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use super::recorder::{self, Running};
use super::{FlightRecorder, Operation, SessionError};

/// Saves traces of a [`FlightRecorder`] on any thread, until the recorder is dropped. It can be cloned,
/// and does not keep the recorder.
///
/// This program saves a trace at each signal, with a number in its name
/// ([names of files](FlightRecorder#names-of-files)). A signal handler may do very little, so a thread waits for the
/// signals, here with the crate `signal-hook`:
///
/// ```
/// use signal_hook::consts::SIGUSR1;
/// use signal_hook::iterator::Signals;
/// use tracing_sdk::session::{DumpHandle, FlightRecorder};
///
/// /// `kill -USR1 PID` saves a trace.
/// fn dump_at_signals(recorder: &FlightRecorder) -> std::io::Result<()> {
///     let handle: DumpHandle = recorder.handle();
///     let mut signals = Signals::new([SIGUSR1])?;
///     std::thread::spawn(move || {
///         for _ in signals.forever() {
///             match handle.dump_numbered("signal.pftrace") {
///                 Ok(path) => eprintln!("the trace is in {}", path.display()),
///                 Err(error) => eprintln!("no trace was saved: {error}"),
///             }
///         }
///     });
///     Ok(())
/// }
/// ```
///
/// A web server can send a trace, and keep it as a file. Both wait until all threads have handed over their events:
///
/// ```
/// # use tracing_sdk::session::{DumpHandle, SessionError};
/// fn last_seconds(handle: &DumpHandle) -> Result<Vec<u8>, SessionError> {
///     handle.dump("asked-for.pftrace")?;
///     let mut trace = Vec::new();
///     handle.dump_into(&mut trace)?;
///     Ok(trace)
/// }
/// ```
///
/// In async code a future blocks no thread of the runtime meanwhile:
///
/// ```
/// # use std::path::PathBuf;
/// # use tracing_sdk::session::{DumpHandle, SessionError};
/// async fn save(handle: &DumpHandle) -> Result<PathBuf, SessionError> {
///     handle.dump_async("last.pftrace").await?;
///     handle.dump_numbered_async("asked-for.pftrace").await
/// }
/// ```
#[derive(Clone, Debug)]
pub struct DumpHandle {
    running: Weak<Running>,
}

impl FlightRecorder {
    /// A handle, with which other threads save traces.
    #[must_use]
    pub fn handle(&self) -> DumpHandle {
        DumpHandle { running: Arc::downgrade(&self.running) }
    }
}

impl DumpHandle {
    /// As [`FlightRecorder::dump`].
    ///
    /// # Errors
    /// When the recorder was dropped, the service does not answer, or the file cannot be written.
    pub fn dump(&self, path: impl AsRef<Path>) -> Result<(), SessionError> {
        self.running()?.dump(path.as_ref())
    }

    /// As [`FlightRecorder::dump_numbered`]. Returns the name.
    ///
    /// # Errors
    /// As [`dump`](Self::dump).
    pub fn dump_numbered(&self, path: impl AsRef<Path>) -> Result<PathBuf, SessionError> {
        self.running()?.dump_next(path.as_ref())
    }

    /// As [`dump`](Self::dump), as a future, which gives the same errors.
    pub fn dump_async(&self, path: impl AsRef<Path>) -> Operation<()> {
        crate::flush();
        let (running, path) = (self.running(), path.as_ref().to_owned());
        Operation::new(move || running?.dump(&path))
    }

    /// As [`dump_numbered`](Self::dump_numbered), as a future, which gives the same errors.
    pub fn dump_numbered_async(&self, path: impl AsRef<Path>) -> Operation<PathBuf> {
        crate::flush();
        let (running, path) = (self.running(), path.as_ref().to_owned());
        Operation::new(move || running?.dump_next(&path))
    }

    /// As [`FlightRecorder::dump_into`].
    ///
    /// # Errors
    /// When the recorder was dropped, the service does not answer, or `out` fails.
    pub fn dump_into(&self, out: &mut impl Write) -> Result<(), SessionError> {
        self.running()?.dump_into(out)
    }

    fn running(&self) -> Result<Arc<Running>, SessionError> {
        let dropped = "the flight recorder was dropped, or is that of the parent process: keep it, or start another";
        recorder::upgrade(&self.running).ok_or(SessionError::Order(dropped))
    }
}

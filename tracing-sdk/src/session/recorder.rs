//! A session that always runs in a ring buffer, and whose last seconds are saved when something happens.

use std::cell::Cell;
use std::io::Write;
use std::panic::{self, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::file::NewFile;
use super::{Config, Session, SessionError};
use os::thread::Thread;

/// A session that always runs in this program. A copy of it is saved whenever one is wanted, while it goes on.
///
/// ```
/// # fn main() -> Result<(), tracing_sdk::session::SessionError> {
/// use std::time::Duration;
/// use tracing_sdk::session::{Config, Fill, FlightRecorder};
/// use tracing_sdk::{categories, instant};
///
/// categories! { NET = "net"; }
///
/// let directory = std::env::temp_dir();
/// let recorder = FlightRecorder::start(Config::new().buffer_kb(4096, Fill::Ring))?;
/// recorder.dump_on_panic(directory.join("panic.pftrace"));
///
/// // Somewhere in the program:
/// let limit = Duration::from_millis(100);
/// recorder.dump_if_slow(limit, directory.join("slow.pftrace"), || instant!(NET, "a request"));
///
/// // When somebody asks for it:
/// recorder.dump(directory.join("now.pftrace"))?;
/// let mut in_memory = Vec::new();
/// recorder.dump_into(&mut in_memory)?;
/// # Ok(())
/// # }
/// ```
///
/// Call [`dump`](Self::dump) on any thread, but not in a signal handler. A program that shall save a trace at a signal
/// handles the signal on a thread (with `signal-hook`, for example) and calls it there:
///
/// ```text
/// let mut signals = signal_hook::iterator::Signals::new([SIGUSR1])?;
/// std::thread::spawn(move || {
///     for _ in signals.forever() {
///         recorder.dump("trace.pftrace").ok();
///     }
/// });
/// ```
#[derive(Debug)]
pub struct FlightRecorder {
    running: Arc<Running>,
}

#[derive(Debug)]
struct Running {
    session: Session,
    /// The last thread that saved a trace because something was slow.
    saving: Mutex<Option<Thread>>,
}

impl FlightRecorder {
    /// Starts recording. A config without buffers gets one of 32 MiB; its buffers are best rings.
    ///
    /// # Errors
    /// As [`Session::in_process`].
    pub fn start(config: Config) -> Result<Self, SessionError> {
        let session = Session::in_process(&config)?;
        session.start()?;
        Ok(Self { running: Arc::new(Running { session, saving: Mutex::new(None) }) })
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.running.session
    }

    /// Saves what was recorded up to now. The file appears when it is complete, and replaces one of this name.
    ///
    /// # Errors
    /// When the service does not answer, or the file cannot be written.
    pub fn dump(&self, path: impl AsRef<Path>) -> Result<(), SessionError> {
        self.running.dump(path.as_ref())
    }

    /// As [`dump`](Self::dump), into any output.
    ///
    /// # Errors
    /// When the service does not answer, or `out` fails.
    pub fn dump_into(&self, out: &mut impl Write) -> Result<(), SessionError> {
        self.running.session.snapshot()?.read_into(out)
    }

    /// Saves a trace whenever a thread of the program panics, until the recorder is dropped. The hook that was set
    /// before runs first.
    ///
    /// The panicking thread waits for it; a panic in a callback of a data source does not wait.
    pub fn dump_on_panic(&self, path: impl Into<PathBuf>) {
        let (running, path) = (Arc::downgrade(&self.running), path.into());
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            before(info);
            dump_in_hook(&running, &path);
        }));
    }

    /// Runs `work`. If it takes longer than `limit`, a thread saves a trace meanwhile, which this does not wait for.
    /// While one is being saved, further slow work saves none.
    pub fn dump_if_slow<R>(
        &self,
        limit: Duration,
        path: impl AsRef<Path>,
        work: impl FnOnce() -> R,
    ) -> R {
        let start = Instant::now();
        let result = work();
        if start.elapsed() > limit {
            crate::flush();
            self.running.dump_on_thread(path.as_ref());
        }
        result
    }
}

impl Drop for FlightRecorder {
    /// Waits for a trace that is being saved.
    fn drop(&mut self) {
        if self.running.session.is_of_parent() {
            // So is the thread.
            return core::mem::forget(self.running.clone());
        }
        let saving = self.running.saving().take();
        if let Some(saving) = saving {
            saving.join();
        }
    }
}

impl Running {
    fn saving(&self) -> MutexGuard<'_, Option<Thread>> {
        self.saving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dump(&self, path: &Path) -> Result<(), SessionError> {
        let snapshot = self.session.snapshot()?;
        // A reader of the directory finds whole traces only, and two dumps do not mix.
        let mut file = NewFile::create(path)?;
        snapshot.read_into(file.file())?;
        file.commit()
    }

    fn report(&self, path: &Path) {
        if let Err(error) = self.dump(path) {
            crate::report::report!("no trace was saved to {}: {error}", path.display());
        }
    }

    fn dump_on_thread(self: &Arc<Self>, path: &Path) {
        let mut saving = self.saving();
        if saving.as_ref().is_some_and(|thread| !thread.has_ended()) {
            return;
        }
        let (running, to) = (self.clone(), path.to_owned());
        let save = move || running.report(&to);
        match os::thread::spawn("tracing-dump", Box::new(save)) {
            Ok(thread) => *saving = Some(thread),
            Err(error) => {
                crate::report::report!("no trace was saved: cannot start a thread: {error}");
            }
        }
    }
}

thread_local! {
    /// A panic while the trace of another one is saved must not save one, too.
    static IS_DUMPING: Cell<bool> = const { Cell::new(false) };
}

fn dump_in_hook(running: &Weak<Running>, path: &Path) {
    let Some(running) = running.upgrade() else { return };
    if IS_DUMPING.try_with(|is_dumping| is_dumping.replace(true)).unwrap_or(true) {
        return;
    }
    if crate::callback::in_callback() {
        // The service waits for this thread, so this thread cannot wait for the service.
        running.dump_on_thread(path);
    } else {
        running.report(path);
    }
    let _ = IS_DUMPING.try_with(|is_dumping| is_dumping.set(false));
}

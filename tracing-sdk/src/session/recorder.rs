//! A session that always runs in a ring buffer, and whose last seconds are saved when something happens.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::cell::Cell;
use std::io::Write;
use std::panic::{self, PanicHookInfo};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use super::file::NewFile;
use super::watchdog::{Watchdog, Watchdogs};
use super::{Config, Operation, Session, SessionError, numbered};
use os::thread::Thread;

/// How many traces of one name are kept, unless the program says so.
const FILES_MAX: usize = 10;

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
/// recorder.set_files_max(3);
/// recorder.dump_on_panic(directory.join("panic.pftrace"));
///
/// // Somewhere in the program:
/// let limit = Duration::from_millis(100);
/// recorder.dump_if_slow(limit, directory.join("slow.pftrace"), || instant!(NET, "a request"));
///
/// // When somebody asks for it:
/// recorder.dump(directory.join("now.pftrace"))?;
/// let path = recorder.dump_numbered(directory.join("at-a-signal.pftrace"))?;
/// println!("the trace is in {}", path.display());
/// let mut in_memory = Vec::new();
/// recorder.dump_into(&mut in_memory)?;
/// # Ok(())
/// # }
/// ```
///
/// # Names of files
///
/// [`dump`](Self::dump) writes the file that the program names, and replaces it. The others do not replace each other's
/// traces: they put a number in front of the extension, from the second one on.
///
/// ```text
/// panic.pftrace   panic-2.pftrace   panic-3.pftrace  ...  panic-10.pftrace
/// ```
///
/// Ten traces of a name are kept, or as many as [`set_files_max`](Self::set_files_max) says. When all names are taken,
/// a trace replaces the one that was written first. So does one of a panic, but only if that is of an earlier run of
/// the program: of all panics of a run the first ones are kept, because later ones often only follow from them.
///
/// Programs that run at the same time need names of their own, for example with the id of the process.
///
/// # Signals
///
/// This library installs no signal handler. To save a trace at a signal, give a [`handle`](Self::handle) to a thread
/// that waits for signals: see [`DumpHandle`](super::DumpHandle).
#[derive(Debug)]
pub struct FlightRecorder {
    pub(super) running: Arc<Running>,
}

#[derive(Debug)]
pub(super) struct Running {
    session: Session,
    /// The last thread that saved a trace because something was slow.
    saving: Mutex<Option<Thread>>,
    files_max: AtomicUsize,
    /// One trace at a time gets its number and its name.
    naming: Mutex<()>,
    watchdogs: Arc<Watchdogs>,
}

impl FlightRecorder {
    /// Starts recording. A config without buffers gets one of 32 MiB; its buffers are best rings.
    ///
    /// # Errors
    /// As [`Session::in_process`], and when no trace could be saved, or none of what happened last: the config names a
    /// file, a trigger that starts the session, or a duration, or none of its buffers is a ring.
    pub fn start(config: Config) -> Result<Self, SessionError> {
        check(&config)?;
        let session = Session::in_process(&config)?;
        session.start()?;
        let running = Running {
            session,
            saving: Mutex::new(None),
            files_max: AtomicUsize::new(FILES_MAX),
            naming: Mutex::new(()),
            watchdogs: Watchdogs::new(),
        };
        Ok(Self { running: Arc::new(running) })
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.running.session
    }

    /// How many traces of one name are kept from now on; 0 counts as 1. See [names of files](Self#names-of-files).
    pub fn set_files_max(&self, count: usize) {
        self.running.files_max.store(count, Ordering::Relaxed);
    }

    /// Saves what was recorded up to now. The file appears when it is complete, and replaces one of this name.
    ///
    /// # Errors
    /// When the service does not answer, or the file cannot be written.
    pub fn dump(&self, path: impl AsRef<Path>) -> Result<(), SessionError> {
        self.running.dump(path.as_ref())
    }

    /// As [`dump`](Self::dump), with a [number](Self#names-of-files) in the name where a trace has the name already.
    /// Returns the name.
    ///
    /// # Errors
    /// As [`dump`](Self::dump).
    pub fn dump_numbered(&self, path: impl AsRef<Path>) -> Result<PathBuf, SessionError> {
        self.running.dump_next(path.as_ref())
    }

    /// As [`dump`](Self::dump), as a future, for async code: it blocks no thread of a runtime.
    ///
    /// ```
    /// # use tracing_sdk::session::{FlightRecorder, SessionError};
    /// async fn save(recorder: &FlightRecorder) -> Result<(), SessionError> {
    ///     recorder.dump_async("now.pftrace").await?;
    ///     let path = recorder.dump_numbered_async("asked-for.pftrace").await?;
    ///     println!("the trace is in {}", path.display());
    ///     Ok(())
    /// }
    /// ```
    pub fn dump_async(&self, path: impl AsRef<Path>) -> Operation<()> {
        self.handle().dump_async(path)
    }

    /// As [`dump_numbered`](Self::dump_numbered), as a future.
    pub fn dump_numbered_async(&self, path: impl AsRef<Path>) -> Operation<PathBuf> {
        self.handle().dump_numbered_async(path)
    }

    /// As [`dump`](Self::dump), into any output.
    ///
    /// # Errors
    /// When the service does not answer, or `out` fails.
    pub fn dump_into(&self, out: &mut impl Write) -> Result<(), SessionError> {
        self.running.dump_into(out)
    }

    /// Saves a trace when a thread of the program panics, until the recorder is dropped. The hook that was set before
    /// runs first. The first panics of a run have files of [their own](Self#names-of-files), and later ones none.
    ///
    /// The panicking thread waits for it; a panic in a callback of a data source does not wait.
    pub fn dump_on_panic(&self, path: impl Into<PathBuf>) {
        let running = Arc::downgrade(&self.running);
        let panics = Arc::new(Panics { path: path.into(), saved: Mutex::default() });
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            before(info);
            dump_in_hook(&running, &panics);
        }));
    }

    /// Runs `work`. If it has taken longer than `limit`, a thread saves a trace, which this does not wait for, also
    /// when `work` has panicked. While one is being saved, further slow work saves none. Each trace has
    /// [its own name](Self#names-of-files).
    ///
    /// The trace is saved when the work has ended. Work that never ends saves none: a [`watchdog`](Self::watchdog)
    /// does.
    pub fn dump_if_slow<R>(
        &self,
        limit: Duration,
        path: impl AsRef<Path>,
        work: impl FnOnce() -> R,
    ) -> R {
        let _slow =
            Slow { start: Instant::now(), limit, running: Arc::downgrade(&self.running), path };
        work()
    }

    /// As [`dump_if_slow`](Self::dump_if_slow), for a future: from when it is polled first until it is ready. If it is
    /// dropped before that, for example by a timeout, it ends then.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use tracing_sdk::session::FlightRecorder;
    /// async fn answer(recorder: &FlightRecorder) -> usize {
    ///     let limit = Duration::from_millis(100);
    ///     recorder.dump_if_slow_async(limit, "slow.pftrace", async { 42 }).await
    /// }
    /// ```
    pub fn dump_if_slow_async<P: AsRef<Path>, F: Future>(
        &self,
        limit: Duration,
        path: P,
        work: F,
    ) -> impl Future<Output = F::Output> + use<P, F> {
        let running = Arc::downgrade(&self.running);
        async move {
            let _slow = Slow { start: Instant::now(), limit, running, path };
            work.await
        }
    }

    /// Watches work until the guard is dropped. If that takes longer than `limit`, a thread saves a trace once, while
    /// the work goes on: for work that may hang. Slices that are open then have no end in the trace. Each trace has
    /// [its own name](Self#names-of-files).
    ///
    /// Nothing is saved any more when the recorder is dropped. Traces are saved one after the other, so one may come
    /// later than `limit`.
    ///
    /// ```
    /// # fn main() -> Result<(), tracing_sdk::session::SessionError> {
    /// # use std::time::Duration;
    /// # use tracing_sdk::session::{Config, FlightRecorder};
    /// # use tracing_sdk::{categories, slice};
    /// # categories! { NET = "net"; }
    /// let recorder = FlightRecorder::start(Config::new().track_events(&["net"]))?;
    /// let path = std::env::temp_dir().join("hangs.pftrace");
    /// {
    ///     let _watchdog = recorder.watchdog(Duration::from_secs(5), &path);
    ///     let _slice = slice!(NET, "request");
    ///     // ... the work
    /// }
    /// assert!(!path.exists(), "it did not hang");
    /// # Ok(())
    /// # }
    /// ```
    pub fn watchdog(&self, limit: Duration, path: impl Into<PathBuf>) -> Watchdog {
        // The thread does not keep the session.
        let running = Arc::downgrade(&self.running);
        self.running.watchdogs.add(limit, path.into(), move |path| {
            if let Some(running) = upgrade(&running) {
                running.report_numbered(path, &mut Vec::new());
            }
        })
    }
}

/// Whether a session with this config always has what happened last.
fn check(config: &Config) -> Result<(), SessionError> {
    let refused = if config.writes_file() {
        "a flight recorder keeps its events in memory until it saves them: leave `write_into_file` and the like out \
         of its config"
    } else if config.starts_by_trigger() {
        "a flight recorder always records: leave `Trigger::Start` out of its config"
    } else if config.has_duration() {
        "a flight recorder always records: leave `duration` out of its config"
    } else if config.keeps_the_beginning() {
        "a flight recorder keeps what happened last: give its config a buffer with `Fill::Ring`"
    } else {
        return Ok(());
    };
    Err(SessionError::Order(refused))
}

/// Work that may be slow. It ends when this is dropped.
struct Slow<P: AsRef<Path>> {
    start: Instant,
    limit: Duration,
    /// A future does not keep the session.
    running: Weak<Running>,
    path: P,
}

impl<P: AsRef<Path>> Drop for Slow<P> {
    fn drop(&mut self) {
        if self.start.elapsed() <= self.limit {
            return;
        }
        if let Some(running) = upgrade(&self.running) {
            crate::flush();
            let path = self.path.as_ref().to_owned();
            running.dump_on_thread(move |running| running.report_numbered(&path, &mut Vec::new()));
        }
    }
}

/// None in a forked child, too: other threads of the parent may have held the locks.
pub(super) fn upgrade(running: &Weak<Running>) -> Option<Arc<Running>> {
    let running = running.upgrade()?;
    if running.session.is_of_parent() {
        core::mem::forget(running);
        return None;
    }
    Some(running)
}

impl Drop for FlightRecorder {
    /// Waits for a trace that is being saved.
    fn drop(&mut self) {
        if self.running.session.is_of_parent() {
            // So is the thread.
            return core::mem::forget(self.running.clone());
        }
        self.running.watchdogs.end();
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

    /// A copy of what was recorded up to now.
    fn snapshot(&self) -> Result<Session, SessionError> {
        // The service also copies a session that has ended, and what happened since then would be missing in silence.
        if self.session.shared.has_ended()? {
            return Err(SessionError::Order(
                "the session of the flight recorder has ended, so a trace would not have what happened last: start \
                 another one, and read what this one has with `session().read_into`",
            ));
        }
        self.session.snapshot()
    }

    pub(super) fn dump(&self, path: &Path) -> Result<(), SessionError> {
        let snapshot = self.snapshot()?;
        // A reader of the directory finds whole traces only, and two dumps do not mix.
        let mut file = NewFile::create(path)?;
        snapshot.read_into(file.file())?;
        file.commit()
    }

    pub(super) fn dump_into(&self, out: &mut impl Write) -> Result<(), SessionError> {
        self.snapshot()?.read_into(out)
    }

    /// Saves a trace under the next name that is free, and returns the name.
    pub(super) fn dump_next(&self, path: &Path) -> Result<PathBuf, SessionError> {
        // There is one, because no file stays at all costs.
        Ok(self.dump_numbered(path, &mut Vec::new())?.unwrap_or_else(|| path.to_owned()))
    }

    /// Saves a trace under the next name that is free, and adds it to `kept`. None if all names are in `kept` already.
    fn dump_numbered(
        &self,
        path: &Path,
        kept: &mut Vec<PathBuf>,
    ) -> Result<Option<PathBuf>, SessionError> {
        if self.session.is_of_parent() {
            // It fails. The lock may be that of a thread which this process does not have.
            return self.dump(path).map(|()| Some(path.to_owned()));
        }
        // Before the lock, for which this thread would wait in the hook.
        let _dumping = Dumping::begin();
        // Also while the trace is written: until then, its name is free.
        let _naming = self.naming.lock().unwrap_or_else(PoisonError::into_inner);
        let count_max = self.files_max.load(Ordering::Relaxed);
        let Some(path) = numbered::next(path, count_max, kept) else { return Ok(None) };
        self.dump(&path)?;
        if !kept.contains(&path) {
            kept.push(path.clone());
        }
        Ok(Some(path))
    }

    fn report_numbered(&self, path: &Path, kept: &mut Vec<PathBuf>) {
        if let Err(error) = self.dump_numbered(path, kept) {
            crate::report::report!("no trace was saved to {}: {error}", path.display());
        }
    }

    fn dump_on_thread(self: &Arc<Self>, dump: impl FnOnce(&Self) + Send + 'static) {
        let mut saving = self.saving();
        if saving.as_ref().is_some_and(|thread| !thread.has_ended()) {
            return;
        }
        let running = self.clone();
        let save = move || dump(&running);
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

fn is_dumping() -> bool {
    IS_DUMPING.try_with(Cell::get).unwrap_or(true)
}

/// The calling thread saves a trace until this is dropped.
struct Dumping {
    before: bool,
}

impl Dumping {
    fn begin() -> Self {
        Self { before: IS_DUMPING.try_with(|is_dumping| is_dumping.replace(true)).unwrap_or(true) }
    }
}

impl Drop for Dumping {
    fn drop(&mut self) {
        let _ = IS_DUMPING.try_with(|is_dumping| is_dumping.set(self.before));
    }
}

/// What is saved when threads panic.
struct Panics {
    path: PathBuf,
    /// The traces of this run, which later ones do not replace.
    saved: Mutex<Vec<PathBuf>>,
}

impl Panics {
    fn dump(&self, running: &Running) {
        let mut saved = self.saved.lock().unwrap_or_else(PoisonError::into_inner);
        running.report_numbered(&self.path, &mut saved);
    }
}

fn dump_in_hook(running: &Weak<Running>, panics: &Arc<Panics>) {
    let Some(running) = upgrade(running) else { return };
    if is_dumping() {
        return;
    }
    if crate::inside::in_callback() {
        // The service waits for this thread, so this thread cannot wait for the service.
        let panics = panics.clone();
        running.dump_on_thread(move |running| panics.dump(running));
    } else {
        panics.dump(&running);
    }
}

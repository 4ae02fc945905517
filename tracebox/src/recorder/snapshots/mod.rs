//! Snapshots of a running session: `CLONE_SNAPSHOT` triggers.
//!
//! ```text
//!  session's consumer            worker                        service
//!       │ ◀──── CloneTriggerHit ────────────────────────────────── │
//!       ├─ hit ────▶ │ connects, CloneSession ───────────────────▶ │
//!       │            │ FILE.0 ◀── ReadBuffers ──────────────────── │
//! ```
//!
//! A connection has one session, so each clone is read over a connection of its own. A thread takes the
//! snapshots, one after the other, because the first connection waits for events of its session.

mod disk;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use protos::{
    CloneSessionRequest, CloneSessionRequestSelector, ObservableEventsCloneTriggerHit, TraceConfig,
    TraceConfigTriggerConfigTriggerMode as TriggerMode,
};
use tracing_core::client::connection::ConnectionWaker;
use tracing_core::client::consumer::Consumer;

use self::disk::{Disk, snapshot_bytes};
use super::readback::{ReadOptions, clone_session};
use crate::console;
use crate::failure::{Context, EXIT_INTERRUPTED, Failure};
use crate::output::Output;
use crate::report::{Outcome, SnapshotResults};

/// Most snapshots that wait for the one being taken. A producer can fire triggers faster than snapshots are
/// written.
const QUEUE_MAX: usize = 64;

/// Makes a connection for one snapshot.
pub type Connect = Box<dyn Fn() -> Result<Consumer, Failure> + Send>;

/// Whether `config` asks for snapshots. A service that is too old for them stops at the first trigger
/// instead, if the config allows that.
#[must_use]
pub fn wanted(config: &TraceConfig) -> bool {
    config.trigger_config.as_ref().is_some_and(|triggers| {
        triggers.trigger_mode == Some(TriggerMode::CLONE_SNAPSHOT)
            || triggers.use_clone_snapshot_if_available == Some(true)
    })
}

/// Takes snapshots.
#[derive(Debug)]
pub struct Snapshots {
    hits: Option<SyncSender<ObservableEventsCloneTriggerHit>>,
    results: Receiver<SnapshotResults>,
    left_out: usize,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// No further snapshot is taken.
    abandoned: AtomicBool,
    /// Interrupts the snapshot being taken.
    current: Mutex<Option<ConnectionWaker>>,
}

impl Snapshots {
    /// Starts the thread. Snapshots go into `out` with a number appended. `done` is woken after the last one.
    ///
    /// # Errors
    /// When `out` is stdout, or the system has no thread left.
    pub fn new(
        connect: Connect,
        config: &TraceConfig,
        out: &OsStr,
        no_clobber: bool,
        done: ConnectionWaker,
    ) -> Result<Self, Failure> {
        if out == "-" {
            let text =
                "the config asks for snapshots, each into a file of its own: -o needs a file name";
            return Err(Failure::new(text));
        }
        // The program may leave its directory.
        let out = std::path::absolute(out).context("no working directory")?;
        let (hits, inbox) = sync_channel(QUEUE_MAX);
        let (sender, results) = channel();
        let shared = Arc::<Shared>::default();
        let mut worker = Worker {
            connect,
            out,
            no_clobber,
            bytes: snapshot_bytes(config),
            next: 0,
            shared: shared.clone(),
            results: SnapshotResults::default(),
        };
        let run = move || {
            for hit in inbox {
                worker.take(&hit);
            }
            // Before the waker, so that the woken thread finds the results.
            let _ = sender.send(worker.results);
            done.wake();
        };
        let thread = std::thread::Builder::new().name("snapshots".into()).spawn(run);
        let thread = Some(thread.context("cannot start a thread")?);
        Ok(Self { hits: Some(hits), results, left_out: 0, shared, thread })
    }

    /// Queues a snapshot.
    pub fn take(&mut self, hit: ObservableEventsCloneTriggerHit) {
        let Some(hits) = &self.hits else { return };
        if let Err(TrySendError::Full(hit)) = hits.try_send(hit) {
            self.left_out += 1;
            let name = hit.trigger_name.unwrap_or_default();
            log_refusal(self.left_out, &name, &format!("{QUEUE_MAX} wait already"));
        }
    }

    /// Ends the queue. The results are there when the waker is woken.
    pub fn close(&mut self) {
        self.hits = None;
    }

    /// The results, once all snapshots are done.
    pub fn results(&mut self) -> Option<SnapshotResults> {
        let mut results = self.results.try_recv().ok()?;
        results.failed += self.left_out;
        Some(results)
    }
}

impl Drop for Snapshots {
    fn drop(&mut self) {
        self.hits = None;
        self.shared.abandoned.store(true, Ordering::SeqCst);
        if let Some(waker) = &*self.shared.lock() {
            waker.wake();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<ConnectionWaker>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The failure to end with, if no more snapshots are wanted.
    fn failure_to_end_with(&self) -> Option<Failure> {
        let abandoned = self.abandoned.load(Ordering::SeqCst);
        abandoned.then(|| Failure::new("interrupted").with_code(EXIT_INTERRUPTED))
    }
}

struct Worker {
    connect: Connect,
    out: PathBuf,
    no_clobber: bool,
    /// The most that a snapshot takes on the disk.
    bytes: u64,
    next: u32,
    shared: Arc<Shared>,
    results: SnapshotResults,
}

impl Worker {
    fn take(&mut self, hit: &ObservableEventsCloneTriggerHit) {
        if self.shared.failure_to_end_with().is_some() {
            return;
        }
        let trigger = hit.trigger_name.as_deref().unwrap_or_default();
        match self.try_take(hit) {
            Ok(outcome) => {
                for line in outcome.lines_of_snapshot(trigger) {
                    console::log(&line);
                }
                self.results.outcomes.push(outcome);
            }
            Err(failure) => {
                self.results.failed += 1;
                log_refusal(self.results.failed, trigger, &failure.to_string());
            }
        }
        *self.shared.lock() = None;
    }

    fn try_take(&mut self, hit: &ObservableEventsCloneTriggerHit) -> Result<Outcome, Failure> {
        Disk::of(&self.out)?.check(self.bytes)?;
        let mut consumer = (self.connect)()?;
        *self.shared.lock() = Some(consumer.waker());
        let mut output = self.open()?;
        let shared = self.shared.clone();
        let options = ReadOptions {
            check_interrupts: &mut || shared.failure_to_end_with(),
            // The main thread has the progress line.
            shows_progress: false,
        };
        let cloned = clone_session(&mut consumer, request(hit), &mut output, options);
        cloned.map_err(|failure| output.abandoned(failure))
    }

    /// Opens the next file. With `no_clobber` it is the next that does not exist.
    fn open(&mut self) -> Result<Output, Failure> {
        loop {
            let path = numbered(&self.out, self.next);
            self.next += 1;
            if !(self.no_clobber && Path::new(&path).exists()) {
                return Output::replace(&path, self.no_clobber, true);
            }
        }
    }
}

/// Logs that a snapshot was not taken: not always, because any program can fire triggers.
fn log_refusal(count: usize, trigger: &str, why: &str) {
    if console::is_told(count) {
        let number = console::number(count);
        console::log(&format!("No snapshot for trigger {trigger:?}: {why}{number}"));
    }
}

fn numbered(path: &Path, number: u32) -> OsString {
    let mut path = path.as_os_str().to_owned();
    path.push(format!(".{number}"));
    path
}

/// The clone that `hit` asks for. The service writes the fields about the trigger into the clone.
fn request(hit: &ObservableEventsCloneTriggerHit) -> CloneSessionRequest {
    let session = hit.tracing_session_id.unwrap_or(0).cast_unsigned();
    CloneSessionRequest {
        selector: Some(CloneSessionRequestSelector::SessionId(session)),
        clone_trigger_name: hit.trigger_name.clone(),
        clone_trigger_producer_name: hit.producer_name.clone(),
        clone_trigger_trusted_producer_uid: hit.producer_uid.map(u32::cast_signed),
        clone_trigger_boot_time_ns: hit.boot_time_ns,
        clone_trigger_delay_ms: hit.trigger_delay_ms,
        ..CloneSessionRequest::default()
    }
}

#[cfg(test)]
mod tests;

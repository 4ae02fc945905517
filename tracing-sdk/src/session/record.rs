//! Recordings in one line.

use std::cell::Cell;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use protos::TraceStatsBufferStats as BufferStats;

use super::{Config, Session, SessionError};
use crate::fork;

/// Records what `work` does, and returns the trace, as the bytes of a trace file: for tests and small tools.
///
/// Threads take turns: one that calls this while another one does waits until that has ended. So tests that run at the
/// same time may call it. `work` may call it again, but must not wait for another thread that calls it. The functions
/// that record otherwise ([`record_to_file`], [`Session`]) do not take turns.
///
/// The trace has the events of all threads of the process, also those of tests that run meanwhile and do not record. A
/// category that no other test uses keeps them out.
///
/// It keeps the last 32 MiB, which is about a million events with few arguments. If that was not all, the beginning is
/// missing, and a line on standard error says so. [`record_to_file`] keeps as much as that for each quarter of a
/// second, and a [`Session`] has a buffer as large as [`Config::buffer_kb`] says. A thread that records faster than the
/// service takes loses events, which [`lost_events`](crate::lost_events) counts. Another line tells if the program has
/// used no category that was asked for.
///
/// ```
/// # fn main() -> Result<(), tracing_sdk::session::SessionError> {
/// use tracing_sdk::{categories, instant, session};
///
/// categories! { NET = "net"; }
///
/// let trace = session::record(&["net"], || instant!(NET, "hello"))?;
/// std::fs::write(std::env::temp_dir().join("hello.pftrace"), trace).ok();
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Session::in_process`].
pub fn record(categories: &[&str], work: impl FnOnce()) -> Result<Vec<u8>, SessionError> {
    let _turn = Turn::wait();
    let session = Session::in_process(&Config::new().track_events(categories))?;
    session.start()?;
    work();
    session.stop()?;
    if is_cut(&session)? {
        crate::report::report!(
            "`record` has lost the beginning of the recording, of which it keeps 32 MiB: `record_to_file` keeps more"
        );
    }
    let mut trace = Vec::new();
    session.read_into(&mut trace)?;
    Ok(trace)
}

/// Whether the buffer of a session has overwritten what nobody had read.
fn is_cut(session: &Session) -> Result<bool, SessionError> {
    let is_cut = |stats: &BufferStats| stats.bytes_overwritten.is_some_and(|bytes| bytes != 0);
    Ok(session.stats()?.buffer_stats.iter().any(is_cut))
}

/// The right to run [`record`]. Sessions that ran at the same time would have each other's events, and a service
/// refuses the sixth one of a user. `None`: the thread has it already.
struct Turn(Option<MutexGuard<'static, ()>>);

/// How many generations of forked processes have a lock of their own.
const GENERATIONS: usize = 16;

/// One lock for each generation of forked processes. In a child the lock of its parent may be held for ever, by a
/// thread that the child does not have, so the child takes the next one. The 17th generation takes the first one again.
static TURNS: [Mutex<()>; GENERATIONS] = [const { Mutex::new(()) }; GENERATIONS];

thread_local! {
    static HAS_TURN: Cell<bool> = const { Cell::new(false) };
}

impl Turn {
    fn wait() -> Self {
        if HAS_TURN.get() {
            return Self(None);
        }
        let turn = &TURNS[fork::count() as usize % GENERATIONS];
        let alone = turn.lock().unwrap_or_else(PoisonError::into_inner);
        HAS_TURN.set(true);
        Self(Some(alone))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.0.is_some() {
            HAS_TURN.set(false);
        }
    }
}

/// Records what `work` does into a file, which is replaced if it exists, and returns the result of `work`.
///
/// The file grows during the recording, so memory does not limit how long `work` may take. It is written four times a
/// second: if the program records more than 32 MiB in a quarter of a second, which is about a million events with few
/// arguments, some of it is missing, and a line on standard error says so. If `work` panics, or ends the program by
/// `exit`, the file has all of it. If a signal, an abort, `_exit` or `exec` of another program ends it, the file has
/// all but the last quarter of a second. If `work` forks and returns in the child, too, the recording stays that of the
/// parent, and the child gets the result of `work`.
///
/// ```
/// # fn main() -> Result<(), tracing_sdk::session::SessionError> {
/// use tracing_sdk::{categories, session, slice};
///
/// categories! { NET = "net"; }
///
/// let path = std::env::temp_dir().join("fetch.pftrace");
/// let sum = session::record_to_file(path, &["net"], || slice!(NET, "fetch", in || 1 + 1))?;
/// assert_eq!(sum, 2);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Session::in_process`], and when the file cannot be made; then `work` does not run. Also when the recording
/// cannot be ended.
pub fn record_to_file<R>(
    path: impl AsRef<Path>,
    categories: &[&str],
    work: impl FnOnce() -> R,
) -> Result<R, SessionError> {
    let period = core::time::Duration::from_millis(250);
    let config = Config::new()
        .track_events(categories)
        .write_into_file(path)
        .write_period(period)
        // Services that do not know the next line go by this one.
        .flush_period(period)
        .flush_before_writes();
    // If `work` panics, it ends when it is dropped.
    let session = Session::in_process(&config)?;
    session.start()?;
    let result = work();
    if session.is_of_parent() {
        // `work` has forked, as a daemon does, and this is the child.
        return Ok(result);
    }
    session.stop()?;
    // The file is complete, whatever the answer is.
    if is_cut(&session).unwrap_or(false) {
        crate::report::report!(
            "`record_to_file` has lost events: the program recorded them faster than the file was written (a `Session` \
             with a larger `Config::buffer_kb` loses fewer)"
        );
    }
    Ok(result)
}

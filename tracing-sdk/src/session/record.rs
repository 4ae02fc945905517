//! Recordings in one line.

use std::path::Path;

use protos::TraceStatsBufferStats as BufferStats;

use super::{Config, Session, SessionError};

/// Records what `work` does, and returns the trace, as the bytes of a trace file: for tests and small tools.
///
/// It keeps the last 32 MiB, which is about a million events with few arguments. If that was not all, the beginning is
/// missing, and a line on standard error says so; [`record_to_file`] has no such limit, and a [`Session`] has a buffer
/// as large as [`Config::buffer_kb`] says. A thread that records faster than the service takes loses events, which
/// [`lost_events`](crate::lost_events) counts. Another line tells if the program has used no category that was asked
/// for.
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
    let session = Session::in_process(&Config::new().track_events(categories))?;
    session.start()?;
    work();
    session.stop()?;
    let is_cut = |stats: &BufferStats| stats.bytes_overwritten.is_some_and(|bytes| bytes != 0);
    if session.stats()?.buffer_stats.iter().any(is_cut) {
        crate::report::report!(
            "`record` has lost the beginning of the recording, of which it keeps 32 MiB: `record_to_file` keeps all"
        );
    }
    let mut trace = Vec::new();
    session.read_into(&mut trace)?;
    Ok(trace)
}

/// Records what `work` does into a file, which is replaced if it exists, and returns the result of `work`.
///
/// The file grows during the recording, so memory does not limit how long `work` may take. If `work` panics, or ends
/// the program by `exit`, the file has all of it. If a signal ends the program, the file has all but the last second.
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
    let second = core::time::Duration::from_secs(1);
    let config = Config::new()
        .track_events(categories)
        .write_into_file(path)
        .write_period(second)
        // Services that do not know the next line go by this one.
        .flush_period(second)
        .flush_before_writes();
    // If `work` panics, it ends when it is dropped.
    let session = Session::in_process(&config)?;
    session.start()?;
    let result = work();
    session.stop()?;
    Ok(result)
}
